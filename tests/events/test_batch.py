"""A batch is the same columns wherever its events came from, and every row is on its own."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import EventError, EventTypeError
from tamis.events import EventBatch, EventType
from tamis.values.types import ANY, INT

TYPED = EventType.from_dict(
    {
        "time_zone": "Europe/Paris",
        "attributes": {
            "a": "int",
            "b": "string",
            "c": "decimal(8,2)",
            "d": "date",
            "t": "timestamp",
            "n": "timestamp_ntz",
            "f": "float",
            "l": "array<int>",
            "s": "struct<x:int,y:struct<z:string>>",
        },
    }
)
EVENTS: list[dict[str, Any]] = [
    {"a": 1, "b": "x", "s": {"x": 1, "y": {"z": "deep"}}, "l": [1, 2]},
    {"a": 2**40, "b": None, "s": None},
    {},
]
SCHEMA = pa.schema(
    [
        ("a", pa.int64()),
        ("b", pa.string()),
        ("s", pa.struct([("x", pa.int8()), ("y", pa.struct([("z", pa.large_string())]))])),
        ("l", pa.list_(pa.int32())),
    ]
)
TABLE = pa.Table.from_pylist(EVENTS, SCHEMA)


class Stream:
    """What only offers Arrow's C stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


class CArray:
    """What only offers Arrow's C array."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return TABLE.to_struct_array().combine_chunks().__arrow_c_array__(requested_schema)


SOURCES: dict[str, Any] = {
    "dicts": EVENTS,
    "generator": EVENTS,
    "table": TABLE,
    "chunks": pa.concat_tables([TABLE[:1], TABLE[1:]]),
    "slice": pa.concat_tables([TABLE, TABLE])[3:],
    "record batch": TABLE.to_batches()[0],
    "struct array": TABLE.to_struct_array().combine_chunks(),
    "chunked structs": TABLE.to_struct_array(),
    "reader": TABLE,
    "stream": Stream(),
    "c array": CArray(),
}


def batch_of(source: str, event_type: Any) -> EventBatch:
    events = SOURCES[source]
    if source == "generator":
        events = (event for event in events)
    elif source == "reader":
        events = events.to_reader()
    return EventBatch.of(events, event_type)


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_columns(source: str) -> None:
    batch = batch_of(source, TYPED)
    assert batch.rows == len(batch) == 3
    assert batch.ids.to_pylist() == [0, 1, 2]
    assert batch.column(("a",)).to_list() == [1, None, None]
    assert batch.column(("b",)).to_list() == ["x", None, None]
    assert batch.column(("s",)).to_list() == [(1, ("deep",)), None, None]
    assert batch.column(("s", "y", "z")).to_list() == ["deep", None, None]
    assert batch.column(("l",)).to_list() == [[1, 2], None, None]
    assert batch.column(("d",)).to_list() == [None, None, None]


@pytest.mark.parametrize("source", SOURCES)
def test_without_a_schema_every_source_gives_the_same_values(source: str) -> None:
    batch = batch_of(source, None)
    assert batch.column(("a",)).type == ANY
    assert batch.column(("a",)).to_list() == [1, 2**40, None]
    assert batch.column(("s",)).to_list() == [{"x": 1, "y": {"z": "deep"}}, None, None]
    assert batch.column(("s", "y", "z")).to_list() == ["deep", None, None]
    assert batch.column(("a", "x")).to_list() == [None, None, None]
    assert batch.column(("zz", "x")).to_list() == [None, None, None]
    assert batch.column(("s", "zz")).to_list() == [None, None, None]


def test_one_dict_is_one_event() -> None:
    assert EventBatch.of({"a": 1}, TYPED).column(("a",)).to_list() == [1]


def test_a_batch_stays_what_it_is() -> None:
    batch = EventBatch.of(EVENTS, TYPED)
    assert EventBatch.of(batch) is batch
    assert batch.column(("a",)) is batch.column(("a",))


def test_no_events_make_an_empty_batch() -> None:
    sources: list[Any] = [[], TABLE[:0]]
    for empty in sources:
        batch = EventBatch.of(empty, TYPED)
        assert len(batch) == len(batch.ids) == 0
        assert [batch.column((name,)).to_list() for name in "abls"] == [[], [], [], []]


def test_names_are_exact() -> None:
    batch = EventBatch.of([{"A": 1, "s": {"X": 1}}], TYPED)
    assert batch.column(("a",)).to_list() == [None]
    assert batch.column(("s", "x")).to_list() == [None]


def test_what_is_not_declared_is_no_column() -> None:
    with pytest.raises(EventTypeError, match=r"no attribute s\.q"):
        EventBatch.of(EVENTS, TYPED).column(("s", "q"))


@pytest.mark.parametrize("events", ["abc", b"abc", 3, [1], [{}, None], pa.array([1]), [["a"]]])
def test_what_are_no_events_is_refused(events: Any) -> None:
    with pytest.raises(EventError, match="expected"):
        EventBatch.of(events)


def test_ids_come_from_the_column_asked_for() -> None:
    assert EventBatch.of([{"k": 7}, {}], None, "k").ids.to_pylist() == [7, None]
    assert EventBatch.of([{"k": 7}, {"k": "x"}], None, "k").ids.to_pylist() == ["7", "x"]
    assert EventBatch.of(TABLE, TYPED, "b").ids.to_pylist() == ["x", None, None]
    assert EventBatch.of(EVENTS, None, numbers=np.array([5, 6, 9])).ids.to_pylist() == [5, 6, 9]


def test_a_missing_id_column_is_an_error() -> None:
    with pytest.raises(EventError, match="no column 'k'"):
        EventBatch.of(TABLE, TYPED, "k")


def test_columns_of_a_data_frame() -> None:
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None], dtype="Int64"),
            "b": ["x", np.nan],
            "c": [Decimal("1.10"), 2],
            "n": pd.DatetimeIndex(["2026-01-01", pd.NaT]),
            "t": pd.DatetimeIndex(["2026-01-01", pd.NaT], tz="UTC"),
            "d": [dt.date(1970, 1, 2), "1970-01-03"],
            "f": [0.5, np.nan],
            "l": [[1], np.array([2, 3])],
        },
        index=[7, 7],
    )
    batch = EventBatch.of(frame, TYPED)
    assert {name: batch.column((name,)).to_list() for name in "abcntdfl"} == {
        "a": [1, None],
        "b": ["x", None],
        "c": [110, 200],
        "n": [1767225600000000, None],
        "t": [1767225600000000, None],
        "d": [1, 2],
        "f": [0.5, None],
        "l": [[1], [2, 3]],
    }


def test_kinds_in_an_object_column_of_a_data_frame_are_kept() -> None:
    frame = pd.DataFrame({"a": pd.Series([1, 2.5, "x", None, True], dtype=object)})
    assert repr(EventBatch.of(frame).column(("a",)).to_list()) == "[1, 2.5, 'x', None, True]"


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-130, 130),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["2026-01-01", "2026-03-29T02:30:00", "NaN", "1,5", "\ud800"]),
    st.decimals(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.binary(max_size=2),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(st.dictionaries(st.sampled_from("abcdtnfls"), TREES), min_size=1, max_size=5)
PATHS = [(name,) for name in "abcdtnfls"] + [("s", "x"), ("s", "y"), ("s", "y", "z")]


@pytest.mark.slow
@pytest.mark.parametrize("event_type", [TYPED, EventType()], ids=["typed", "schemaless"])
@given(rows=ROWS)
def test_an_event_alone_is_what_it_is_in_company(event_type: EventType, rows: list[dict[str, Any]]) -> None:
    together = EventBatch.of(rows, event_type)
    alone = [EventBatch.of([row], event_type) for row in rows]
    for path in PATHS:
        expected = [value for one in alone for value in one.column(path).to_list()]
        assert repr(together.column(path).to_list()) == repr(expected)


@pytest.mark.slow
@given(rows=ROWS)
def test_a_field_is_the_same_within_its_struct_and_by_its_path(rows: list[dict[str, Any]]) -> None:
    batch = EventBatch.of(rows, TYPED)
    within = [None if value is None else value[0] for value in batch.column(("s",)).to_list()]
    assert batch.column(("s", "x")).to_list() == within
    assert batch.column(("s", "x")).type == INT
