"""Networks of brokers as S. Bittner's thesis (2008, sections 8.2 to 8.4) measures them, and what pruning does.

Subscribers and publishers of book auctions are spread evenly over all brokers, which run one after the other in
this process. Times are the processor's and only of filtering; beside them stands the work that filtering counted,
which is the same in every run. After every step, what clients get is compared with what a matcher of all
subscriptions finds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import I64
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.lab.baselines.postings import Postings
from tamis.lab.bittner.network.overlay import Overlay, OverlayReport
from tamis.lab.bittner.network.topology import Topology
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.lab.measuring.numbers import number
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions

Pairs: TypeAlias = I64
SEED = 2026
_PAST_EVENTS, _MOST_PAST = 20, 100_000
"""For each event that is published; a title that was never seen would seem to be lost for nothing."""
_STARTED = time.perf_counter()


def progress(what: str) -> None:
    """Tell what goes on, to whoever waits."""
    sys.stderr.write(f"[{time.perf_counter() - _STARTED:6.0f} s] {what}\n")


@dataclass(frozen=True)
class Auctions:
    """Subscriptions and events of book auctions.

    Attributes:
        event_type: Of the events.
        formulas: Of the subscriptions.
        events: To be published.
        past: From which selectivities are learned.
    """

    event_type: EventType
    formulas: Sequence[Formula]
    events: pa.Table
    past: pa.Table

    @cached_property
    def table(self) -> SelectivityTable:
        """Of the predicates of all subscriptions, as counted in past events."""
        found = SelectivityTable()
        for formula in self.formulas:
            found.track(formula.predicates())
        found.observe(BatchFrame(EventBatch.of(self.past, self.event_type)))
        return found

    @cached_property
    def expected(self) -> Pairs:
        """All pairs of an event and a subscription that it matches, as `coded`, ascending."""
        rows, slots = Postings().build(self.formulas).match(EventBatch.of(self.events, self.event_type))
        return np.sort(rows.astype(np.int64) * len(self.formulas) + slots)

    def batches(self, brokers: int) -> list[EventBatch]:
        """The events, in equal parts, one for each broker."""
        size = ceil(self.events.num_rows / brokers)
        parts = [self.events.slice(number * size, size) for number in range(brokers)]
        return [EventBatch.of(part, self.event_type) for part in parts]


def auctions(subscriptions: int, events: int, **parameters: Any) -> Auctions:
    """The workload with these parameters."""
    past = min(_MOST_PAST, _PAST_EVENTS * events)
    made = generate("auction", subscriptions=subscriptions, events=events + past, seed=SEED, **parameters)
    formulas = [each for each in compile_conditions(made.conditions, made.event_type) if isinstance(each, Formula)]
    return Auctions(made.event_type, formulas, made.events.slice(0, events), made.events.slice(events))


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured of a network in one state.

    Attributes:
        report: Of the network, after the last round.
        microseconds: Of filtering an event, at all brokers that filter it, in the fastest round.
    """

    report: OverlayReport
    microseconds: float

    @property
    def work(self) -> float:
        """Counted for an event: predicates that hold, hits, and candidates or conjunctions that hold."""
        return self.per_event(counted(self.report.work))

    def per_event(self, count: float) -> float:
        """A count of all events, for one."""
        return count / self.report.published


def counted(work: Mapping[str, int]) -> int:
    """All work together; matches are among the candidates."""
    return sum(count for what, count in work.items() if what != "matches")


