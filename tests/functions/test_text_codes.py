"""Texts in other forms: values that Spark gives."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("conv('-5', 10, 16)", "FFFFFFFFFFFFFFFB"),
        ("conv('-5', 10, -16)", "-5"),
        ("conv('1x', 10, 2)", "1"),
        ("conv('', 10, 2)", None),
        ("conv('5', 37, 10)", None),
        ("conv('99999999999999999999999', 10, 16)", None),
        ('quote("Don\'t")', "'Don\\'t'"),
        ("url_encode('a b/ü&=*~-_.')", "a+b%2F%C3%BC%26%3D*%7E-_."),
        ("url_decode('a+b%2F%C3%BC')", "a b/ü"),
        ("try_url_decode('%zz')", None),
        ("find_in_set('b', 'a,b,c')", 2),
        ("find_in_set('a,b', 'a,b,c')", 0),
        ("overlay('Spark SQL', 'CORE', 7, 2)", "Spark COREL"),
        ("overlay('Spark SQL', '_', 6)", "Spark_SQL"),
        ("lcase_key('ΟΔΟΣ ς') = lcase_key('οδος Σ')", True),
    ],
)
def test_values_of_spark(text: str, expected: Any) -> None:
    assert value(text) == expected
