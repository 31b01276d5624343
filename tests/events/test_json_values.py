"""Events that come as JSON texts in a column, and what they are called."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.json_values import read_json_values, rows_of
from tamis.events.names import event_names
from tamis.events.validation import misfits, validate

TYPE = EventType.of(
    {
        "name": "e",
        "attributes": {"a": "int", "s": {"type": "struct", "attributes": {"b": "string"}}, "n": "double"},
    }
)


def values_of(column: pa.Array, event_type: Any = None, **more: Any) -> dict[int, Any]:
    """The value of `a` by row."""
    read = read_json_values(column, event_type, **more)
    return {
        row: value
        for batch in read.batches
        for row, value in zip(rows_of(batch).tolist(), batch.column(("a",)).to_list(), strict=True)
    }


@pytest.mark.parametrize("kind", [pa.binary(), pa.string(), pa.large_binary(), pa.large_string()])
def test_rows_are_those_of_the_column(kind: pa.DataType) -> None:
    texts = ['{"a": 1}', None, "", '{"a":\n 2}', "  ", '{\r\n"a": 3}']
    column = pa.array([None if text is None else text.encode() for text in texts], pa.binary()).cast(kind)
    assert values_of(column, TYPE) == {0: 1, 3: 2, 5: 3}


def test_what_is_no_event_keeps_its_row_and_its_bytes() -> None:
    originals = [b"{", b'{"a": 1}', b'{"a": "x\ny"}', b"\xff\xfe", b'{"a": 1} {}', b'{"a": "' + b"z" * 100 + b'"}']
    read = read_json_values(pa.array(originals), TYPE, most_bytes=50)
    assert [(each.line_number, each.original) for each in read.bad] == [
        (row, originals[row]) for row in (0, 2, 3, 4, 5)
    ]
    assert "longer than 50 bytes" in read.bad[-1].reason
    assert [rows_of(batch).tolist() for batch in read.batches] == [[1]]


@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_many_rows_are_scanned_and_few_are_not(rows: int) -> None:
    texts = [json.dumps({"a": row, "text": "x" * 300}) for row in range(rows)]
    assert values_of(pa.array(texts, pa.string()), TYPE) == {row: row for row in range(rows)}


def test_a_slice_of_a_column() -> None:
    column = pa.array([b'{"a": 0}', b'{"a": 1}', None, b'{"a": 3}']).slice(1)
    assert values_of(column, TYPE) == {0: 1, 2: 3}


EVENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "a": st.one_of(st.none(), st.integers(-(2**40), 2**40), st.text(max_size=3), st.booleans()),
            "n": st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-5, 5), st.just("1")),
            "s": st.one_of(
                st.none(), st.just(1), st.fixed_dictionaries({"b": st.one_of(st.text(max_size=2), st.integers())})
            ),
        },
    ),
    max_size=6,
)


@pytest.mark.slow
@given(EVENTS, st.booleans())
def test_misfits_are_what_validation_finds(events: list[dict[str, Any]], scanned: bool) -> None:
    from tamis.events.reading import read_json_lines

    text = "".join(json.dumps(event) + "\n" for event in events).encode()
    for batch in read_json_lines(text, TYPE, _scan=scanned):
        expected = {problem.row for problem in validate(batch)}
        assert set(np.flatnonzero(misfits(batch)).tolist()) == expected
        for path in (("a",), ("n",), ("s",), ("s", "b")):
            raw = batch.raw(path)
            there = raw.to_pylist() if isinstance(raw, pa.Array) else list(raw)
            assert batch.source.present(path).tolist() == [value is not None for value in there]


def test_what_is_required_must_be_there() -> None:
    event_type = EventType.of({"name": "e", "attributes": {"a": {"type": "int", "required": True}}})
    assert misfits(EventBatch.of([{"a": 1}, {}, {"a": None}, {"a": "x"}], event_type)).tolist() == [
        False,
        True,
        True,
        True,
    ]
    table = pa.table({"a": pa.array([1, None], pa.int32())})
    assert misfits(EventBatch.of(table, event_type)).tolist() == [False, True]


def test_nothing_misfits_without_declarations() -> None:
    assert misfits(EventBatch.of([{"a": 1}, {"a": "x"}])).tolist() == [False, False]


def test_names_are_texts() -> None:
    events = [{"id": "x"}, {"id": 7}, {"id": 1.5}, {"id": True}, {}, {"id": ""}, {"id": None}]
    assert event_names(EventBatch.of(events), "id").to_pylist() == ["x", "7", "1.5", "true", None, None, None]
    columns = pa.table({"id": pa.array([1, None, 3], pa.int64())})
    assert event_names(EventBatch.of(columns), "id").to_pylist() == ["1", None, "3"]
    assert event_names(EventBatch.of(columns), "other").to_pylist() == [None, None, None]


@pytest.mark.slow
@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=4)), min_size=1, max_size=5))
def test_a_name_does_not_depend_on_company(ids: list[Any]) -> None:
    together = event_names(EventBatch.of([{"id": id} for id in ids]), "id").to_pylist()
    alone = [event_names(EventBatch.of([{"id": id}]), "id")[0].as_py() for id in ids]
    assert together == alone
