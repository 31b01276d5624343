"""Events that come as JSON texts in a column, and what they are called."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tamis.events.event_type import EventType
from tamis.events.json_values import read_json_values, rows_of

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
    assert [(row, each.kind, each.original) for row, each in read.dead_letters] == [
        (row, "oversized" if row == 5 else "malformed", originals[row]) for row in (0, 2, 3, 4, 5)
    ]
    assert read.dead_letters[-1][1].reason == "the event is longer than 50 bytes"
    assert [rows_of(batch).tolist() for batch in read.batches] == [[1]]


@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_many_rows_are_scanned_and_few_are_not(rows: int) -> None:
    texts = [json.dumps({"a": row, "text": "x" * 300}) for row in range(rows)]
    assert values_of(pa.array(texts, pa.string()), TYPE) == {row: row for row in range(rows)}


def test_a_slice_of_a_column() -> None:
    column = pa.array([b'{"a": 0}', b'{"a": 1}', None, b'{"a": 3}']).slice(1)
    assert values_of(column, TYPE) == {0: 1, 2: 3}
