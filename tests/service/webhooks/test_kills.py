"""A deliverer that is killed at any moment loses nothing, and says the same thing again under the same id."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import threading
from multiprocessing.process import BaseProcess

import pytest

from tamis.service.webhooks.queue import Webhooks
from tests.service.webhooks import processes
from tests.service.webhooks.feeds import Feed
from tests.service.webhooks.receiver import Behaviour, Call, Handler, Receiver, answering, honest, until

SUBSCRIPTIONS = [f"acme/s{number}" for number in range(3)]


class Victim:
    """The deliverer that runs just now."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._lock = threading.Lock()
        self.process: BaseProcess = processes.start(database)
        self.kills = 0

    def kill(self) -> None:
        with self._lock:
            pid = self.process.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            self.process.join()
            self.kills += 1

    def start_again(self) -> None:
        self.process = processes.start(self._database)


def is_done(webhooks: Webhooks) -> bool:
    return not webhooks.due(SUBSCRIPTIONS)


def check(webhooks: Webhooks, receiver: Receiver, sent: dict[str, list[str]], kills: int) -> None:
    """Everything has come, in order; what came twice was sent twice for a reason."""
    for id, ids in sent.items():
        came = receiver.ids(f"/{id}")
        assert list(dict.fromkeys(came)) == ids
        assert came == sorted(came)
        assert len(came) <= len(ids) + kills  # one call at most is under way when it is killed
        assert all(webhooks.attempts(each)[-1].outcome == "delivered" for each in ids)
    assert webhooks.parked_deliveries() == []


@pytest.mark.slow
def test_killed_at_chosen_moments_of_a_call(
    database: str, webhooks: Webhooks, feed: Feed, receiver: Receiver
) -> None:
    """Before the answer, and right after it: the second one is taken by the receiver, and not yet on record."""
    sent = {SUBSCRIPTIONS[0]: feed_of(webhooks, feed, receiver, SUBSCRIPTIONS[0], 4)}
    victim = Victim(database)
    killed = threading.Semaphore(0)

    def killing(before: bool) -> Behaviour:
        def behave(handler: Handler, call: Call) -> None:
            if before:
                victim.kill()
            else:
                os.kill(victim.process.pid or 0, signal.SIGSTOP)  # it cannot record what it is going to be told
                honest(handler, call)
                victim.kill()
            handler.close_connection = True
            killed.release()

        return behave

    moments = [
        killing(True),
        killing(False),
        honest,
        honest,
        killing(False),
        killing(True),
        honest,
        killing(False),
    ]
    receiver.script(f"/{SUBSCRIPTIONS[0]}", *moments)
    for _ in range(5):
        assert killed.acquire(timeout=60)
        victim.start_again()
    until(lambda: is_done(webhooks))
    victim.kill()
    check(webhooks, receiver, sent, kills=victim.kills)
    handshakes = [call for call in receiver.calls if call.is_handshake]
    assert len(handshakes) == 3  # two of them came to nothing
    assert len(receiver.notified(f"/{SUBSCRIPTIONS[0]}")) == 4 + 3


def feed_of(webhooks: Webhooks, feed: Feed, receiver: Receiver, id: str, number: int) -> list[str]:
    webhooks.add(id, receiver.url(f"/{id}"))
    return feed.write(*[id] * number)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_again_and_again_under_load(
    database: str, webhooks: Webhooks, feed: Feed, receiver: Receiver, seed: int
) -> None:
    chance = random.Random(seed)
    sent = {id: feed_of(webhooks, feed, receiver, id, 60) for id in SUBSCRIPTIONS}

    def moody(handler: Handler, call: Call) -> None:
        (answering(503) if chance.random() < 0.05 else honest)(handler, call)

    for id in SUBSCRIPTIONS:
        receiver.always[f"/{id}"] = moody
    victim = Victim(database)
    for _ in range(6):
        enough = len(receiver.calls) + chance.randrange(1, 25)
        until(lambda enough=enough: len(receiver.calls) >= enough or is_done(webhooks))  # type: ignore[misc]
        victim.kill()
        victim.start_again()
    until(lambda: is_done(webhooks))
    victim.kill()
    failures = sum(
        attempt.outcome != "delivered" for ids in sent.values() for id in ids for attempt in webhooks.attempts(id)
    )
    check(webhooks, receiver, sent, kills=victim.kills + failures)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_while_it_gathers_digests(
    database: str, webhooks: Webhooks, feed: Feed, receiver: Receiver, seed: int
) -> None:
    """Each notification is in one digest, and a digest that comes again says the same."""
    chance, id = random.Random(seed), SUBSCRIPTIONS[0]
    webhooks.add(id, receiver.url(f"/{id}"), digest_seconds=0.001)
    sent = feed.write(id)
    victim = Victim(database)
    for _ in range(6):
        sent += feed.write(*[id] * chance.randrange(1, 20))
        enough = len(receiver.calls) + chance.randrange(1, 3)
        until(lambda enough=enough: len(receiver.calls) >= enough or is_done(webhooks))  # type: ignore[misc]
        victim.kill()
        sent += feed.write(*[id] * chance.randrange(1, 5))
        victim.start_again()
    until(lambda: is_done(webhooks))
    victim.kill()
    calls = {call.id: call.body for call in receiver.notified(f"/{id}")}
    assert all(call.body == calls[call.id] for call in receiver.notified(f"/{id}"))
    digests = [json.loads(body)["data"]["digest"] for body in calls.values()]
    ends = list(itertools.accumulate(each["count"] for each in digests))
    assert [sent[end - 1] for end in ends] == [each["id"] for each in digests]
    assert ends[-1] == len(sent)
    assert len(receiver.notified(f"/{id}")) <= len(calls) + victim.kills
