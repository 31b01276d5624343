"""Dead letters: what was sent as an event and cannot be matched, with the reason and the original bytes.

The kind is set where the mistake is found. Programs decide by it; the reason is a sentence for people.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DeadLetterKind(StrEnum):
    """Why an event cannot be matched. The values are stored and served: they never change."""

    MALFORMED = "malformed"
    OVERSIZED = "oversized"
    UNKNOWN_EVENT_TYPE = "event type"
    MISSING_ID = "missing id"
    WRONG_TYPE = "wrong type"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that cannot be matched.

    Attributes:
        kind: Why, for programs.
        reason: Why, in one sentence.
        original: The bytes as they came; of a line of a file that is too long, its beginning.
        event_id: The id of the event, if it is known.
        line_number: The line of a file, counted from 1; None if the event did not come from a file.
    """

    kind: DeadLetterKind
    reason: str
    original: bytes
    event_id: str | None = None
    line_number: int | None = None
