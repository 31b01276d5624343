"""The registry: how functions are typed, bound and applied."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions.registry import (
    FUNCTIONS,
    Argument,
    ArgumentError,
    Function,
    Signature,
    always,
    check_count,
    register,
    takes,
)
from tamis.values.column import column_of
from tamis.values.types import BOOLEAN, INT, STRING

TWICE = Function("twice", takes(INT, returns=INT), always(lambda value: 2 * value if value < 9 else None))
IS_NULL = Function("is_null_", takes(INT, returns=BOOLEAN), always(lambda value: value is None), sees_null=True)


@pytest.mark.parametrize(("function", "expected"), [(TWICE, [2, None, None]), (IS_NULL, [False, True, False])])
def test_batch_and_scalar_forms_agree_about_null(function: Function, expected: list[Any]) -> None:
    signature = function.resolve([Argument(INT)], "UTC")
    values = [1, None, 9]
    assert [function.scalar(signature)(value) for value in values] == expected
    assert function.apply(signature, [column_of(INT, values)], 3).to_list() == expected


def test_a_function_without_arguments_has_a_value_in_every_row() -> None:
    for sees_null in (False, True):
        constant = Function("seven", takes(returns=INT), always(lambda: 7), sees_null=sees_null)
        assert constant.apply(Signature((), INT), [], 2).to_list() == [7, 7]


def test_optional_parameters_may_be_left_out() -> None:
    resolve = takes(STRING, INT, returns=STRING, optional=1)
    assert resolve([Argument(STRING)], "UTC").parameters == (STRING,)
    assert resolve([Argument(STRING), Argument(INT)], "UTC").parameters == (STRING, INT)
    with pytest.raises(ArgumentError, match="expected 1 to 2 arguments, found 3"):
        resolve([Argument(INT)] * 3, "UTC")


@pytest.mark.parametrize(
    ("count", "least", "most", "message"),
    [
        (0, 1, 1, "expected 1 argument, found 0"),
        (3, 2, 2, "expected 2 arguments, found 3"),
        (1, 2, None, "expected at least 2 arguments, found 1"),
    ],
)
def test_numbers_of_arguments(count: int, least: int, most: int | None, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        check_count([Argument(INT)] * count, least, most)
    assert caught.value.message == message


def test_a_name_is_registered_once() -> None:
    before = dict(FUNCTIONS)
    with pytest.raises(ValueError, match="abs is registered twice"):
        register(Function("abs", TWICE.resolve, TWICE.bind))
    assert before == FUNCTIONS
