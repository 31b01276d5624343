"""Two worlds to test the language in: typed rows of every type, and schemaless events of mixed kinds.

A world draws conditions and events from a `random.Random` alone, so that a seed repeats everything. Typed
conditions come from the generator that Spark is asked with; schemaless ones are drawn here, since Spark has
no such events. A condition drawn here may be refused; a test that needs accepted ones asks `accepted`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from tamis.errors import ConditionError
from tamis.events import EventBatch, EventType
from tamis.language.condition import Condition, compile_condition
from tests.oracle.generate import Generator
from tests.oracle.rows import SCHEMA, random_table

_PATHS = ("a", "b", "c", "s.x", "s.y", "`odd name`", "missing")
_LISTS = ("tags", "nums", "things")
_NUMBERS = (
    *("0", "1", "-1", "2", "3", "7", "2.5", "-2.5", "0.1", "1e2", "1e-3", "10L", "1.5D", "2.5F", "100BD"),
    *("9007199254740993", "-9223372036854775808", "9223372036854775807", "18446744073709551616"),
)
_STRINGS = ("''", "'a'", "'abc'", "'it''s'", "'1'", "'é'", "'2024-02-29'", "'a\\tb'", "'true'")
_PATTERNS = ("'a%'", "'%b%'", "'_'", "''", "'%'", "'a_c'", "'abc'", "'\\\\%%'", "'%é'")
_REGEXES = ("'^a'", "'b+'", "'[0-9]'", "'(a|b)c?$'")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


@dataclass(frozen=True, slots=True)
class World:
    """An event type with conditions and events for it."""

    name: str
    event_type: EventType
    draw_condition: Callable[[random.Random], str]
    draw_events: Callable[[random.Random, int], Any]

    def condition(self, random_: random.Random) -> str:
        """A condition."""
        return self.draw_condition(random_)

    def batch(self, random_: random.Random, rows: int) -> EventBatch:
        """Some events."""
        return EventBatch.of(self.draw_events(random_, rows), self.event_type)

    def accepted(self, random_: random.Random, count: int) -> list[Condition]:
        """Conditions that the language accepts, most of what is drawn."""
        found: list[Condition] = []
        tries = 0
        while len(found) < count:
            tries += 1
            assert tries < 100 + 3 * count, "the generator draws too much that is refused"
            try:
                found.append(compile_condition(self.condition(random_), self.event_type))
            except ConditionError:
                continue
        return found


@cache
def typed() -> World:
    """Rows of every type, as the Spark oracle has them."""
    return World(
        "typed",
        EventType.from_arrow(SCHEMA, time_zone="Europe/Paris"),
        lambda random_: Generator(random_).condition().text(),
        random_table,
    )


@cache
def schemaless() -> World:
    """Events whose attributes are of another kind each time."""
    return World(
        "schemaless",
        EventType(),
        lambda random_: boolean(random_, random_.choice((1, 2, 2, 3))),
        lambda random_, rows: [random_event(random_) for _ in range(rows)],
    )


WORLDS = ("typed", "schemaless")


def world(name: str) -> World:
    """By name, so that tests show which."""
    return typed() if name == "typed" else schemaless()


# --- schemaless events ---------------------------------------------------------------------------------------

_SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2.5, -2.5, 0.0, -0.0, 0.1, 1e300, 100, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(2**64, 10**30, "", "a", "abc", "it's", "1", "é", "b", "2024-02-29", "true", "a\tb", "%", float("nan")),
    *(float("inf"), 9007199254740992.0),
)
_NESTED: tuple[Any, ...] = ([], {}, [1, "a", None], {"x": 1}, [[1]], ["a", "b"], [1, 2, 3], [None], [2.5, 7])


def random_value(random_: random.Random) -> Any:
    """A value of any kind."""
    return random_.choice(_NESTED) if random_.random() < 0.15 else random_.choice(_SCALARS)


def random_event(random_: random.Random) -> dict[str, Any]:
    """An event that has some of the attributes that conditions ask for."""
    event = {name: random_value(random_) for name in ("a", "b", "c", "odd name") if random_.random() < 0.85}
    if random_.random() < 0.8:
        event["s"] = (
            {name: random_value(random_) for name in ("x", "y") if random_.random() < 0.8}
            if random_.random() < 0.85
            else random_value(random_)
        )
    for name in _LISTS:
        if random_.random() < 0.75:
            event[name] = [random_value(random_) for _ in range(random_.choice((0, 1, 2, 3)))]
        elif random_.random() < 0.5:
            event[name] = random_value(random_)
    return event


# --- schemaless conditions -----------------------------------------------------------------------------------


def _path(random_: random.Random, scope: tuple[str, ...]) -> str:
    return random_.choice(scope) if scope and random_.random() < 0.6 else random_.choice(_PATHS)


def _literal(random_: random.Random) -> str:
    return random_.choice(_NUMBERS if random_.random() < 0.6 else _STRINGS)


def _value(random_: random.Random, scope: tuple[str, ...]) -> str:
    path = _path(random_, scope)
    return random_.choice(
        (
            path,
            path,
            path,
            f"{path} + {random_.choice(_NUMBERS[:10])}",
            f"-{path}",
            f"{path} * 2",
            f"abs({path})",
            f"length({path})",
            f"upper({path})",
            f"concat({path}, 'x')",
            f"CAST({path} AS INT)",
            f"try_cast({path} AS STRING)",
            f"coalesce({path}, {random_.choice(_NUMBERS[:8])})",
            f"size({random_.choice(_LISTS)})",
            f"CASE WHEN {path} > 1 THEN 1 WHEN {path} = 'a' THEN 2 END",
        )
    )


def _atom(random_: random.Random, scope: tuple[str, ...]) -> str:
    path, negated = _path(random_, scope), random_.choice(("", "", "NOT "))
    draw: tuple[Callable[[], str], ...] = (
        lambda: f"{path} {random_.choice(_COMPARISONS)} {_literal(random_)}",
        lambda: f"{_literal(random_)} {random_.choice(_COMPARISONS)} {path}",
        lambda: f"{_value(random_, scope)} {random_.choice(_COMPARISONS)} {random_.choice(_NUMBERS)}",
        lambda: f"{path} {random_.choice(_COMPARISONS)} {_path(random_, scope)} + 0",
        lambda: f"{path} {negated}IN ({', '.join(random_.sample(_NUMBERS, 3))})",
        lambda: f"{path} {negated}IN ({', '.join(random_.sample(_STRINGS, 2))}, NULL)",
        lambda: f"{path} {negated}IN (NULL, {random_.choice(_NUMBERS)}, {random_.choice(_NUMBERS)})",
        lambda: f"{path} {negated}BETWEEN {random_.choice(_NUMBERS)} AND {random_.choice(_NUMBERS)}",
        lambda: f"{path} {negated}BETWEEN {random_.choice(_STRINGS)} AND {random_.choice(_STRINGS)}",
        lambda: f"{path} {negated}LIKE {random_.choice(_PATTERNS)}",
        lambda: f"{path} {negated}ILIKE {random_.choice(_PATTERNS)}",
        lambda: f"{path} {negated}RLIKE {random_.choice(_REGEXES)}",
        lambda: f"{path} IS {negated}NULL",
        lambda: f"{_value(random_, scope)} IS {negated}NULL",
        lambda: path,
        lambda: f"{path} IS {negated}{random_.choice(('TRUE', 'FALSE'))}",
        lambda: f"{path} IS {negated}DISTINCT FROM {_literal(random_)}",
        lambda: f"startswith({path}, 'a')",
        lambda: f"contains({path}, {random_.choice(_STRINGS)})",
        lambda: f"array_contains({random_.choice(_LISTS)}, {_literal(random_)})",
        lambda: f"{path} = DATE '2024-02-29'",
        lambda: f"{path} < NULL",
    )
    return random_.choice(draw)()


def boolean(random_: random.Random, depth: int, scope: tuple[str, ...] = ()) -> str:
    """A condition on schemaless events; `scope` are the variables of the quantifiers around it."""
    if depth <= 0:
        return _atom(random_, scope)

    def inner() -> str:
        return boolean(random_, depth - random_.choice((1, 1, 2)), scope)

    def quantified() -> str:
        variable = f"v{len(scope)}"
        body = boolean(random_, depth - 1, (*scope, variable))
        return f"{random_.choice(('exists', 'forall'))}({random_.choice(_LISTS)}, {variable} -> {body})"

    def at_least() -> str:
        count = random_.choice((2, 3, 4))
        return f"AT_LEAST({random_.randint(1, count)}, {', '.join(inner() for _ in range(count))})"

    draw: tuple[Callable[[], str], ...] = (
        lambda: f"({inner()}) AND ({inner()})",
        lambda: f"({inner()}) OR ({inner()})",
        lambda: f"({inner()}) AND ({inner()}) OR ({inner()})",
        lambda: f"NOT ({inner()})",
        lambda: f"({inner()}) XOR ({inner()})",
        lambda: f"({inner()}) XOR ({inner()}) XOR ({inner()})",
        lambda: f"({inner()}) {random_.choice(_COMPARISONS)} ({inner()})",
        lambda: f"({inner()}) IS {random_.choice(('', 'NOT '))}{random_.choice(('NULL', 'TRUE', 'FALSE'))}",
        lambda: f"coalesce(({inner()}), ({inner()}))",
        lambda: f"NOT coalesce(({inner()}), NULL, ({inner()}))",
        lambda: f"IF({inner()}, {inner()}, {inner()})",
        lambda: f"CASE WHEN {inner()} THEN {inner()} WHEN {inner()} THEN {inner()} END",
        lambda: f"({inner()}) IN (({inner()}), TRUE, NULL)",
        at_least,
        quantified,
        quantified,
    )
    return random_.choice(draw)()
