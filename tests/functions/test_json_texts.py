"""JSON in text: values, what is no JSON, and paths that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.errors import ConditionError
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("get_json_object('{\"a\":{\"b\":[1,2]}}', '$.a.b[1]')", "2"),
        ("get_json_object('{\"a\":1.50}', '$.a')", "1.5"),
        ("get_json_object('{\"a\":1', '$.a')", None),
        ("get_json_object('{\"a\":1}', 'a')", None),
        ("json_array_length('[1,2]')", 2),
        ("json_array_length('{}')", None),
        ('json_object_keys(\'{"a":1,"b":2}\')', ["a", "b"]),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(text) == expected


def test_deep_text_is_no_json() -> None:
    deep = "[" * 30_000
    assert value(f"json_array_length('{deep}')") is None


def test_a_path_with_a_star_is_refused() -> None:
    with pytest.raises(ConditionError):
        value("get_json_object('[]', '$[*]')")
