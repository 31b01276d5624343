"""The insert buffer is invisible: what waits in it is matched, deleted and replaced like everything else."""

from __future__ import annotations

import numpy as np

from tamis.events import EventBatch
from tamis.lab.baselines.counting import Counting
from tamis.lab.dynamic.mutable_index import BUFFER_SIZE
from tests.lab.formulas import formulas_of

EVENTS = EventBatch.of([{"a": 1}, {"a": 2}])


def test_buffered_formulas_are_matched() -> None:
    index = Counting().build([])
    index.insert(4, formulas_of("a = 2")[0])
    assert (index.match(EVENTS).rows.tolist(), index.match(EVENTS).slots.tolist()) == ([1], [4])


def test_a_slot_is_emptied_whether_it_is_buffered_or_indexed() -> None:
    index = Counting().build(formulas_of("a = 1", "a = 2"))
    index.insert(2, formulas_of("a = 1")[0])
    index.delete_many(np.array([0, 2], np.int32))
    assert index.match(EVENTS).slots.tolist() == [1]
    index.insert(2, formulas_of("a = 2")[0])
    index.delete(2)
    index.insert(2, formulas_of("a = 1")[0])
    assert sorted(index.match(EVENTS).slots.tolist()) == [1, 2]


def test_a_full_buffer_is_flushed() -> None:
    index = Counting().build([])
    (formula,) = formulas_of("a = 1")
    for slot in range(BUFFER_SIZE + 3):
        index.insert(slot, formula)
    assert index.stats().counts["subscriptions"] == BUFFER_SIZE + 3
    assert len(index.match(EVENTS).slots) == BUFFER_SIZE + 3
