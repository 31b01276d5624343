"""Rules of JSONLogic and events of which json-logic-js decided: those written here, and made-up ones."""

from __future__ import annotations

import json
from random import Random
from typing import Any

EVENTS: list[dict[str, Any]] = [
    {
        "n": 5,
        "d": 2.5,
        "s": "abc",
        "t": True,
        "m": 5,
        "l": [1, 2, "x"],
        "o": {"k": 7, "s": "q"},
        "os": [{"k": 1}, {"k": 7}],
    },
    {"n": 0, "d": -0.5, "s": "", "t": False, "m": "5", "l": [], "o": {"k": None}, "os": []},
    {
        "n": -7,
        "d": 0.0,
        "s": " 7 ",
        "t": True,
        "m": True,
        "l": ["abc", ""],
        "o": {"k": "7"},
        "os": [{"j": 1}, {"k": 7}],
    },
    {"n": 1e21, "d": 1e300, "s": "Äb é", "t": False, "m": 5.0, "l": [5, 5.5], "o": {"k": 0}, "os": [{"k": 0}]},
    {
        "n": None,
        "s": "0x1F",
        "m": None,
        "l": [True, 0],
        "o": {"k": True, "s": "abc"},
        "os": [{"k": "x"}, {"k": 8}],
    },
    {"n": 3, "d": 3.0, "s": "5kg", "m": "", "t": "false", "l": [False]},
    {"n": "5", "d": "x", "s": "1e2", "t": 0, "m": "abc", "o": {"k": "", "s": None}},
    {},
]

OPERANDS: list[Any] = [{"var": name} for name in ("n", "d", "s", "t", "m", "o.k", "o.s", "zz", "l.0", "os.1.k")]
LITERALS: list[Any] = [
    5,
    0,
    -7,
    2.5,
    "5",
    "",
    "abc",
    " 5",
    "0",
    True,
    False,
    None,
    "x",
    1,
    7,
    "7",
    "-0",
    "Infinity",
]
LISTS: list[Any] = [{"var": "l"}, {"var": "os"}]


def conditions() -> list[str]:
    """Every comparison of every operand with every literal, and each other operation once."""
    asked: list[Any] = []
    for operand in OPERANDS[:6]:
        asked += [{sign: [operand, literal]} for literal in LITERALS for sign in ("==", "===", "<", ">=")]
        asked += [{"!": [operand]}, {"!!": operand}, {"missing": [operand["var"], "n"]}]
        asked += [{"in": [operand, literal]} for literal in ("abc5", [5, "abc", True], ["5", 0], "", "null")]
        asked += [{"==": [{"cat": [operand, "x"]}, text]} for text in ("5x", "truex", "x", "1e+21x", "2.5x")]
        asked += [{"<": [{sign: [operand, 2]}, 4]} for sign in "+-*/%"]
        asked += [{">": [{sign: [operand, "2"]}, 0]} for sign in "+-*/%"]
        asked += [{"==": [{sign: [operand]}, 5]} for sign in "+"] + [{"==": [{"-": [operand]}, 7]}]
        asked += [{"<=": [1, operand, 5]}, {"<": ["1", operand, "6"]}, {"if": [operand, False, True]}]
        asked += [{"==": [{"substr": [operand, 1]}, "bc"]}, {"==": [{"substr": [operand, -1, 1]}, "5"]}]
        asked += [{"==": [{"max": [operand, 3]}, 3]}, {">": [3, {"min": [operand, 4]}]}]
    asked += [
        {sign: [one, other]} for one in OPERANDS[:6] for other in OPERANDS for sign in ("==", "!==", "<=", ">")
    ]
    for values in LISTS:
        asked += [{"in": [literal, values]} for literal in LITERALS if literal is not None]
        for name in ("some", "all", "none"):
            asked += [{name: [values, {sign: [{"var": "k"}, 7]}]} for sign in ("==", "<", ">")]
            asked += [{name: [values, {"===": [{"var": ""}, literal]}]} for literal in (1, "x", True, 5)]
    asked += [{"missing_some": [count, ["n", "s", "o.k", "zz"]]} for count in range(6)]
    asked += [
        {"==": [{"+": ["2", "3"]}, 5]},
        {"and": [1, "a"]},
        {"or": [0, ""]},
        {"if": [{"var": "n"}, {"var": "s"}]},
    ]
    asked += [True, 0, "a", {"and": []}, {"?:": [{"var": "t"}, {"var": "s"}, {"var": "d"}]}]
    return [json.dumps(each, ensure_ascii=False) for each in asked]


def random_condition(random: Random) -> str:
    return json.dumps(_rule(random, 2, False), ensure_ascii=False)


def _rule(random: Random, depth: int, is_inner: bool) -> Any:
    if depth and random.random() < 0.55:
        inner = [_rule(random, depth - 1, is_inner) for _ in range(random.randint(1, 3))]
        name = random.choice(["and", "or", "!", "if"])
        return {name: inner[:1] if name == "!" else inner}
    kind = random.randrange(8)
    first, second = _value(random, 1, is_inner), _value(random, 1, is_inner)
    if kind == 0 and not is_inner:
        name = random.choice(["some", "all", "none"])
        return {name: [random.choice([*LISTS, {"var": "zz"}]), _rule(random, max(depth - 1, 0), True)]}
    if kind == 1:
        return {"in": [first, random.choices(LITERALS[:-1], k=3)]}
    if kind == 2 and not is_inner:
        return {"in": [random.choice([each for each in LITERALS if each is not None]), random.choice(LISTS)]}
    if kind == 3:
        return {random.choice("<"): [first, second, _value(random, 0, is_inner)]}
    return {random.choice(["==", "!=", "===", "!==", "<", "<=", ">", ">="]): [first, second]}


def _value(random: Random, depth: int, is_inner: bool) -> Any:
    if depth and random.random() < 0.3:
        name = random.choice(["+", "-", "*", "/", "%", "min", "max", "cat", "substr"])
        parts = [_value(random, 0, is_inner) for _ in range(2)]
        return {name: [parts[0], random.randint(-2, 3)] if name == "substr" else parts}
    if random.random() < 0.4:
        return random.choice(LITERALS)
    return random.choice([{"var": "k"}, {"var": "j"}] if is_inner else OPERANDS)
