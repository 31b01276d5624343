"""Functions of arrays with the values that Spark gives; batches equal single rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.column import Column, ListValues, column_of
from tamis.values.types import ANY, BIGINT, INT, NULL, STRING, array, parse_type
from tests.functions.calls import results

NAN = math.nan
INTS, DOUBLES, STRINGS = (parse_type(f"array<{name}>") for name in ("int", "double", "string"))


def test_size() -> None:
    assert results("size", [INTS], [([],), ([1, None],), (None,)]) == [0, 2, None]
    assert FUNCTIONS["cardinality"] is FUNCTIONS["array_size"] is FUNCTIONS["size"]
    assert FUNCTIONS["size"].resolve([Argument(ANY)], "UTC").parameters == (array(ANY),)


def test_the_constructor_keeps_nulls() -> None:
    assert results("array", [INT, INT], [(1, None)]) == [[1, None]]
    assert FUNCTIONS["array"].resolve([], "UTC").returns == array(NULL)


def test_array_contains_is_three_valued() -> None:
    rows: list[tuple[Any, ...]] = [([1, 2], 1), ([2, None], 1), ([1, None], 1), ([], 1), (None, 1), ([1], None)]
    assert results("array_contains", [INTS, INT], rows) == [True, None, True, False, None, None]
    doubles: list[tuple[Any, ...]] = [([NAN], NAN), ([0.0], -0.0)]
    assert results("array_contains", [DOUBLES, parse_type("double")], doubles) == [True, True]
    assert results("array_contains", [STRINGS, STRING], [(["a", "ä"], "ä"), ([], "a")]) == [True, False]
    assert results("array_contains", [array(INTS), INTS], [([[1, None]], [1, None])]) == [True]


def test_array_contains_reads_only_the_items_of_its_rows() -> None:
    items = column_of(INT, [9, 1, 2, 9])
    lists = Column(INTS, ListValues(np.array([1, 2, 3]), items), np.array([True, True]))
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
    assert results("arrays_overlap", [INTS, INTS], rows) == [True, None, False, False, None, False]
    assert results("arrays_overlap", [DOUBLES, DOUBLES], [([NAN], [NAN]), ([0.0], [-0.0])]) == [True, True]
    assert results("arrays_overlap", [array(INTS)] * 2, [([[1, None]], [[1, None]])]) == [True]


def test_array_position_counts_from_one() -> None:
    rows: list[tuple[Any, ...]] = [([3, None, 1, 1], 1), ([2], 1), ([1], None)]
    assert results("array_position", [INTS, INT], rows) == [3, 0, None]


def test_elements() -> None:
    rows: list[tuple[Any, ...]] = [([1, 2, 3], index) for index in (1, 3, -1, -3, 0, 4, -4, None)]
    assert results("element_at", [INTS, INT], rows) == [1, 3, 3, 1, None, None, None, None]
    rows = [([1, 2], index) for index in (0, 1, 2, -1)] + [([None], 0), ([], 0), (None, 0)]
    assert results("[]", [INTS, BIGINT], rows) == [1, 2, None, None, None, None, None]
    assert results("get", [STRINGS, BIGINT], [([], 0), ([], 1)]) == [None, None]


def test_an_index_is_a_whole_number() -> None:
    with pytest.raises(ArgumentError, match=r"expected an index \(int\), found bigint"):
        FUNCTIONS["element_at"].resolve([Argument(INTS), Argument(BIGINT)], "UTC")
    with pytest.raises(ArgumentError, match="expected an array, found string"):
        FUNCTIONS["[]"].resolve([Argument(STRING), Argument(INT)], "UTC")


def test_extremes_skip_null() -> None:
    rows: list[tuple[Any, ...]] = [([1, None, 3],), ([],), ([None],)]
    assert results("array_max", [INTS], rows) == [3, None, None]
    assert results("array_min", [INTS], rows) == [1, None, None]
    assert results("array_min", [DOUBLES], [([NAN, 1.0],)]) == [1.0]
