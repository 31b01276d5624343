"""Publishing: the events of a request, and their way into the inbox, many requests at a time.

An event is a JSON object. Its id is its attribute `id`, as text; one without gets an id that nobody else has. A
CloudEvent is an event with the attributes of its envelope, its data as the attribute `data`; since only source and
id together name it, its id is `source#id`. All events of a request are taken, or none, each with its text as it
came: numbers keep all their digits.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tamis.errors import EventError
from tamis.service.inbox import Arrival, Inbox
from tamis.service.names import inside
from tamis.store.records import is_storable

JSON = "application/json"
JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
CLOUD_EVENT = "application/cloudevents+json"
CLOUD_EVENTS = "application/cloudevents-batch+json"
MEDIA_TYPES = (JSON, *JSON_LINES, CLOUD_EVENT, CLOUD_EVENTS)
_ID_CHARACTERS = 512
_SHOWN_PROBLEMS = 20
_AT_ONCE = 20_000


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
class Incoming:
    """An event of a request: its id as the tenant calls it, the type that it names itself, its text."""

    id: str
    event_type: str | None
    value: bytes


def read_events(body: bytes, media_type: str, *, most_bytes: int) -> list[Incoming]:
    """The events of a request.

    Raises:
        PublishError: Some are no events.
    """
    problems: list[tuple[int, str]] = []
    found: list[Incoming] = []
    is_cloud = media_type in (CLOUD_EVENT, CLOUD_EVENTS)
    place = 0
    for place, (document, text) in enumerate(_documents(body, media_type), 1):
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


def _documents(body: bytes, media_type: str) -> Iterator[tuple[Any, str]]:
    """Documents that should be events, and their texts; what cannot be read is an error of its own."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield EventError(f"not a text in UTF-8: {error.reason} at byte {error.start}"), ""
        return
    if media_type in JSON_LINES:
        for line in text.split("\n"):
            if line.strip():
                yield _parsed(line.strip())
    elif media_type == CLOUD_EVENT or not text.lstrip(_BLANKS).startswith("["):
        yield _parsed(text.strip())
    else:
        yield from _elements(text)


def _parsed(text: str) -> tuple[Any, str]:
    try:
        return _DECODER.decode(text), text
    except (ValueError, RecursionError) as error:
        return EventError(f"not JSON: {error}"), text


def _elements(text: str) -> Iterator[tuple[Any, str]]:
    """The elements of an array, and their texts."""
    found: list[tuple[Any, str]] = []
    try:
        at = _next(text, _next(text, 0) + 1)
        while text[at : at + 1] != "]" or found:
            document, end = _DECODER.raw_decode(text, at)
            found.append((document, text[at:end]))
            at = _next(text, end)
            if text[at : at + 1] != ",":
                break
            at = _next(text, at + 1)
        if text[at : at + 1] != "]" or text[at + 1 :].strip(_BLANKS):
            msg = f"expected , or ] and nothing after it: character {at}"
            raise ValueError(msg)
    except (ValueError, RecursionError) as error:
        yield EventError(f"not JSON: {error}"), ""
        return
    yield from found


def _next(text: str, at: int) -> int:
    """The place of the next character that is no blank."""
    while text[at : at + 1] and text[at] in _BLANKS:
        at += 1
    return at


def _refuse(name: str) -> Any:
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


_BLANKS = " \t\r\n"
_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _event(document: Any, text: str) -> Incoming:
    _check_object(document)
    id = document.get("id")
    if id is None or id == "":
        id = str(uuid4())
        if "id" not in document:
            text = f'{{"id":"{id}"{"," if document else ""}{text[1:]}'
    return Incoming(_id(id), None, _encoded(text))


def _cloud_event(document: Any, text: str) -> Incoming:
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
    return Incoming(id, document["type"], _encoded(text))


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


def _encoded(text: str) -> bytes:
    """The event on one line: a line end between its parts is a blank, and there is none within them."""
    return text.replace("\r", " ").replace("\n", " ").encode()


def arrivals(tenant: str, events: Iterable[Incoming], types: Iterable[str], default: str) -> list[Arrival]:
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
            inside(tenant, each.id),
            inside(tenant, each.event_type if each.event_type in known else default),
            each.value,
        )
        for each in events
    ]


@dataclass(slots=True)
class Publishing:
    """Takes the events of many requests into the inbox together: one write to disk answers for all of them.

    Attributes:
        inbox: Where they go.
    """

    inbox: Inbox
    _waiting: list[tuple[list[Arrival], asyncio.Future[list[bool]]]] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None

    async def publish(self, events: list[Arrival]) -> list[bool]:
        """Take events; when this returns they are on disk. For each, was it new?"""
        future: asyncio.Future[list[bool]] = asyncio.get_running_loop().create_future()
        self._waiting.append((events, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write())
        return await asyncio.shield(future)

    async def close(self) -> None:
        """Wait for what is being written."""
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._waiting:
            taken, count = [], 0
            while self._waiting and count < _AT_ONCE:
                taken.append(self._waiting.pop(0))
                count += len(taken[-1][0])
            together = [event for events, _ in taken for event in events]
            try:
                is_new = iter(await asyncio.to_thread(self.inbox.append, together))
            except Exception as error:
                for _, future in taken:
                    if not future.done():
                        future.set_exception(error)
                continue
            for events, future in taken:
                answer = [next(is_new) for _ in events]
                if not future.done():
                    future.set_result(answer)


class Pace:
    """How much a tenant does in a second: a bucket that fills with time."""

    def __init__(self, per_second: float, now: float) -> None:
        """Full at first: one second's worth, and at least one."""
        self.per_second = per_second
        self._left = self._most = max(1.0, per_second)
        self._at = now

    def take(self, amount: float, now: float) -> float:
        """Take so much, if anything is left; gives the seconds to wait otherwise, 0 if it was taken."""
        self._left = min(self._most, self._left + (now - self._at) * self.per_second)
        self._at = now
        if self._left <= 0:
            return max(0.001, -self._left / self.per_second) if math.isfinite(self._left) else 1.0
        self._left -= amount  # a large request may overdraw; the next ones wait for it
        return 0.0
