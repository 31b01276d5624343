"""What is sent to a receiver. The body of a notification is the same bytes in every attempt."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tamis.service.names import local_name, subscriber_of, tenant_of
from tamis.service.webhooks.client import CallResult
from tamis.service.webhooks.records import Digest, FeedRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def notification_body(notification: FeedRow, event: bytes | None) -> bytes:
    """The message of a notification; the event is passed on byte by byte, null if it is not kept any more."""
    head = {"type": "tamis.notification", "timestamp": iso(notification.matched_at)}
    return b'%s,"data":{"notification":%s,"event":%s}}' % (
        _json(head)[:-1],
        _json(public_fields(notification)),
        b"null" if event is None else event,
    )


def digest_body(digest: Digest, events: Mapping[str, bytes | None]) -> bytes:
    """The message of a digest: counts, and the first notifications with their events, as far as they are kept."""
    head = {"type": "tamis.digest", "timestamp": iso(digest.last.matched_at)}
    told = {
        "id": digest.last.id,
        "subscription_id": local_name(digest.last.subscription_id),
        "count": digest.count,
        "from": iso(digest.first[0].matched_at),
        "until": iso(digest.last.matched_at),
        "subscriptions": [{"id": local_name(id), "count": count} for id, count in digest.counts],
    }
    first = (
        b'{"notification":%s,"event":%s}' % (_json(public_fields(each)), events.get(each.event_id) or b"null")
        for each in digest.first
    )
    return b'%s,"data":{"digest":%s,"first":[%s]}}' % (_json(head)[:-1], _json(told), b",".join(first))


def handshake_body(subscription_id: str, challenge: str, at: int) -> bytes:
    """The message that asks a receiver whether it wants to be one."""
    data = {"subscription_id": local_name(subscription_id), "challenge": challenge}
    return _json({"type": "tamis.handshake", "timestamp": iso(at), "data": data})


def new_challenge() -> str:
    """A random text, which only a receiver that reads the message can return."""
    return secrets.token_urlsafe(24)


def handshake_problem(answer: CallResult, challenge: str) -> str | None:
    """What is wrong with the answer to a handshake; None if the receiver agrees."""
    if answer.error is not None:
        return answer.error
    if answer.status != 200:
        return f"the receiver answered the handshake with {answer.status}, expected 200"
    text = answer.body.decode("utf-8", "replace").strip()
    if text == challenge:
        return None
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if isinstance(given, dict) and given.get("challenge") == challenge:
        return None
    return "the receiver did not answer the handshake with its challenge"


def public_fields(notification: FeedRow) -> dict[str, Any]:
    """A notification as its tenant sees it."""
    row = notification._asdict()
    for name in ("subscription_id", "event_id", "event_type"):
        row[name] = local_name(row[name])
    row["event_time"] = _iso_if_possible(notification.event_time)
    row["matched_at"] = iso(notification.matched_at)
    row["owner"] = tenant_of(notification.subscription_id)
    row["label"] = row.pop("label")
    kept = row.pop("attributes")
    row["attributes"] = None if kept is None else json.loads(kept)
    subscriber, named = row.pop("subscriber"), row.pop("subscriptions")
    if named is not None:
        row |= {"subscriber": subscriber_of(subscriber), "subscriptions": json.loads(named)}
    return row


def iso(us: int) -> str:
    """A time as text.

    Example:
        >>> iso(1_700_000_000_000_001)
        '2023-11-14T22:13:20.000001Z'
    """
    return (_EPOCH + timedelta(microseconds=us)).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _iso_if_possible(us: int | None) -> str | None:
    """An event may say that it is of the year 20000, and is delivered all the same."""
    try:
        return None if us is None else iso(us)
    except OverflowError:
        return None


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
