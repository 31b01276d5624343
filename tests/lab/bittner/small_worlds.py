"""Conditions over attributes with so few values that all events can be asked."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

from tamis.arrays import Mask
from tamis.events import EventBatch, EventType
from tamis.formulas.formula import Formula, at_least, conjunction, disjunction
from tamis.frames import BatchFrame
from tamis.language.condition import normalise

SMALL = EventType.from_dict(
    {
        "name": "small",
        "attributes": {
            "a": {"type": "int", "min": 1, "max": 5, "required": True},
            "b": {"type": "string", "values": ["", "ab", "abc", "bc"], "required": True},
            "c": "boolean",
            "d": {"type": "double", "values": [0.5, 1.5, 2.5]},
        },
    }
)
VALUES: dict[str, list[Any]] = {
    "a": [1, 2, 3, 4, 5],
    "b": ["", "ab", "abc", "bc"],
    "c": [None, False, True],
    "d": [None, 0.5, 1.5, 2.5],
}
_PATTERNS = ("LIKE '%b%'", "LIKE 'a_'", "NOT LIKE '%c'", "LIKE '%c'", "RLIKE '^.b'", "ILIKE '%BC'")


def all_events() -> BatchFrame:
    """Every event that there can be."""
    events = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]
    return BatchFrame(EventBatch.of(events, SMALL))


def predicate_text(random_: random.Random) -> str:
    """A predicate."""
    name = random_.choice("aabbcdd")
    if name == "c":
        return random_.choice(["c", "NOT c", "c IS NULL"])
    if name == "b" and random_.random() < 0.4:
        return f"b {random_.choice(_PATTERNS)}"
    values = [repr(value) for value in VALUES[name] if value is not None]
    if random_.random() < 0.3:
        return f"{name} IN ({', '.join(random_.sample(values, 2))})"
    return f"{name} {random_.choice(['<', '<=', '=', '=', '<>', '>=', '>'])} {random_.choice(values)}"


def formula(random_: random.Random, depth: int = 3) -> Formula:
    """A formula of AND, OR and "at least two of"."""
    if depth == 0 or random_.random() < 0.2:
        return normalise(predicate_text(random_), SMALL)
    operands = [formula(random_, depth - 1) for _ in range(random_.randint(2, 4))]
    match random_.randrange(5):
        case 0:
            return at_least(2, operands)
        case 1 | 2:
            return disjunction(operands)
        case _:
            return conjunction(operands)


def masks(formulas: list[Formula]) -> list[Mask]:
    """In which of all events each holds."""
    frame, memory = all_events(), {}  # type: ignore[var-annotated]
    return [each.mask(frame, memory) for each in formulas]
