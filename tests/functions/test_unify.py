"""One type for several arguments, or an error that names what was found."""

from __future__ import annotations

import pytest

from tamis.functions.registry import Argument, ArgumentError
from tamis.functions.unify import check_condition, require_type, type_mismatch, unify
from tamis.values.types import ANY, BIGINT, BOOLEAN, DATE, DOUBLE, INT, NULL, STRING

TEXT = Argument(STRING, is_constant=True, value="1")


def test_the_common_type() -> None:
    assert unify([Argument(INT), Argument(DOUBLE), Argument(NULL)]) == DOUBLE
    assert unify([Argument(INT), TEXT]) == BIGINT
    assert require_type(DATE, []) == DATE


def test_a_string_attribute_beside_a_number_takes_a_numeric_type() -> None:
    assert unify([Argument(INT), Argument(STRING)]) == BIGINT
    assert unify([Argument(STRING), Argument(DOUBLE)]) == DOUBLE


def test_types_without_a_common_one_are_named_once_each() -> None:
    error = type_mismatch([Argument(DATE), Argument(INT), Argument(DATE)], "combined")
    assert error.message == "date and int cannot be combined"


def test_conditions_are_boolean() -> None:
    for type_ in (BOOLEAN, ANY):
        check_condition([Argument(type_)], 0)
    check_condition([Argument(NULL)], 0, allow=(NULL,))
    with pytest.raises(ArgumentError, match=r"expected a condition \(boolean\), found NULL"):
        check_condition([Argument(NULL)], 0)
