"""What follows from an answer or a broken connection: a result, an error, or a retry after a while.

This module only decides; the clients send and wait. A request is sent again if the service said that it did
nothing (429, 503), if the connection could not be made, or if it broke and the call is one that may be sent twice.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2

from tamis.client.calls.base import ApiCall
from tamis.client.decoding import decode_items
from tamis.client.errors import CONNECTION, UNEXPECTED, ClientError, ConditionProblem

T = TypeVar("T")
_LATER = frozenset({429, 503})
_PROBLEMS = "https://tamis.invalid/problems/"
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long a client retries.

    Attributes:
        attempts: How often a request is sent at most.
        base_seconds: The wait before the second attempt, about; each further one doubles it.
        most_seconds: The longest wait. A service that asks for a longer one is not asked again.
    """

    attempts: int = 6
    base_seconds: float = 0.5
    most_seconds: float = 60.0

    def seconds(self, failures: int) -> float:
        """How long to wait after so many failures; at random, so that clients do not come back all at once."""
        doubled = self.base_seconds * 2.0 ** min(failures - 1, 50)
        return min(self.most_seconds, doubled) * random.uniform(0.5, 1.0)


class RetryState:
    """The attempts at one call."""

    def __init__(self, call: ApiCall[Any], url: str, retries: Retries) -> None:
        self._call = call
        self._url = url
        self._retries = retries
        self._failures = 0

    def after_failure(self, error: httpx2.RequestError) -> float:
        """How long to wait after there was no answer.

        Raises:
            ClientError: It is not tried again.
        """
        self._failures += 1
        unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
        if (unsent or self._call.repeatable) and self._failures < self._retries.attempts and _may_pass(error):
            return self._retries.seconds(self._failures)
        raise connection_error(self._url, error, sent=not unsent and not self._call.repeatable) from error

    def after_answer(self, status: int, headers: Mapping[str, str], body: bytes) -> float | None:
        """How long to wait after an answer; None if it is good.

        Raises:
            ClientError: It is not, and it is not tried again.
        """
        if 200 <= status < 300:
            return None
        self._failures += 1
        if status in _LATER and self._failures < self._retries.attempts:
            asked = retry_after(headers, datetime.now(UTC))
            if asked is None:
                return self._retries.seconds(self._failures)
            if asked <= self._retries.most_seconds:
                return asked
        raise answered_error(self._url, status, body)


def _may_pass(error: httpx2.RequestError) -> bool:
    """Could the same request succeed later?"""
    return not isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that `Retry-After` asks for, as a number or as a time; None if it does not.

    >>> retry_after({"retry-after": "12"}, datetime.now(UTC))
    12.0
    """
    text = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        time = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (time.replace(tzinfo=time.tzinfo or UTC) - now).total_seconds())


def connection_error(url: str, error: httpx2.HTTPError, *, sent: bool = False) -> ClientError:
    """The error of a request without an answer; one that was `sent` may have been carried out."""
    reason = str(error) or type(error).__name__
    doubt = "; the request was sent and may have been carried out" if sent else ""
    return ClientError(None, CONNECTION, f"{url}: no answer from the service: {reason}{doubt}")


def answered_error(url: str, status: int, body: bytes) -> ClientError:
    """What an answer other than a good one says."""
    try:
        said = json.loads(body)
    except ValueError:  # also what is not UTF-8
        said = None
    if not isinstance(said, Mapping) or not isinstance(said.get("type"), str):
        text = " ".join(body[:_SHOWN].decode("utf-8", "replace").split())
        detail = f"{url}: expected an answer of the service, found status {status}" + (f": {text}" if text else "")
        return ClientError(status, UNEXPECTED, detail)
    kind = said["type"].removeprefix(_PROBLEMS)
    detail = said.get("detail") or said.get("title") or "the service does not say why"
    try:
        problems = decode_items(ConditionProblem, said.get("problems") or [])
    except ClientError:
        problems = ()  # what went wrong is more than how it was said
    return ClientError(status, kind, str(detail), problems)


def answer_of(call: ApiCall[T], url: str, body: bytes) -> T:
    """The result of a good answer.

    Raises:
        ClientError: It cannot be read.
    """
    try:
        said = json.loads(body) if body else None
    except ValueError:
        text = " ".join(body[:_SHOWN].decode("utf-8", "replace").split())
        raise ClientError(None, UNEXPECTED, f"{url}{call.path}: expected JSON, found {text!r}") from None
    return call.read(said)
