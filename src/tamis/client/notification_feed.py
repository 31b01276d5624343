"""The cursor of a reader of notifications, and how it polls, follows and resumes a stream.

The cursor is the `seq` of the last notification that was handed out, or a later place with none of the reader's
before it. It never goes back, and nothing at or before it is handed out: so a stream that is taken up again
at the cursor loses nothing and repeats nothing.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeAlias

import httpx2

from tamis.client.calls.base import ApiCall
from tamis.client.calls.notifications import STREAM, newest, poll
from tamis.client.decoding import decode
from tamis.client.errors import CONNECTION, UNEXPECTED, ClientError
from tamis.client.models import Notification, Page
from tamis.client.retries import Retries, answered_error, connection_error, retry_after

OnLoss: TypeAlias = Callable[[ClientError, float], None]
"""Is called with the error that broke a stream and the seconds until it is resumed."""

EVENTS = "text/event-stream"

_POLL_SECONDS = 20.0
"""How long one poll waits: less than proxies between allow."""

_LEAST_SECONDS = 0.2
"""From one question to the next, if the service does not wait."""


class FeedCursor:
    """The cursor of a reader, and which notifications it wants."""

    def __init__(self, after: int | None, subscription: str | None, *, describe: bool = False) -> None:
        self.cursor = after
        self.subscription = subscription
        self.describe = describe

    def start(self) -> ApiCall[int]:
        """The call for the cursor to start from, if there is none."""
        return newest(subscription=self.subscription)

    def advance(self, notification: Notification) -> bool:
        """Hand a notification out, unless it was before; gives whether it is new."""
        if self.cursor is not None and notification.seq <= self.cursor:
            return False
        self.cursor = notification.seq
        return True

    def take(self, page: Page[Notification]) -> Iterator[Notification]:
        """The new ones of a page, one after the other; then the cursor is behind all of it."""
        for notification in page.items:
            if self.advance(notification):
                yield notification
        if isinstance(page.next, int):
            self.cursor = max(self.cursor or 0, page.next)


class FeedPoller:
    """Polls for notifications, and knows when to end.

    Args:
        position: Of the reader.
        wait_seconds: It ends when nothing came for so long; None for never.
        page: How many notifications to ask for at a time.
    """

    def __init__(self, position: FeedCursor, wait_seconds: float | None, page: int) -> None:
        self._position = position
        self._wait_seconds = math.inf if wait_seconds is None else wait_seconds
        self._page = page
        self._heard: float | None = None
        self._asked = self._left = 0.0

    def call(self) -> ApiCall[Page[Notification]]:
        """The call for the next page."""
        self._asked = time.monotonic()
        if self._heard is None:
            self._heard = self._asked
        self._left = max(0.0, self._heard + self._wait_seconds - self._asked)
        wait = min(_POLL_SECONDS, self._left)
        position = self._position
        return poll(position.cursor or 0, subscription=position.subscription, limit=self._page, wait_seconds=wait)

    def pause_seconds(self, found: Page[Notification]) -> float | None:
        """How long to wait before the next question, after the answer was handed out; None to end."""
        now = time.monotonic()
        if found.items:
            self._heard = now
            return 0.0
        if self._left <= 0:
            return None
        return max(0.0, min(_LEAST_SECONDS, self._left) - (now - self._asked))


class FeedStream:
    """A stream of server-sent events, over any number of connections.

    The first connection is tried as often as any request; one that was good once is made again for ever, unless
    the service refuses it.
    """

    def __init__(self, url: str, position: FeedCursor, retries: Retries, on_loss: OnLoss | None) -> None:
        self._url = url
        self._position = position
        self._retries = retries
        self._on_loss = on_loss
        self._failures = 0
        self._connected = False
        self._asked_seconds = 0.0

    def parameters(self) -> dict[str, str]:
        """What goes into the address."""
        position = self._position
        only = {} if position.subscription is None else {"subscription": position.subscription}
        described = {"describe": "true"} if position.describe else {}
        return {"after": str(position.cursor), **only, **described}

    def headers(self) -> dict[str, str]:
        """What goes with the request beside the token."""
        return {"Accept": EVENTS, "Cache-Control": "no-store", "Last-Event-ID": str(self._position.cursor)}

    def is_stream(self, response: httpx2.Response) -> bool:
        """Is that the stream? If not, its body is to be read and given to `after_refusal`.

        Raises:
            ClientError: The answer is not one of the service.
        """
        if response.status_code != 200:
            return False
        found = response.headers.get("content-type", "")
        if found.partition(";")[0].strip().lower() != EVENTS:
            msg = f"{self._url}{STREAM}: expected {EVENTS}, found {found or 'no content type'}"
            raise ClientError(200, UNEXPECTED, msg)
        self._connected = True
        return True

    def take(self, event: httpx2.ServerSentEvent) -> Notification | None:
        """The notification that an event brings; None if it brings none, or one that was handed out before.

        Raises:
            ClientError: It cannot be read.
        """
        if event.retry is not None:
            self._asked_seconds = max(0.0, event.retry / 1000)
        if event.event != "notification" or not event.data:
            return None
        try:
            said = json.loads(event.data)
        except ValueError:
            msg = f"{self._url}{STREAM}: expected JSON, found {event.data[:80]!r}"
            raise ClientError(None, UNEXPECTED, msg) from None
        self._failures = 0
        notification = decode(Notification, said)
        return notification if self._position.advance(notification) else None

    def after_loss(self, error: httpx2.HTTPError | None) -> float:
        """How long to wait after the connection broke, or ended without an error.

        Raises:
            ClientError: It is not tried again.
        """
        if error is not None:
            lost = connection_error(self._url, error)
        else:
            lost = ClientError(None, CONNECTION, f"{self._url}: the service ended the stream")
        return self._wait(lost, None)

    def after_refusal(self, response: httpx2.Response, body: bytes) -> float:
        """How long to wait after an answer that is not the stream.

        Raises:
            ClientError: It is not tried again.
        """
        error = answered_error(self._url, response.status_code, body)
        if response.status_code != 429 and response.status_code < 500:
            raise error
        return self._wait(error, retry_after(response.headers, datetime.now(UTC)))

    def _wait(self, error: ClientError, asked: float | None) -> float:
        self._failures += 1
        if not self._connected and self._failures >= self._retries.attempts:
            raise error
        seconds = max(self._retries.seconds(self._failures), self._asked_seconds) if asked is None else asked
        seconds = min(seconds, self._retries.most_seconds)
        if self._on_loss is not None:
            self._on_loss(error, seconds)
        return seconds
