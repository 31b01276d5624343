"""Implicit casts: those of Spark's ANSI mode."""

from __future__ import annotations

import pytest

from tamis.language.implicit_casts import may_cast
from tamis.values.types import parse_type


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("int", "int", True),
        ("int", "bigint", True),
        ("bigint", "double", True),
        ("int", "string", True),
        ("string", "int", True),
        ("string", "date", True),
        ("string", "boolean", True),
        ("date", "timestamp", True),
        ("date", "int", False),
        ("boolean", "int", False),
        ("array<int>", "array<bigint>", True),
        ("array<string>", "array<int>", True),
        ("array<int>", "string", False),
        ("struct<a:int>", "struct<a:double>", True),
    ],
)
def test_which_arguments_are_cast(source: str, target: str, allowed: bool) -> None:
    assert may_cast(parse_type(source), parse_type(target)) is allowed
