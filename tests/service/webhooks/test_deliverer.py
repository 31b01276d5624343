"""The deliverer against a real receiver: in order, signed, at least once, and patient within limits."""

from __future__ import annotations

import itertools
import json
import logging
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
import standardwebhooks
from sqlalchemy import update

from tamis.service.webhooks import tables, verify
from tamis.service.webhooks.deliverer import Deliverer
from tamis.service.webhooks.failed_filter import FailedFilter
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.records import Action, AttemptOutcome, DeliveryAttempt, Digest, Transition, Webhook
from tamis.sql.database import Database
from tamis.store.records import now_us
from tests.service.webhooks.feeds import QUICK, Feed, delivering, webhooks_of
from tests.service.webhooks.receiver import (
    Call,
    Handler,
    Receiver,
    after_handshake,
    answering,
    closing,
    flooding,
    honest,
    plain_challenge,
    receiving,
    stalling,
    too_short,
    until,
)

A = "acme/a"


@pytest.fixture(autouse=True)
def no_trouble(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing goes wrong inside, however the receivers behave."""
    yield
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def state(webhooks: Webhooks, subscription_id: str = A) -> Webhook:
    webhook = webhooks.get(subscription_id)
    assert webhook is not None
    return webhook


def is_at_end(webhooks: Webhooks, *subscription_ids: str) -> bool:
    """Is there nothing left to do?"""
    return not webhooks.due(subscription_ids or [A])


# --- all is well ---------------------------------------------------------------------------------------------


def test_notifications_come_signed_in_order_after_a_handshake(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    secret = webhooks.add(A, receiver.url("/a"))
    ids = feed.write(*[A] * 40)
    with delivering(webhooks) as deliverer:
        until(lambda: is_at_end(webhooks))
        ids += feed.write(*[A] * 3)
        deliverer.wake([A, "acme/other"])
        until(lambda: is_at_end(webhooks))
    first, *rest = receiver.calls
    assert first.is_handshake
    assert first.message["data"]["subscription_id"] == "a"
    assert [call.id for call in rest] == ids
    assert [verify(secret, call.headers, call.body) for call in rest] == ids
    data = rest[0].message["data"]
    assert data["notification"]["id"] == ids[0]
    assert (data["notification"]["subscription_id"], data["notification"]["event_id"]) == ("a", "e1")
    assert data["event"] == {"name": "acme/e1", "price": 1.5}
    assert {tuple((each.attempt, each.status, each.outcome) for each in webhooks.attempts(id)) for id in ids} == {
        ((1, 204, "delivered"),)
    }
    assert state(webhooks).state == "confirmed"


def test_a_receiver_that_checks_with_the_official_library_is_content(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    checker = standardwebhooks.Webhook(webhooks.add(A, receiver.url("/a")))
    forged: list[Exception] = []

    def checking(handler: Handler, call: Call) -> None:
        try:
            checker.verify(call.body, call.headers)
        except standardwebhooks.WebhookVerificationError as error:
            forged.append(error)
            handler.reply(401)
        else:
            honest(handler, call)

    receiver.always["/a"] = checking
    ids = feed.write(*[A] * 5)
    with delivering(webhooks):
        until(lambda: is_at_end(webhooks))
    assert receiver.ids("/a") == ids
    assert forged == []


@pytest.mark.usefixtures("either_database")
def test_many_subscriptions_share_a_receiver_in_either_database(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    subscriptions = [f"acme/s{number}" for number in range(12)]
    for id in subscriptions:
        webhooks.add(id, receiver.url(f"/{id}"))
    sent = {id: [] for id in subscriptions}  # type: dict[str, list[str]]
    with delivering(webhooks) as deliverer:
        for _ in range(5):
            for id, written in zip(subscriptions, feed.write(*subscriptions), strict=True):
                sent[id].append(written)
            deliverer.wake(subscriptions)
        until(lambda: is_at_end(webhooks, *subscriptions))
    assert {id: receiver.ids(f"/{id}") for id in subscriptions} == sent


# --- handshakes ----------------------------------------------------------------------------------------------


def test_a_receiver_may_answer_the_challenge_as_plain_text(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    receiver.script("/a", plain_challenge)
    webhooks.add(A, receiver.url("/a"))
    feed.write(A)
    with delivering(webhooks):
        until(lambda: is_at_end(webhooks))
    assert len(receiver.ids("/a")) == 1


@pytest.mark.parametrize(
    "lie", [answering(200), answering(200, b"ok"), answering(503), answering(410), flooding, too_short, closing]
)
def test_who_does_not_answer_the_challenge_is_called_once(
    webhooks: Webhooks, feed: Feed, receiver: Receiver, lie: object
) -> None:
    receiver.always["/a"] = lie  # type: ignore[assignment]
    webhooks.add(A, receiver.url("/a"))
    feed.write(A)
    with delivering(webhooks) as deliverer:
        until(lambda: state(webhooks).state == "refused")
        deliverer.wake([A])
        webhooks.add("acme/b", receiver.url("/b"))
        deliverer.wake(["acme/b"])
        until(lambda: state(webhooks, "acme/b").state == "confirmed", "who was asked later")
    assert [call.is_handshake for call in receiver.calls if call.path == "/a"] == [True]
    assert state(webhooks).reason
    assert [each.outcome for each in webhooks.recent_attempts(A)] in (["failed"], ["refused"])


def test_a_receiver_that_comes_round_goes_on_where_it_was(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    receiver.script("/a", answering(500), answering(500))
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(A, A)
    with delivering(webhooks) as deliverer:
        for count in (1, 2):
            until(lambda: state(webhooks).state == "refused")
            assert len({call.message["data"]["challenge"] for call in receiver.calls}) == count
            webhooks.resume(A)
            deliverer.wake([A])
        until(lambda: state(webhooks).state == "confirmed" and is_at_end(webhooks))
    assert receiver.ids("/a") == ids


# --- failures ------------------------------------------------------------------------------------------------


def test_order_is_kept_while_the_receiver_fails(webhooks: Webhooks, feed: Feed, receiver: Receiver) -> None:
    bad = [answering(500), closing, too_short, answering(302, Location="/b"), answering(429, Retry_After="0")]
    receiver.script("/a", honest, *[each for one in bad for each in (one, one, honest)])
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(*[A] * 8)
    with delivering(webhooks):
        until(lambda: is_at_end(webhooks))
    came = receiver.ids("/a")
    assert list(dict.fromkeys(came)) == ids
    assert came == sorted(came)
    assert webhooks.parked_deliveries() == []
    assert [len(webhooks.attempts(id)) for id in ids] == [3] * len(bad) + [1] * 3
    assert [each.attempt for each in webhooks.attempts(ids[0])] == [1, 2, 3]


def test_a_notification_that_is_never_taken_is_parked_and_the_rest_goes_on(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(A, A, A)

    def picky(handler: Handler, call: Call) -> None:
        handler.reply(500) if call.id == ids[1] else honest(handler, call)

    receiver.always["/a"] = picky
    with delivering(webhooks) as deliverer:
        until(lambda: is_at_end(webhooks))
        assert receiver.ids("/a") == [ids[0], *[ids[1]] * QUICK.attempts, ids[2]]
        (parked,) = webhooks.parked_deliveries(FailedFilter("acme"))
        assert (parked.notification_id, parked.subscription_id, parked.attempts) == (ids[1], A, QUICK.attempts)
        assert parked.error == "the receiver answered 500"

        webhooks.replay(ids[1])  # still not taken: parked once more
        deliverer.wake([A])
        until(lambda: is_at_end(webhooks))
        assert webhooks.parked_deliveries()[0].attempts == 2 * QUICK.attempts

        del receiver.always["/a"]
        webhooks.replay(ids[1])
        deliverer.wake([A])
        until(lambda: is_at_end(webhooks))
    assert webhooks.parked_deliveries() == []
    assert receiver.ids("/a")[-1] == ids[1]
    tried = webhooks.attempts(ids[1])
    assert [each.attempt for each in tried] == [*range(1, 2 * QUICK.attempts + 2)]
    assert [each.outcome for each in tried] == ["failed"] * 2 * QUICK.attempts + ["delivered"]


def test_a_receiver_that_fails_again_and_again_is_paused_and_nothing_more_is_parked(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, attempts=2, pause_after=3)
    webhooks = webhooks_of(feed_database, delivery)
    receiver.always["/a"] = after_handshake(answering(500))
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(*[A] * 8)
    with delivering(webhooks, delivery) as deliverer:
        until(lambda: state(webhooks).state == "paused")
        paused = state(webhooks)
        assert (paused.failures, paused.reason) == (3, "the receiver answered 500")
        assert paused.since == max(each.at for each in webhooks.attempts(ids[2]))
        deliverer.wake([A])
        webhooks.replay(ids[0])  # waits until it is resumed
        webhooks.add("acme/b", receiver.url("/b"))
        deliverer.wake(["acme/b"])
        until(lambda: state(webhooks, "acme/b").state == "confirmed", "who was asked later")
        assert receiver.ids("/a") == [id for id in ids[:3] for _ in range(2)]
        assert [each.notification_id for each in webhooks.parked_deliveries()] == ids[:3]

        webhooks.resume(A)  # the receiver agrees, but is as bad as before
        deliverer.wake([A])
        until(lambda: state(webhooks).state == "paused")
        del receiver.always["/a"]
        webhooks.resume(A)
        deliverer.wake([A])
        until(lambda: is_at_end(webhooks) and state(webhooks).state == "confirmed")
        assert state(webhooks).failures == 0
        webhooks.replay_many(FailedFilter("acme"))
        deliverer.wake([A])
        until(lambda: is_at_end(webhooks))
    assert webhooks.parked_deliveries() == []
    assert [webhooks.attempts(id)[-1].outcome for id in ids] == ["delivered"] * len(ids)


def test_a_receiver_that_is_down_is_paused_before_anything_is_parked(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, attempts=1_000, base=1e-3, cap=2e-3, pause_calls=4, pause_seconds=1e-6)
    webhooks = webhooks_of(feed_database, delivery)
    receiver.always["/a"] = after_handshake(answering(500))
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(A, A)
    with delivering(webhooks, delivery) as deliverer:
        until(lambda: state(webhooks).state == "paused")
        assert (state(webhooks).failed_calls, webhooks.parked_deliveries()) == (4, [])
        del receiver.always["/a"]
        webhooks.resume(A)
        deliverer.wake([A])
        until(lambda: is_at_end(webhooks))
    assert receiver.ids("/a") == [*[ids[0]] * 5, ids[1]]


def test_a_success_between_failures_keeps_a_webhook_from_being_paused(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, attempts=1, pause_after=2)
    webhooks = webhooks_of(feed_database, delivery)
    receiver.script("/a", honest, *[answering(500), honest] * 6)
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(*[A] * 12)
    with delivering(webhooks, delivery):
        until(lambda: is_at_end(webhooks))
    assert receiver.ids("/a") == ids
    assert (state(webhooks).state, state(webhooks).failures) == ("confirmed", 0)
    assert [each.notification_id for each in webhooks.parked_deliveries()] == ids[::2]


def test_replays_that_fail_pause_a_webhook_and_wait_until_it_is_resumed(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, attempts=1, pause_after=4, concurrent_per_host=1)
    webhooks = webhooks_of(feed_database, delivery)
    bad = answering(500)
    # Each of ten fails, with a success after each third, so that it is not paused by these.
    receiver.script("/a", honest, *[bad, bad, bad, honest] * 3)
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(*[A] * 12)
    with delivering(webhooks, delivery) as deliverer:
        until(lambda: is_at_end(webhooks))
        assert len(webhooks.parked_deliveries()) == 9
        receiver.always["/a"] = after_handshake(bad)
        before = len(receiver.ids("/a"))
        assert webhooks.replay_many(FailedFilter("acme")).replayed == 9
        deliverer.wake([A])
        until(lambda: state(webhooks).state == "paused")
        until(lambda: is_at_end(webhooks))
        assert len(receiver.ids("/a")) == before + 4
        del receiver.always["/a"]
        webhooks.resume(A)
        deliverer.wake([A])
        until(lambda: len(webhooks.parked_deliveries()) == 4, "those that were not tried are delivered")
    assert {*receiver.ids("/a")} == {*ids}


def test_who_is_gone_is_not_called_again(webhooks: Webhooks, feed: Feed, receiver: Receiver) -> None:
    receiver.always["/a"] = after_handshake(answering(410))
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(A, A)
    with delivering(webhooks) as deliverer:
        until(lambda: state(webhooks).state == "refused")
        deliverer.wake([A])
        webhooks.add("acme/b", receiver.url("/b"))
        deliverer.wake(["acme/b"])
        until(lambda: state(webhooks, "acme/b").state == "confirmed")
    assert receiver.ids("/a") == ids[:1]
    (parked,) = webhooks.parked_deliveries()
    assert (parked.notification_id, parked.attempts) == (ids[0], 1)
    assert [each.outcome for each in webhooks.attempts(ids[0])] == ["refused"]
    assert state(webhooks).reason == "the receiver answered 410"


def test_a_wish_to_be_left_alone_is_respected_within_the_cap(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, base=0.001, cap=1000.0)
    webhooks = webhooks_of(feed_database, delivery)
    receiver.script("/a", honest, answering(503, Retry_After="500"))
    receiver.script("/b", honest, answering(503, Retry_After="86400"))
    for name in ("a", "b"):
        webhooks.add(f"acme/{name}", receiver.url(f"/{name}"))
    ids = feed.write("acme/a", "acme/b")
    with delivering(webhooks, delivery):
        until(lambda: all(state(webhooks, id).attempts == 1 for id in ("acme/a", "acme/b")))
    for id, name, seconds in zip(ids, ("acme/a", "acme/b"), (500, 1000), strict=True):
        (tried,) = webhooks.attempts(id)
        ended = tried.at + tried.seconds * 1e6
        waits = (state(webhooks, name).next_attempt - ended) / 1e6
        assert seconds - 0.1 <= waits < seconds + 60


def test_a_receiver_that_stalls_is_cut_off_and_tried_again(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, timeout=0.5)
    webhooks = webhooks_of(feed_database, delivery)
    webhooks.add(A, receiver.url("/a"))
    with delivering(webhooks):  # the receiver is asked once, so it gets the time to answer
        until(lambda: state(webhooks).state == "confirmed")
    receiver.script("/a", stalling)
    ids = feed.write(A, A)
    with delivering(webhooks, delivery):
        until(lambda: is_at_end(webhooks))
    assert list(dict.fromkeys(receiver.ids("/a"))) == ids
    assert "no whole answer within 0.5 seconds" in str(webhooks.attempts(ids[0])[0].error)


def test_a_redirect_to_loopback_is_refused_and_on_record(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    with receiving("127.0.0.2") as inside:
        receiver.always["/a"] = after_handshake(answering(307, Location=inside.url("/admin")))
        webhooks.add(A, receiver.url("/a"))
        (id,) = feed.write(A)
        with delivering(webhooks):
            until(lambda: is_at_end(webhooks))
        assert inside.calls == []
    tried = webhooks.attempts(id)
    assert [(each.outcome, each.status) for each in tried] == [("refused", None)] * QUICK.attempts
    assert "127.0.0.2 is not public" in str(tried[0].error)
    assert [each.notification_id for each in webhooks.parked_deliveries()] == [id]


def test_an_address_that_is_allowed_no_more_is_not_called(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    webhooks.add(A, receiver.url("/a"))
    feed.write(A)
    with delivering(webhooks, replace(QUICK, allow=())):
        until(lambda: state(webhooks).state == "refused")
    assert receiver.calls == []
    assert "not public" in str(state(webhooks).reason)


# --- company -------------------------------------------------------------------------------------------------


def test_a_host_gets_no_more_calls_at_once_than_it_should(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, concurrent=8, concurrent_per_host=3)
    webhooks = webhooks_of(feed_database, delivery)
    ids = [f"acme/{number}" for number in range(10)]

    def patient(handler: Handler, call: Call) -> None:
        until(lambda: receiver.most_inside >= 3)  # fewer would wait in vain
        honest(handler, call)

    for id in ids:
        webhooks.add(id, receiver.url(f"/{id}"))
        receiver.always[f"/{id}"] = patient
    feed.write(*ids)
    with delivering(webhooks, delivery):
        until(lambda: is_at_end(webhooks, *ids))
    assert receiver.most_inside == 3


def test_of_deliveries_that_wait_those_of_higher_priority_are_sent_first(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, concurrent=1, concurrent_per_host=1)
    webhooks = webhooks_of(feed_database, delivery)
    priorities = {"acme/low": -1, "acme/usual": 0, "acme/high": 9, "acme/middle": 4}
    for id in priorities:
        webhooks.add(id, receiver.url(f"/{id}"))
    with delivering(webhooks, delivery):
        until(lambda: all(state(webhooks, id).state == "confirmed" for id in priorities))
    for id, priority in priorities.items():
        feed.write(id, id, priority=priority)
    with delivering(webhooks, delivery):
        until(lambda: is_at_end(webhooks, *priorities))
    sent = [attempt for id in priorities for attempt in webhooks.recent_attempts(id)]
    calls = [each.subscription_id for each in sorted(sent, key=lambda each: each.at) if each.attempt]
    by_priority = sorted(priorities, key=lambda id: -priorities[id])
    assert calls[len(priorities) :] == [id for id in by_priority for _ in range(2)]


def test_a_host_that_stalls_holds_up_only_itself(feed_database: Database, feed: Feed, receiver: Receiver) -> None:
    delivery = replace(QUICK, concurrent=8, concurrent_per_host=4, allow=("127.0.0.1", "127.0.0.2"))
    webhooks = webhooks_of(feed_database, delivery)
    with receiving("127.0.0.2") as slow:
        for number in range(20):
            slow.always[f"/{number}"] = stalling
            webhooks.add(f"acme/slow{number}", slow.url(f"/{number}"))
        with delivering(webhooks, delivery) as deliverer:
            until(lambda: len(slow.calls) == 4)
            webhooks.add(A, receiver.url("/a"))
            ids = feed.write(*[A] * 50)
            deliverer.wake([A])
            until(lambda: is_at_end(webhooks))
            assert receiver.ids("/a") == ids
            assert len(slow.calls) == 4
            slow.always.clear()
            slow.released.set()
            until(lambda: not webhooks.due(), "the slow ones, too")
        assert slow.most_inside == 4


def test_what_nobody_told_of_is_found_by_looking_through_all(
    feed_database: Database, feed: Feed, receiver: Receiver
) -> None:
    delivery = replace(QUICK, sweep=0.1)
    webhooks = webhooks_of(feed_database, delivery)
    with delivering(webhooks, delivery):
        webhooks.add(A, receiver.url("/a"))
        ids = feed.write(A)
        until(lambda: is_at_end(webhooks))
    assert receiver.ids("/a") == ids


def test_stopping_finishes_the_call_that_is_under_way(webhooks: Webhooks, feed: Feed, receiver: Receiver) -> None:
    webhooks.add(A, receiver.url("/a"))
    ids = feed.write(A, A)

    def slow(handler: Handler, call: Call) -> None:
        receiver.released.wait(0.3)
        honest(handler, call)

    receiver.always["/a"] = after_handshake(slow)
    with delivering(webhooks):
        until(lambda: receiver.notified("/a"))
    assert receiver.ids("/a") == ids[:1]
    assert [each.outcome for each in webhooks.attempts(ids[0])] == ["delivered"]
    with delivering(webhooks):
        until(lambda: is_at_end(webhooks))
    assert receiver.ids("/a") == ids


def test_a_webhook_that_is_removed_while_it_is_called_leaves_nothing(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    webhooks.add(A, receiver.url("/a"))
    feed.write(A, A)

    def removing(handler: Handler, call: Call) -> None:
        webhooks.remove(A)
        handler.reply(500)

    receiver.always["/a"] = after_handshake(removing)
    with delivering(webhooks):
        until(lambda: receiver.notified("/a"))
    assert len(receiver.notified("/a")) == 1
    assert webhooks.parked_deliveries() == []
    assert webhooks.due() == []


def test_the_body_is_the_same_in_every_attempt(webhooks: Webhooks, feed: Feed, receiver: Receiver) -> None:
    receiver.script("/a", honest, answering(500), answering(500))
    webhooks.add(A, receiver.url("/a"))
    feed.write(A)
    with delivering(webhooks):
        until(lambda: is_at_end(webhooks))
    bodies = {call.body for call in receiver.notified("/a")}
    assert len(receiver.notified("/a")) == 3
    assert len(bodies) == 1
    assert json.loads(bodies.pop())["type"] == "tamis.notification"


# --- digests -------------------------------------------------------------------------------------------------

HOUR = 3_600.0


def let_time_pass(database: Database, deliverer: Deliverer | None = None) -> None:
    """Let the time of every digest be over."""
    with database.writing() as connection:
        connection.execute(update(tables.webhooks).values(next_attempt=0))
    if deliverer is not None:
        deliverer.wake([A])


@pytest.mark.usefixtures("either_database")
def test_a_digest_is_one_message_for_all_that_came_in_its_time(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    webhooks.add(A, receiver.url("/a"), digest_seconds=HOUR)
    ids = feed.write(*[A] * 12)
    with delivering(webhooks) as deliverer:
        until(lambda: len(receiver.notified("/a")) == 1)
        until(lambda: state(webhooks).digest_upto is None)
        more = feed.write(*[A] * 3)
        deliverer.wake([A])
        [due] = webhooks.due([A])
        assert due.at == state(webhooks).next_attempt > now_us()
        assert len(receiver.notified("/a")) == 1, "the hour is not over"
        let_time_pass(webhooks._database, deliverer)
        until(lambda: len(receiver.notified("/a")) == 2)
    first, second = (call.message for call in receiver.notified("/a"))
    assert receiver.ids("/a") == [ids[-1], more[-1]]
    assert first["type"] == "tamis.digest"
    told = first["data"]["digest"]
    assert (told["count"], told["subscriptions"]) == (12, [{"id": "a", "count": 12}])
    assert [each["notification"]["id"] for each in first["data"]["first"]] == ids[:10]
    assert first["data"]["first"][0]["event"] == {"name": "acme/e1", "price": 1.5}
    assert [each["notification"]["id"] for each in second["data"]["first"]] == more


def test_every_attempt_at_a_digest_has_the_same_notifications(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    webhooks.add(A, receiver.url("/a"), digest_seconds=HOUR)
    ids = feed.write(A, A)

    def failing(handler: Handler, call: Call) -> None:
        feed.write(A)  # it comes too late for this digest
        handler.reply(500)

    receiver.script("/a", honest, failing, failing)
    with delivering(webhooks):
        until(lambda: len(receiver.notified("/a")) == 3)
        until(lambda: state(webhooks).digest_upto is None)
    assert receiver.ids("/a") == [ids[-1]] * 3
    assert len({call.body for call in receiver.notified("/a")}) == 1
    assert state(webhooks).next_attempt > now_us()


def test_a_digest_that_was_parked_is_replayed_as_it_was(
    webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    webhooks.add(A, receiver.url("/a"), digest_seconds=HOUR)
    receiver.always["/a"] = after_handshake(answering(500))
    ids = feed.write(A, A, A)
    with delivering(webhooks) as deliverer:
        until(lambda: len(webhooks.parked_deliveries()) == 1)
        feed.write(A)
        del receiver.always["/a"]
        assert webhooks.replay(ids[-1]) == A
        deliverer.wake([A])
        until(lambda: webhooks.parked_deliveries() == [])
    assert {call.id for call in receiver.notified("/a")} == {ids[-1]}
    assert len({call.body for call in receiver.notified("/a")}) == 1


def test_a_digest_of_a_subscriber_counts_by_subscription(webhooks: Webhooks, feed: Feed) -> None:
    ann = "acme/@ann"
    webhooks.add(ann, "http://127.0.0.1:9/", state="confirmed", digest_seconds=HOUR)
    feed.write(ann, ann, ann)
    named = json.dumps([{"id": "x", "revision": 1, "label": None}, {"id": "y", "revision": 1, "label": None}])
    with webhooks._database.writing() as connection:
        connection.execute(update(tables.feed).values(subscriber=ann, subscriptions=named))
        only_y = json.dumps([{"id": "y", "revision": 1, "label": None}])
        connection.execute(update(tables.feed).where(tables.feed.c.seq == 1).values(subscriptions=only_y))
    turn = webhooks.turn(ann, 16)
    assert turn is not None and turn.digest is not None
    assert (turn.digest.count, turn.digest.counts) == (3, (("acme/y", 3), ("acme/x", 2)))


@pytest.mark.parametrize("seed", range(5))
def test_digests_have_every_notification_once_whatever_fails(webhooks: Webhooks, feed: Feed, seed: int) -> None:
    """Against the plainest twin: a list, cut where a digest was delivered or parked."""
    random_ = random.Random(seed)
    webhooks.add(A, "http://127.0.0.1:9/", state="confirmed", digest_seconds=HOUR)
    written: list[str] = []
    digests: list[tuple[int, str]] = []
    under_way: Digest | None = None
    for number in range(1, 60):
        new = random_.randrange(3)
        written += feed.write(*[A] * new) if new else []
        let_time_pass(webhooks._database)
        turn = Webhooks(webhooks._database).turn(A, 16)  # as after a restart: nothing is in memory
        assert turn is not None
        if turn.digest is None:
            assert sum(count for count, _ in digests) == len(written)
            continue
        assert under_way is None or turn.digest == under_way
        under_way = turn.digest
        actions: tuple[Action | None, ...] = ("go on", "again", "park", None)
        action = random_.choice(actions)
        if action is None:  # killed during the call
            continue
        last = turn.digest.last
        outcome: AttemptOutcome = "delivered" if action == "go on" else "failed"
        attempt = DeliveryAttempt(last.id, A, number, 0.0, 1, None, None, outcome)
        webhooks.record(
            [Transition(attempt, turn.webhook.created, last.seq, action, digest_after=turn.digest.after)]
        )
        if action != "again":
            digests.append((turn.digest.count, last.id))
            under_way = None
    ends = list(itertools.accumulate(count for count, _ in digests))
    assert len(digests) > 5
    assert [written[end - 1] for end in ends] == [id for _, id in digests]
