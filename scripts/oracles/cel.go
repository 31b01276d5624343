// Decides conditions of CEL by cel-go. The first line of the input has the events; every further line is a
// condition, and is answered by the places of the events for which it is true, or null if it is no CEL.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"cel.dev/cel-go/cel"
)

func plain(value any) any {
	switch of := value.(type) {
	case json.Number:
		if whole, err := of.Int64(); err == nil && !strings.ContainsAny(of.String(), ".eE") {
			return whole
		}
		real, _ := of.Float64()
		return real
	case []any:
		for place := range of {
			of[place] = plain(of[place])
		}
	case map[string]any:
		for name := range of {
			of[name] = plain(of[name])
		}
	}
	return value
}

func main() {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	in.UseNumber()
	var events []map[string]any
	if err := in.Decode(&events); err != nil {
		panic(err)
	}
	for _, event := range events {
		plain(event)
	}
	env, err := cel.NewEnv()
	if err != nil {
		panic(err)
	}
	for {
		var condition string
		if in.Decode(&condition) != nil {
			return
		}
		parsed, issues := env.Parse(condition)
		if issues.Err() != nil {
			fmt.Println("null")
			continue
		}
		program, err := env.Program(parsed)
		if err != nil {
			fmt.Println("null")
			continue
		}
		matches := []int{}
		for place, event := range events {
			result, _, err := program.Eval(event)
			if err == nil && result.Value() == true {
				matches = append(matches, place)
			}
		}
		text, _ := json.Marshal(matches)
		fmt.Println(string(text))
	}
}
