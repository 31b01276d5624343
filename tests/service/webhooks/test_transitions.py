"""What an attempt changes, with the record of it: all of that or nothing."""

from __future__ import annotations

import pytest

from tamis.service.webhooks.queue import Webhooks
from tests.service.webhooks.feeds import Feed
from tests.service.webhooks.test_queue import confirmed, got, step, waiting

pytestmark = pytest.mark.usefixtures("either_database")


def test_a_cursor_never_goes_back(webhooks: Webhooks, feed: Feed) -> None:
    webhook = confirmed(webhooks, "acme/a")
    feed.write("acme/a", "acme/a")
    first, second = waiting(webhooks, "acme/a")
    webhooks.record([step(webhook, "go on", second)])
    webhooks.record([step(webhook, "again", first, next_attempt=7), step(webhook, "park", first)])
    now = got(webhooks, "acme/a")
    assert (now.cursor, now.attempts, now.next_attempt) == (second.seq, 0, 0)
    assert webhooks.parked_deliveries() == [], "what was passed already is not parked"
    assert len(webhooks.attempts(first.id)) == 2, "but every attempt is on record"


def test_a_webhook_that_was_made_again_meanwhile_is_not_touched(webhooks: Webhooks, feed: Feed) -> None:
    old = confirmed(webhooks, "acme/a")
    feed.write("acme/a")
    [notification] = waiting(webhooks, "acme/a")
    confirmed(webhooks, "acme/a")
    before = got(webhooks, "acme/a")
    webhooks.record([step(old, "refuse", notification), step(old, "again", next_attempt=9)])
    assert got(webhooks, "acme/a") == before


def test_whoever_refuses_has_its_notification_parked(webhooks: Webhooks, feed: Feed) -> None:
    webhook = confirmed(webhooks, "acme/a")
    feed.write("acme/a")
    [notification] = waiting(webhooks, "acme/a")
    webhooks.record([step(webhook, "refuse", notification)])
    assert got(webhooks, "acme/a").state == "refused"
    assert [each.notification_id for each in webhooks.parked_deliveries()] == [notification.id]