class Network:
    """Brokers with the subscriptions and publishers of a workload."""

    def __init__(self, topology: Topology, data: Auctions, *, rounds: int = 2, **settings: Any) -> None:
        """Let all clients subscribe.

        Args:
            topology: Of the brokers.
            data: What they ask for and publish.
            rounds: How often events are published each time that something is measured.
            settings: Of `Overlay`.
        """
        self.overlay = Overlay(topology, data.event_type, table=data.table, clock=time.process_time, **settings)
        self.brokers = len(topology)
        self._data = data
        self._batches = data.batches(self.brokers)
        self._rounds = rounds
        told = ", ".join(f"{name} {getattr(value, 'name', value)}" for name, value in settings.items())
        self._title = f"{self.brokers} brokers, {len(data.formulas)} subscriptions, {told or 'not optimised'}"
        progress(self._title)
        for place, formula in enumerate(data.formulas):
            self.overlay.subscribe(name_of(place), formula, place % self.brokers)
        self._published()  # so that events are read and entries filed

    @property
    def entries(self) -> int:
        """Subscriptions that came from neighbours, at each broker."""
        return len(self._data.formulas) * (self.brokers - 1) // self.brokers

    def measured(self, gone: frozenset[int] = frozenset()) -> Point:
        """Publish all events.

        Args:
            gone: Subscriptions that were ended.

        Raises:
            SystemExit: Clients do not get what they should.
        """
        seconds = []
        for _ in range(self._rounds):
            self.overlay.reset()
            self._check(self._published(), gone)
            seconds.append(self.overlay.seconds)
        point = Point(self.overlay.report(), min(seconds) * 1e6 / self._data.events.num_rows)
        progress(f"  {point.report.prunings} prunings: {described(point)}")
        return point

    def _published(self) -> Pairs:
        start, found = 0, []
        for broker, batch in enumerate(self._batches):
            found += [coded(start + row, id_, self._data) for row, id_ in self.overlay.publish(batch, broker)]
            start += batch.rows
        return np.sort(np.array(found, np.int64))

    def _check(self, found: Pairs, gone: frozenset[int]) -> None:
        expected = self._data.expected
        if gone:
            expected = expected[~np.isin(expected % len(self._data.formulas), list(gone))]
        if not np.array_equal(found, expected):
            msg = f"{self._title}: clients should get {len(expected)} events, and not these {len(found)}"
            raise SystemExit(msg)


def name_of(place: int) -> str:
    """The id of a subscription."""
    return f"s{place}"


def coded(row: int, id_: str, data: Auctions) -> int:
    """A pair of an event and a subscription as one number."""
    return row * len(data.formulas) + int(id_[1:])


@dataclass(frozen=True, slots=True)
class Path:
    """A network, pruned step by step until nothing was left to prune; the first point is before all pruning."""

    points: tuple[Point, ...]

    @property
    def shares(self) -> list[float]:
        """Of all prunings that there are, how many had been made at each point."""
        last = self.points[-1].report.prunings
        return [point.report.prunings / last if last else 0.0 for point in self.points]

    @property
    def loads(self) -> list[float]:
        """N of each point."""
        return [point.report.load for point in self.points]

    @property
    def cut_off(self) -> int:
        """The point where the load begins to rise steeply."""
        return knee(self.shares, self.loads)

    @property
    def fastest(self) -> int:
        """The point at which filtering an event took the least time."""
        return min(range(len(self.points)), key=lambda place: self.points[place].microseconds)

    def saved(self, place: int, *, work: bool = False) -> float:
        """The share of time, or of counted work, that a point saves of the first."""
        first, point = self.points[0], self.points[place]
        return 1 - (point.work / first.work if work else point.microseconds / first.microseconds)


def pruned(network: Network, steps: int, prunings: int = 5) -> Path:
    """Prune a network until nothing is left.

    Args:
        network: Not pruned yet.
        steps: About how many there should be.
        prunings: About how many an entry has.
    """
    count = max(1, ceil(network.entries * prunings / steps))
    points = [network.measured()]
    while any(network.overlay.prune(count=count)):
        points.append(network.measured())
    return Path(tuple(points))


def knee(across: Sequence[float], up: Sequence[float]) -> int:
    """The place of the point that is farthest below the straight line from the first point to the last."""
    width, height = across[-1] - across[0], up[-1] - up[0]
    if not width:
        return 0
    line = [up[0] + height * (x - across[0]) / width for x in across]
    return max(range(len(up)), key=lambda place: line[place] - up[place])


def described(point: Point) -> str:
    """A point in one line."""
    report = point.report
    shares = f"M {number(report.removed_share)}, N {number(report.load)}"
    sizes = f"{shares}, {number(report.bytes_per_entry)} bytes an entry"
    vain = number(point.per_event(report.false_forwards))
    cost = f"{number(point.microseconds)} us per event, work {number(point.work)}"
    return f"{sizes}, {vain} forwards in vain, {cost}"
