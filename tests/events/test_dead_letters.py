"""Dead letters: the kinds are part of what is stored and served, so their texts stay."""

from __future__ import annotations

import pyarrow as pa

from tamis.events.dead_letters import DeadLetter, DeadLetterKind


def test_the_kinds_are_stored_under_these_texts() -> None:
    assert set(DeadLetterKind) == {"malformed", "oversized", "event type", "missing id", "wrong type"}


def test_a_kind_is_a_string_of_an_arrow_column() -> None:
    letter = DeadLetter(DeadLetterKind.OVERSIZED, "the event is longer than 5 bytes", b"123456")
    assert pa.array([letter.kind], pa.string()).to_pylist() == ["oversized"]
    assert (letter.event_id, letter.line_number) == (None, None)
