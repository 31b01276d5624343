"""What to prune in a network with advertisements: nothing, subscriptions, advertisements or both.

The thesis of S. Bittner concludes that advertisements should be pruned instead of subscriptions and never runs a
network to show it. Here is a line of brokers. Subscriptions are pruned in the tables of brokers, after they were
forwarded as they are; advertisements before they are sent, so that all brokers have the pruned ones. Events are
those of the workload that conform to an advertisement of their broker. All policies must deliver the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.lab.bittner.advertisements import Advertisement, Advertisements
from tamis.lab.bittner.measures import ACCURACY
from tamis.lab.bittner.memory import MemoryParameters, memory
from tamis.lab.bittner.network.overlay import Overlay, OverlayReport
from tamis.lab.bittner.network.settings import Forwarding
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims.overlaps import Auctions, filed
from tamis.lab.claims.pruned_advertisements import LEAST_REMOVED

BROKERS = 5
_PART = 8
"""What is pruned at once before it is looked how far it went: a so-manieth of all."""


class Policy(NamedTuple):
    """Which of the two are pruned, until as much is removed as the bar of advertisements asks for."""

    subscriptions: bool = False
    advertisements: bool = False
    forwarding: Forwarding = "advertisements"


PLAIN = "nothing pruned"
POLICIES = {
    "no advertisements": Policy(forwarding="subscriptions"),
    PLAIN: Policy(),
    "subscriptions pruned": Policy(subscriptions=True),
    "advertisements pruned": Policy(advertisements=True),
    "both pruned": Policy(subscriptions=True, advertisements=True),
}


class Run(NamedTuple):
    """What a network did under a policy, its advertisements, and who got what: broker, row, subscription."""

    report: OverlayReport
    advertisements: Sequence[Formula]
    delivered: set[tuple[int, int, str]]

    @property
    def event_table_bytes(self) -> float:
        """Of the entries for subscriptions of neighbours, of all brokers."""
        return sum(each.table.bytes for each in self.report.brokers)

    @property
    def subscription_table_bytes(self) -> float:
        """Of the entries for advertisements: all brokers but the publisher's have one, if they are sent."""
        if not self.report.messages["advertisements"]:
            return 0.0
        return (BROKERS - 1) * memory(MemoryParameters.of(list(self.advertisements))).engines["hits"].total_bytes


def conforming(given: Auctions, most: int) -> list[EventBatch]:
    """For each broker, events that conform to one of its advertisements, so many at most."""
    everything = EventBatch.of(given.events, given.event_type)
    found = []
    for broker in range(BROKERS):
        advertised = Advertisements()
        for place in range(broker, len(given.advertisements), BROKERS):
            advertised.add(Advertisement(str(place), given.name, given.advertisements[place]))
        rows = np.flatnonzero(advertised.conforms(everything))[:most]
        found.append(EventBatch.of(given.events.take(rows), given.event_type))
    return found


def pruned_advertisements(given: Auctions) -> list[Formula]:
    """Advertisements with so much removed that the bar is reached."""
    subscribed = filed(given.subscriptions, given.event_type)
    advertised = Advertisements(subscribed, given.matches, event_types=[given.event_type])
    for place, formula in enumerate(given.advertisements):
        advertised.add(Advertisement(str(place), given.name, formula))
    while advertised.totals(given.name).removed_share < LEAST_REMOVED and advertised.prune(given.name, count=1):
        pass
    return [advertised[each.id].formula for each in advertised]


def ran(given: Auctions, policy: Policy, events: Sequence[EventBatch]) -> Run:
    """Advertise, subscribe, prune and publish; places are dealt to brokers in turn."""
    overlay = Overlay(
        line(BROKERS), given.event_type, measure=ACCURACY, table=given.table, forwarding=policy.forwarding
    )
    advertised = pruned_advertisements(given) if policy.advertisements else given.advertisements
    if policy.forwarding == "advertisements":
        for place, formula in enumerate(advertised):
            overlay.advertise(f"a{place}", formula, broker=place % BROKERS)
    for place, formula in enumerate(given.subscriptions):
        overlay.subscribe(f"s{place}", formula, broker=place % BROKERS)
    if policy.subscriptions:
        count = max(1, len(given.subscriptions) // _PART)
        while overlay.report().removed_share < LEAST_REMOVED and any(overlay.prune(count=count)):
            pass
    delivered = {
        (broker, row, name)
        for broker, batch in enumerate(events)
        for row, name in overlay.publish(batch, broker=broker)
    }
    return Run(overlay.report(), advertised, delivered)


def check_delivered(name: str, run: Run, first: Run) -> None:
    """Hold what a policy delivers against another.

    Raises:
        SystemExit: They differ.
    """
    if run.delivered != first.delivered:
        differing = len(run.delivered ^ first.delivered)
        msg = f"{name}: {differing} deliveries differ, of {len(first.delivered)}"
        raise SystemExit(msg)
