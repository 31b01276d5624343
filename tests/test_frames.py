"""Some rows of a batch match what they match in the whole."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.frames import BatchFrame, select_rows
from tamis.language.condition import compile_condition
from tests.worlds import WORLDS, world


@pytest.mark.parametrize("name", WORLDS)
def test_formulas_hold_in_the_same_rows(name: str) -> None:
    random_ = random.Random(21)
    here = world(name)
    frame = BatchFrame(here.batch(random_, 50))
    formulas = [each.formula for each in here.accepted(random_, 150)]
    order = np.array(random_.sample(range(50), 35))
    some = select_rows(frame, order)
    part = some.slice(5, 12)
    for formula in formulas:
        expected = formula.mask(frame, {})[order]
        assert formula.mask(some, {}).tolist() == expected.tolist()
        assert formula.mask(part, {}).tolist() == expected[5:12].tolist()


def test_arrays_within_arrays_of_arrow_events() -> None:
    import pyarrow as pa

    from tamis.events import EventType

    table = pa.table(
        {"t": pa.array([[[1], [5, 2]], None, [], [[7]], [[], None, [2]]], pa.list_(pa.list_(pa.int64())))}
    )
    event_type = EventType.from_arrow(table.schema)
    frame = BatchFrame(EventBatch.of(table, event_type))
    formula = compile_condition("exists(t, row -> exists(row, i -> i > 4))", event_type).formula
    assert formula.mask(frame, {}).tolist() == [True, False, False, True, False]
    order = np.array([4, 3, 1, 0])
    assert formula.mask(select_rows(frame, order), {}).tolist() == [False, True, False, True]


def test_dicts_stay_dicts() -> None:
    frame = BatchFrame(EventBatch.of([{"a": 1}, {"b": 2}, {"a": 3}]))
    some = select_rows(frame, np.array([2, 0]))
    assert some.rows == 2
    assert list(some.names() or ()) == ["a"]


def test_names_are_found_out_once_for_all_segments() -> None:
    frame = BatchFrame(EventBatch.of([{"a": 1}, {"b": 2, "a": 3}]))
    assert list(frame.names() or ()) == ["a", "b"]
    assert frame.names() is frame.names() is frame.take(np.array([1])).names()
