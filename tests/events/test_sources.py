"""Readings of columns are what the function `read` gives for each value, and come without objects."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tamis.events import EventBatch
from tamis.formulas.expression import Apply, Path
from tamis.frames import BatchFrame
from tamis.functions.registry import Signature
from tamis.functions.schemaless import reader
from tamis.values.column import column_of
from tamis.values.types import ANY, BOOLEAN, DATE, NUMBER, STRING, Type, array

ARRAYS: dict[str, pa.Array] = {
    "int8": pa.array([1, None, -128], pa.int8()),
    "int64": pa.array([2**63 - 1, -(2**63), None]),
    "uint64": pa.array([2**64 - 1, 2**63, 7, None], pa.uint64()),
    "slice": pa.array([1, None, 3, 4])[1:3],
    "float": pa.array([0.1, None, float("nan"), float("inf")], pa.float32()),
    "half": pa.array([np.float16(1.5), None], pa.float16()),
    "double": pa.array([-0.0, 1e300, None]),
    "boolean": pa.array([True, False, None]),
    "string": pa.array(["x", "", None, "é"]),
    "large string": pa.array(["x", None], pa.large_string()),
    "dictionary": pa.array(["x", None, "x"]).dictionary_encode(),
    "date": pa.array([1, None], pa.date32()),
    "decimal": pa.array([Decimal("1.50"), None]),
    "binary": pa.array([b"x", None]),
    "list": pa.array([[1], None]),
    "null": pa.nulls(2),
    "nothing": pa.array([], pa.int64()),
}


def plain_reading(batch: EventBatch, path: tuple[str, ...], type_: Type) -> Any:
    read = reader(type_)
    values = batch.column(path).to_list()
    return column_of(type_, [None if value is None else read(value) for value in values])


def reading_of(batch: EventBatch, path: tuple[str, ...], type_: Type) -> Any:
    return BatchFrame(batch).column(Apply("read", (Path(path, ANY),), Signature((ANY,), type_, "UTC")))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("type_", [NUMBER, STRING, BOOLEAN, DATE, array(ANY)], ids=str)
def test_a_reading_of_an_arrow_array(name: str, type_: Type) -> None:
    plain = EventBatch.of(pa.table({"a": ARRAYS[name]}))
    within = EventBatch.of(pa.table({"s": pa.StructArray.from_arrays([ARRAYS[name]], ["a"])}))
    for batch, path in ((plain, ("a",)), (within, ("s", "a")), (plain, ("b",)), (plain, ("a", "b"))):
        found, expected = reading_of(batch, path, type_), plain_reading(batch, path, type_)
        assert found.type == expected.type
        assert repr(found.to_list()) == repr(expected.to_list())
        assert found.valid.tolist() == expected.valid.tolist()
        assert type(found.values) is type(expected.values)


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("int64", NUMBER),
        ("uint64", NUMBER),
        ("double", NUMBER),
        ("string", STRING),
        ("boolean", BOOLEAN),
        ("string", NUMBER),
    ],
)
def test_numbers_strings_and_booleans_are_read_as_columns(name: str, type_: Type) -> None:
    assert EventBatch.of(pa.table({"a": ARRAYS[name]})).reading(("a",), type_) is not None


def test_a_reading_of_a_data_frame() -> None:
    frame = pd.DataFrame(
        {"i": [1, 2], "f": [0.5, np.nan], "s": ["x", None], "o": pd.Series([1, "x"], dtype=object)}
    )
    batch = EventBatch.of(frame)
    for name in frame.columns:
        for type_ in (NUMBER, STRING, BOOLEAN):
            found = reading_of(batch, (name,), type_)
            assert found.to_list() == plain_reading(batch, (name,), type_).to_list()
    assert batch.reading(("i",), NUMBER) is not None
    assert batch.reading(("o",), NUMBER) is None


def test_dicts_are_read_value_by_value() -> None:
    batch = EventBatch.of([{"a": 1}, {"a": "x"}, {}])
    assert batch.reading(("a",), NUMBER) is None
    assert reading_of(batch, ("a",), NUMBER).to_list() == [1, None, None]
