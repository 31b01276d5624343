"""Networks deliver what their clients ask for, whatever is optimised, and count what they send."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tamis import reference
from tamis.errors import EventError, SubscriptionError
from tamis.events import EventBatch, EventType
from tamis.formulas.formula import at_least, conjunction, disjunction
from tamis.lab.bittner.measures import ACCURACY, DISTANCE, EFFICIENCY, MEASURES, OCCURRENCE
from tamis.lab.bittner.network.overlay import Overlay, OverlayReport
from tamis.lab.bittner.network.settings import PrePruning
from tamis.lab.bittner.network.topology import Topology, line, star, tree
from tamis.lab.bittner.ranking import Ranking, SharedRanking
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.lab.claims.networks import auctions
from tamis.language.condition import Condition, compile_condition
from tests.lab.bittner.small_worlds import SMALL, VALUES, predicate_text
from tests.routing.drawing import EVENTS, formula_of, random_formula, random_frame

TOPOLOGIES = {"line": line(4), "star": star(5), "tree": tree(7, 2)}
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no shortcut": {"shortcut": False},
    "counting": {"engine": "counting"},
    "conjunctive": {"conjunctive": True, "engine": "counting"},
    "covering": {"covering": True},
    "before forwarding": {"pre": PrePruning(count=1), "measure": DISTANCE},
    "up to a threshold": {"pre": PrePruning(threshold=0.3), "strategy": "dynamic", "measure": ACCURACY},
    "covering, before forwarding": {"covering": True, "pre": PrePruning(count=2), "measure": OCCURRENCE},
}


class World:
    """A network, and who asked for what; events that conform to nothing are not published."""

    def __init__(self, topology: Topology, seed: str, **settings: Any) -> None:
        self.random = random.Random(seed)
        events = [{name: self.random.choice(values) for name, values in VALUES.items()} for _ in range(60)]
        self.batch = EventBatch.of(events, SMALL)
        self.events = events
        self.advertises = settings.get("forwarding") == "advertisements"
        table = SelectivityTable()
        self.overlay = Overlay(topology, SMALL, table=table, **settings)
        self.brokers = len(topology)
        self.subscriptions: dict[str, list[int]] = {}
        self.advertisements: dict[str, tuple[int, list[int]]] = {}
        self.numbers = 0

    def drawn(self, depth: int) -> tuple[Condition, list[int]]:
        """A condition that is no constant, and the rows that it holds in."""
        while True:
            condition = compile_condition(self._text(depth), SMALL)
            if condition.formula.predicates():
                return condition, reference.matches(condition, self.batch)

    def _text(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.1:
            return predicate_text(self.random)
        parts = [self._text(depth - 1) for _ in range(self.random.randint(2, 3))]
        return f"({self.random.choice((' AND ', ' AND ', ' OR ')).join(parts)})"

    def step(self) -> None:
        """Something happens."""
        self.numbers += 1
        kind = self.random.random()
        broker = self.random.randrange(self.brokers)
        if kind < 0.15 and self.subscriptions:
            self.unsubscribe(self.random.choice(list(self.subscriptions)))
        elif kind < 0.25 and self.advertisements:
            self.withdraw(self.random.choice(list(self.advertisements)))
        elif kind < 0.45 and self.advertises:
            condition, rows = self.drawn(2)
            self.overlay.advertise(f"a{self.numbers}", condition.formula, broker)
            self.advertisements[f"a{self.numbers}"] = broker, rows
        elif kind < 0.6:
            made = self.overlay.prune(count=self.random.randint(1, 4))
            if self.random.random() < 0.3:
                self.overlay.undo(made)
            if self.advertises:
                self.overlay.prune_advertisements(count=1)
        else:
            condition, rows = self.drawn(2)
            self.overlay.subscribe(f"s{self.numbers}", condition.formula, broker)
            self.subscriptions[f"s{self.numbers}"] = rows

    def unsubscribe(self, id_: str) -> None:
        self.overlay.unsubscribe(id_)
        del self.subscriptions[id_]

    def withdraw(self, id_: str) -> None:
        self.overlay.withdraw(id_)
        del self.advertisements[id_]

    def publishable(self, broker: int) -> list[int]:
        """The rows that a publisher at a broker may publish."""
        if not self.advertises:
            return list(range(self.batch.rows))
        own = [rows for home, rows in self.advertisements.values() if home == broker]
        return sorted(set().union(*own))

    def check(self) -> None:
        """Everybody gets what they should, from wherever."""
        for broker in range(self.brokers):
            rows = self.publishable(broker)
            batch = EventBatch.of([self.events[row] for row in rows], SMALL)
            found = [(rows[row], id_) for row, id_ in self.overlay.publish(batch, broker)]
            assert sorted(found) == sorted(
                (row, id_) for id_, held in self.subscriptions.items() for row in held if row in rows
            )

    def end(self) -> OverlayReport:
        """Nobody wants anything any more."""
        for id_ in list(self.advertisements):
            self.withdraw(id_)
        if self.advertises:
            assert self.overlay.report().non_local == 0
        for id_ in list(self.subscriptions):
            self.unsubscribe(id_)
        return self.overlay.report()


@pytest.mark.slow
@pytest.mark.parametrize("forwarding", ["subscriptions", "advertisements"])
@pytest.mark.parametrize("place", range(len(SETTINGS)), ids=list(SETTINGS))
def test_clients_get_what_the_reference_says(place: int, forwarding: str) -> None:
    # Each in two of three topologies, and each topology with all kinds of settings.
    topology = list(TOPOLOGIES.values())[(place + (forwarding == "advertisements")) % 3]
    settings = list(SETTINGS.values())[place]
    world = World(topology, f"{place} {forwarding}", forwarding=forwarding, **settings)
    for number in range(40):
        world.step()
        if number % 20 == 19:
            world.check()
    assert world.overlay.report().deliveries > 0
    assert is_empty(world.end())


def is_empty(report: OverlayReport) -> bool:
    """Is nothing left in any table?"""
    sizes = [(each.table.local, each.table.non_local, each.table.totals.entries) for each in report.brokers]
    return sizes == [(0, 0, 0)] * len(report.brokers) and report.associations == 0


@pytest.mark.parametrize("forwarding", ["subscriptions", "advertisements"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_without_generalising_nothing_is_forwarded_in_vain(topology: str, forwarding: str) -> None:
    for settings in ({}, {"engine": "counting"}, {"covering": True}):
        world = World(TOPOLOGIES[topology], topology, forwarding=forwarding, **settings)
        for number in range(12):
            condition, rows = world.drawn(2)
            world.overlay.subscribe(f"s{number}", condition.formula, number % world.brokers)
            world.subscriptions[f"s{number}"] = rows
            if world.advertises:
                condition, rows = world.drawn(1)
                world.overlay.advertise(f"a{number}", condition.formula, number % world.brokers)
                world.advertisements[f"a{number}"] = number % world.brokers, rows
        world.check()
        report = world.overlay.report()
        assert report.messages["events"] > 0
        assert report.false_forwards == 0
        assert report.removed_share == 0.0


@pytest.mark.parametrize("name", MEASURES)
def test_formulas_of_all_shapes_can_be_pruned_until_nothing_is_left(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_, 100)
    overlay = Overlay(tree(6, 2), EVENTS, measure=MEASURES[name])
    formulas = {f"s{number}": conjunction([random_formula(random_, 2) for _ in range(3)]) for number in range(18)}
    for number, (id_, formula) in enumerate(formulas.items()):
        overlay.subscribe(id_, formula, number % 6)
    expected = sorted(
        (row, id_) for id_, formula in formulas.items() for row in np.flatnonzero(formula.mask(frame)).tolist()
    )
    removed, loads = [], []
    while True:
        overlay.reset()
        assert sorted(overlay.publish(frame.batch, 3)) == expected
        report = overlay.report()
        removed.append(report.removed_share)
        loads.append(report.load)
        assert report.messages["events"] == round(5 * 100 * report.load)
        if not any(overlay.prune(count=40)):
            break
    assert removed == sorted(removed)
    assert loads == sorted(loads)
    assert report.false_forwards > 0


# --- by hand ---------------------------------------------------------------------------------------------------

NUMBERS = EventType.from_dict({"name": "drawn", "attributes": {"a": "int", "b": "int"}})


def numbers(*pairs: tuple[int, int]) -> EventBatch:
    return EventBatch.of([{"a": a, "b": b} for a, b in pairs], NUMBERS)


def test_messages_of_a_line_are_counted() -> None:
    overlay = Overlay(line(4), NUMBERS)
    overlay.subscribe("first", formula_of("a = 1 AND b = 1"), 0)
    overlay.subscribe("last", formula_of("a = 2 AND b < 5"), 3)
    assert overlay.report().messages == {"subscriptions": 6}
    # Row 0 goes from 1 to 0, row 1 to 2 and 3, row 2 nowhere.
    batch = numbers((1, 1), (2, 2), (2, 7))
    assert sorted(overlay.publish(batch, 1)) == [(0, "first"), (1, "last")]
    report = overlay.report()
    assert report.messages == {"subscriptions": 6, "events": 3}
    assert report.load == 3 / (3 * 3)
    assert [each.filtered for each in report.brokers] == [1, 3, 1, 1]
    assert (report.local, report.non_local, report.associations, report.deliveries) == (2, 6, 12, 2)
    overlay.unsubscribe("first")
    assert overlay.report().messages == {"subscriptions": 6, "events": 3, "retractions": 3}


def test_pruning_sends_in_vain_and_is_taken_back() -> None:
    overlay = Overlay(line(4), NUMBERS)
    overlay.subscribe("last", formula_of("a = 2 AND b < 5"), 3)
    batch = numbers((1, 1), (2, 2), (2, 7))
    made = overlay.prune(count=9)
    assert made == [1, 1, 1, 0]  # only a = 2 is left, which is rarer as far as anybody knows
    assert overlay.publish(batch, 0) == [(1, "last")]
    report = overlay.report()
    assert (report.removed_share, report.prunings) == (0.5, 3)
    # Row 2 goes over all three links, and nobody wants it.
    assert (report.messages["events"], report.false_forwards) == (6, 3)
    overlay.undo(made)
    overlay.reset()
    assert overlay.publish(batch, 0) == [(1, "last")]
    report = overlay.report()
    assert (report.removed_share, report.messages["events"], report.false_forwards) == (0.0, 3, 0)


def test_what_is_pruned_at_one_broker_is_stopped_by_the_next() -> None:
    overlay = Overlay(line(4), NUMBERS)
    overlay.subscribe("last", formula_of("a = 2 AND b < 5"), 3)
    assert overlay.prune(count=1, broker=0) == [1, 0, 0, 0]
    overlay.publish(numbers((2, 7)), 0)
    assert overlay.report().messages["events"] == 1
    assert overlay.report().false_forwards == 1


def test_what_is_pruned_before_forwarding_stays_so_on_its_way() -> None:
    overlay = Overlay(line(4), NUMBERS, pre=PrePruning(count=1))
    overlay.subscribe("last", formula_of("a = 2 AND b < 5"), 3)
    assert overlay.publish(numbers((2, 7), (2, 1)), 0) == [(1, "last")]
    report = overlay.report()
    assert (report.messages["events"], report.false_forwards, report.removed_share) == (6, 3, 0.0)
    assert report.associations == 3


def test_hops_are_those_to_the_subscriber() -> None:
    overlay = Overlay(tree(7, 2), NUMBERS)
    overlay.subscribe("leaf", formula_of("a = 1"), 3)
    assert [overlay.hops("leaf", broker) for broker in range(7)] == [2, 1, 3, 0, 2, 4, 4]
    assert overlay.hops("nobody", 0) is None


def test_distance_prunes_far_subscriptions_first() -> None:
    overlay = Overlay(line(3), NUMBERS, measure=DISTANCE)
    overlay.subscribe("near", formula_of("a = 1 AND b = 1"), 1)
    overlay.subscribe("far", formula_of("a = 2 AND b = 2"), 2)
    overlay.prune(count=1, broker=0)
    overlay.publish(numbers((1, 9), (9, 1)), 0)
    assert overlay.report().messages["events"] == 0
    overlay.publish(numbers((2, 9), (9, 2)), 0)
    assert overlay.report().messages["events"] == 1


def test_bytes_are_those_of_the_framework() -> None:
    sizes = {}
    for name in ("boolean", "conjunctive"):
        overlay = Overlay(line(2), EVENTS, conjunctive=name == "conjunctive")
        overlay.subscribe("s", formula_of("a = 1 AND (b = 1 OR c > 5)"), 0)
        overlay.subscribe("t", formula_of("a = 1 AND (b = 1 OR c > 6)"), 0)
        sizes[name] = overlay.report().bytes_per_entry
    # Three leaves with an association each, two inner nodes, place and counts; two of three predicates are shared.
    assert sizes["boolean"] == 3 * (5 + 4) + 2 * 2 + 6 + 4 / 8 / 2
    assert sizes["conjunctive"] == 2 * (2 * 8 + 2) + 4 / 8 / 2


def test_covered_entries_are_dropped_and_come_back() -> None:
    overlay = Overlay(line(3), NUMBERS, covering=True)
    overlay.subscribe("narrow", formula_of("a = 1 AND b < 5"), 0)
    overlay.subscribe("wide", formula_of("a = 1"), 0)
    report = overlay.report()
    assert (report.non_local, report.associations, report.covered_share) == (4, 2, 0.5)
    overlay.reset()
    overlay.unsubscribe("wide")
    # At its own broker one entry goes; at both others it goes and another comes back.
    assert overlay.report().changes == 1 + 2 + 2
    assert overlay.report().associations == 4
    assert overlay.publish(numbers((1, 3), (1, 6)), 2) == [(0, "narrow")]


def test_a_covered_subscription_is_not_forwarded_until_its_coverer_ends() -> None:
    overlay = Overlay(line(3), NUMBERS, covering=True)
    overlay.subscribe("wide", formula_of("a = 1"), 0)
    overlay.subscribe("narrow", formula_of("a = 1 AND b < 5"), 0)
    overlay.subscribe("either", formula_of("(a = 1 AND b = 7) OR (a = 1 AND b = 9)"), 1)
    # "either" goes both ways: nothing that was forwarded from broker 1 to broker 0 covers it.
    assert overlay.report().messages["subscriptions"] == 2 + 0 + 1
    assert [overlay.hops("narrow", broker) for broker in range(3)] == [0, None, None]
    batch = numbers((1, 3), (1, 6), (1, 9), (2, 9))
    expected = [(0, "narrow"), (0, "wide"), (1, "wide"), (2, "either"), (2, "wide")]
    assert sorted(overlay.publish(batch, 2)) == expected
    overlay.unsubscribe("wide")
    assert overlay.report().messages["retractions"] == 2
    assert overlay.report().messages["subscriptions"] == 3 + 2 + 1
    assert sorted(overlay.publish(batch, 2)) == [(0, "narrow"), (2, "either")]
    assert sorted(overlay.publish(batch, 0)) == [(0, "narrow"), (2, "either")]


def test_covering_saves_messages() -> None:
    messages = {}
    for covering in (False, True):
        random_ = random.Random(3)
        overlay = Overlay(tree(7, 2), NUMBERS, covering=covering)
        for place in range(60):
            text = f"a = {random_.randrange(4)}" + (f" AND b < {random_.randrange(9)}" if place % 3 else "")
            overlay.subscribe(f"s{place}", formula_of(text), random_.randrange(7))
        messages[covering] = overlay.report().messages["subscriptions"]
        for place in random_.sample(range(60), 60):
            overlay.unsubscribe(f"s{place}")
        assert is_empty(overlay.report())
    assert messages[False] == 6 * 60
    assert messages[True] < messages[False] / 4


def test_selectivities_are_learned_from_the_events_that_pass() -> None:
    forwards = {}
    for learns in (True, False):
        overlay = Overlay(line(3), NUMBERS, table=None if learns else SelectivityTable())
        for place in range(20):
            overlay.subscribe(f"s{place}", formula_of(f"a = {place} AND b < 3"), 2)
        # An equality seems rare, and is not: nearly every event has a = 7, and few have b < 3.
        batch = numbers(*((7, 9) for _ in range(90)), *((7, 1) for _ in range(10)))
        overlay.publish(batch, 0)
        assert overlay.prune(count=20, broker=0)[0] == 20
        overlay.reset()
        assert len(overlay.publish(batch, 0)) == 10
        forwards[learns] = overlay.report().false_forwards
    assert forwards[True] == 0 < forwards[False]


def test_the_default_measure_sends_no_more_in_vain_than_one_that_needs_no_knowledge() -> None:
    """By the bytes of entries, and less than `accuracy` where these are few."""
    data = auctions(80, 200)
    batches = data.batches(3)
    in_vain: dict[str, list[int]] = {}
    settings: dict[str, dict[str, Any]] = {
        "default": {},
        "efficiency": {"measure": EFFICIENCY},
        "accuracy": {"measure": ACCURACY},
    }
    for name, given in settings.items():
        overlay = Overlay(line(3), data.event_type, **given)
        for place, formula in enumerate(data.formulas):
            overlay.subscribe(f"s{place}", formula, place % 3)
        exact = overlay.report().bytes_per_entry
        in_vain[name] = []
        for share in (1.0, 0.5, 0.25):
            while overlay.report().bytes_per_entry > share * exact and any(overlay.prune(count=20)):
                pass
            overlay.reset()
            for broker, batch in enumerate(batches):
                overlay.publish(batch, broker)
            in_vain[name].append(overlay.report().false_forwards)
    assert in_vain["default"][0] == 0
    assert all(ours <= theirs for ours, theirs in zip(in_vain["default"], in_vain["efficiency"], strict=True))
    assert in_vain["default"][-1] < in_vain["accuracy"][-1]


def test_what_was_learned_long_ago_is_forgotten() -> None:
    overlay = Overlay(line(2), NUMBERS)
    overlay.subscribe("s", formula_of("a = 1 AND b = 1"), 1)
    for often in ((1, 9), (9, 1)):
        for _ in range(80):
            overlay.publish(numbers(*(often for _ in range(300))), 0)
            overlay.rank()
    assert overlay.prune(count=1, broker=0) == [1, 0]
    overlay.reset()
    overlay.publish(numbers((1, 9), (9, 1)), 0)
    assert overlay.report().messages["events"] == 1  # by a = 1, which is rare now


def test_the_shortcut_finds_one_entry_a_neighbour() -> None:
    matches = {}
    for shortcut in (True, False):
        overlay = Overlay(line(3), NUMBERS, shortcut=shortcut)
        for bound in range(10):
            overlay.subscribe(f"s{bound}", formula_of(f"a > {bound}"), 0)
        assert len(overlay.publish(numbers((9, 0), (4, 0)), 2)) == 9 + 4
        matches[shortcut] = overlay.report().work["matches"]
    # Twice two at the brokers on the way, and everything at the subscribers'.
    assert matches == {True: 2 + 2 + 13, False: 3 * 13}


# --- advertisements --------------------------------------------------------------------------------------------


def test_subscriptions_go_where_advertisements_came_from() -> None:
    overlay = Overlay(line(4), NUMBERS, forwarding="advertisements")
    overlay.advertise("small", formula_of("a < 5"), 0)
    assert overlay.report().messages == {"advertisements": 3}
    overlay.subscribe("two", formula_of("a = 2"), 2)
    overlay.subscribe("nine", formula_of("a = 9"), 2)
    assert overlay.report().messages == {"advertisements": 3, "subscriptions": 2}
    assert [overlay.hops("two", broker) for broker in range(4)] == [2, 1, 0, None]
    overlay.advertise("large", formula_of("a > 8"), 3)
    assert [overlay.hops("nine", broker) for broker in range(4)] == [None, None, 0, 1]
    assert overlay.publish(numbers((2, 0), (3, 0)), 0) == [(0, "two")]
    assert overlay.publish(numbers((9, 0)), 3) == [(0, "nine")]


def test_withdrawing_retracts_what_no_other_advertisement_needs() -> None:
    overlay = Overlay(line(4), NUMBERS, forwarding="advertisements")
    overlay.advertise("small", formula_of("a < 5"), 0)
    overlay.advertise("even smaller", formula_of("a < 3"), 1)
    overlay.subscribe("two", formula_of("a = 2"), 3)
    overlay.subscribe("four", formula_of("a = 4"), 3)
    overlay.reset()
    overlay.withdraw("small")
    assert overlay.report().messages == {"withdrawals": 3, "retractions": 1 + 3}
    assert [overlay.hops("two", broker) for broker in range(4)] == [None, 2, 1, 0]
    assert [overlay.hops("four", broker) for broker in range(4)] == [None, None, None, 0]
    overlay.withdraw("even smaller")
    assert overlay.report().non_local == 0


def test_events_that_nobody_announced_are_refused() -> None:
    overlay = Overlay(line(2), NUMBERS, forwarding="advertisements")
    overlay.advertise("small", formula_of("a < 5"), 0)
    with pytest.raises(EventError, match="event 1: expected one that conforms to an advertisement of broker 0"):
        overlay.publish(numbers((1, 0), (7, 0)), 0)
    with pytest.raises(EventError, match="event 0"):
        overlay.publish(numbers((1, 0)), 1)
    assert overlay.report().published == 0
    unchecked = Overlay(line(2), NUMBERS, forwarding="advertisements", check=False)
    assert unchecked.publish(numbers((1, 0)), 1) == []


# --- what cannot be done ---------------------------------------------------------------------------------------


def test_ids_are_unique_and_known() -> None:
    overlay = Overlay(line(2), NUMBERS, forwarding="advertisements")
    overlay.subscribe("s", formula_of("a = 1"), 1)
    overlay.advertise("s", formula_of("a = 1"), 0)
    with pytest.raises(SubscriptionError, match=r"subscription 's': .* found it at broker 1"):
        overlay.subscribe("s", formula_of("a = 2"), 0)
    with pytest.raises(SubscriptionError, match=r"advertisement 's': .* found it at broker 0"):
        overlay.advertise("s", formula_of("a = 2"), 0)
    with pytest.raises(SubscriptionError, match="subscription 'x': there is none"):
        overlay.unsubscribe("x")
    with pytest.raises(SubscriptionError, match="advertisement 'x': there is none"):
        overlay.withdraw("x")
    overlay.unsubscribe("s")
    overlay.subscribe("s", formula_of("a = 2"), 0)


def test_brokers_and_types_are_known() -> None:
    overlay = Overlay(line(2), NUMBERS)
    with pytest.raises(ValueError, match="from 0 to 1, found 2"):
        overlay.subscribe("s", formula_of("a = 1"), 2)
    with pytest.raises(ValueError, match="from 0 to 1, found -1"):
        overlay.publish(numbers((1, 1)), -1)
    with pytest.raises(EventError, match="expected events of type drawn, found small"):
        overlay.publish(EventBatch.of([], SMALL), 0)
    assert overlay.publish(numbers(), 0) == []


def test_constants_go_everywhere_and_nowhere() -> None:
    overlay = Overlay(line(3), NUMBERS, covering=True)
    overlay.subscribe("always", at_least(0, []), 0)
    overlay.subscribe("never", disjunction([]), 0)
    assert overlay.publish(numbers((1, 1)), 2) == [(0, "always")]
    overlay.unsubscribe("always")
    assert overlay.publish(numbers((1, 1)), 2) == []


def test_seconds_are_those_of_the_clock() -> None:
    ticks = iter(range(100))
    overlay = Overlay(line(2), NUMBERS, clock=lambda: float(next(ticks)))
    overlay.subscribe("s", formula_of("a = 1"), 1)
    overlay.publish(numbers((1, 1)), 0)
    report = overlay.report()
    assert [each.seconds for each in report.brokers] == [1.0, 1.0]
    assert report.seconds == 2.0


# --- what brokers share ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["accuracy", "efficiency", "memory", "distance"])
def test_a_shared_ranking_ranks_as_each_for_itself(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_, 100)
    formulas = [random_formula(random_) for _ in range(12)]
    table = SelectivityTable()
    shared, own = SharedRanking(MEASURES[name], table), Ranking(MEASURES[name], table)
    for _ in range(2):
        for formula in formulas:
            for hops in (1, 3):
                facts = shared.facts(formula)
                assert facts == own.facts(formula)
                found, expected = (each.best(facts, formula, hops) for each in (shared, own))
                assert (found is None) == (expected is None)
                assert found is None or found.rank == expected.rank  # type: ignore[union-attr]
        table.track(predicate for formula in formulas for predicate in formula.predicates())
        table.observe(frame)  # which changes all ranks


def test_what_was_counted_since_the_reset_can_be_asked_for_alone() -> None:
    overlay = Overlay(line(2), NUMBERS)
    overlay.subscribe("s", formula_of("a = 1"), 1)
    overlay.publish(numbers((1, 1)), 0)
    assert overlay.messages == {"subscriptions": 1, "events": 1}
    assert overlay.work == overlay.report().work == {"held": 2, "hits": 2, "candidates": 2, "matches": 2}
    overlay.reset()
    assert overlay.messages == overlay.work == {}


def test_pruned_advertisements_let_more_subscriptions_through_and_lose_none() -> None:
    overlay = Overlay(line(2), SMALL, forwarding="advertisements")
    overlay.advertise("a", compile_condition("a = 1 AND b = 'ab'", SMALL).formula, 0)
    overlay.subscribe("far", compile_condition("a = 2", SMALL).formula, 1)
    assert overlay.report().messages["subscriptions"] == 0
    assert overlay.prune_advertisements() == [0.0, 0.5]
    overlay.subscribe("kept apart no more", compile_condition("b = 'abc' AND a = 2", SMALL).formula, 1)
    overlay.subscribe("wanted", compile_condition("a = 1", SMALL).formula, 1)
    assert 1 <= overlay.report().messages["subscriptions"] <= 2
    batch = EventBatch.of([{"a": 1, "b": "ab"}], SMALL)
    assert overlay.publish(batch, 0) == [(0, "wanted")]
    overlay.withdraw("a")
    assert overlay.report().non_local == 0
