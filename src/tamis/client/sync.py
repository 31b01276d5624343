"""The client that waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

import httpx2

from tamis.client.answers import Accepted, Notification, Subscription
from tamis.client.calls import Call, Listing
from tamis.client.calls import access as access_calls
from tamis.client.calls import conditions as condition_calls
from tamis.client.calls import events as event_calls
from tamis.client.calls import notifications as notification_calls
from tamis.client.calls import subscriptions as subscription_calls
from tamis.client.calls.notifications import STREAM
from tamis.client.errors import ClientError
from tamis.client.following import Following, OnLoss, Polling, Position
from tamis.client.lines import Lines
from tamis.client.methods import named_as
from tamis.client.publishing import CHUNK_EVENTS, Given, Total, chunks, one_or_many
from tamis.client.retrying import Retries, Trying, answer_of, connection_error
from tamis.client.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")


def _sent(describe: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    """A method that sends the call and gives its result."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(describe(*args, **kwargs))

    return named_as(describe, method, "{}")


def _listed(describe: Callable[P, Listing[T]]) -> Callable[Concatenate[Client, P], Iterator[T]]:
    """A method that gives the items of all pages."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._items(describe(*args, **kwargs))

    return named_as(describe, method, "Iterator[{}]")


class Feed(Iterator[Notification]):
    """Notifications one after the other, and how far one is.

    Attributes:
        cursor: What to give as `after` to go on from here later: everything up to it was handed out. None before
            the first notification of a feed that starts with the newest.
    """

    def __init__(self, position: Position, items: Generator[Notification, None, None]) -> None:
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


class Client:
    """Talks to a service, one answer at a time; several threads may share it.

    Args:
        url: Where the service is; by default $TAMIS_URL, else http://127.0.0.1:8765.
        token: What lets one in; by default $TAMIS_TOKEN, else none.
        timeout_seconds: How long to wait for a connection, and for each part of an answer.
        quiet_seconds: After how long without a sign of life `tail` connects anew.
        retries: How patient it is with a service that is busy or away.

    Raises:
        ClientError: The address or the token cannot be one.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout_seconds: float = 30.0,
        quiet_seconds: float = 60.0,
        retries: Retries | None = None,
    ) -> None:
        self._settings = Settings.of(
            url,
            token,
            timeout_seconds=timeout_seconds,
            quiet_seconds=quiet_seconds,
            retries=retries or Retries(),
        )
        self._http = httpx2.Client(headers=self._settings.headers(), timeout=timeout_seconds)

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._settings.url

    subscribe = _sent(subscription_calls.subscribe)
    get = _sent(subscription_calls.subscription)
    subscriptions = _listed(subscription_calls.subscriptions)
    change = _sent(subscription_calls.change)
    renew = _sent(subscription_calls.renew)
    pause = _sent(subscription_calls.pause)
    resume = _sent(subscription_calls.resume)
    unsubscribe = _sent(subscription_calls.unsubscribe)
    history = _sent(subscription_calls.history)
    import_many = _sent(subscription_calls.import_many)

    lint = _sent(condition_calls.lint)
    explain = _sent(condition_calls.explain)
    test = _sent(condition_calls.test)

    event = _sent(event_calls.event)
    events = _listed(event_calls.events)
    declare = _sent(event_calls.declare)
    event_type = _sent(event_calls.event_type)
    event_types = _sent(event_calls.event_types)
    advertise = _sent(event_calls.advertise)
    advertisements = _sent(event_calls.advertisements)
    advertisement = _sent(event_calls.advertisement)
    withdraw = _sent(event_calls.withdraw)

    poll = _sent(notification_calls.poll)
    newest = _sent(notification_calls.newest)
    notification = _sent(notification_calls.notification)
    failed_deliveries = _listed(notification_calls.failed_deliveries)
    replay = _sent(notification_calls.replay)
    dead_letters = _listed(notification_calls.dead_letters)
    replay_dead_letter = _sent(notification_calls.replay_dead_letter)

    tokens = _sent(access_calls.tokens)
    create_token = _sent(access_calls.create_token)
    revoke_token = _sent(access_calls.revoke_token)
    tenants = _sent(access_calls.tenants)
    set_rights = _sent(access_calls.set_rights)

    def publish(
        self,
        events: Given | Iterable[Given],
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
            type: Name of their type; by default the schemaless one.
            chunk: How many go into a request at most.
            progress: Is called with the number of events that the service has, after each request.

        Raises:
            ClientError: The service refuses a chunk; those before it are published, and a note of the error says
                how many events they had.
        """
        total, done = Total(), 0
        try:
            for answer in self.publish_chunks(events, type=type, chunk=chunk):
                done = total.add(answer)
                if progress is not None:
                    progress(done)
        except ClientError as error:
            error.add_note(f"{done} events before were published")
            raise
        return total.accepted()

    def publish_chunks(
        self, events: Given | Iterable[Given], *, type: str | None = None, chunk: int = CHUNK_EVENTS
    ) -> Iterator[Accepted]:
        """Publish as `publish` does, and give the answer to each request: for streams too long to add up."""
        for lines in chunks(one_or_many(events), chunk):
            yield self.send(event_calls.publish_lines(lines, type))

    def export(self) -> Iterator[Subscription]:
        """All subscriptions, one after the other as they arrive; `import_many` takes them."""
        call = subscription_calls.export()
        for body in self._streamed(call):
            yield answer_of(call, self.url, body)

    def notifications(
        self,
        after: int = 0,
        *,
        subscription: str | None = None,
        wait_seconds: float | None = None,
        page: int = 1000,
    ) -> Feed:
        """Notifications after a cursor, by long poll.

        Args:
            after: The `cursor` of an earlier feed, or the `seq` of a notification; 0 for all.
            subscription: Only those of this subscription.
            wait_seconds: End when none came for so long: 0 gives what is there. By default it never ends.
            page: How many are fetched at a time.
        """
        position = Position(after, subscription)
        return Feed(position, self._polled(position, Polling(position, wait_seconds, page)))

    def tail(
        self, after: int | None = None, *, subscription: str | None = None, on_loss: OnLoss | None = None
    ) -> Feed:
        """Notifications as they come, over a stream that is taken up again where it broke.

        A first connection is tried as often as any request. Later ones are tried until the service is there again.

        Args:
            after: The cursor to start from; by default the newest notification when the first is asked for.
            subscription: Only those of this subscription.
            on_loss: Is told why the stream broke, and in how many seconds it is taken up again.
        """
        position = Position(after, subscription)
        return Feed(position, self._followed(position, on_loss))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- sending -----------------------------------------------------------------------------------------

    def send(self, call: Call[T]) -> T:
        """Send a call, as often as it takes, and read the answer.

        Raises:
            ClientError: The service refuses it, answers nonsense or is not there.
        """
        trying = Trying(call, self.url, self._settings.retries)
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

    def _request(self, call: Call[T]) -> httpx2.Request:
        return self._http.build_request(
            call.method,
            self.url + call.path,
            params=call.parameters(),
            headers=call.headers(),
            content=call.body,
            timeout=self._settings.timeout_seconds + call.wait_seconds,
        )

    def _items(self, listing: Listing[T]) -> Iterator[T]:
        start = listing.start
        while True:
            page = self.send(listing.page(start))
            yield from page.items
            if page.next is None or page.next == start:
                return
            start = page.next

    def _streamed(self, call: Call[T]) -> Iterator[bytes]:
        """The lines of an answer as they arrive."""
        trying, lines = Trying(call, self.url, self._settings.retries), Lines()
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

    def _polled(self, position: Position, polling: Polling) -> Generator[Notification, None, None]:
        while True:
            found = self.send(polling.call())
            yield from position.take(found)
            pause = polling.pause_seconds(found)
            if pause is None:
                return
            time.sleep(pause)

    def _followed(self, position: Position, on_loss: OnLoss | None) -> Generator[Notification, None, None]:
        if position.cursor is None:
            position.cursor = self.send(position.start())
        following = Following(self.url, position, self._settings.retries, on_loss)
        timeout = httpx2.Timeout(self._settings.timeout_seconds, read=self._settings.quiet_seconds)
        while True:
            try:
                with self._http.stream(
                    "GET",
                    self.url + STREAM,
                    params=following.parameters(),
                    headers=following.headers(),
                    timeout=timeout,
                ) as response:
                    if following.opened(response):
                        for event in httpx2.EventSource(response):
                            if (notification := following.take(event)) is not None:
                                yield notification
                        wait = following.after_loss(None)
                    else:
                        wait = following.after_refusal(response, response.read())
            except httpx2.RequestError as error:
                wait = following.after_loss(error)
            time.sleep(wait)
