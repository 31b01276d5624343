"""Implicit casts: those of Spark's ANSI mode, but no string attribute becomes a number."""

from __future__ import annotations

import pytest

from tamis.language.implicit_casts import may_cast
from tamis.values.types import parse_type


@pytest.mark.parametrize(
    ("source", "target", "of_attribute", "of_constant"),
    [
        ("int", "int", True, True),
        ("int", "bigint", True, True),
        ("bigint", "double", True, True),
        ("int", "string", True, True),
        ("string", "int", False, True),
        ("string", "date", True, True),
        ("string", "boolean", True, True),
        ("date", "timestamp", True, True),
        ("date", "int", False, False),
        ("boolean", "int", False, False),
        ("array<int>", "array<bigint>", True, True),
        ("array<string>", "array<int>", False, False),
        ("array<int>", "string", False, False),
        ("struct<a:int>", "struct<a:double>", True, True),
    ],
)
def test_which_arguments_are_cast(source: str, target: str, of_attribute: bool, of_constant: bool) -> None:
    types = parse_type(source), parse_type(target)
    assert may_cast(*types, is_constant=False) is of_attribute
    assert may_cast(*types, is_constant=True) is of_constant
