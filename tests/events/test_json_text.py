"""One JSON text read by Python: the event, or the mistake as a sentence."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tamis.events import EventType
from tamis.events.json_text import json_decoder, json_parser, loose_integer


def test_an_object_is_an_event() -> None:
    assert json_parser(json_decoder(EventType()))(b' {"a": [1, 2.5, null], "b": "\xc3\xa9"} ') == {
        "a": [1, 2.5, None],
        "b": "é",
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "not JSON"),
        (b'{"a": 1} {}', "not JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"[1]", "expected a JSON object, found a list"),
        (b"null", "expected a JSON object, found null"),
        (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", "nested more than 200 deep"),
    ],
)
def test_a_mistake_is_a_sentence(text: bytes, reason: str) -> None:
    found = json_parser(json_decoder(EventType()))(text)
    assert isinstance(found, str)
    assert found.startswith(reason)


@pytest.mark.parametrize(
    ("type_", "kind"), [("double", float), ("decimal(8,2)", Decimal), ("array<float>", Decimal)]
)
def test_numbers_keep_their_text_where_a_double_would_lose_digits(type_: str, kind: type) -> None:
    value = json_decoder(EventType.of({"attributes": {"a": type_}}))("0.1")
    assert type(value) is kind


def test_integers_of_thousands_of_digits_are_doubles() -> None:
    assert loose_integer("12") == 12
    assert loose_integer("9" * 5_000) == float("inf")
    assert json_decoder(EventType())("[1, " + "9" * 5_000 + "]") == [1, float("inf")]
