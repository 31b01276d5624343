#!/usr/bin/env bash
# A first look at tamis: the command line on the data in examples/. Run by `make tour`, which puts the command
# on PATH.
set -eu
cd "$(dirname "$0")/../examples"

bold='' plain=''
if [ -t 1 ]; then
    bold=$'\033[1m' plain=$'\033[0m'
fi

# step HEADING COMMAND...: says what comes, shows the command, runs it.
step() {
    printf '\n%s\n' "$bold$1$plain"
    shift
    printf '$ %s\n' "$*"
    "$@"
}

step 'Conditions are checked before anything runs: these eight are fine.' \
    tamis lint cameras.jsonl --event-type camera.json

step 'Of these two, one is wrong and one can never be true.' \
    tamis lint mistakes.txt --event-type camera.json || [ $? = 1 ]

step 'Every event finds all the conditions that it satisfies.' \
    tamis match --subscriptions cameras.jsonl --events events.jsonl --event-type camera.json

step 'Why did event e5 match the subscription two-of-three?' \
    tamis explain --subscriptions cameras.jsonl --id two-of-three --events events.jsonl --event e5 \
    --event-type camera.json

step 'A near miss: why was event e3 no bargain?' \
    tamis explain --subscriptions cameras.jsonl --id bargain --events events.jsonl --event e3 \
    --event-type camera.json

step 'What people expect of their conditions is kept beside them, as test cases.' \
    tamis test --verbose cameras_test.yaml
