"""The client for asyncio: the same calls, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from tamis.client.calls import ApiCall, Listing
from tamis.client.calls import access as access_calls
from tamis.client.calls import events as event_calls
from tamis.client.calls import subscriptions as subscription_calls
from tamis.client.calls.notifications import STREAM
from tamis.client.errors import ClientError
from tamis.client.event_chunks import CHUNK_EVENTS, Chunks, EventInput, PublishTotals, one_or_many
from tamis.client.line_splitter import LineSplitter
from tamis.client.models import Accepted, Notification, Subscription
from tamis.client.notification_feed import FeedCursor, FeedPoller, FeedStream, OnLoss
from tamis.client.retries import RetryState, answer_of, connection_error
from tamis.client.service_client import ServiceClient

T = TypeVar("T")


class AsyncFeed(AsyncIterator[Notification]):
    """Notifications one after the other, and how far one is.

    Attributes:
        cursor: What to give as `after` to go on from here later: everything up to it was handed out. None before
            the first notification of a feed that starts with the newest.
    """

    def __init__(self, position: FeedCursor, items: AsyncGenerator[Notification, None]) -> None:
        self._position = position
        self._items = items

    @property
    def cursor(self) -> int | None:
        """How far one is."""
        return self._position.cursor

    async def __anext__(self) -> Notification:
        return await anext(self._items)

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._items.aclose()

    async def __aenter__(self) -> AsyncFeed:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class AsyncClient(ServiceClient[httpx2.AsyncClient, AsyncFeed]):
    """Talks to a service from asyncio; many tasks may share it."""

    async def publish(
        self,
        events: EventInput | Iterable[EventInput] | AsyncIterable[EventInput],
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
            async for answer in self.publish_chunks(events, type=type, chunk=chunk):
                done = total.add(answer)
                if progress is not None:
                    progress(done)
        except ClientError as error:
            error.add_note(f"{done} events before were published")
            raise
        return total.result()

    async def publish_chunks(
        self,
        events: EventInput | Iterable[EventInput] | AsyncIterable[EventInput],
        *,
        type: str | None = None,
        chunk: int = CHUNK_EVENTS,
    ) -> AsyncGenerator[Accepted, None]:
        """Publish as `publish` does, and give the answer to each request: for streams too long to add up."""
        collected = Chunks(chunk)
        async for event in _each(events):
            if lines := collected.add(event):
                yield await self.send(event_calls.publish_lines(lines, type))
        if lines := collected.rest():
            yield await self.send(event_calls.publish_lines(lines, type))

    async def export(self) -> AsyncGenerator[Subscription, None]:
        """All subscriptions, one after the other as they arrive; `import_many` takes them."""
        call = subscription_calls.export()
        async for body in self._stream_lines(call):
            yield answer_of(call, self.url, body)

    async def backup(self) -> AsyncGenerator[Mapping[str, Any], None]:
        """Everything that people have set up, of all tenants, record after record; `restore` takes them.

        It is for the operator only. Tokens and tickets are in it as salted hashes, the secrets of webhooks as they
        are: keep it safe.
        """
        call = access_calls.backup()
        async for body in self._stream_lines(call):
            yield answer_of(call, self.url, body)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # --- sending -----------------------------------------------------------------------------------------

    async def send(self, call: ApiCall[T]) -> T:
        """Send a call, as often as it takes, and read the answer.

        Raises:
            ClientError: The service refuses it, answers nonsense or is not there.
        """
        trying = RetryState(call, self.url, self._settings.retries)
        while True:
            try:
                response = await self._http.send(self._request(call))
            except httpx2.RequestError as error:
                await asyncio.sleep(trying.after_failure(error))
                continue
            wait = trying.after_answer(response.status_code, response.headers, response.content)
            if wait is None:
                return answer_of(call, self.url, response.content)
            await asyncio.sleep(wait)

    async def _items(self, listing: Listing[T]) -> AsyncGenerator[T, None]:
        start = listing.start
        while True:
            page = await self.send(listing.page(start))
            for item in page.items:
                yield item
            if page.next is None or page.next == start:
                return
            start = page.next

    async def _stream_lines(self, call: ApiCall[T]) -> AsyncGenerator[bytes, None]:
        """The lines of an answer as they arrive."""
        trying, lines = RetryState(call, self.url, self._settings.retries), LineSplitter()
        while True:
            try:
                response = await self._http.send(self._request(call), stream=True)
                if response.is_success:
                    break
                try:
                    body = await response.aread()
                finally:
                    await response.aclose()
            except httpx2.RequestError as error:
                await asyncio.sleep(trying.after_failure(error))
                continue
            await asyncio.sleep(trying.after_answer(response.status_code, response.headers, body) or 0.0)
        try:
            async for piece in response.aiter_bytes():
                for line in lines.feed(piece):
                    yield line
            for line in lines.rest():
                yield line
        except httpx2.RequestError as error:
            raise connection_error(self.url, error) from error
        finally:
            await response.aclose()

    def _open(self, headers: dict[str, str], timeout_seconds: float) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(headers=headers, timeout=timeout_seconds)

    def _poll(self, position: FeedCursor, polling: FeedPoller) -> AsyncFeed:
        return AsyncFeed(position, self._polled_items(position, polling))

    def _follow(self, position: FeedCursor, on_loss: OnLoss | None) -> AsyncFeed:
        return AsyncFeed(position, self._streamed_items(position, on_loss))

    async def _polled_items(self, position: FeedCursor, polling: FeedPoller) -> AsyncGenerator[Notification, None]:
        while True:
            found = await self.send(polling.call())
            for notification in position.take(found):
                yield notification
            pause = polling.pause_seconds(found)
            if pause is None:
                return
            await asyncio.sleep(pause)

    async def _streamed_items(
        self, position: FeedCursor, on_loss: OnLoss | None
    ) -> AsyncGenerator[Notification, None]:
        if position.cursor is None:
            position.cursor = await self.send(position.start())
        following = FeedStream(self.url, position, self._settings.retries, on_loss)
        while True:
            try:
                async with self._http.stream(
                    "GET", self.url + STREAM, **self._stream_arguments(following)
                ) as response:
                    if following.is_stream(response):
                        async for event in httpx2.EventSource(response):
                            if (notification := following.take(event)) is not None:
                                yield notification
                        wait = following.after_loss(None)
                    else:
                        wait = following.after_refusal(response, await response.aread())
            except httpx2.RequestError as error:
                wait = following.after_loss(error)
            await asyncio.sleep(wait)


async def _each(
    events: EventInput | Iterable[EventInput] | AsyncIterable[EventInput],
) -> AsyncGenerator[EventInput, None]:
    if isinstance(events, AsyncIterable):
        async for event in events:
            yield event
    else:
        for event in one_or_many(events):
            yield event
