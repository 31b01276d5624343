"""Small ORs of conjunctions are split; an event that satisfies several of them is reported once."""

from __future__ import annotations

import random

from tamis import reference
from tamis.engines.bitslice import Bitslice
from tamis.engines.bitslice.disjuncts import MOST_DISJUNCTS, split_disjunctions
from tamis.engines.bitslice.layout import NO_NODE
from tamis.engines.forest import forest_of
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition

TYPE = EventType.from_dict({"name": "e", "attributes": {name: "int" for name in "abcdefghij"}})
WIDE = " OR ".join(f"({name} = 1 AND b > {place})" for place, name in enumerate("acdefghij"))


def test_what_is_split_and_what_stays_whole() -> None:
    texts = ["a = 1 AND b = 2", "a = 1 AND (b = 2 OR (c = 3 AND d > 4))", "a > 1", WIDE]
    found = split_disjunctions(forest_of([compile_condition(text, TYPE).formula for text in texts]))
    assert WIDE.count("OR") + 1 > MOST_DISJUNCTS
    assert found.owners.tolist() == [0, 1, 1, 2, 3]
    assert [earlier_disjunct != NO_NODE for earlier_disjunct in found.earlier_disjuncts.tolist()] == [
        False,
        False,
        True,
        False,
        False,
    ]
    clauses = {str(found.forest[place]) for place in (1, 2)}
    assert clauses == {"Formula(a = 1 AND b = 2)", "Formula(a = 1 AND c = 3 AND d >= 5)"}


def test_nothing_is_copied_when_nothing_is_split() -> None:
    forest = forest_of([compile_condition("a = 1 AND b = 2", TYPE).formula])
    assert split_disjunctions(forest).forest is forest


def test_overlapping_conjunctions_report_an_event_once() -> None:
    random_ = random.Random(61)
    texts = [
        f"(a >= {low} AND b >= {low}) OR (a <= {low + 4} AND c < 5) OR (b = {low} AND d IN (1, {low}, 9))"
        for low in range(40)
    ]
    conditions = [compile_condition(text, TYPE) for text in texts]
    index = Bitslice().build([condition.formula for condition in conditions])
    events = [{name: random_.randrange(12) for name in "abcd" if random_.random() < 0.9} for _ in range(200)]
    batch = EventBatch.of(events, TYPE)
    wanted = sorted(
        (row, slot) for slot, condition in enumerate(conditions) for row in reference.matches(condition, batch)
    )
    for fewest in (1, 6, 1000):
        index.fewest = fewest
        rows, slots = index.match(batch)
        assert sorted(zip(rows.tolist(), slots.tolist(), strict=True)) == wanted
