"""Columns as Arrow arrays, and back, without a change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tamis.events.arrow import arrow_column
from tamis.events.arrow_out import arrow_array, arrow_type
from tamis.values.column import column_of
from tamis.values.types import parse_type


@pytest.mark.parametrize(
    ("type_", "arrow", "values"),
    [
        ("boolean", pa.bool_(), [True, None, False]),
        ("tinyint", pa.int8(), [1, None, -128]),
        ("bigint", pa.int64(), [2**63 - 1, None]),
        ("float", pa.float32(), [0.5, None]),
        ("decimal(8,2)", pa.decimal128(8, 2), [1230, None, -1]),
        ("decimal(18,0)", pa.decimal128(18, 0), [10**18 - 1, None, 1 - 10**18, 0]),
        ("decimal(8,2)", pa.decimal128(8, 2), []),
        ("decimal(38,10)", pa.decimal128(38, 10), [10**37, None]),
        ("string", pa.string(), ["é", None, ""]),
        ("binary", pa.binary(), [b"\xff", None]),
        ("date", pa.date32(), [0, None, 20_000]),
        ("timestamp", pa.timestamp("us", "UTC"), [1, None]),
        ("timestamp_ntz", pa.timestamp("us"), [-1, None]),
        ("array<int>", pa.list_(pa.int32()), [[1, None], None, []]),
        (
            "struct<a:int,b:string>",
            pa.struct([("a", pa.int32()), ("b", pa.string())]),
            [(1, "x"), None, (None, "y")],
        ),
    ],
)
def test_types_and_values_there_and_back(type_: str, arrow: pa.DataType, values: list[Any]) -> None:
    parsed = parse_type(type_)
    assert arrow_type(parsed) == arrow
    array = arrow_array(column_of(parsed, values))
    assert array.type == arrow
    assert array.null_count == values.count(None)
    assert arrow_column(array, parsed, "UTC").to_list() == values
