"""The description of a call: what is sent, how the answer is read, and whether it may be sent twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from tamis.client.decoding import decode_items, member
from tamis.client.errors import INVALID, ClientError
from tamis.client.models import Page

JSON = "application/json"
JSON_LINES = "application/x-ndjson"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """A request, and how its answer is read.

    Attributes:
        method: Of HTTP.
        path: After the address of the service.
        read: Makes the result of the answer's JSON, which is None if it has no body.
        query: Parameters; None is left out.
        body: What is sent.
        content_type: Of the body.
        ticket: That of the subscription it is about.
        repeatable: Does sending it twice do no more than sending it once, and answer the same? Then it is sent
            again if the connection broke before the answer came.
        wait_seconds: How long the service may take on purpose.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    ticket: str | None = None
    repeatable: bool = False
    wait_seconds: float = 0.0

    def headers(self) -> dict[str, str]:
        """What goes with the request beside the token."""
        content = {} if self.body is None else {"Content-Type": self.content_type}
        ticket = {} if self.ticket is None else {"Tamis-Ticket": self.ticket}
        return {"Accept": JSON, **content, **ticket}

    def parameters(self) -> dict[str, str]:
        """The query as texts."""
        return {name: _parameter(value) for name, value in self.query.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A list that comes in pages.

    Attributes:
        path: After the address of the service.
        kind: The record of an item.
        cursor: The parameter that says where a page starts.
        query: Other parameters.
        start: Where the first page starts; None for the beginning.
    """

    path: str
    kind: type[T]
    cursor: str
    query: Mapping[str, Any]
    start: int | str | None = None

    def page(self, start: int | str | None) -> ApiCall[Page[T]]:
        """The call for one page."""
        return get(self.path, lambda answer: page(self.kind, answer), {**self.query, self.cursor: start})


def page(kind: type[T], answer: Any) -> Page[T]:
    """A page of an answer."""
    return Page(decode_items(kind, member(answer, "items")), answer.get("next"))


def get(path: str, read: Callable[[Any], T], query: Mapping[str, Any] | None = None) -> ApiCall[T]:
    """A question, which changes nothing."""
    return ApiCall("GET", path, read, query or {}, repeatable=True)


def put(
    path: str, read: Callable[[Any], T], body: Mapping[str, Any], query: Mapping[str, Any] | None = None
) -> ApiCall[T]:
    """A statement of how something shall be."""
    return ApiCall("PUT", path, read, query or {}, as_json(body), repeatable=True)


def post(
    path: str,
    read: Callable[[Any], T],
    body: Mapping[str, Any] | None = None,
    *,
    ticket: str | None = None,
    repeatable: bool = False,
) -> ApiCall[T]:
    """A request to do something."""
    content = None if body is None else as_json(body)
    return ApiCall("POST", path, read, {}, content, ticket=ticket, repeatable=repeatable)


def delete(path: str, *, ticket: str | None = None) -> ApiCall[None]:
    """A request to remove something; sent twice it would say that nothing is there."""
    return ApiCall("DELETE", path, lambda answer: None, ticket=ticket)


def under(folder: str, name: str, *rest: str) -> str:
    """The path of something with a name that others chose.

    Raises:
        ClientError: No address can hold the name.

    >>> under("/v1/subscriptions", "a/b", "renew")
    '/v1/subscriptions/a%2Fb/renew'
    """
    if name in {"", ".", ".."}:
        msg = f"{folder}: expected a name, found {name!r}"
        raise ClientError(None, INVALID, msg)
    return "/".join([folder, quote(name, safe=""), *rest])


def without_none(**values: Any) -> dict[str, Any]:
    """What is not None."""
    return {name: value for name, value in values.items() if value is not None}


def as_json(value: Any) -> bytes:
    """JSON in UTF-8; times as ISO 8601, in UTC if they have a zone.

    Raises:
        ClientError: It has something that JSON has not.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_jsonable)
        return text.encode()
    except (TypeError, ValueError) as error:  # also a lone surrogate, which UTF-8 has not
        msg = f"cannot be written as JSON: {error}"
        raise ClientError(None, INVALID, msg) from error


def _jsonable(value: Any) -> Any:
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    msg = f"expected texts, numbers, times, lists and mappings, found {type(value).__name__}"
    raise TypeError(msg)


def moment(time: datetime) -> str:
    """A time as ISO 8601; one without a zone stays without."""
    if time.tzinfo is None:
        return time.isoformat()
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _parameter(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
