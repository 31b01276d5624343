"""Subscriptions and conditions as the service answers them."""

from __future__ import annotations

from tamis.client.decoding import decode
from tamis.client.models import Delivery, Explanation, Imported, Subscribed

SUBSCRIPTION = {"id": "s", "revision": 1, "condition": "true", "event_type": "event", "state": "active"}


def test_a_subscription_without_a_delivery_is_pulled() -> None:
    made = decode(Subscribed, {"subscription": SUBSCRIPTION, "ticket": "secret"})
    assert made.subscription.delivery == Delivery("pull")
    assert "secret" not in repr(made)


def test_tickets_of_an_import_are_not_shown_by_accident() -> None:
    counts = {"added": 1, "replaced": 0, "edited": 0, "unchanged": 0}
    done = decode(Imported, {**counts, "tickets": {"s": "secret"}, "refusals": [{"id": "t", "detail": "why"}]})
    assert (done.tickets, done.refusals[0].problems) == ({"s": "secret"}, ())
    assert "secret" not in repr(done)


def test_an_unknown_verdict_is_none() -> None:
    found = decode(Explanation, {"verdict": None, "reason": "x is NULL", "tree": {}, "text": ""})
    assert found.verdict is None
