"""Entries as texts: what is written is read as the same formula, and bytes are those of the wire."""

from __future__ import annotations

import pytest

from tamis.events import EventType
from tamis.language.condition import normalise
from tamis.service.peers.entry_texts import (
    accepted_formula,
    byte_count,
    compiled_texts,
    entry_texts,
    text_bytes,
    with_plain_presence,
    written_texts,
)
from tamis.service.peers.sources import Source

SCHEMALESS = EventType("t/event")
TYPED = EventType.from_dict({"name": "t/event", "attributes": {"price": "decimal(8,2)", "title": "string"}})
TEXTS = [
    "price < 3 AND (title LIKE 'a%' OR title IS NULL)",
    "price IN (1, 2.5)",
    "NOT (price = 2 AND title = 'it''s')",
    "at_least(2, price > 1, price > 2, title = 'x')",
]


@pytest.mark.parametrize("event_type", [SCHEMALESS, TYPED])
def test_a_formula_is_written_as_a_text_that_means_the_same(event_type: EventType) -> None:
    formulas = [accepted_formula(each) for each in compiled_texts(TEXTS, event_type)]
    written = written_texts(formulas, event_type)
    assert [text for text in written if text is None] == []
    again = compiled_texts([text for text in written if text is not None], event_type)
    assert list(again) == formulas


def test_many_texts_are_compiled_as_few_are() -> None:
    texts = [f"price < {number} AND title = 'book {number}'" for number in range(1_500)]
    assert list(compiled_texts(texts, TYPED))[::500] == [normalise(each, TYPED) for each in texts[::500]]


def test_presence_of_any_type_stands_for_presence_of_one() -> None:
    of_one_type = normalise("price IS NOT NULL AND (price < 3 OR price >= 3)")
    plain = with_plain_presence(of_one_type)
    assert None not in written_texts([plain], SCHEMALESS)


def test_bytes_are_those_of_utf_8() -> None:
    assert byte_count(["a", "é", "€"]) == 1 + 2 + 3
    formulas = [normalise("title = 'é'"), normalise("price < 3")]
    assert text_bytes(formulas) == byte_count(each.describe() for each in formulas)


def test_a_condition_of_another_dialect_is_sent_in_sql_and_a_composite_one_in_parts() -> None:
    assert entry_texts(Source(None, "t/event", "price < 3", "sql"), TYPED) == ("price < 3",)
    [text] = entry_texts(Source(None, "t/event", "price IS NOT NULL AND title = 'x'", "jms"), SCHEMALESS)
    assert normalise(text) == normalise("price IS NOT NULL AND title = 'x'")
    composite = "price > 100 AS a THEN price < 0.9 * a.price AND title = 'x' WITHIN INTERVAL '1' DAY"
    parts = entry_texts(Source(None, "t/event", composite, "composite"), SCHEMALESS)
    assert [normalise(each) for each in parts] == [normalise("price > 100"), normalise("title = 'x'")]
