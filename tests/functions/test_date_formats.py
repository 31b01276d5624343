"""Moments by patterns: values of Spark, and patterns that are refused with a condition."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.errors import ConditionError
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("to_date('05/03/2024', 'dd/MM/yyyy')", 19787),
        ("to_date('5/3/2024', 'dd/MM/yyyy')", None),
        ("date_format(DATE '2024-03-05', 'd MMM')", "5 Mar"),
        ("unix_timestamp('1970-01-02 00:00:00')", 86400),
        ("from_unixtime(0, 'yyyy')", "1970"),
        ("make_timestamp(1970, 1, 1, 0, 0, 1.5)", 1_500_000),
        ("make_timestamp(1970, 1, 1, 1, 0, 0, '+01:00')", 0),
        ("make_timestamp(2024, 2, 30, 1, 1, 1)", None),
        ("make_timestamp_ntz(1970, 1, 1, 0, 0, 60)", 60_000_000),
        ("dayname(DATE '2024-03-05')", "Tue"),
        ("monthname(DATE '2024-03-05')", "Mar"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text", ["to_date('x', 'EEE')", "date_format(DATE '2024-03-05', 'w')", "to_date(5, 'yyyy')"]
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)
