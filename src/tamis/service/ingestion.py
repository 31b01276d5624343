"""Events of a publish request: parsed, checked and named, as the inbox takes them.

An event is a JSON object. Its id is its attribute `id`, as text; an event without one gets a random id. A
CloudEvent is an event with the attributes of its envelope, its data as the attribute `data`; since only source and
id together name it, its id is `source#id`. All events of a request are taken, or none, each with its text as it
came: numbers keep all their digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa

from tamis.errors import EventError
from tamis.events.event_type import EventType
from tamis.events.json_values import read_json_values, rows_of
from tamis.events.misfits import find_misfits
from tamis.service.inbox import Arrival
from tamis.service.names import qualified_name
from tamis.store.records import is_storable

JSON = "application/json"
JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
CLOUD_EVENT = "application/cloudevents+json"
CLOUD_EVENTS = "application/cloudevents-batch+json"
MEDIA_TYPES = (JSON, *JSON_LINES, CLOUD_EVENT, CLOUD_EVENTS)
_ID_CHARACTERS = 512
_SHOWN_PROBLEMS = 20


class PublishError(EventError):
    """Events of a request are refused.

    Attributes:
        problems: What is wrong, each with the place of its event in the request, counted from 1.
    """

    def __init__(self, problems: list[tuple[int, str]]) -> None:
        """Say what is wrong with the first few."""
        shown = "; ".join(f"event {place}: {what}" for place, what in problems[:3])
        more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        super().__init__(f"nothing was published: {shown}{more}")
        self.problems = problems[:_SHOWN_PROBLEMS]


@dataclass(frozen=True, slots=True)
class PublishedEvent:
    """An event of a request: its id as the tenant calls it, the type that it names itself, its text."""

    id: str
    event_type: str | None
    value: bytes


def read_events(body: bytes, media_type: str, *, most_bytes: int, most_events: int) -> list[PublishedEvent]:
    """The events of a request; one that is too long is not parsed, and nothing is after one too many.

    Raises:
        PublishError: Some are no events, or there are too many.
    """
    problems: list[tuple[int, str]] = []
    found: list[PublishedEvent] = []
    is_cloud = media_type in (CLOUD_EVENT, CLOUD_EVENTS)
    place = 0
    for place, (document, text) in enumerate(_documents(body, media_type, most_bytes, most_events), 1):
        if place > most_events:
            raise PublishError([(place, f"a request has at most {most_events:,} events")])
        try:
            found.append((_cloud_event if is_cloud else _event)(document, text))
            if len(found[-1].value) > most_bytes:
                problems.append(
                    (place, f"it has {len(found[-1].value):,} bytes; at most {most_bytes:,} are taken")
                )
        except EventError as error:
            problems.append((place, str(error)))
    if not place:
        problems.append((1, "there is none"))
    if problems:
        raise PublishError(problems)
    return found


def _documents(body: bytes, media_type: str, most_bytes: int, most_events: int) -> Iterator[tuple[Any, str]]:
    """Documents that should be events, and their texts; what cannot be read is an error of its own."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield EventError(f"not a text in UTF-8: {error.reason} at byte {error.start}"), ""
        return
    if media_type in JSON_LINES:
        for line in _LINE.finditer(text):
            yield _parse(line[0].rstrip(), most_bytes)
    elif media_type == CLOUD_EVENT or not text.startswith("[", _next(text, 0)):
        yield _parse(text.strip(), most_bytes)
    else:
        yield from _elements(text, most_bytes, most_events)


def _parse(text: str, most_bytes: int) -> tuple[Any, str]:
    if len(text) > most_bytes:  # and so has even more bytes
        return EventError(f"it has over {most_bytes:,} bytes, which is the most that is taken"), ""
    try:
        return _DECODER.decode(text), text
    except (ValueError, RecursionError) as error:
        return EventError(f"not JSON: {error}"), text


def _elements(text: str, most_bytes: int, most_events: int) -> Iterator[tuple[Any, str]]:
    """The elements of an array, and their texts; as many as there may be, and one more."""
    found: list[tuple[Any, str]] = []
    window = _Window(text, most_bytes)
    try:
        at = _next(text, _next(text, 0) + 1)
        while (text[at : at + 1] != "]" or found) and len(found) <= most_events:
            document, end = window.decode(at)
            found.append((document, text[at:end]))
            at = _next(text, end)
            if text[at : at + 1] != ",":
                break
            at = _next(text, at + 1)
        if len(found) <= most_events and (text[at : at + 1] != "]" or text[at + 1 :].strip(_BLANKS)):
            msg = f"expected , or ] and nothing after it: character {at}"
            raise ValueError(msg)
    except (ValueError, RecursionError) as error:
        yield EventError(f"not JSON: {error}"), ""
        return
    yield from found


