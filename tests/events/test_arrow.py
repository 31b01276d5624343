"""Arrow columns mean, row by row, what their values mean alone."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.events.arrow import any_column, arrow_column, python_column, python_values
from tamis.events.conversion import converter
from tamis.values.types import ANY, BIGINT, DOUBLE, Type, parse_type

TYPES = [
    parse_type(text)
    for text in (
        "boolean tinyint smallint int bigint float double decimal(3,0) decimal(8,2) decimal(18,18) "
        "decimal(38,10) string binary date timestamp timestamp_ntz array<int> array<string> "
        "array<array<double>> array<struct<x:int>> struct<x:int> struct<x:string,y:array<int>>"
    ).split()
]


def scalar(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return st.one_of(st.sampled_from([low, high, 0, 1]), st.integers(low, high))


DATES = st.dates()
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
TEXTS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["12", "1,5", "NaN", "2026-01-01", "2026-01-01T10:00:00", "2026-01-01T10:00Z", "TWFu", "🎈"]),
)
DOUBLES = st.floats(width=64)
SCALARS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    *((getattr(pa, f"int{bits}")(), scalar(bits, signed=True)) for bits in (8, 16, 32, 64)),
    *((getattr(pa, f"uint{bits}")(), scalar(bits, signed=False)) for bits in (8, 16, 32, 64)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), DOUBLES),
    (pa.decimal128(6, 2), st.decimals(-9999, 9999, places=2)),
    (pa.decimal128(38, 12), st.decimals(-(10**20), 10**20, places=12)),
    (pa.decimal128(18, 0), st.integers(-(10**17), 10**17).map(Decimal)),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    (pa.binary(), st.binary(max_size=4)),
    (pa.binary(2), st.binary(min_size=2, max_size=2)),
    (pa.date32(), DATES),
    (pa.date64(), DATES),
    (pa.timestamp("us"), MOMENTS),
    (
        pa.timestamp("ms", "Europe/Paris"),
        MOMENTS.map(lambda when: when.replace(microsecond=0, tzinfo=dt.UTC)),
    ),
    (pa.timestamp("ns", "UTC"), MOMENTS.map(lambda when: when.replace(tzinfo=dt.UTC))),
    (pa.timestamp("s"), MOMENTS.map(lambda when: when.replace(microsecond=0))),
    (pa.null(), st.none()),
]


@st.composite
def arrow_data(draw: st.DrawFn) -> tuple[pa.DataType, list[Any]]:
    """A type and values of it, nested or not."""
    type_, values = draw(st.sampled_from(SCALARS))
    for shape in draw(st.lists(st.sampled_from(["list", "large", "fixed", "struct"]), max_size=2)):
        if shape == "struct":
            type_ = pa.struct([("x", type_), ("y", pa.list_(pa.int8()))])
            members = (st.none() | values, st.none() | st.lists(st.integers(0, 9)))
            values = st.tuples(*members).map(lambda pair: dict(zip("xy", pair, strict=True)))
        elif shape == "fixed":
            type_, values = pa.list_(type_, 2), st.lists(st.none() | values, min_size=2, max_size=2)
        else:
            type_ = pa.list_(type_) if shape == "list" else pa.large_list(type_)
            values = st.lists(st.none() | values, max_size=3)
    return type_, draw(st.lists(st.none() | values, max_size=6))


def same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


@pytest.mark.slow
@given(arrow_data(), st.sampled_from(TYPES), st.integers(0, 3), st.integers(0, 3))
def test_a_column_holds_what_each_value_means_alone(
    data: tuple[pa.DataType, list[Any]], type_: Type, before: int, after: int
) -> None:
    arrow, values = data
    array = pa.array(values, arrow)
    convert = converter(type_, "Europe/Paris")
    expected = [None if value is None else convert(value) for value in values]
    got = arrow_column(array, type_, "Europe/Paris")
    assert same(got.to_list(), expected)
    end = max(before, len(array) - after)
    sliced = arrow_column(array[before:end], type_, "Europe/Paris")
    assert same(sliced.to_list(), expected[before:end])
    chunked = arrow_column(pa.chunked_array([array[:before], array[before:]]), type_, "Europe/Paris")
    assert same(chunked.to_list(), expected)


@pytest.mark.slow
@given(arrow_data())
def test_without_a_type_a_column_holds_the_json_meaning_of_each_value(
    data: tuple[pa.DataType, list[Any]],
) -> None:
    arrow, values = data
    array = pa.array(values, arrow)
    assert same(any_column(python_values(array)).to_list(), any_column(values).to_list())
    assert same(any_column(python_values(array[1:])).to_list(), any_column(values[1:]).to_list())


@given(st.lists(st.none() | st.one_of(*(values for _, values in SCALARS)), max_size=5), st.sampled_from(TYPES))
def test_python_values_of_mixed_kinds_are_converted_one_by_one(values: list[Any], type_: Type) -> None:
    convert = converter(type_, "UTC")
    expected = [None if value is None else convert(value) for value in values]
    assert same(python_column(values, type_, "UTC").to_list(), expected)


def column(array: pa.Array, type_: str) -> list[Any]:
    return arrow_column(array, parse_type(type_), "UTC").to_list()


def test_what_stands_under_a_null_does_not_matter() -> None:
    bits = pa.py_buffer(bytes([0b101]))
    numbers = pa.Array.from_buffers(pa.int64(), 3, [bits, pa.py_buffer(np.array([1, 1 << 40, 3]))])
    assert column(numbers, "int") == [1, None, 3]
    assert column(numbers, "decimal(8,2)") == [100, None, 300]
    lists = pa.ListArray.from_arrays(
        [0, 1, 3, 4], pa.array(["a", "b", "c", "d"]), mask=pa.array([False, True, False])
    )
    assert column(lists, "array<string>") == [["a"], None, ["d"]]
    structs = pa.StructArray.from_arrays([pa.array([1, 2])], ["x"], mask=pa.array([True, False]))
    assert column(structs, "struct<x:int>") == [None, (2,)]


def test_one_element_of_another_kind_makes_its_list_null_and_no_other() -> None:
    lists = pa.array([[1, 300], [2], None, [], [None, 3]], pa.list_(pa.int64()))
    assert column(lists, "array<tinyint>") == [None, [2], None, [], [None, 3]]


def test_integers_beyond_64_bits_are_null() -> None:
    assert column(pa.array([1, 2**64 - 1], pa.uint64()), "bigint") == [1, None]
    assert column(pa.array([1, 2**64 - 1], pa.uint64()), "decimal(20,0)") == [1, 2**64 - 1]


def test_seconds_beyond_the_range_of_microseconds_are_null() -> None:
    assert column(pa.array([1, 1 << 50], pa.timestamp("s")), "timestamp_ntz") == [1_000_000, None]


def test_timestamps_of_all_64_bits_are_kept() -> None:
    assert column(pa.array([-(1 << 63), (1 << 63) - 1], pa.timestamp("us")), "timestamp_ntz") == [
        -(1 << 63),
        (1 << 63) - 1,
    ]


def test_nanoseconds_round_down() -> None:
    assert column(pa.array([-1, 1_999], pa.timestamp("ns")), "timestamp_ntz") == [-1, 1]


def test_text_that_is_no_utf8_is_mended_value_by_value() -> None:
    broken = pa.array([b"a\xff", b"ok", None]).view(pa.string())
    assert column(broken, "string") == ["a\ufffd", "ok", None]
    assert python_values(broken) == ["a\ufffd", "ok", None]


def test_encodings_are_undone() -> None:
    encoded = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
    assert column(encoded, "string") == ["a", "a", "b"]
    assert column(pa.array(["a", None, "a"]).dictionary_encode(), "string") == ["a", None, "a"]
    assert column(pa.array([1.5], pa.float16()), "double") == [1.5]


def test_of_two_fields_with_one_name_the_last_counts() -> None:
    structs = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    assert column(structs, "struct<x:int>") == [(2,)]
    assert python_values(structs) == [{"x": 2}]


@pytest.mark.parametrize("type_", [pa.duration("s"), pa.time32("s"), pa.map_(pa.string(), pa.int8())])
def test_arrow_types_without_a_meaning_are_null(type_: pa.DataType) -> None:
    array = pa.nulls(2, type_) if pa.types.is_map(type_) else pa.array([1, 2], type_)
    assert column(array, "bigint") == [None, None]
    assert any_column(python_values(array)).to_list() == [None, None]


def test_numbers_without_nulls_are_not_copied() -> None:
    numbers = np.arange(5)
    got = arrow_column(pa.array(numbers), parse_type("bigint"), "UTC")
    assert np.shares_memory(got.values, numbers)


def test_lone_surrogates_do_not_reach_arrow() -> None:
    assert python_column(["a\ud800", None], parse_type("string"), "UTC").to_list() == ["a?", None]


def test_a_schemaless_column_holds_objects() -> None:
    got = any_column([1, [1, 2], None])
    assert (got.type, got.to_list()) == (ANY, [1, [1, 2], None])


@pytest.mark.parametrize("type_", [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.null()])
@pytest.mark.parametrize(("start", "rows"), [(0, 40), (3, 20), (8, 8), (9, 0), (39, 1)])
def test_slices_with_nulls_read_as_single_values(type_: pa.DataType, start: int, rows: int) -> None:
    values = [None if number % 3 == 0 or type_ == pa.null() else number for number in range(40)]
    array = pa.array(values, type_).slice(start, rows)
    for declared in (BIGINT, DOUBLE) if pa.types.is_integer(type_) else (DOUBLE,):
        assert arrow_column(array, declared, "UTC").to_list() == values[start : start + rows]
