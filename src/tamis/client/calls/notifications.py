"""Calls about notifications, webhooks, and what could not be delivered or matched."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tamis.client.calls.base import ApiCall, Listing, as_json, delete, get, moment, page, post, under, without_none
from tamis.client.decoding import decode
from tamis.client.models import (
    DeadLetter,
    FailedDelivery,
    Notification,
    Page,
    Replayed,
    SubscriberWebhook,
    Trace,
    WebhookStatus,
)

_FOLDER = "/v1/notifications"
_WEBHOOKS = "/v1/webhooks"
STREAM = f"{_FOLDER}/stream"


def poll(
    after: int, *, subscription: str | None = None, limit: int = 1000, wait_seconds: float = 0.0
) -> ApiCall[Page[Notification]]:
    """The next notifications after a cursor, in the order of `seq`.

    Args:
        after: The `seq` of the last notification one has, or the `next` of the last page; 0 for all.
        subscription: Only those of this subscription.
        limit: At most so many.
        wait_seconds: If there is none yet, wait so long for one, at most 60 seconds.

    Returns:
        Them, and as `next` the cursor to go on from.
    """
    query = {"after": after, "subscription": subscription, "limit": limit, "wait": wait_seconds or None}
    return replace(get(_FOLDER, _page, query), wait_seconds=wait_seconds)


def newest(*, subscription: str | None = None) -> ApiCall[int]:
    """The cursor behind the newest notification: what comes after it is yet to come.

    Args:
        subscription: Of this subscription.
    """
    return get(_FOLDER, _newest, {"newest": True, "limit": 1, "subscription": subscription})


def notification(id: str) -> ApiCall[Trace]:
    """Everything about one notification: its event, the subscription as it was, attempts to deliver it.

    Raises:
        ClientError: "not-found".
    """
    return get(under(_FOLDER, id), _trace)


def failed_deliveries(
    *,
    subscription: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: int | None = None,
    page: int = 100,
) -> Listing[FailedDelivery]:
    """Notifications that their webhooks did not take, page after page as they are asked for.

    Args:
        subscription: Only those of this subscription.
        endpoint: Only those of webhooks with this URL, or on this host, with or without a port.
        since: Only those given up at this time or later.
        until: Only those given up before this time.
        after: Only those after this cursor.
        page: How many are fetched at a time.
    """
    times = {"since": since and moment(since), "until": until and moment(until)}
    query = {"subscription": subscription, **times, "limit": page}
    return Listing("/v1/deliveries/failed", FailedDelivery, "after", query, after)


def replay(notification_id: str) -> ApiCall[None]:
    """Deliver a notification by webhook once more, under the same id."""
    return post(under("/v1/deliveries", notification_id, "replay"), _nothing)


def replay_many(
    *,
    subscription: str | None = None,
    endpoint: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> ApiCall[Replayed]:
    """Deliver all failed deliveries once more, or some.

    Args:
        subscription: Only those of this subscription.
        endpoint: Only those of webhooks with this URL, or on this host, with or without a port.
        since: Only those given up at this time or later.
        until: Only those given up before this time.
    """
    body = without_none(subscription=subscription, endpoint=endpoint, since=since, until=until)
    return post("/v1/deliveries/replay", lambda answer: decode(Replayed, answer), body)


def webhooks(*, state: str | None = None, after: str | None = None, page: int = 500) -> Listing[WebhookStatus]:
    """Webhooks in the order of their subscriptions' ids, page after page as they are asked for.

    Args:
        state: Only those in this state: "pending", "confirmed", "paused" or "refused".
        after: Only those whose ids come after this one.
        page: How many are fetched at a time.
    """
    return Listing(_WEBHOOKS, WebhookStatus, "after", {"state": state, "limit": page}, after)


def webhook(id: str) -> ApiCall[WebhookStatus]:
    """The webhook of a subscription.

    Raises:
        ClientError: "not-found".
    """
    return get(under(_WEBHOOKS, id), lambda answer: decode(WebhookStatus, answer))


def deliver_messages(subscriber: str, url: str, *, digest: timedelta | None = None) -> ApiCall[SubscriberWebhook]:
    """Deliver what a subscriber is notified of to a webhook: one message an event, for all of its subscriptions.

    Args:
        subscriber: Its name.
        url: The receiver.
        digest: Gather messages for so long into one; by default each is sent.

    Returns:
        The webhook with its secret, which nothing can show again.
    """
    seconds = None if digest is None else digest.total_seconds()
    body = as_json({"url": url, **without_none(digest_seconds=seconds)})
    return ApiCall(
        "PUT", under(_WEBHOOKS, f"@{subscriber}"), lambda answer: decode(SubscriberWebhook, answer), body=body
    )


def end_messages(subscriber: str) -> ApiCall[None]:
    """End the webhook of a subscriber; its messages stay in the feed.

    Raises:
        ClientError: "not-found".
    """
    return delete(under(_WEBHOOKS, f"@{subscriber}"))


def resume_webhook(id: str) -> ApiCall[WebhookStatus]:
    """Ask the receiver of a paused or refused webhook again whether it agrees; if so, it gets what has waited.

    Raises:
        ClientError: "not-found", or "conflict" if it is neither paused nor refused.
    """
    return post(under(_WEBHOOKS, id, "resume"), lambda answer: decode(WebhookStatus, answer))


def dead_letters(*, before: int | None = None, page: int = 100) -> Listing[DeadLetter]:
    """Events that could not be matched, the newest first, page after page as they are asked for.

    Args:
        before: Only those before this cursor.
        page: How many are fetched at a time.
    """
    return Listing("/v1/dead-letters", DeadLetter, "before", {"limit": page}, before)


def replay_dead_letter(id: str) -> ApiCall[None]:
    """Match a dead letter once more, after what was wrong has been put right."""
    return post(under("/v1/dead-letters", id, "replay"), _nothing)


def _page(answer: Any) -> Page[Notification]:
    return page(Notification, answer)


def _newest(answer: Any) -> int:
    found = _page(answer)
    places = [each.seq for each in found.items]
    return max([*places, found.next if isinstance(found.next, int) else 0])


def _trace(answer: Any) -> Trace:
    rest = {key: answer[key] for key in ("event", "subscription", "attempts", "delivery") if key in answer}
    return decode(Trace, {"notification": answer, **rest}, "Notification")


def _nothing(answer: Any) -> None:
    return None
