"""Events to publish as JSON lines with ids, in chunks.

An event without an id gets one here, before it is first sent. So a chunk whose answer was lost can be sent again,
and no event counts twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias
from uuid import uuid4

from tamis.client.calls.base import as_json
from tamis.client.errors import INVALID, ClientError
from tamis.client.models import Accepted

EventInput: TypeAlias = Mapping[str, Any] | str | bytes
"""An event: a mapping, or the text of a JSON object, which is sent as it is but for the id."""

CHUNK_EVENTS = 2_000
CHUNK_BYTES = 1 << 20
_SPACE = b" \t\r\n"
_NO_ID = (None, "")
"""What the service takes for an event without an id, and would give another one each time it comes."""


class Chunks:
    """Collects lines until there are enough for a request."""

    def __init__(self, most_events: int, most_bytes: int = CHUNK_BYTES) -> None:
        if most_events < 1:
            msg = f"expected a chunk of one event or more, found {most_events}"
            raise ClientError(None, INVALID, msg)
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._lines: list[bytes] = []
        self._bytes = 0
        self._seen = 0

    def add(self, event: EventInput) -> bytes | None:
        """Take an event; gives the chunk before it, if that is full.

        Raises:
            ClientError: It is not an event; the message says which.
        """
        try:
            line = event_line(event)
        except ClientError as error:
            msg = f"event {self._seen + 1}: {error.detail}"
            raise ClientError(None, INVALID, msg) from error
        self._seen += 1
        full = len(self._lines) >= self._most_events or self._bytes + len(line) > self._most_bytes
        chunk = self.rest() if full else None
        self._lines.append(line)
        self._bytes += len(line)
        return chunk

    def rest(self) -> bytes | None:
        """Take the collected chunk; None if it is empty."""
        chunk = b"".join(self._lines)
        self._lines, self._bytes = [], 0
        return chunk or None


def chunks(events: Iterable[EventInput], most_events: int) -> Iterator[bytes]:
    """The events as JSON lines, at most so many in each piece."""
    collected = Chunks(most_events)
    for event in events:
        if chunk := collected.add(event):
            yield chunk
    if chunk := collected.rest():
        yield chunk


def event_line(event: EventInput) -> bytes:
    r"""The event as a line of JSON with an id.

    Raises:
        ClientError: It is not a JSON object.

    >>> event_line({"id": "e1", "price": 3})
    b'{"id":"e1","price":3}\n'
    >>> event_line('{"id": "e1", "price": 1.10}')
    b'{"id": "e1", "price": 1.10}\n'
    """
    if isinstance(event, Mapping):
        named = event if event.get("id") not in _NO_ID else {**event, "id": uuid4().hex}
        return as_json(named) + b"\n"
    return _text_line(event)


def _text_line(text: str | bytes) -> bytes:
    """The text of an object, kept to the letter: reading and writing it again would round its numbers."""
    try:
        raw = text.encode() if isinstance(text, str) else text
        found = json.loads(raw.decode(), parse_constant=_refuse)
    except (UnicodeError, ValueError, RecursionError) as error:
        msg = f"expected a JSON object, found something else: {error}"
        raise ClientError(None, INVALID, msg) from error
    if not isinstance(found, dict):
        msg = f"expected a JSON object, found {type(found).__name__}"
        raise ClientError(None, INVALID, msg)
    line = raw.strip(_SPACE).replace(b"\r", b" ").replace(b"\n", b" ")  # no text of JSON has a line break inside
    if "id" in found and found["id"] in _NO_ID:
        return as_json({**found, "id": uuid4().hex}) + b"\n"
    if "id" not in found:
        rest = line[1:].lstrip(_SPACE)
        line = b'{"id":"' + uuid4().hex.encode() + (b'"' if rest == b"}" else b'",') + rest
    return line + b"\n"


def _refuse(constant: str) -> None:
    msg = f"JSON has no {constant}"
    raise ValueError(msg)


def one_or_many(events: EventInput | Iterable[EventInput]) -> Iterable[EventInput]:
    """Events, of which there may be one only."""
    return [events] if isinstance(events, Mapping | str | bytes) else events


class PublishTotals:
    """The answers to all chunks as one."""

    def __init__(self) -> None:
        self._accepted = 0
        self._repeated = 0
        self._ids: list[str] = []

    def add(self, answer: Accepted) -> int:
        """Take the answer to a chunk; gives how many events there were until now."""
        self._accepted += answer.accepted
        self._repeated += answer.repeated
        self._ids += answer.ids
        return self._accepted + self._repeated

    def result(self) -> Accepted:
        return Accepted(self._accepted, self._repeated, tuple(self._ids))
