"""Some rows of a batch match what they match in the whole."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from tamis.engines.bitslice import Bitslice
from tamis.events import EventBatch, EventType
from tamis.frames import BatchFrame, select_rows
from tamis.language.condition import compile_condition
from tests.worlds import WORLDS, world


@pytest.mark.slow
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


def test_columns_without_values_have_no_name() -> None:
    """A wide table costs what its filled columns cost; what is NULL everywhere still is NULL."""
    event_type = EventType.from_dict({"name": "t", "attributes": {"a": "int", "b": "int", "c": "string"}})
    table = pa.table({"a": pa.nulls(3, pa.int32()), "b": pa.array([1, None, 3], pa.int32()), "c": pa.nulls(3)})
    frame = BatchFrame(EventBatch.of(table, event_type))
    assert list(frame.names() or ()) == ["b"]
    texts = ["a IS NULL", "coalesce(a, 5) = 5", "a = 1", "b = 3", "c IS NULL AND b IS NULL", "c LIKE '%'"]
    index = Bitslice().build([compile_condition(text, event_type).formula for text in texts])
    pairs = sorted(zip(*(each.tolist() for each in index.match(frame)), strict=True))
    assert pairs == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 4), (2, 0), (2, 1), (2, 3)]
