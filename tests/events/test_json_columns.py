"""Columns of scanned JSON: each value as `conversion` reads it alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tamis.errors import EventError
from tamis.events import EventType
from tamis.events.conversion import converter
from tamis.events.json_columns import JsonSource
from tamis.events.reading import read_json_lines
from tamis.values.column import NumberValues
from tamis.values.types import ANY, NUMBER, array, parse_type

VALUES: list[Any] = [
    *(0, -1, 127, 128, 2**31, -(2**63), 2**63, 1.5, -0.0, 1e30, 0.1, True, False, None),
    *("", "x", "é\n", "12", "NaN", "-INF", "1,234.50", "2026-01-31", "2026-01-31T10:20:30Z", "bad date"),
    *([], [1, None], ["x"], {"f": 1}, {}),
]


@pytest.mark.parametrize(
    "type_",
    [
        *("boolean", "tinyint", "int", "bigint", "float", "double", "decimal(8,2)", "decimal(30,3)", "string"),
        *("binary", "date", "timestamp", "timestamp_ntz", "array<int>", "struct<f:int>"),
    ],
)
def test_every_kind_of_value_in_every_type(type_: str) -> None:
    text = "\n".join(json.dumps({"a": value}) for value in VALUES).encode()
    (batch,) = read_json_lines(
        text, EventType.of({"time_zone": "Europe/Paris", "attributes": {"a": type_}}), _scan=True
    )
    assert isinstance(batch.source, JsonSource)
    convert = converter(parse_type(type_), "Europe/Paris")
    expected = [None if value is None else convert(value) for value in VALUES]
    assert [repr(value) for value in batch.column(("a",)).to_list()] == [repr(value) for value in expected]


def test_numbers_of_schemaless_events_keep_their_kinds() -> None:
    (batch,) = read_json_lines(b'{"a": 1}\n{"a": 1.0}\n{"a": 9223372036854775808}\n{"a": "1"}\n{}', _scan=True)
    column = batch.reading(("a",), NUMBER)
    assert column is not None
    assert isinstance(column.values, NumberValues)
    assert column.to_list() == [1, 1.0, 2.0**63, None, None]
    assert column.values.integral.tolist()[:3] == [True, False, False]
    assert batch.reading(("a",), NUMBER) is column
    assert batch.reading(("a",), array(ANY)) is None


def test_more_text_than_a_column_can_hold_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.events.json_columns._BYTES", 10)
    content = b'{"a": "12345"}\n{"a": "123456"}'
    (batch,) = read_json_lines(content, EventType.of({"attributes": {"a": "string"}}), _scan=True)
    with pytest.raises(EventError, match="2 GB"):
        batch.column(("a",))
