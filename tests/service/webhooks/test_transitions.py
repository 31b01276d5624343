"""What an attempt changes, with the record of it: all of that or nothing."""

from __future__ import annotations

import pytest

from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.settings import PauseRule
from tamis.service.webhooks.status import describe_stop
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


_SECOND = 1_000_000
_RULE = PauseRule(calls=3, seconds=60)


def test_calls_that_fail_for_long_pause_a_webhook_with_nothing_parked(webhooks: Webhooks, feed: Feed) -> None:
    webhook = confirmed(webhooks, "acme/a")
    feed.write("acme/a")
    [notification] = waiting(webhooks, "acme/a")
    for number, seconds in enumerate((1, 2, 3, 60), 1):
        failing = step(webhook, "again", notification, attempt=number, at=seconds * _SECOND)
        webhooks.record([failing], _RULE)
        now = got(webhooks, "acme/a")
        assert (now.state, now.failed_calls, now.failing_since) == ("confirmed", number, _SECOND), "too short"
    webhooks.record([step(webhook, "again", notification, attempt=5, at=61 * _SECOND)], _RULE)
    now = got(webhooks, "acme/a")
    assert (now.state, now.reason, now.failures) == ("paused", "error 5", 0)
    assert ", after 5 failed calls in a row: error 5" in describe_stop(now)
    assert webhooks.parked_deliveries() == []
    webhooks.resume("acme/a")
    webhooks.record([step(webhook, "confirm", at=62 * _SECOND)], _RULE)
    now = got(webhooks, "acme/a")
    assert (now.state, now.failed_calls, now.failing_since) == ("confirmed", 0, None)
    assert waiting(webhooks, "acme/a") == [notification], "it is the first one after that"


def test_few_calls_pause_no_webhook_however_long_they_fail(webhooks: Webhooks, feed: Feed) -> None:
    webhook = confirmed(webhooks, "acme/a")
    feed.write("acme/a")
    [notification] = waiting(webhooks, "acme/a")
    for at in (1, 1_000_000):
        webhooks.record([step(webhook, "again", notification, at=at * _SECOND)], _RULE)
    assert got(webhooks, "acme/a").state == "confirmed"


@pytest.mark.parametrize("is_replay", [False, True])
def test_a_call_that_succeeds_starts_the_count_again(webhooks: Webhooks, feed: Feed, is_replay: bool) -> None:
    webhook = confirmed(webhooks, "acme/a")
    feed.write("acme/a", "acme/a", "acme/a")
    first, second, third = waiting(webhooks, "acme/a")
    webhooks.record([step(webhook, "park", first, at=_SECOND)], _RULE)
    webhooks.record([step(webhook, "again", second, at=100 * _SECOND)], _RULE)
    done = first if is_replay else second
    webhooks.record([step(webhook, "go on", done, at=101 * _SECOND, is_replay=is_replay)], _RULE)
    now = got(webhooks, "acme/a")
    assert (now.failures, now.failed_calls, now.failing_since) == (0, 0, None)
    webhooks.record([step(webhook, "again", third, at=200 * _SECOND)], _RULE)
    assert got(webhooks, "acme/a").state == "confirmed"


def test_replays_that_fail_count_as_calls(webhooks: Webhooks, feed: Feed) -> None:
    webhook = confirmed(webhooks, "acme/a")
    feed.write("acme/a")
    [notification] = waiting(webhooks, "acme/a")
    webhooks.record([step(webhook, "park", notification, at=_SECOND)], _RULE)
    webhooks.replay(notification.id)
    for at in (50, 61):
        webhooks.record([step(webhook, "again", notification, at=at * _SECOND, is_replay=True)], _RULE)
    assert got(webhooks, "acme/a").state == "paused"


@pytest.mark.parametrize("is_replay", [False, True])
def test_calls_whose_notification_was_taken_meanwhile_do_not_count(
    webhooks: Webhooks, feed: Feed, is_replay: bool
) -> None:
    webhook = confirmed(webhooks, "acme/a")
    feed.write("acme/a")
    [notification] = waiting(webhooks, "acme/a")
    if is_replay:
        webhooks.record([step(webhook, "park", notification, at=_SECOND)], _RULE)
        webhooks.replay(notification.id)
    webhooks.record([step(webhook, "go on", notification, at=2 * _SECOND, is_replay=is_replay)], _RULE)
    before = got(webhooks, "acme/a")
    for at in (1, 2, 90):
        webhooks.record([step(webhook, "again", notification, at=at * _SECOND, is_replay=is_replay)], _RULE)
    webhooks.record([step(webhook, "park", notification, at=91 * _SECOND, is_replay=is_replay)], _RULE)
    assert got(webhooks, "acme/a") == before
    assert (before.state, before.failures, before.failed_calls) == ("confirmed", 0, 0)
