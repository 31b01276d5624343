"""Hashes of rows: values that Spark gives, of every type."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.errors import ConditionError
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hash('a', 1)", 532252686),
        ("hash(NULL)", 42),
        ("hash(1, 2.5D, true)", -468475233),
        ("hash(array(1, 2))", -222940379),
        ("xxhash64('a', 1)", -4810547614043336770),
        ("xxhash64(1L, 2.5D)", -788572162147868298),
        ("hash(0.0D) = hash(-0.0D)", True),
        ("hash(struct(1, 2)) = hash(1, 2)", True),
    ],
)
def test_values_of_spark(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize("text", ["hash()", "hash(map(1, 2))"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)
