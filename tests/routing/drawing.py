"""Random formulas of all shapes, and events for them: small numbers and few words, so that much of it holds."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tamis.events import EventBatch, EventType
from tamis.formulas.expression import Path
from tamis.formulas.formula import Formula, at_least, conjunction, disjunction, leaf
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.within import Within
from tamis.frames import BatchFrame
from tamis.lab.bittner.selectivity_table import SelectivityTable, _Tally
from tamis.language.condition import normalise
from tamis.values.ranges import Ranges
from tamis.values.types import INT, STRING

EVENTS = EventType.from_dict(
    {"name": "drawn", "attributes": {"a": "int", "b": "int", "c": "int", "d": "int", "e": "int", "s": "string"}}
)
_WORDS = ("", "x", "xy", "yx", "zzz")


def formula_of(text: str) -> Formula:
    """Of a condition about the drawn events."""
    return normalise(text, EVENTS)


def counted_table(held: Mapping[Predicate, float], total: float) -> SelectivityTable:
    """The table in which these predicates held so often, of so many events."""
    table = SelectivityTable()
    table._tallies.update((predicate, _Tally(count, total)) for predicate, count in held.items())
    return table


def table_of(shares: dict[str, float]) -> SelectivityTable:
    """The table in which the only predicates of these conditions held in these shares of events."""
    held = {formula_of(text).predicates()[0]: 1_000 * share for text, share in shares.items()}
    return counted_table(held, 1_000)


def random_leaf(random_: random.Random) -> Formula:
    """Ranges of a number with gaps, perhaps with NULL, or a pattern."""
    if random_.random() < 0.1:
        return leaf(
            MatchesPattern(
                Path(("s",), STRING), "like", random_.choice(("%x", "_y%", "%z%")), random_.random() < 0.3
            )
        )
    cuts = tuple(sorted(random_.sample(range(1, 9), random_.choice((1, 1, 2, 2, 3, 4)))))
    within = Within(
        Path((random_.choice("abcde"),), INT), Ranges(random_.random() < 0.5, cuts), random_.random() < 0.2
    )
    return leaf(within)


def random_formula(random_: random.Random, depth: int = 3) -> Formula:
    """AND, OR and "at least" of others, some of which are used twice."""
    if depth == 0 or random_.random() < 0.15:
        return random_leaf(random_)
    operands = [random_formula(random_, depth - 1) for _ in range(random_.randint(2, 4))]
    if random_.random() < 0.2:
        operands.append(conjunction([random_leaf(random_), operands[0]]))
    kind = random_.random()
    if kind < 0.45:
        return conjunction(operands)
    if kind < 0.8:
        return disjunction(operands)
    return at_least(random_.randint(1, len(operands)), operands)


def random_frame(random_: random.Random, rows: int = 200) -> BatchFrame:
    """Events, in which each attribute is NULL sometimes."""
    events = []
    for _ in range(rows):
        event: dict[str, object] = {name: random_.randrange(10) for name in "abcde" if random_.random() < 0.9}
        events.append(event | {"s": random_.choice(_WORDS)})
    return BatchFrame(EventBatch.of(events, EVENTS))


def misses(general: Formula, special: Formula, frame: BatchFrame) -> int:
    """Events of the special formula that the general one does not match."""
    return int((special.mask(frame) & ~general.mask(frame)).sum())
