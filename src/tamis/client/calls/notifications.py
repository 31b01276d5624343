"""Calls about notifications, and about what could not be delivered or matched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tamis.client.answers import DeadLetter, FailedDelivery, Notification, Page, Trace
from tamis.client.calls.base import Call, Listing, get, page, post, under
from tamis.client.reading import read

_FOLDER = "/v1/notifications"
STREAM = f"{_FOLDER}/stream"


def poll(
    after: int, *, subscription: str | None = None, limit: int = 1000, wait_seconds: float = 0.0
) -> Call[Page[Notification]]:
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


def newest(*, subscription: str | None = None) -> Call[int]:
    """The cursor behind the newest notification: what comes after it is yet to come.

    Args:
        subscription: Of this subscription.
    """
    return get(_FOLDER, _newest, {"newest": True, "limit": 1, "subscription": subscription})


def notification(id: str) -> Call[Trace]:
    """Everything about one notification: its event, the subscription as it was, attempts to deliver it.

    Raises:
        ClientError: "not-found".
    """
    return get(under(_FOLDER, id), _trace)


def failed_deliveries(*, after: int | None = None, page: int = 100) -> Listing[FailedDelivery]:
    """Notifications that their webhooks did not take, page after page as they are asked for.

    Args:
        after: Only those after this cursor.
        page: How many are fetched at a time.
    """
    return Listing("/v1/deliveries/failed", FailedDelivery, "after", {"limit": page}, after)


def replay(notification_id: str) -> Call[None]:
    """Deliver a notification by webhook once more, under the same id."""
    return post(under("/v1/deliveries", notification_id, "replay"), _nothing)


def dead_letters(*, before: int | None = None, page: int = 100) -> Listing[DeadLetter]:
    """Events that could not be matched, the newest first, page after page as they are asked for.

    Args:
        before: Only those before this cursor.
        page: How many are fetched at a time.
    """
    return Listing("/v1/dead-letters", DeadLetter, "before", {"limit": page}, before)


def replay_dead_letter(id: str) -> Call[None]:
    """Match a dead letter once more, after what was wrong has been put right."""
    return post(under("/v1/dead-letters", id, "replay"), _nothing)


def _page(answer: Any) -> Page[Notification]:
    return page(Notification, answer)


def _newest(answer: Any) -> int:
    found = _page(answer)
    places = [each.seq for each in found.items]
    return max([*places, found.next if isinstance(found.next, int) else 0])


def _trace(answer: Any) -> Trace:
    rest = {key: answer[key] for key in ("event", "subscription", "attempts") if key in answer}
    return read(Trace, {"notification": answer, **rest}, "Notification")


def _nothing(answer: Any) -> None:
    return None
