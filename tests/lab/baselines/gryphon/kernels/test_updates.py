"""Terms come and go at the ends of their paths, and levels follow the use of attributes."""

from __future__ import annotations

import random

import numpy as np

from tamis.events import EventBatch
from tamis.lab.baselines.gryphon import Gryphon
from tamis.language.condition import compile_condition
from tests.engines.test_engines import check
from tests.lab.baselines.gryphon.conditions import built, counts


def test_many_equalities_come_and_go() -> None:
    """Enough of them for the table to grow, and for nodes to be used again."""
    random_ = random.Random(43)
    stock = [
        compile_condition(
            " AND ".join(f"{name} = {random_.randrange(4)}" for name in random_.sample("abcde", count))
        )
        for count in random_.choices([1, 2, 3, 4], k=250)
    ]
    index = Gryphon().build([condition.formula for condition in stock])
    slots = dict(enumerate(stock))
    batch = EventBatch.of([{name: random_.randrange(4) for name in "abcd"} for _ in range(8)])
    check(index, slots, batch)
    most = index.stats()
    for _ in range(2):
        gone = random_.sample(range(250), 120)
        index.delete_many(np.array(gone, np.int32))
        check(index, {slot: each for slot, each in slots.items() if slot not in gone}, batch)
        for slot in gone:
            index.insert(slot, stock[slot].formula)
        check(index, slots, batch)
        again = index.stats()
        assert again.counts == most.counts
        assert [again.bytes[name] for name in ("nodes", "tests")] == [
            most.bytes[name] for name in ("nodes", "tests")
        ]


def test_attributes_with_most_equalities_come_first() -> None:
    texts = ["b = 1 AND a = 1", "b = 1 AND a = 2", "b = 1 AND a = 3", "b = 1"]
    assert counts(built(texts), "nodes") == (5,), "b, and three of a below it"
    texts = [text.replace("a", "z") for text in texts]
    assert counts(built(texts), "nodes") == (5,)


def test_terms_at_the_root() -> None:
    index = built(["NULL IS NULL", "a > 3", "FALSE", "a = 1"])
    assert counts(index, "subscriptions", "conjunctions", "always") == (4, 3, 1)
    assert sorted(index.match(EventBatch.of([{"a": 5}])).slots.tolist()) == [0, 1]
