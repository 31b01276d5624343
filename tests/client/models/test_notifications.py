"""Notifications and failures as the service answers them."""

from __future__ import annotations

from datetime import UTC, datetime

from tamis.client.decoding import decode
from tamis.client.models import FailedDelivery, Trace

AT = "2026-07-01T12:00:00Z"
NOTIFICATION = {
    "seq": 7,
    "id": "n",
    "subscription_id": "s",
    "event_id": "e",
    "event_type": "event",
    "revision": 1,
    "version": 2,
    "matched_at": AT,
    "batch": 4,
}


def test_a_trace_has_the_attempts_in_their_order() -> None:
    attempts = [{"at": AT, "seconds": 1, "attempt": number, "outcome": "failed"} for number in (1, 2)]
    trace = decode(Trace, {"notification": NOTIFICATION, "attempts": attempts})
    assert trace.notification.matched_at == datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert [each.attempt for each in trace.attempts] == [1, 2]
    assert (trace.event, trace.subscription, trace.notification.event_time) == (None, None, None)


def test_a_failed_delivery_says_when_it_is_tried_again_if_it_is() -> None:
    given = {"notification_id": "n", "subscription_id": "s", "seq": 7, "at": AT, "attempts": 3, "error": "503"}
    assert decode(FailedDelivery, given).next_attempt is None
    assert decode(FailedDelivery, {**given, "next_attempt": AT}).next_attempt is not None
