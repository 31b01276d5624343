"""Webhooks as the service answers them."""

from __future__ import annotations

from datetime import UTC, datetime

from tamis.client.decoding import decode
from tamis.client.models import NotificationDelivery, Replayed, WebhookStatus


def test_a_webhook_says_since_when_it_is_paused() -> None:
    given = {"subscription_id": "s", "url": "https://x.example/", "state": "paused", "failures": 5}
    counts = {"waiting": 3, "failed": 5, "reason": "the receiver answered 500"}
    found = decode(WebhookStatus, {**given, **counts, "since": "2026-07-01T12:00:00Z"})
    assert (found.state, found.waiting, found.since) == ("paused", 3, datetime(2026, 7, 1, 12, tzinfo=UTC))
    assert decode(WebhookStatus, {**given, **counts, "since": None}).since is None


def test_what_became_of_deliveries() -> None:
    assert decode(NotificationDelivery, {"state": "delivered", "reason": None}) == NotificationDelivery(
        "delivered"
    )
    assert decode(Replayed, {"replayed": 7, "left": 2}) == Replayed(7, 2)
