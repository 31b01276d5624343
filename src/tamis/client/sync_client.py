"""The client that waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from tamis.client.calls import ApiCall, Listing
from tamis.client.calls import access as access_calls
from tamis.client.calls import events as event_calls
from tamis.client.calls import subscriptions as subscription_calls
from tamis.client.calls.notifications import STREAM
from tamis.client.errors import ClientError
from tamis.client.event_chunks import CHUNK_EVENTS, EventInput, PublishTotals, chunks, one_or_many
from tamis.client.line_splitter import LineSplitter
from tamis.client.models import Accepted, Notification, Subscription
from tamis.client.notification_feed import FeedCursor, FeedPoller, FeedStream, OnLoss
from tamis.client.retries import RetryState, answer_of, connection_error
from tamis.client.service_client import ServiceClient

T = TypeVar("T")


class Feed(Iterator[Notification]):
    """Notifications one after the other, and how far one is.

    Attributes:
        cursor: What to give as `after` to go on from here later: everything up to it was handed out. None before
            the first notification of a feed that starts with the newest.
    """

    def __init__(self, position: FeedCursor, items: Generator[Notification, None, None]) -> None:
        self._position = position
        self._items = items

    @property
    def cursor(self) -> int | None:
        """How far one is."""
        return self._position.cursor

    def __next__(self) -> Notification:
        return next(self._items)

    def close(self) -> None:
        """Give the connection back."""
        self._items.close()

    def __enter__(self) -> Feed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Client(ServiceClient[httpx2.Client, Feed]):
    """Talks to a service, one answer at a time; several threads may share it."""

    def publish(
        self,
        events: EventInput | Iterable[EventInput],
        *,
        type: str | None = None,
        chunk: int = CHUNK_EVENTS,
        progress: Callable[[int], None] | None = None,
    ) -> Accepted:
        """Publish one event or many; when it returns, the service keeps them.

        An event is a mapping, or the text of a JSON object. Events without `id` get one before they are sent, so a
        request that got no answer is sent again, and no event counts twice.

        Args:
            events: One event, or any iterable of them, which is read as it is sent.
            type: Name of their type; by default the only declared one, else `event`.
            chunk: How many go into a request at most.
            progress: Is called with the number of events that the service has, after each request.

        Raises:
            ClientError: The service refuses a chunk; those before it are published, and a note of the error says
                how many events they had.
        """
        total, done = PublishTotals(), 0
        try:
            for answer in self.publish_chunks(events, type=type, chunk=chunk):
                done = total.add(answer)
                if progress is not None:
                    progress(done)
        except ClientError as error:
            error.add_note(f"{done} events before were published")
            raise
        return total.result()

    def publish_chunks(
        self, events: EventInput | Iterable[EventInput], *, type: str | None = None, chunk: int = CHUNK_EVENTS
    ) -> Iterator[Accepted]:
        """Publish as `publish` does, and give the answer to each request: for streams too long to add up."""
        for lines in chunks(one_or_many(events), chunk):
            yield self.send(event_calls.publish_lines(lines, type))

    def export(self) -> Iterator[Subscription]:
        """All subscriptions, one after the other as they arrive; `import_many` takes them."""
        call = subscription_calls.export()
        for body in self._stream_lines(call):
            yield answer_of(call, self.url, body)

    def backup(self) -> Iterator[Mapping[str, Any]]:
        """Everything that people have set up, of all tenants, record after record; `restore` takes them.

        It is for the operator only. Tokens and tickets are in it as salted hashes, the secrets of webhooks as they
        are: keep it safe.
        """
        call = access_calls.backup()
        for body in self._stream_lines(call):
            yield answer_of(call, self.url, body)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- sending -----------------------------------------------------------------------------------------

    def send(self, call: ApiCall[T]) -> T:
        """Send a call, as often as it takes, and read the answer.

        Raises:
            ClientError: The service refuses it, answers nonsense or is not there.
        """
        trying = RetryState(call, self.url, self._settings.retries)
        while True:
            try:
                response = self._http.send(self._request(call))
            except httpx2.RequestError as error:
                time.sleep(trying.after_failure(error))
                continue
            wait = trying.after_answer(response.status_code, response.headers, response.content)
            if wait is None:
                return answer_of(call, self.url, response.content)
            time.sleep(wait)

    def _items(self, listing: Listing[T]) -> Iterator[T]:
        start = listing.start
        while True:
            page = self.send(listing.page(start))
            yield from page.items
            if page.next is None or page.next == start:
                return
            start = page.next

    def _stream_lines(self, call: ApiCall[T]) -> Iterator[bytes]:
        """The lines of an answer as they arrive."""
        trying, lines = RetryState(call, self.url, self._settings.retries), LineSplitter()
        while True:
            try:
                response = self._http.send(self._request(call), stream=True)
                if response.is_success:
                    break
                with closing(response):
                    body = response.read()
            except httpx2.RequestError as error:
                time.sleep(trying.after_failure(error))
                continue
            time.sleep(trying.after_answer(response.status_code, response.headers, body) or 0.0)
        try:
            with closing(response):
                for piece in response.iter_bytes():
                    yield from lines.feed(piece)
                yield from lines.rest()
        except httpx2.RequestError as error:
            raise connection_error(self.url, error) from error

    def _open(self, headers: dict[str, str], timeout_seconds: float) -> httpx2.Client:
        return httpx2.Client(headers=headers, timeout=timeout_seconds)

    def _poll(self, position: FeedCursor, polling: FeedPoller) -> Feed:
        return Feed(position, self._polled_items(position, polling))

    def _follow(self, position: FeedCursor, on_loss: OnLoss | None) -> Feed:
        return Feed(position, self._streamed_items(position, on_loss))

    def _polled_items(self, position: FeedCursor, polling: FeedPoller) -> Generator[Notification, None, None]:
        while True:
            found = self.send(polling.call())
            yield from position.take(found)
            pause = polling.pause_seconds(found)
            if pause is None:
                return
            time.sleep(pause)

    def _streamed_items(self, position: FeedCursor, on_loss: OnLoss | None) -> Generator[Notification, None, None]:
        if position.cursor is None:
            position.cursor = self.send(position.start())
        following = FeedStream(self.url, position, self._settings.retries, on_loss)
        while True:
            try:
                with self._http.stream("GET", self.url + STREAM, **self._stream_arguments(following)) as response:
                    if following.is_stream(response):
                        for event in httpx2.EventSource(response):
                            if (notification := following.take(event)) is not None:
                                yield notification
                        wait = following.after_loss(None)
                    else:
                        wait = following.after_refusal(response, response.read())
            except httpx2.RequestError as error:
                wait = following.after_loss(error)
            time.sleep(wait)
