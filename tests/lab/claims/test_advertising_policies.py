"""Policies prune what they say, and deliver the same events."""

from __future__ import annotations

import pytest

from tamis.lab.bittner.advertisements import Advertisement, Advertisements
from tamis.lab.claims.advertising_policies import (
    BROKERS,
    POLICIES,
    Run,
    check_delivered,
    conforming,
    pruned_advertisements,
    ran,
)
from tamis.lab.claims.overlaps import Auctions, auctions
from tamis.lab.claims.pruned_advertisements import LEAST_REMOVED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def given() -> Auctions:
    return auctions(60, 40, 300)


def test_events_conform_to_the_advertisements_of_their_broker(given: Auctions) -> None:
    for broker, batch in enumerate(conforming(given, 5)):
        assert batch.rows <= 5
        advertised = Advertisements()
        for place in range(broker, len(given.advertisements), BROKERS):
            advertised.add(Advertisement(str(place), given.name, given.advertisements[place]))
        assert advertised.conforms(batch).all()


def test_policies_prune_what_they_say(given: Auctions) -> None:
    small = Auctions(
        given.event_type, given.subscriptions[:15], given.advertisements[:5], given.table, given.events
    )
    events = conforming(small, 20)
    runs = {name: ran(small, policy, events) for name, policy in POLICIES.items()}
    plain, subscriptions = runs["nothing pruned"], runs["subscriptions pruned"]
    advertisements = runs["advertisements pruned"]
    assert not runs["no advertisements"].subscription_table_bytes
    assert runs["no advertisements"].report.messages["subscriptions"] == 15 * (BROKERS - 1)
    assert subscriptions.report.removed_share >= LEAST_REMOVED > plain.report.removed_share == 0
    assert subscriptions.event_table_bytes < plain.event_table_bytes
    assert advertisements.subscription_table_bytes < plain.subscription_table_bytes
    assert advertisements.report.messages["subscriptions"] >= plain.report.messages["subscriptions"]
    assert advertisements.advertisements == pruned_advertisements(small)


def test_policies_that_deliver_other_events_are_noticed(given: Auctions) -> None:
    none = Auctions(given.event_type, [], [], given.table, given.events)
    report = ran(none, POLICIES["no advertisements"], []).report
    one, other = Run(report, [], {(0, 1, "s2")}), Run(report, [], set())
    check_delivered("same", one, one)
    with pytest.raises(SystemExit, match="less: 1 deliveries differ, of 1"):
        check_delivered("less", other, one)
