"""The function cast: columns are cast as their values are."""

from __future__ import annotations

import pytest

from tamis.functions.casts import CAST, cast_column
from tamis.functions.registry import ArgumentError, Signature
from tamis.functions.schemaless import READ
from tamis.values.casts import can_cast, caster
from tamis.values.column import column_of
from tamis.values.types import (
    ANY,
    DATE,
    INT,
    NULL,
    NUMBER,
    STRING,
    TIMESTAMP,
    Type,
    array,
    struct,
)
from tests.values.samples import ATOMS, samples


def test_null_becomes_anything() -> None:
    assert can_cast(NULL, array(DATE))
    assert cast_column(column_of(NULL, [None]), INT, "UTC").to_list() == [None]


def test_cast_is_not_called_by_name() -> None:
    for function in (CAST, READ):
        with pytest.raises(ArgumentError):
            function.resolve([], "UTC")


@pytest.mark.parametrize("zone", ["UTC", "America/Sao_Paulo", "+05:30"])
@pytest.mark.parametrize("source", ATOMS, ids=str)
def test_columns_are_cast_as_their_values(source: Type, zone: str) -> None:
    values = [None, *samples(source), None]
    small = [value for value in values if value is None or source != TIMESTAMP or abs(value) < 1 << 60]
    for target in ATOMS:
        if can_cast(source, target):
            scalar = caster(source, target, zone)
            for given in (values, small):
                expected = [None if value is None else scalar(value) for value in given]
                found = cast_column(column_of(source, given), target, zone)
                assert repr(found.to_list()) == repr(column_of(target, expected).to_list()), target


def test_nested_and_schemaless_columns_are_cast_as_their_values() -> None:
    signature = Signature((array(struct(("a", STRING))),), array(struct(("a", INT))))
    column = column_of(array(struct(("a", STRING))), [[("1",), None], None, [("x",)]])
    assert CAST.apply(signature, [column], 3).to_list() == [[(1,), None], None, [(None,)]]
    numbers = column_of(NUMBER, [1, 2.5, None, 1 << 40])
    assert cast_column(numbers, INT, "UTC").to_list() == [1, 2, None, None]
    assert cast_column(numbers, STRING, "UTC").to_list() == ["1", "2.5", None, "1099511627776"]
    anything = column_of(ANY, [True, "3", None, []])
    assert cast_column(anything, INT, "UTC").to_list() == [1, 3, None, None]
