"""What both clients have in common: settings, the calls of the service, and feeds of notifications."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import httpx2

from tamis.client.calls import ApiCall
from tamis.client.calls import access as access_calls
from tamis.client.calls import conditions as condition_calls
from tamis.client.calls import events as event_calls
from tamis.client.calls import notifications as notification_calls
from tamis.client.calls import peers as peer_calls
from tamis.client.calls import subscriptions as subscription_calls
from tamis.client.methods import CallMethod, ListingMethod
from tamis.client.notification_feed import FeedCursor, FeedPoller, FeedStream, OnLoss
from tamis.client.retries import Retries
from tamis.client.settings import ClientSettings

F = TypeVar("F")
H = TypeVar("H", bound=httpx2.Client | httpx2.AsyncClient)


class ServiceClient(ABC, Generic[H, F]):
    """A client whose feeds are of one kind; what it sends is what `calls` describes."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout_seconds: float = 30.0,
        quiet_seconds: float = 60.0,
        retries: Retries | None = None,
    ) -> None:
        """Make a client; it connects when it is first used.

        Args:
            url: Where the service is; by default $TAMIS_URL, else http://127.0.0.1:8765.
            token: The token of the caller; by default $TAMIS_TOKEN, else none.
            timeout_seconds: How long to wait for a connection, and for each part of an answer.
            quiet_seconds: After how long without any data `tail` reconnects.
            retries: How patient it is with a service that is busy or away.

        Raises:
            ClientError: The address or the token cannot be one.
        """
        self._settings = ClientSettings.of(
            url,
            token,
            timeout_seconds=timeout_seconds,
            quiet_seconds=quiet_seconds,
            retries=retries or Retries(),
        )
        self._http = self._open(self._settings.headers(), timeout_seconds)

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._settings.url

    subscribe = CallMethod(subscription_calls.subscribe)
    get = CallMethod(subscription_calls.subscription)
    subscriptions = ListingMethod(subscription_calls.subscriptions)
    change = CallMethod(subscription_calls.change)
    renew = CallMethod(subscription_calls.renew)
    pause = CallMethod(subscription_calls.pause)
    resume = CallMethod(subscription_calls.resume)
    unsubscribe = CallMethod(subscription_calls.unsubscribe)
    history = CallMethod(subscription_calls.history)
    import_many = CallMethod(subscription_calls.import_many)

    lint = CallMethod(condition_calls.lint)
    explain = CallMethod(condition_calls.explain)
    test = CallMethod(condition_calls.test)
    match = CallMethod(condition_calls.match)
    match_events = CallMethod(condition_calls.match_events)

    event = CallMethod(event_calls.event)
    events = ListingMethod(event_calls.events)
    declare = CallMethod(event_calls.declare)
    drop_event_type = CallMethod(event_calls.drop_event_type)
    event_type = CallMethod(event_calls.event_type)
    event_types = CallMethod(event_calls.event_types)
    advertise = CallMethod(event_calls.advertise)
    advertisements = CallMethod(event_calls.advertisements)
    advertisement = CallMethod(event_calls.advertisement)
    withdraw = CallMethod(event_calls.withdraw)

    poll = CallMethod(notification_calls.poll)
    newest = CallMethod(notification_calls.newest)
    notification = CallMethod(notification_calls.notification)
    failed_deliveries = ListingMethod(notification_calls.failed_deliveries)
    replay = CallMethod(notification_calls.replay)
    replay_many = CallMethod(notification_calls.replay_many)
    webhooks = ListingMethod(notification_calls.webhooks)
    webhook = CallMethod(notification_calls.webhook)
    deliver_messages = CallMethod(notification_calls.deliver_messages)
    end_messages = CallMethod(notification_calls.end_messages)
    resume_webhook = CallMethod(notification_calls.resume_webhook)
    dead_letters = ListingMethod(notification_calls.dead_letters)
    replay_dead_letter = CallMethod(notification_calls.replay_dead_letter)

    tokens = CallMethod(access_calls.tokens)
    create_token = CallMethod(access_calls.create_token)
    revoke_token = CallMethod(access_calls.revoke_token)
    tenants = CallMethod(access_calls.tenants)
    set_rights = CallMethod(access_calls.set_rights)
    restore = CallMethod(access_calls.restore)

    peers = CallMethod(peer_calls.peers)
    link_peer = CallMethod(peer_calls.link_peer)
    unlink_peer = CallMethod(peer_calls.unlink_peer)
    route = CallMethod(peer_calls.route)

    def notifications(
        self,
        after: int = 0,
        *,
        subscription: str | None = None,
        wait_seconds: float | None = None,
        page: int = 1000,
    ) -> F:
        """Notifications after a cursor, by long poll.

        Args:
            after: The `cursor` of an earlier feed, or the `seq` of a notification; 0 for all.
            subscription: Only those of this subscription.
            wait_seconds: End when none came for so long: 0 gives what is there. By default it never ends.
            page: How many are fetched at a time.
        """
        position = FeedCursor(after, subscription)
        return self._poll(position, FeedPoller(position, wait_seconds, page))

    def tail(
        self,
        after: int | None = None,
        *,
        subscription: str | None = None,
        describe: bool = False,
        on_loss: OnLoss | None = None,
    ) -> F:
        """Notifications as they come, over a stream that is taken up again where it broke.

        A first connection is tried as often as any request. Later ones are tried until the service is there again.

        Args:
            after: The cursor to start from; by default the newest notification when the first is asked for.
            subscription: Only those of this subscription.
            describe: With the condition of each subscription, and what became of the delivery until then.
            on_loss: Is called with the error and the seconds until the stream is resumed.
        """
        position = FeedCursor(after, subscription, describe=describe)
        return self._follow(position, on_loss)

    @abstractmethod
    def _poll(self, position: FeedCursor, polling: FeedPoller) -> F:
        """A feed by long poll."""

    @abstractmethod
    def _follow(self, position: FeedCursor, on_loss: OnLoss | None) -> F:
        """A feed over a stream."""

    @abstractmethod
    def _open(self, headers: dict[str, str], timeout_seconds: float) -> H:
        """The HTTP client that requests go through."""

    def _request(self, call: ApiCall[Any]) -> httpx2.Request:
        return self._http.build_request(
            call.method,
            self.url + call.path,
            params=call.parameters(),
            headers=call.headers(),
            content=call.body,
            timeout=self._settings.timeout_seconds + call.wait_seconds,
        )

    def _stream_arguments(self, following: FeedStream) -> dict[str, Any]:
        """What a connection of a feed is opened with."""
        timeout = httpx2.Timeout(self._settings.timeout_seconds, read=self._settings.quiet_seconds)
        return {"params": following.parameters(), "headers": following.headers(), "timeout": timeout}
