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
    assert (store.get_many([]), store.find_many([])) == ({}, {})
    assert {number: each.read() for number, each in store.find_many([4, 0]).items()} == store.get_many([0, 4])


def test_what_nobody_keeps_is_forgotten_when_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "_SPARE", 3)
    store = EventStore()
    store.add(np.arange(3), [{"a": number} for number in range(3)], np.arange(3))
    store.forget_unused(lambda: [np.array([1])])
    assert store.get_many([0]) == {0: {"a": 0}}
    store.add(np.array([3, 4]), pa.table({"a": [3, 4]}), np.arange(2))
    store.forget_unused(lambda: [np.array([1]), np.array([4, 1])])
    assert store.get_many([1, 4]) == {1: {"a": 1}, 4: {"a": 4}}
