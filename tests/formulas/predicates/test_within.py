"""`Within` on a whole column is membership of each key, for every ordered type."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np
import pytest

from tamis.arrays import I64
from tamis.formulas.expression import Path, Typed, Variable
from tamis.formulas.formula import leaf
from tamis.formulas.predicates.base import Frame
from tamis.formulas.predicates.within import Within
from tamis.language.condition import compile_condition
from tamis.operators.calls import BatchCalls
from tamis.values.column import Column, column_of
from tamis.values.order import order_key
from tamis.values.ranges import ALL, NONE, Ranges, comparison_ranges, points_of
from tamis.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    decimal,
)

_FLOATS = (0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 2.0**24, 1e-30)
POOLS: dict[Type, tuple[Any, ...]] = {
    BOOLEAN: (True, False),
    TINYINT: (-128, -1, 0, 1, 127),
    INT: (-(2**31), -1, 0, 1, 7, 2**31 - 1),
    BIGINT: (-(2**63), -(2**53) - 1, 0, 1, 2**53 + 1, 2**63 - 1),
    DATE: (-719162, -1, 0, 1, 19782, 2932896),
    TIMESTAMP: (-62135596800000000, -1, 0, 1, 1709164800000000),
    TIMESTAMP_NTZ: (-1, 0, 1, 253402300799999999),
    FLOAT: _FLOATS,
    DOUBLE: (*_FLOATS, 1e300, 5e-324, 0.1, 2.0**53),
    decimal(8, 2): (-99999999, -1, 0, 1, 12345, 99999999),
    decimal(38, 10): (-(10**38) + 1, -(2**70), -1, 0, 1, 2**64, 10**38 - 1),
    STRING: ("", "a", "ab", "b", "a\0", "é", "\uffff", "😀", "%"),
    BINARY: (b"", b"\0", b"a", b"a\0", b"\xff", b"\xff\xff"),
    NUMBER: (*_FLOATS, 0, 1, -1, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 2.0**63, -(2.0**63), 1e300),
}
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq,
    "<>": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_OPERATORS = tuple(_TESTS)


class _OneColumn:
    """A frame whose every expression is one column."""

    def __init__(self, column: Column) -> None:
        self.rows = len(column)
        self.batch_rows = np.arange(len(column))
        self.calls = BatchCalls()
        self._column = column

    def column(self, expression: Typed) -> Column:
        return self._column

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        raise NotImplementedError

    def names(self) -> None:
        return None

    def slice(self, start: int, stop: int) -> Frame:
        raise NotImplementedError

    def take(self, rows: I64) -> Frame:
        raise NotImplementedError


def _ranges(random_: random.Random, type_: Type, depth: int) -> Ranges:
    key, pool = order_key(type_), POOLS[type_]
    if depth == 0:
        if random_.random() < 0.3:
            return points_of(type_, [key(random_.choice(pool)) for _ in range(random_.choice((0, 1, 3, 6)))])
        return comparison_ranges(type_, random_.choice(_OPERATORS), key(random_.choice(pool)))
    one, other = (_ranges(random_, type_, depth - 1) for _ in range(2))
    return random_.choice((one & other, one | other, ~one, one, ALL & one, NONE | one))


@pytest.mark.parametrize("type_", POOLS, ids=str)
def test_the_mask_is_membership_of_the_key(type_: Type) -> None:
    random_ = random.Random(41)
    key = order_key(type_)
    attribute = Path(("a",), type_)
    for _ in range(150):
        values = [random_.choice((*POOLS[type_], None)) for _ in range(random_.choice((0, 1, 12)))]
        ranges = _ranges(random_, type_, random_.choice((0, 1, 2, 3)))
        null = random_.random() < 0.5
        found = Within(attribute, ranges, null).mask(_OneColumn(column_of(type_, values)))
        expected = [null if value is None else key(value) in ranges for value in values]
        assert found.dtype == np.bool_
        assert found.tolist() == expected, (values, ranges)


@pytest.mark.parametrize("type_", POOLS, ids=str)
@pytest.mark.parametrize("operator", _OPERATORS)
def test_comparisons_are_those_of_numbers_strings_and_nan(type_: Type, operator: str) -> None:
    """NaN equals itself and is above everything, -0.0 is 0.0, strings go by code points, false is below true."""

    def rank(value: Any) -> Any:
        return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)

    values = [*POOLS[type_]]
    column = _OneColumn(column_of(type_, values))
    for constant in values:
        found = Within(Path(("a",), type_), comparison_ranges(type_, operator, order_key(type_)(constant))).mask(
            column
        )
        assert found.tolist() == [_TESTS[operator](rank(value), rank(constant)) for value in values], constant


def test_the_empty_and_the_full_set_are_constants() -> None:
    attribute = Path(("a",), INT)
    assert leaf(Within(attribute, NONE)).describe() == "FALSE"
    assert leaf(Within(attribute, ALL, null=True)).describe() == "TRUE"


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("a < 3", "a < 3"),
        ("NOT a < 3", "a >= 3"),
        ("3 >= a", "a <= 3"),
        ("a IN (3, 1, 2, 1)", "a IN (1, 2, 3)"),
        ("a NOT IN ('x', 'y')", "a NOT IN ('x', 'y')"),
        ("a > 1 AND a < 5", "a > 1 AND a < 5"),
        ("a = 1 OR a > 5", "a = 1 OR a > 5"),
        ("a = 5 OR a < 5", "a <= 5"),
        ("a IS NULL", "a IS NULL"),
        ("a IS NOT NULL", "a IS NOT NULL"),
        ("NOT a", "NOT a"),
        ("a LIKE 'ab%' AND a LIKE 'abc%'", "a >= 'abc' AND a < 'abd'"),
        ("a LIKE 'abc'", "a = 'abc'"),
        ("a NOT LIKE '%b'", "a NOT LIKE '%b'"),
        ("endswith(a, '5%')", "a LIKE '%5\\\\%'"),
    ],
)
def test_description(text: str, described: str) -> None:
    assert compile_condition(text).formula.describe() == described