class _Window:
    """The part of a text that elements are decoded from: one that is too long is not decoded to its end."""

    def __init__(self, text: str, most_bytes: int) -> None:
        self._text = text
        self._size = 2 * most_bytes + 2
        self._most_bytes = most_bytes
        self._start = 0
        self._part = text[: self._size]

    def decode(self, at: int) -> tuple[Any, int]:
        """The document that begins at a place, and where it ends.

        Raises:
            ValueError: There is none, or it is longer than the window.
        """
        try:
            document, end = self._decode(at)
            if end < self._start + len(self._part) or self._is_last():
                return document, end
        except ValueError:
            if self._is_last():
                raise
        self._start, self._part = at, self._text[at : at + self._size]
        try:
            return self._decode(at)
        except ValueError as error:
            if self._is_last():
                raise
            msg = f"or an event of more than {self._most_bytes:,} bytes: {error}"
            raise ValueError(msg) from error

    def _decode(self, at: int) -> tuple[Any, int]:
        try:
            document, end = _DECODER.raw_decode(self._part, at - self._start)
        except json.JSONDecodeError as error:
            msg = f"{error.msg}: character {self._start + error.pos}"
            raise ValueError(msg) from error
        return document, self._start + end

    def _is_last(self) -> bool:
        return self._start + len(self._part) == len(self._text)


def _next(text: str, at: int) -> int:
    """The place of the next character that is no blank."""
    found = _SPACE.match(text, at)
    assert found is not None, "it may be empty"
    return found.end()


def _refuse(name: str) -> Any:
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


_BLANKS = " \t\r\n"
_SPACE = re.compile(r"[ \t\r\n]*")
_LINE = re.compile(r"\S[^\n]*")
_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _event(document: Any, text: str) -> PublishedEvent:
    _check_object(document)
    id = document.get("id")
    if id is None or id == "":
        id = str(uuid4())
        if "id" not in document:
            text = f'{{"id":"{id}"{"," if document else ""}{text[1:]}'
    return PublishedEvent(_id(id), None, _one_line(text))


def _cloud_event(document: Any, text: str) -> PublishedEvent:
    _check_object(document)
    for name in ("specversion", "id", "source", "type"):
        if not isinstance(document.get(name), str) or not document[name]:
            msg = f"a CloudEvent has a text {name!r}, found {document.get(name)!r}"
            raise EventError(msg)
    if document["specversion"] != "1.0":
        msg = f"expected a CloudEvent of version 1.0, found {document['specversion']!r}"
        raise EventError(msg)
    if "data_base64" in document:
        msg = "data_base64 cannot be looked into; expected data"
        raise EventError(msg)
    id = _id(f"{document['source']}#{document['id']}")
    return PublishedEvent(id, document["type"], _one_line(text))


def _check_object(document: Any) -> None:
    if isinstance(document, EventError):
        raise document
    if not isinstance(document, dict):
        msg = f"expected an object, found {_kind(document)}"
        raise EventError(msg)


def _kind(value: Any) -> str:
    kinds = {list: "an array", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    return "null" if value is None else kinds.get(type(value), type(value).__name__)


def _id(value: Any) -> str:
    """The id of an event, as the stream would read it."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        msg = f"id: expected a text or a whole number, found {_kind(value)}"
        raise EventError(msg)
    text = str(value)
    if len(text) > _ID_CHARACTERS:
        msg = f"id: expected at most {_ID_CHARACTERS} characters, found {len(text)}"
        raise EventError(msg)
    if not is_storable(text):
        msg = "id: expected a text without U+0000 and half characters"
        raise EventError(msg)
    return text


def _one_line(text: str) -> bytes:
    """The event on one line: a line end between its parts is a blank, and there is none within them."""
    return text.replace("\r", " ").replace("\n", " ").encode()


def places_by_type(events: Sequence[PublishedEvent], types: Container[str], default: str) -> dict[str, list[int]]:
    """The places of the events of each type; one that names none of the types is of the default type."""
    places: dict[str, list[int]] = {}
    for place, each in enumerate(events):
        named = each.event_type if each.event_type is not None and each.event_type in types else default
        places.setdefault(named, []).append(place)
    return places


def refuse_misfits(events: Sequence[PublishedEvent], types: Mapping[str, EventType], default: str) -> None:
    """Refuse events that do not fit their types.

    Args:
        events: Of a request.
        types: The event types that the tenant has declared.
        default: The type of an event that names none of them.

    Raises:
        PublishError: Some do not fit; it says what was expected of which attribute.
    """
    problems: dict[int, list[str]] = {}
    for name, some in places_by_type(events, types, default).items():
        if name in types:
            read = read_json_values(pa.array([events[place].value for place in some], pa.binary()), types[name])
            for batch in read.batches:
                rows = rows_of(batch)
                for misfit in find_misfits(batch):
                    said = f"{misfit.attribute} {misfit.message}"
                    problems.setdefault(some[rows[misfit.row]], []).append(said)
    if problems:
        raise PublishError([(place + 1, "; ".join(problems[place])) for place in sorted(problems)])


def arrivals(tenant: str, events: Iterable[PublishedEvent], types: Iterable[str], default: str) -> list[Arrival]:
    """Events as the inbox takes them.

    Args:
        tenant: Whose they are.
        events: Of a request.
        types: The event types that the tenant has declared.
        default: The type of an event that names none of them.
    """
    known = set(types)
    return [
        Arrival(
            qualified_name(tenant, each.id),
            qualified_name(tenant, each.event_type if each.event_type in known else default),
            each.value,
        )
        for each in events
    ]
