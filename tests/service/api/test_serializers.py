"""Records as answers: in the names of the tenant, and events as they came."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from tamis.errors import ConditionError, Problem, SubscriptionError
from tamis.matcher import Refusal
from tamis.service.api import serializers
from tamis.service.inbox import InboxEvent
from tamis.service.webhooks.records import DeliveryAttempt, Webhook, WebhookStatus

EVENT = InboxEvent(3, "acme/e", "acme/sale", datetime(2026, 7, 1, tzinfo=UTC), b'{"price": 1.10}')


def test_an_event_is_passed_on_with_all_its_digits() -> None:
    text = serializers.event_text(EVENT, notifications=[])
    assert text.endswith(b',"event":{"price": 1.10}}')
    said = json.loads(text)
    assert (said["number"], said["id"], said["event_type"], said["notifications"]) == (3, "e", "sale", [])
    assert said["event"] == serializers.event(EVENT)["event"]
    assert serializers.with_text({"a": 1}, "event", None) == b'{"a":1,"event":null}'


def test_a_webhook_is_shown_without_its_secret() -> None:
    assert serializers.delivery(None) == {"kind": "pull"}
    hook = Webhook("acme/s", "https://x.example/", "whsec_secret", "pending", None, 0, 0, 0, 5, 0, 1_000_000)
    assert "secret" not in json.dumps(serializers.delivery(hook), default=str)
    shown = serializers.webhook_status(WebhookStatus(hook, waiting=3, failed=1))
    assert "secret" not in json.dumps(shown, default=str)
    assert (shown["subscription_id"], shown["waiting"], shown["failed"]) == ("s", 3, 1)
    assert shown["since"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


def test_a_refusal_has_places_if_it_is_of_a_condition() -> None:
    wrong = ConditionError("x <", [Problem("expected a value", 3, 3)])
    first, second = serializers.refusals([Refusal("a", wrong), Refusal("b", SubscriptionError("why"))])
    assert [each["line"] for each in first["problems"]] == [1]
    assert second == {"id": "b", "detail": "why", "problems": []}


def test_attempts_have_times_that_json_can_hold() -> None:
    attempt = DeliveryAttempt("n", "acme/s", 1_000_000, 0.5, 1, 200, None, "delivered")
    [answer] = serializers.attempts([attempt])
    assert answer["at"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
