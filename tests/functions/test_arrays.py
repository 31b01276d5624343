"""Functions of arrays with the values that Spark gives; batches equal single rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.column import Column, Lists, column_of
from tamis.values.types import ANY, BIGINT, INT, NULL, STRING, Type, array, parse_type

NAN = math.nan
INTS, DOUBLES, STRINGS = (parse_type(f"array<{name}>") for name in ("int", "double", "string"))


def applied(name: str, types: list[Type], rows: list[tuple[Any, ...]]) -> list[Any]:
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(type_) for type_ in types], "UTC")
    assert list(signature.parameters) == types
    results = [function.scalar(signature)(*row) for row in rows]
    columns = [
        column_of(type_, list(values)) for type_, values in zip(types, zip(*rows, strict=True), strict=True)
    ]
    assert function.apply(signature, columns, len(rows)).to_list() == results
    return results


def test_size() -> None:
    assert applied("size", [INTS], [([],), ([1, None],), (None,)]) == [0, 2, None]
    assert FUNCTIONS["cardinality"] is FUNCTIONS["array_size"] is FUNCTIONS["size"]
    assert FUNCTIONS["size"].resolve([Argument(ANY)], "UTC").parameters == (array(ANY),)


def test_the_constructor_keeps_nulls() -> None:
    assert applied("array", [INT, INT], [(1, None)]) == [[1, None]]
    assert FUNCTIONS["array"].resolve([], "UTC").returns == array(NULL)


def test_array_contains_is_three_valued() -> None:
    rows: list[tuple[Any, ...]] = [([1, 2], 1), ([2, None], 1), ([1, None], 1), ([], 1), (None, 1), ([1], None)]
    assert applied("array_contains", [INTS, INT], rows) == [True, None, True, False, None, None]
    doubles: list[tuple[Any, ...]] = [([NAN], NAN), ([0.0], -0.0)]
    assert applied("array_contains", [DOUBLES, parse_type("double")], doubles) == [True, True]
    assert applied("array_contains", [STRINGS, STRING], [(["a", "ä"], "ä"), ([], "a")]) == [True, False]
    assert applied("array_contains", [array(INTS), INTS], [([[1, None]], [1, None])]) == [True]


def test_array_contains_reads_only_the_items_of_its_rows() -> None:
    items = column_of(INT, [9, 1, 2, 9])
    lists = Column(INTS, Lists(np.array([1, 2, 3]), items), np.array([True, True]))
    signature = FUNCTIONS["array_contains"].resolve([Argument(INTS), Argument(INT)], "UTC")
    assert FUNCTIONS["array_contains"].apply(signature, [lists, column_of(INT, [1, 9])], 2).to_list() == [
        True,
        False,
    ]


def test_array_contains_does_not_compare_strings_with_numbers() -> None:
    with pytest.raises(ArgumentError, match="cannot be compared"):
        FUNCTIONS["array_contains"].resolve([Argument(STRINGS), Argument(INT)], "UTC")


def test_arrays_overlap_is_three_valued() -> None:
    rows: list[tuple[Any, ...]] = [
        ([1, None], [1]),
        ([1, None], [2]),
        ([1], [2]),
        ([None], []),
        ([None], [None]),
        ([], []),
    ]
    assert applied("arrays_overlap", [INTS, INTS], rows) == [True, None, False, False, None, False]
    assert applied("arrays_overlap", [DOUBLES, DOUBLES], [([NAN], [NAN]), ([0.0], [-0.0])]) == [True, True]
    assert applied("arrays_overlap", [array(INTS)] * 2, [([[1, None]], [[1, None]])]) == [True]


def test_array_position_counts_from_one() -> None:
    rows: list[tuple[Any, ...]] = [([3, None, 1, 1], 1), ([2], 1), ([1], None)]
    assert applied("array_position", [INTS, INT], rows) == [3, 0, None]


def test_elements() -> None:
    rows: list[tuple[Any, ...]] = [([1, 2, 3], index) for index in (1, 3, -1, -3, 0, 4, -4, None)]
    assert applied("element_at", [INTS, INT], rows) == [1, 3, 3, 1, None, None, None, None]
    rows = [([1, 2], index) for index in (0, 1, 2, -1)] + [([None], 0), ([], 0), (None, 0)]
    assert applied("[]", [INTS, BIGINT], rows) == [1, 2, None, None, None, None, None]
    assert applied("get", [STRINGS, BIGINT], [([], 0), ([], 1)]) == [None, None]


def test_an_index_is_a_whole_number() -> None:
    with pytest.raises(ArgumentError, match=r"expected an index \(int\), found bigint"):
        FUNCTIONS["element_at"].resolve([Argument(INTS), Argument(BIGINT)], "UTC")
    with pytest.raises(ArgumentError, match="expected an array, found string"):
        FUNCTIONS["[]"].resolve([Argument(STRING), Argument(INT)], "UTC")


def test_extremes_skip_null() -> None:
    rows: list[tuple[Any, ...]] = [([1, None, 3],), ([],), ([None],)]
    assert applied("array_max", [INTS], rows) == [3, None, None]
    assert applied("array_min", [INTS], rows) == [1, None, None]
    assert applied("array_min", [DOUBLES], [([NAN, 1.0],)]) == [1.0]
