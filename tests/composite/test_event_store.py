"""Events by number: whole batches come, single events are asked for, and what nobody keeps goes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.composite import event_store
from tamis.composite.event_store import EventStore


def test_events_of_dicts_and_tables_are_found_by_number() -> None:
    store = EventStore()
    store.add(np.array([0, 2]), [{"a": 1}, {"a": 2}, {"a": 3}], np.array([0, 2]))
    store.add(np.array([3, 4]), pa.table({"a": [4, 5, 6]}), np.array([1, 2]))
    assert store.get_many([4, 0, 3, 4]) == {0: {"a": 1}, 3: {"a": 5}, 4: {"a": 6}}
    assert store.get_many([]) == {}
    snapshot = store.snapshot()
    assert {number: snapshot.read(number) for number in (4, 0)} == store.get_many([0, 4])


def test_only_some_attributes_are_read_of_a_table() -> None:
    store = EventStore()
    store.add(np.arange(2), pa.table({"a": [1, 2], "b": [3, 4]}))
    assert store.get_many([1], ["b", "c"]) == {1: {"b": 4}}


def test_of_the_newest_events_those_that_somebody_keeps_stay() -> None:
    store = EventStore()
    store.add(np.arange(2), [{"a": 0}, {"a": 1}])
    store.add(np.arange(2, 8), pa.table({"a": [*range(2, 8)]}))
    store.keep_of_newest(2, [np.array([0, 6])])
    assert store.get_many([0, 1, 6]) == {0: {"a": 0}, 1: {"a": 1}, 6: {"a": 6}}
    before = store.snapshot()
    store.add(np.array([8]), pa.table({"a": [8]}))
    store.keep_of_newest(8, [np.array([], np.int64)])
    assert before.read(6) == {"a": 6}


def test_what_nobody_keeps_is_forgotten_when_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "_SPARE", 3)
    store = EventStore()
    store.add(np.arange(3), [{"a": number} for number in range(3)], np.arange(3))
    store.forget_unused(lambda: [np.array([1])])
    assert store.get_many([0]) == {0: {"a": 0}}
    store.add(np.array([3, 4]), pa.table({"a": [3, 4]}), np.arange(2))
    store.forget_unused(lambda: [np.array([1]), np.array([4, 1])])
    assert store.get_many([1, 4]) == {1: {"a": 1}, 4: {"a": 4}}
