"""Arrays made of arrays: values of Spark, bounds, and types that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.errors import ConditionError
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sort_array(array(3, NULL, 1))", [None, 1, 3]),
        ("sort_array(array(3, NULL, 1), FALSE)", [3, 1, None]),
        ("array_join(array('a', NULL, 'b'), ',', 'x')", "a,x,b"),
        ("array_insert(array(1, 2), 5, 9)", [1, 2, None, None, 9]),
        ("array_insert(array(1, 2), -4, 9)", [9, None, 1, 2]),
        ("array_insert(array(1, 2), 0, 9)", None),
        ("array_append(array(1), 2000000)", [1, 2000000]),
        ("array_repeat(1, 2000000)", None),
        ("slice(array(1, 2, 3), -2, 1)", [2]),
        ("slice(array(1), 0, 1)", None),
        ("flatten(array(array(1), array(2)))", [1, 2]),
        ("array_except(array(1, NULL), array(NULL))", [1]),
        ("named_struct('a', 1, 'b', 'x')", (1, "x")),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text", ["array_prepend(array(1), 'a')", "flatten(array(1))", "named_struct('a')", "sort_array(1)"]
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)
