"""Order and equality of values, and the integer keys that carry them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.values.column import NumberValues, column_of
from tamis.values.order import (
    compare,
    compare_numbers,
    key_bounds,
    order_key,
    value_of_key,
    vector_keys,
)
from tamis.values.types import ANY, DOUBLE, FLOAT, NUMBER, Type, parse_type

NAN, INF = math.nan, math.inf
LEAST, GREATEST = -(2**63), 2**63 - 1

# Values of each type in Spark's order; neighbours in one inner list are equal.
ASCENDING: list[tuple[Type, list[list[Any]]]] = [
    (parse_type("boolean"), [[False], [True]]),
    (parse_type("tinyint"), [[-128], [0], [127]]),
    (parse_type("bigint"), [[LEAST], [-1], [0], [GREATEST]]),
    (FLOAT, [[-INF], [-1.401298464324817e-45], [0.0, -0.0], [1.5], [INF], [NAN, -NAN]]),
    (DOUBLE, [[-INF], [-1e308], [-5e-324], [0.0, -0.0], [5e-324], [1.0], [INF], [NAN]]),
    (parse_type("decimal(5,2)"), [[-99999], [0], [1], [99999]]),
    (parse_type("decimal(38,10)"), [[1 - 10**38], [0], [10**38 - 1]]),
    (parse_type("date"), [[-1], [0], [20000]]),
    (parse_type("timestamp"), [[-1], [0], [10**15]]),
    (parse_type("string"), [[""], ["A"], ["a"], ["aa"], ["ä"], ["\uffff"], ["😀"]]),
    (parse_type("binary"), [[b""], [b"\x00"], [b"a"], [b"\x80"], [b"\xff"]]),
    (NUMBER, [[-INF], [LEAST, -(2.0**63)], [0, -0.0], [1, 1.0], [1.5], [GREATEST], [2.0**63], [INF], [NAN]]),
    (NUMBER, [[2**53 - 1], [2**53, 2.0**53], [2**53 + 1], [2.0**53 + 2]]),
    (
        parse_type("array<int>"),
        [[[]], [[None]], [[None, 1]], [[1]], [[1, None]], [[1, 2]], [[2]]],
    ),
    (parse_type("array<double>"), [[[0.0], [-0.0]], [[NAN], [NAN]]]),
    (
        parse_type("struct<a:int,b:string>"),
        [[(None, None)], [(None, "a")], [(1, None)], [(1, "a")], [(2, "")]],
    ),
]


@pytest.mark.parametrize(("type_", "classes"), ASCENDING, ids=lambda value: str(value)[:24])
def test_compare_orders_values_as_spark(type_: Type, classes: list[list[Any]]) -> None:
    compared = compare(type_)
    ranked = [(rank, value) for rank, values in enumerate(classes) for value in values]
    for (first, left), (second, right) in itertools.product(ranked, ranked):
        found = compared(left, right)
        assert found is not None
        assert (found > 0) - (found < 0) == (first > second) - (first < second), (left, right)


SCALARS = [(type_, classes) for type_, classes in ASCENDING if type_.name not in ("array", "struct")]


@pytest.mark.parametrize(("type_", "classes"), SCALARS, ids=lambda value: str(value)[:24])
def test_keys_have_the_order_of_the_values(type_: Type, classes: list[list[Any]]) -> None:
    keys = [[order_key(type_)(value) for value in values] for values in classes]
    assert all(key == same[0] for same in keys for key in same)
    assert all(lower[0] < upper[0] for lower, upper in itertools.pairwise(keys))


@pytest.mark.parametrize(("type_", "classes"), SCALARS, ids=lambda value: str(value)[:24])
def test_a_key_gives_back_an_equal_value(type_: Type, classes: list[list[Any]]) -> None:
    for value in itertools.chain.from_iterable(classes):
        back = value_of_key(type_)(order_key(type_)(value))
        assert compare(type_)(back, value) == 0


INT_KEYED = [(type_, classes) for type_, classes in SCALARS if key_bounds(type_) is not None]


@pytest.mark.parametrize(("type_", "classes"), INT_KEYED, ids=lambda value: str(value)[:24])
def test_keys_of_a_column_are_the_keys_of_its_values(type_: Type, classes: list[list[Any]]) -> None:
    values = list(itertools.chain.from_iterable(classes))
    keys = vector_keys(column_of(type_, values))
    assert keys.tolist() == [order_key(type_)(value) for value in values]
    assert keys.dtype == (np.object_ if type_.precision > 18 else np.int64)


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE], ids=str)
def test_every_integer_between_the_bounds_is_the_key_of_a_value(type_: Type) -> None:
    bounds = key_bounds(type_)
    assert bounds is not None
    least, greatest = bounds
    assert value_of_key(type_)(least) == -INF
    assert value_of_key(type_)(greatest - 1) == INF
    assert math.isnan(value_of_key(type_)(greatest))
    for key in (least, least + 1, -2, -1, 0, 1, 12345, greatest - 1, greatest):
        assert order_key(type_)(value_of_key(type_)(key)) == key


def test_types_without_integer_keys() -> None:
    assert [key_bounds(parse_type(name)) for name in ("string", "binary", "array<int>")] == [None] * 3
    assert key_bounds(NUMBER) is None


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1.0, 0),
        (2**53 + 1, 2.0**53, 1),
        ("a", "b", -1),
        (False, True, -1),
        (True, 1, None),
        ("1", 1, None),
        ([1], [1], None),
        ({}, {}, None),
    ],
)
def test_schemaless_values_compare_within_one_kind(left: Any, right: Any, expected: int | None) -> None:
    assert compare(ANY)(left, right) == expected


NUMBERS = st.one_of(
    st.integers(LEAST, GREATEST),
    st.floats(),
    st.sampled_from([2.0**63, -(2.0**63), 2.0**53, 2**53 + 1, GREATEST, LEAST, 0.5, -0.5, NAN]),
)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1))
def test_number_columns_compare_as_their_values(pairs: list[tuple[float, float]]) -> None:
    left, right = (column_of(NUMBER, list(side)).values for side in zip(*pairs, strict=True))
    assert isinstance(left, NumberValues)
    assert compare_numbers(left, right).tolist() == [compare(NUMBER)(*pair) for pair in pairs]
