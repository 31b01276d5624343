"""Random patterns and events of EventBridge, and a plain interpreter of the documented rules.

The interpreter flattens an event into fields, each a path, a scalar and the element of every array around it, and
looks for a value for each field of the pattern, one after the other, whose elements agree with those before.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from collections.abc import Iterator
from random import Random
from typing import Any

NAMES = ("a", "b", "c")
TEXTS = ("x", "y", "xy", "X", "", "yx", "10.0.0.7", "10.1.0.7", "2001:db8::7", "2001:db9::7")
NUMBERS = (0, 1, 2, 1.5, -1)
SCALARS: tuple[Any, ...] = (*TEXTS, *NUMBERS, True, False, None)
OPERATORS = {">": float.__gt__, ">=": float.__ge__, "<": float.__lt__, "<=": float.__le__, "=": float.__eq__}


# --- the plain interpreter -------------------------------------------------------------------------------------


def matches(pattern: dict[str, Any] | list[dict[str, Any]], event: dict[str, Any]) -> bool:
    """One of the patterns of a rule is enough."""
    if isinstance(pattern, list):
        return any(matches(each, event) for each in pattern)
    fields = list(_fields(event, "", {}))
    return any(_search(sorted(rule.items()), fields, {}) for rule in _rules(pattern, ""))


def _rules(pattern: dict[str, Any], path: str) -> list[dict[str, list[Any]]]:
    """The fields of a pattern with their tests, once for each choice among its `$or`s."""
    rules: list[dict[str, list[Any]]] = [{}]
    for key, value in pattern.items():
        if key == "$or":
            more = [rule for each in value for rule in _rules(each, path)]
        else:
            more = _rules(value, f"{path}{key}.") if isinstance(value, dict) else [{path + key: value}]
        rules = [{**one, **other} for one in rules for other in more]
    return rules


def _fields(value: Any, path: str, elements: dict[str, int]) -> Iterator[tuple[str, Any, dict[str, int]]]:
    """Every scalar with its path, and by the place of each array around it, which element it is in."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _fields(inner, f"{path}.{key}" if path else key, elements)
    elif isinstance(value, list):
        array = f"{path} {sorted(elements.items())}"
        for place, inner in enumerate(value):
            yield from _fields(inner, path, {**elements, array: place})
    else:
        yield path, value, elements


def _search(rule: list[tuple[str, list[Any]]], fields: list[Any], elements: dict[str, int]) -> bool:
    if not rule:
        return True
    (path, tests), rest = rule[0], rule[1:]
    there = [
        (value, {**elements, **own})
        for name, value, own in fields
        if name == path and all(elements.get(array, place) == place for array, place in own.items())
    ]
    if not there and {"exists": False} in tests and _search(rest, fields, elements):
        return True
    return any(_search(rest, fields, joint) for value, joint in there if any(holds(test, value) for test in tests))


def holds(test: Any, value: Any) -> bool:
    if not isinstance(test, dict):
        return _same(test, value)
    [(name, operand)] = test.items()
    if name == "exists":
        return bool(operand)
    if name == "numeric":
        return _is_number(value) and all(
            OPERATORS[operand[at]](float(value), float(operand[at + 1])) for at in range(0, len(operand), 2)
        )
    if name == "anything-but":
        if isinstance(operand, dict):
            [(inner, shapes)] = operand.items()
            each = shapes if isinstance(shapes, list) else [shapes]
            return not any(holds({inner: shape}, value) for shape in each)
        return not any(_same(each, value) for each in (operand if isinstance(operand, list) else [operand]))
    if not isinstance(value, str):
        return False
    if isinstance(operand, dict):
        operand, value = operand["equals-ignore-case"].lower(), value.lower()
    if name == "cidr":
        try:
            return ipaddress.ip_address(value) in ipaddress.ip_network(operand, strict=False)
        except ValueError:
            return False
    if name == "wildcard":
        return re.fullmatch(fnmatch.translate(operand), value) is not None
    if name == "equals-ignore-case":
        return bool(value.lower() == operand.lower())
    return bool(value.startswith(operand) if name == "prefix" else value.endswith(operand))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


# --- random cases ----------------------------------------------------------------------------------------------


def random_event(random: Random) -> dict[str, Any]:
    """No attribute of the event itself is null: that is as good as none (see the documentation)."""
    event = {name: _random_value(random, 3) for name in random.sample((*NAMES, "d"), random.randint(1, 4))}
    return {name: value for name, value in event.items() if value is not None}


def _random_value(random: Random, depth: int) -> Any:
    kind = random.random()
    if depth and kind < 0.35:
        chosen = random.sample(NAMES, random.randint(0, 3))
        return {name: _random_value(random, depth - 1) for name in chosen}
    if depth and kind < 0.65:
        return [_random_value(random, depth - 1) for _ in range(random.randint(0, 3))]
    return random.choice(SCALARS)


def random_rule(random: Random, depth: int) -> dict[str, Any] | list[dict[str, Any]]:
    """A pattern, or several."""
    if random.random() < 0.8:
        return random_pattern(random, depth)
    return [random_pattern(random, depth) for _ in range(random.randint(1, 3))]


def random_pattern(random: Random, depth: int = 3) -> dict[str, Any]:
    pattern: dict[str, Any] = {}
    for name in random.sample(NAMES, random.randint(1, 3)):
        if depth and random.random() < 0.5:
            pattern[name] = random_pattern(random, depth - 1)
        else:
            pattern[name] = [random_test(random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    if random.random() < 0.15:
        pattern["$or"] = [{name: [random_test(random)]} for name in random.choices([*_leaves(pattern), "d"], k=2)]
    return pattern


def _leaves(pattern: dict[str, Any]) -> list[str]:
    """The names that an `$or` beside them may replace: a field is never an object as well."""
    return [name for name, value in pattern.items() if isinstance(value, list)]


def random_test(random: Random) -> Any:
    text, other = random.sample(TEXTS, 2)
    low, high = sorted(random.sample(NUMBERS, 2))
    filled = text or "x"
    return random.choice(
        (
            *(text, random.choice(NUMBERS), random.choice((True, False, None))),
            *({"exists": True}, {"exists": False}, {"exists": False}),
            *({"prefix": text}, {"suffix": text}, {"equals-ignore-case": text}),
            *({"prefix": {"equals-ignore-case": text}}, {"suffix": {"equals-ignore-case": text}}),
            *({"wildcard": "x*"}, {"wildcard": "*y*"}, {"wildcard": "*x*y*"}, {"wildcard": "1*.*7"}),
            *({"cidr": "10.0.0.0/16"}, {"cidr": "2001:db8::/32"}, {"cidr": "2001:db9::7/127"}),
            *({"numeric": [">", low, "<=", high]}, {"numeric": [">=", low, "<", high]}),
            *({"numeric": [sign, low]} for sign in OPERATORS),
            *({"anything-but": text}, {"anything-but": [text, other]}, {"anything-but": [low, high]}),
            *({"anything-but": {name: filled}} for name in ("prefix", "suffix", "wildcard", "equals-ignore-case")),
            *({"anything-but": {name: [filled, "y"]}} for name in ("prefix", "suffix", "equals-ignore-case")),
            *({"anything-but": {"wildcard": ["x*", "*:*7"]}}, {"anything-but": {"wildcard": "*0*7"}}),
        )
    )
