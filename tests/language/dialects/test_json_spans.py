"""JSON with places: the values of Python's `json`, and what it takes but JSON does not have is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language.dialects.json_spans import Json, parse_json
from tamis.syntax.cursor import SyntaxFailure

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def plain(node: Json) -> Any:
    if isinstance(node.value, dict):
        return {key: plain(value) for key, value in node.value.items()}
    return [plain(item) for item in node.value] if isinstance(node.value, list) else node.value


def places(node: Json, text: str) -> None:
    """Check that every span is the text of its value."""
    assert repr(json.loads(text[slice(*node.span)])) == repr(plain(node))
    if isinstance(node.value, dict):
        assert [json.loads(text[slice(*place)]) for place in node.keys.values()] == list(node.value)
    inner = (
        node.value.values() if isinstance(node.value, dict) else node.value if isinstance(node.value, list) else ()
    )
    for each in inner:
        places(each, text)


@given(VALUES, st.sampled_from([None, 0, 2]))
def test_values_and_places(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    node = parse_json(f" {text}\n")
    assert repr(plain(node)) == repr(value)
    places(parse_json(text), text)


@pytest.mark.parametrize(
    ("text", "start", "message"),
    [
        ("", 0, "expected a value of JSON, found the end"),
        ("{", 1, "expected a key between quotes, found the end"),
        ("[1 2]", 3, "expected , or ], found '2'"),
        ("[1,]", 3, "expected a value of JSON, found ']'"),
        ('{"a" 1}', 5, "expected : behind the key, found '1'"),
        ('{"a": 1 "b"}', 8, "expected , or }, found '\"'"),
        ('{"a": 1, "a": 2}', 9, "the key 'a' is there twice"),
        ("{'a': 1}", 1, 'expected a key between quotes, found "\'"'),
        ("[1] 2", 4, "expected the end, found '2'"),
        ("NaN", 0, "expected a value of JSON, found 'N'"),
        ("01", 1, "expected the end, found '1'"),
        ("1.", 1, "expected the end, found '.'"),
        ('"a', 0, "this is no string of JSON: Unterminated string starting at"),
        ('["a\nb"]', 1, "this is no string of JSON: Invalid control character at"),
        ('"\\ud800"', 0, "the string holds half of a surrogate pair"),
        ("[" * 300, 256, "nested too deep"),
        ("1" * 401, 0, "a number has 400 characters at most"),
    ],
)
def test_refusals(text: str, start: int, message: str) -> None:
    with pytest.raises(SyntaxFailure) as caught:
        parse_json(text)
    assert (caught.value.problem.start, caught.value.problem.message) == (start, message)
    assert caught.value.problem.end > start


def test_kinds_and_numbers() -> None:
    node = parse_json('[{}, [], "x", true, 1, 1.50, null]')
    assert isinstance(node.value, list)
    kinds = ["an object", "an array", "a string", "a boolean", "a number", "a number", "null"]
    assert [each.kind for each in node.value] == kinds
    assert [each.text for each in node.value] == ["", "", "", "", "1", "1.50", ""]
