"""A BE-Tree keeps its invariants while conjunctions come and go."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.lab.baselines.betree import BETree
from tamis.language.condition import compile_condition
from tests.engines.naive import check, random_events, random_forest
from tests.lab.baselines.betree.trees import NUMBERS, built, delete, formulas_of, nodes_of


@pytest.mark.parametrize("max_cap", [1, 5])
def test_the_tree_while_conjunctions_come_and_go(max_cap: int) -> None:
    random_ = random.Random(72)
    forest = random_forest(random_, 200, axes=6, depth=1, width=0.4)
    formulas, batch = list(forest), random_events(random_, 6, 50, 30)
    index = BETree(max_cap).build([])
    slots: list[int] = []
    for turn in range(30):
        if turn % 10 < 6:
            new = random_.sample([slot for slot in range(200) if slot not in slots], 20)
            index.insert_many(np.array(new, np.int32), [formulas[slot] for slot in new])
            slots += new
        else:
            gone = random_.sample(slots, min(len(slots), 25))
            delete(index, *gone)
            slots = [slot for slot in slots if slot not in gone]
        nodes_of(index)
    absent = compile_condition("FALSE").formula
    check(index, [formulas[slot] if slot in slots else absent for slot in range(200)], batch)
    delete(index, *slots)
    assert len(nodes_of(index)) == 2
    assert index.stats().counts["subscriptions"] == index.stats().counts["parts"] == 0


def test_terms_without_sides_are_always_verified() -> None:
    texts = ["a IS NULL", "a IS NULL OR b = 2", "TRUE", "FALSE", "a = 1"]
    index = built(texts, 1)
    assert index.stats().counts["always"] == 3
    nodes_of(index)
    events: list[dict[str, Any]] = [{}, {"a": 1}, {"a": 1, "b": 2}]
    assert check(index, formulas_of(texts), EventBatch.of(events, NUMBERS)) == 3 + 2 + 3
