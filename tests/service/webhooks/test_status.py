"""What webhooks have yet to do, and what became of notifications, in both databases."""

from __future__ import annotations

import pytest

from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.settings import PauseRule
from tamis.service.webhooks.status import describe_stop
from tests.service.webhooks.feeds import Feed
from tests.service.webhooks.test_queue import URL, confirmed, got, parked, step, waiting

pytestmark = pytest.mark.usefixtures("either_database")


def test_what_is_not_done_is_counted(webhooks: Webhooks, feed: Feed) -> None:
    webhooks.add("acme/pending", URL)
    behind, stopped = confirmed(webhooks, "acme/behind"), confirmed(webhooks, "acme/stopped")
    webhooks.add("acme/refused", URL)
    webhooks.record([step(got(webhooks, "acme/refused"), "refuse")])
    replayed = parked(webhooks, feed, "acme/parked")
    parked(webhooks, feed, "acme-2/parked")
    feed.write("acme/pending", *["acme/behind"] * 3, *["acme/stopped"] * 3, "acme/refused", "acme/nobody")
    webhooks.record([step(behind, "again", waiting(webhooks, "acme/behind")[0], next_attempt=8)])
    webhooks.record([step(stopped, "park", waiting(webhooks, "acme/stopped")[0])], pause=PauseRule(parked=1))
    webhooks.replay(replayed.id)
    states = {"pending": 1, "confirmed": 2, "paused": 1, "refused": 1}
    undone = {"waiting": 4, "retrying": 1, "withheld": 3, "failed": 2, "replaying": 1}
    assert webhooks.counts(tenant="acme") == {**states, **undone}
    assert webhooks.counts() == {**states, "confirmed": 3, **undone, "failed": 3}
    assert set(webhooks.counts(tenant="other").values()) == {0}


def test_each_webhook_says_what_it_has_to_do(webhooks: Webhooks, feed: Feed) -> None:
    parked(webhooks, feed, "acme/a")
    webhooks.add("acme/b", URL)
    confirmed(webhooks, "other/a")
    feed.write("acme/a", "acme/a")
    webhooks.record([step(got(webhooks, "acme/b"), "refuse")])
    found = webhooks.statuses(tenant="acme")
    assert [(each.webhook.subscription_id, each.waiting, each.failed) for each in found] == [
        ("acme/a", 2, 1),
        ("acme/b", 0, 0),
    ]
    assert found[0].webhook == got(webhooks, "acme/a")
    assert webhooks.statuses(tenant="acme", limit=1) == found[:1]
    assert webhooks.statuses(tenant="acme", after="acme/a") == found[1:]
    assert webhooks.statuses(tenant="acme", state="refused") == found[1:]
    assert webhooks.statuses(subscription_id="acme/a") == found[:1]


def test_what_became_of_a_notification(webhooks: Webhooks, feed: Feed) -> None:
    feed.write("acme/a")
    webhook = confirmed(webhooks, "acme/a")
    feed.write(*["acme/a"] * 4, "acme/nobody")
    delivered, failed, retried, later = waiting(webhooks, "acme/a")
    webhooks.record([step(webhook, "go on", delivered)])
    webhooks.record([step(webhook, "park", failed, attempt=4)])
    webhooks.record([step(webhook, "again", retried, attempt=2, next_attempt=9)])
    numbers = range(1, 7)
    ids = [f"{number:032x}" for number in numbers]
    asked = [*zip(ids, ["acme/a"] * 5 + ["acme/nobody"], numbers, strict=True)]

    def states() -> list[tuple[str, str | None]]:
        found = webhooks.deliveries(asked)
        return [(found[id].state, found[id].reason) for id in ids]

    assert states() == [
        ("unrecorded", None),
        ("delivered", None),
        ("failed", "error 4"),
        ("retrying", "error 2"),
        ("waiting", None),
        ("pull", None),
    ]
    webhooks.replay(failed.id)
    assert states()[2] == ("replaying", "error 4")
    webhooks.record(
        [step(webhook, "park", retried, attempt=4, at=1_700_000_000_000_000)], pause=PauseRule(parked=2)
    )
    assert got(webhooks, "acme/a").state == "paused"
    why = "after 2 failed deliveries in a row: error 4"
    assert states()[4] == (
        "paused",
        f"not delivered: the endpoint is paused since 2023-11-14T22:13:20.000000Z, {why}",
    )
    webhooks.resume("acme/a")
    assert states()[4] == ("pending", "not delivered: the endpoint has not agreed yet")
    webhooks.record([step(webhook, "refuse")])
    assert states()[4] == ("refused", "not delivered: the endpoint refused consent: error 1")
    assert states()[1] == ("delivered", None)
    assert later.id == ids[4]


def test_a_webhook_of_a_backup_does_not_know_why_it_was_stopped(webhooks: Webhooks) -> None:
    for state in ("paused", "refused"):
        webhooks.add("acme/a", URL, state=state)
        assert "None" not in describe_stop(got(webhooks, "acme/a"))
