"""Matching on request: what is subscribed now, and one matcher for each version of the store."""

from __future__ import annotations

import pytest

from tamis.errors import EventError
from tamis.service.errors import QuotaExceeded
from tamis.service.matching import RequestMatching
from tests.service.test_subscriptions import SALE, World, world  # noqa: F401  (a fixture)

EVENTS = [{"price": 1}, {"price": 9}]


@pytest.fixture
def matching(world: World) -> RequestMatching:  # noqa: F811
    return RequestMatching(world.store, world.subscriptions)


def test_each_change_of_the_store_counts(world: World, matching: RequestMatching) -> None:  # noqa: F811
    event_type = world.subscriptions.event_type("acme", None)
    assert matching.match("acme", event_type, EVENTS).ids == [[], []]
    world.subscriptions.subscribe("acme", {"id": "b", "condition": "price < 5"})
    world.subscriptions.subscribe("acme", {"id": "a", "condition": '{"price": [1, 9]}', "dialect": "eventbridge"})
    found = matching.match("acme", event_type, EVENTS)
    assert (found.subscriptions, found.ids) == (2, [["a", "b"], ["a"]])
    world.subscriptions.pause("acme", "a", paused=True)
    assert matching.match("acme", event_type, EVENTS).ids == [["b"], []]
    assert matching.match("other", world.subscriptions.event_type("other", None), EVENTS).ids == [[], []]


def test_events_are_read_in_their_type(world: World, matching: RequestMatching) -> None:  # noqa: F811
    world.subscriptions.declare("acme", SALE, dry_run=False)
    world.subscriptions.subscribe("acme", {"id": "s", "condition": "price = 1", "event_type": "sale"})
    event_type = world.subscriptions.event_type("acme", "sale")
    assert matching.match("acme", event_type, [{"price": 1}, {"price": "1"}]).ids == [["s"], []]


def test_what_is_no_event_is_an_error(world: World, matching: RequestMatching) -> None:  # noqa: F811
    with pytest.raises(EventError, match="event 2: expected an object, found 7"):
        matching.match("acme", world.subscriptions.event_type("acme", None), [{}, 7])


def test_there_is_a_limit(
    world: World,  # noqa: F811
    matching: RequestMatching,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tamis.service.matching.MOST_SUBSCRIPTIONS", 1)
    for id in ("a", "b"):
        world.subscriptions.subscribe("acme", {"id": id, "condition": "price < 5"})
    with pytest.raises(QuotaExceeded):
        matching.match("acme", world.subscriptions.event_type("acme", None), EVENTS)


def test_what_is_left_out_is_said(world: World, matching: RequestMatching) -> None:  # noqa: F811
    walk = "price = 1 THEN price = 9 WITHIN INTERVAL '1' HOUR BY user"
    world.subscriptions.subscribe("acme", {"id": "walk", "condition": walk, "dialect": "composite"})
    world.subscriptions.subscribe("acme", {"id": "cheap", "condition": "price < 5"})
    found = matching.match("acme", world.subscriptions.event_type("acme", None), EVENTS)
    assert (found.subscriptions, found.ids, found.left_out) == (1, [["cheap"], []], ["walk"])
