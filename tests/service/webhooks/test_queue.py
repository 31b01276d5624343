"""What is kept of webhooks, in both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tamis.service.webhooks.failed_filter import FailedFilter
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.records import (
    Action,
    AttemptOutcome,
    DeliveryAttempt,
    FeedRow,
    Transition,
    Webhook,
    WebhookError,
)
from tamis.sql.database import Database
from tests.service.webhooks.feeds import Feed

URL = "https://hook.example/a"

pytestmark = pytest.mark.usefixtures("either_database")


def step(
    webhook: Webhook,
    action: Action,
    notification: FeedRow | None = None,
    *,
    attempt: int = 1,
    next_attempt: int = 0,
    is_replay: bool = False,
    at: int = 100,
) -> Transition:
    outcome: AttemptOutcome = "delivered" if action in ("confirm", "go on") else "failed"
    error = None if outcome == "delivered" else f"error {attempt}"
    id = "handshake-1" if notification is None else notification.id
    tried = DeliveryAttempt(id, webhook.subscription_id, at, 0.25, attempt, 500 if error else 200, error, outcome)
    return Transition(tried, webhook.created, notification and notification.seq, action, next_attempt, is_replay)


def got(webhooks: Webhooks, subscription_id: str) -> Webhook:
    webhook = webhooks.get(subscription_id)
    assert webhook is not None
    return webhook


def confirmed(webhooks: Webhooks, subscription_id: str) -> Webhook:
    webhooks.add(subscription_id, URL)
    webhook = got(webhooks, subscription_id)
    webhooks.record([step(webhook, "confirm")])
    return webhook


def waiting(webhooks: Webhooks, subscription_id: str) -> list[FeedRow]:
    turn = webhooks.turn(subscription_id, 100)
    assert turn is not None
    return [*turn.notifications]


def parked(webhooks: Webhooks, feed: Feed, subscription_id: str) -> FeedRow:
    webhook = confirmed(webhooks, subscription_id)
    feed.write(subscription_id)
    (notification,) = waiting(webhooks, subscription_id)
    webhooks.record([step(webhook, "park", notification, attempt=4)])
    return notification


def test_a_webhook_begins_pending_at_the_end_of_the_feed(webhooks: Webhooks, feed: Feed) -> None:
    feed.write("acme/a", "acme/a")
    secret = webhooks.add("acme/a", URL)
    (new,) = feed.write("acme/a")
    webhook = got(webhooks, "acme/a")
    assert (webhook.url, webhook.secret, webhook.state, webhook.cursor) == (URL, secret, "pending", 2)
    webhooks.record([step(webhook, "confirm")])
    assert [notification.id for notification in waiting(webhooks, "acme/a")] == [new]


@pytest.mark.parametrize("url", ["ftp://hook.example/", "http://127.0.0.2/", "https://user:pw@hook.example/", "x"])
def test_a_url_that_may_not_be_called_is_refused(webhooks: Webhooks, url: str) -> None:
    with pytest.raises(WebhookError, match="webhook of subscription 'acme/a'"):
        webhooks.add("acme/a", url)
    assert webhooks.get("acme/a") is None


def test_webhooks_of_an_earlier_version_go_on(feed_database: Database, webhooks: Webhooks) -> None:
    webhooks.add("acme/a", URL)
    with feed_database.writing() as connection:
        for column in ("failures", "since"):
            connection.exec_driver_sql(f"ALTER TABLE tamis_webhooks DROP COLUMN {column}")
    again = Webhooks(feed_database)
    webhook = got(again, "acme/a")
    assert (webhook.url, webhook.failures, webhook.since) == (URL, 0, None)
    again.record([step(webhook, "confirm", at=70)])
    assert (got(again, "acme/a").state, got(again, "acme/a").since) == ("confirmed", 70)


def test_added_again_it_begins_anew(webhooks: Webhooks, feed: Feed) -> None:
    first = parked(webhooks, feed, "acme/a")
    old = got(webhooks, "acme/a")
    secret = webhooks.add("acme/a", "https://hook.example/b")
    new = got(webhooks, "acme/a")
    assert (new.url, new.secret, new.state) == ("https://hook.example/b", secret, "pending")
    assert secret != old.secret
    assert webhooks.parked_deliveries() == []
    feed.write("acme/a")
    late = first._replace(seq=first.seq + 1)
    webhooks.record([step(old, "confirm"), step(old, "go on", late), step(old, "refuse", late)])
    assert got(webhooks, "acme/a") == new  # what the old one did changes nothing
    assert webhooks.parked_deliveries() == []


def test_removed_it_is_gone_with_what_was_parked(webhooks: Webhooks, feed: Feed) -> None:
    notification = parked(webhooks, feed, "acme/a")
    assert webhooks.remove("acme/a")
    assert not webhooks.remove("acme/a")
    assert webhooks.get("acme/a") is None
    assert webhooks.turn("acme/a", 1) is None
    assert webhooks.parked_deliveries() == []
    assert webhooks.due() == []
    assert len(webhooks.attempts(notification.id)) == 1


def test_adding_takes_part_in_a_transaction(feed_database: Database, webhooks: Webhooks) -> None:
    with feed_database.writing() as connection:
        webhooks.add("acme/a", URL, connection=connection)
        connection.rollback()
    assert webhooks.get("acme/a") is None
    with feed_database.writing() as connection:
        webhooks.add("acme/a", URL, connection=connection)
    with feed_database.writing() as connection:
        assert webhooks.remove("acme/a", connection=connection)
        connection.rollback()
    assert webhooks.get("acme/a") is not None


def test_the_cursor_walks_along_the_subscriptions_own_rows(webhooks: Webhooks, feed: Feed) -> None:
    webhook = confirmed(webhooks, "acme/a")
    ids = feed.write("acme/a", "acme/b", "acme/a", "acme/a", "other/a")
    first, second, third = waiting(webhooks, "acme/a")
    assert [first.id, second.id, third.id] == [ids[0], ids[2], ids[3]]
    webhooks.record([step(webhook, "go on", first)])
    webhooks.record([step(webhook, "again", second, attempt=1, next_attempt=777)])
    now = got(webhooks, "acme/a")
    assert (now.cursor, now.attempts, now.next_attempt) == (first.seq, 1, 777)
    webhooks.record([step(webhook, "park", second, attempt=2)])
    now = got(webhooks, "acme/a")
    assert (now.cursor, now.attempts, now.next_attempt) == (second.seq, 0, 0)
    assert waiting(webhooks, "acme/a") == [third]
    webhooks.record([step(webhook, "again", first), step(webhook, "park", first)])  # of somebody who was late
    assert got(webhooks, "acme/a") == now
    assert [each.notification_id for each in webhooks.parked_deliveries()] == [second.id]


def test_every_attempt_is_on_record(webhooks: Webhooks, feed: Feed) -> None:
    webhook = confirmed(webhooks, "acme/a")
    feed.write("acme/a")
    (notification,) = waiting(webhooks, "acme/a")
    webhooks.record([step(webhook, "again", notification, attempt=1, next_attempt=5, at=10)])
    webhooks.record([step(webhook, "go on", notification, attempt=2, at=20)])
    assert webhooks.attempts(notification.id) == [
        DeliveryAttempt(notification.id, "acme/a", 10, 0.25, 1, 500, "error 1", "failed"),
        DeliveryAttempt(notification.id, "acme/a", 20, 0.25, 2, 200, None, "delivered"),
    ]
    recent = webhooks.recent_attempts("acme/a")
    assert [each.notification_id for each in recent] == [notification.id, notification.id, "handshake-1"]
    assert len(webhooks.recent_attempts("acme/a", limit=1)) == 1
    assert webhooks.trim(20) == 1
    assert [each.attempt for each in webhooks.attempts(notification.id)] == [2]


def test_what_is_parked_is_kept_as_long_as_the_feed_keeps_it(
    feed_database: Database, webhooks: Webhooks, feed: Feed
) -> None:
    first, second = parked(webhooks, feed, "acme/a"), parked(webhooks, feed, "acme/b")
    webhooks.replay(second.id)  # whether it is to be tried again or not
    assert webhooks.trim(0) == 0
    assert len(webhooks.parked_deliveries()) == 2
    with feed_database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM tamis_feed")
    assert webhooks.trim(0) == 2
    assert webhooks.parked_deliveries() == []
    assert len(webhooks.attempts(first.id)) == 1


def test_many_are_replayed_by_subscription_and_by_time(
    feed_database: Database, webhooks: Webhooks, feed: Feed
) -> None:
    for number, id in enumerate(("acme/a", "acme/b", "acme/c", "acme-2/a")):
        webhook = confirmed(webhooks, id)
        feed.write(id, id)
        for place, each in enumerate(waiting(webhooks, id)):
            webhooks.record([step(webhook, "park", each, at=100 + 10 * number + place)])
    feed.write("acme/c")
    webhooks.record([step(got(webhooks, "acme/c"), "refuse", *waiting(webhooks, "acme/c"))])

    def being_replayed() -> list[tuple[str, int]]:
        found = webhooks.parked_deliveries()
        return [(each.subscription_id, each.at) for each in found if each.next_attempt is not None]

    result = webhooks.replay_many(FailedFilter("acme", since=101, until=111))
    assert (result.replayed, result.left, {*result.subscription_ids}) == (2, 0, {"acme/a", "acme/b"})
    assert being_replayed() == [("acme/a", 101), ("acme/b", 110)]
    result = webhooks.replay_many(FailedFilter("acme", "acme/a"))
    assert (result.replayed, result.left, {*result.subscription_ids}) == (1, 0, {"acme/a"})
    result = webhooks.replay_many(FailedFilter("acme"))
    assert (result.replayed, {*result.subscription_ids}) == (1, {"acme/b"})
    assert result.left == len(webhooks.parked_deliveries(FailedFilter("acme", "acme/c"))) == 3, "it has refused"
    assert {id for id, _ in being_replayed()} == {"acme/a", "acme/b"}, "those of another tenant are left alone"
    with feed_database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM tamis_feed")
    result = webhooks.replay_many(FailedFilter("acme-2"))
    assert (result.replayed, result.left) == (0, 2), "they are not kept any more"


def test_what_is_recorded_together_is_recorded_whole_or_not(webhooks: Webhooks, feed: Feed) -> None:
    notification = parked(webhooks, feed, "acme/a")
    webhook = confirmed(webhooks, "acme/b")
    feed.write("acme/b")
    (other,) = waiting(webhooks, "acme/b")
    clash = other._replace(id=notification.id)  # parked already
    with pytest.raises(Exception, match=r"(?i)unique"):
        webhooks.record([step(webhook, "again", other, attempt=1), step(webhook, "park", clash)])
    assert got(webhooks, "acme/b").attempts == 0
    assert webhooks.attempts(other.id) == []


def test_handshakes(webhooks: Webhooks) -> None:
    webhooks.add("acme/a", URL)
    webhook = got(webhooks, "acme/a")
    assert (webhook.state, webhook.since) == ("pending", webhook.created)
    webhooks.record([step(webhook, "refuse", at=700)])
    now = got(webhooks, "acme/a")
    assert (now.state, now.reason, now.since) == ("refused", "error 1", 700)
    assert webhooks.turn("acme/a", 1) is None
    assert webhooks.due() == []
    webhooks.resume("acme/a")
    assert got(webhooks, "acme/a").state == "pending"
    with pytest.raises(WebhookError) as caught:
        webhooks.resume("acme/a")
    assert (caught.value.kind, caught.value.subscription_id) == ("running", "acme/a")
    with pytest.raises(WebhookError) as caught:
        webhooks.resume("acme/b")
    assert caught.value.kind == "unknown"
    webhooks.record([step(webhook, "confirm", attempt=1)])
    now = got(webhooks, "acme/a")
    assert (now.state, now.attempts, now.reason) == ("confirmed", 0, None)


def test_what_is_due(webhooks: Webhooks, feed: Feed) -> None:
    webhooks.add("acme/new", URL)
    confirmed(webhooks, "acme/idle")
    behind = confirmed(webhooks, "acme/behind")
    notification = parked(webhooks, feed, "acme/parked")
    assert [(due.kind, due.id) for due in webhooks.due()] == [("turn", "acme/new")]
    feed.write("acme/behind", "acme/none", priority=3)
    feed.write("acme/behind", priority=9)
    webhooks.record([step(behind, "again", waiting(webhooks, "acme/behind")[0], next_attempt=8)])
    webhooks.replay(notification.id)
    found = {(due.kind, due.id): due.at for due in webhooks.due()}
    assert found.keys() == {("turn", "acme/new"), ("turn", "acme/behind"), ("replay", notification.id)}
    assert found["turn", "acme/behind"] == 8
    priorities = {due.id: due.priority for due in webhooks.due()}
    assert priorities == {"acme/new": 0, "acme/behind": 3, notification.id: 0}, "the next notification's"
    some = webhooks.due(["acme/behind", "acme/idle", "acme/none"] + [f"acme/{n}" for n in range(1200)])
    assert [(due.kind, due.id) for due in some] == [("turn", "acme/behind")]
    assert [due.kind for due in webhooks.due({"acme/parked"})] == ["replay"]
    assert len(webhooks.due([f"x/{n}" for n in range(10_001)])) == 3  # so many that all are looked through
    assert webhooks.due([]) == []


def test_a_parked_notification_is_replayed_until_it_is_taken(webhooks: Webhooks, feed: Feed) -> None:
    notification = parked(webhooks, feed, "acme/a")
    webhook = got(webhooks, "acme/a")
    assert webhooks.replay_of(notification.id) is None
    assert webhooks.replay(notification.id) == "acme/a"
    replay = webhooks.replay_of(notification.id)
    assert replay is not None
    assert (replay.webhook, replay.notification, replay.attempts, replay.tries) == (webhook, notification, 4, 0)
    webhooks.record([step(webhook, "again", notification, attempt=5, next_attempt=6, is_replay=True)])
    replay = webhooks.replay_of(notification.id)
    assert replay is not None
    assert (replay.attempts, replay.tries, replay.next_attempt) == (5, 1, 6)
    webhooks.record([step(webhook, "park", notification, attempt=6, is_replay=True)])
    assert webhooks.replay_of(notification.id) is None
    (still,) = webhooks.parked_deliveries()
    assert (still.attempts, still.error, still.next_attempt) == (6, "error 6", None)
    failing = got(webhooks, "acme/a")
    assert (failing.failures, failing.failed_calls, failing.failing_since) == (2, 3, 100)
    webhooks.replay(notification.id)
    webhooks.record([step(webhook, "go on", notification, attempt=7, is_replay=True)])
    assert webhooks.parked_deliveries() == []
    assert got(webhooks, "acme/a") == replace(webhook, failures=0, failed_calls=0, failing_since=None), (
        "a success ends the row of failures"
    )


def test_what_cannot_be_replayed(feed_database: Database, webhooks: Webhooks, feed: Feed) -> None:
    with pytest.raises(WebhookError, match="no failed delivery"):
        webhooks.replay("nothing")
    notification = parked(webhooks, feed, "acme/a")
    with pytest.raises(WebhookError, match="no failed delivery"):
        webhooks.replay(notification.id, tenant="acm")
    assert webhooks.replay(notification.id, tenant="acme") == "acme/a"
    webhook = got(webhooks, "acme/a")
    webhooks.record([step(webhook, "refuse", notification, is_replay=True)])
    assert got(webhooks, "acme/a").state == "refused"
    with pytest.raises(WebhookError, match="no webhook that wants it"):
        webhooks.replay(notification.id)
    webhooks.resume("acme/a")
    with feed_database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM tamis_feed")
    with pytest.raises(WebhookError, match="not in the feed any more"):
        webhooks.replay(notification.id)
    assert webhooks.parked_deliveries()[0].next_attempt is None


def test_lists_are_of_one_tenant_and_in_pages(webhooks: Webhooks, feed: Feed) -> None:
    ids = ["acme/Z", "acme/a", "acme/b", "acme-2/a", "acmf/a", "acme0/a"]
    for id in ids:
        parked(webhooks, feed, id)
    assert [each.subscription_id for each in webhooks.list(tenant="acme")] == ["acme/Z", "acme/a", "acme/b"]
    assert [each.subscription_id for each in webhooks.list()] == sorted(ids)
    assert [each.subscription_id for each in webhooks.list(tenant="acme", after="acme/Z", limit=1)] == ["acme/a"]
    first, second, third = webhooks.parked_deliveries(FailedFilter("acme"))
    assert [each.subscription_id for each in (first, second, third)] == ["acme/Z", "acme/a", "acme/b"]
    assert webhooks.parked_deliveries(FailedFilter("acme"), after=first.seq, limit=1) == [second]
    assert len(webhooks.parked_deliveries()) == 6
    assert webhooks.get_many(["acme/a", "acme/none"]).keys() == {"acme/a"}
