"""The part of `routing` that covers and prunes a whole table by kernels, at the size of 8.4.1 of Bittner's thesis.

As in `benchmarks.routing_kernels`, five brokers stand in a line, with publishers at one end, and each link
has the entries of all subscriptions behind it. Entries are subscriptions, or their ANDs, or those ANDs that
no other one covers. Each form is pruned by occurrence until nothing is left, and reported at its cut-off. The
engine `hits` of the laboratory filters by subscriptions, `counting` by ANDs. After every step it is checked
that an event that is wanted behind a link still goes over it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from benchmarks.report import Figures, Size, number, table
from benchmarks.routing_kernels import BROKERS, matched
from benchmarks.routing_network import Found
from tamis.arrays import Mask
from tamis.engines import ENGINES
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.selection import select_formulas
from tamis.events.batch import EventBatch
from tamis.frames import BatchFrame
from tamis.lab.bittner.implication import terms
from tamis.lab.claims.networks import auctions, knee, progress
from tamis.report import charts
from tamis.routing.covering import uncovered
from tamis.routing.pruning import EntryPruner

_MEASURE = "occurrence"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: Of all brokers.
        events: That are published.
        steps: Of pruning, about.
        auctions_per_book: By which cover grows.
    """

    subscriptions: int
    events: int
    steps: int
    auctions_per_book: tuple[float, ...]


_SCALES: dict[Size, Scale] = {
    "smallest": Scale(60, 40, 3, (10_000.0,)),
    "quick": Scale(1_000, 500, 6, (100.0, 10_000.0)),
    "full": Scale(100_000, 2_000, 12, (1.0, 100.0, 1_000.0, 5_000.0, 20_000.0, 100_000.0)),
}


@dataclass(frozen=True, slots=True)
class Point:
    """A table in one state.

    Attributes:
        prunings: That were made.
        bytes: Of all distinct entries, as they are stored.
        load: The share of other brokers that filter an event, N.
        vain: The share of forwards that no subscription behind the link wanted.
        microseconds: Of the processor, for filtering an event at all brokers that it reaches.
    """

    prunings: int
    bytes: float
    load: float
    vain: float
    microseconds: float


@dataclass(frozen=True)
class Pruned:
    """A table, pruned step by step until nothing was left; the first point is before all pruning."""

    points: tuple[Point, ...]

    @cached_property
    def cut_off(self) -> Point:
        """The point where the load begins to rise steeply."""
        points = self.points
        return points[knee([each.prunings for each in points], [each.load for each in points])]


def cover_kernels(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Section 8.4.1: covering, pruning and both at 100,000 subscriptions, by the share that is covered."""
    scale = _SCALES[size]
    count = max(sizes, default=scale.subscriptions)
    figures: Figures = {
        "size": f"line of {BROKERS} brokers, {count} subscriptions, {scale.events} events at one end"
    }
    rows: list[tuple[str, ...]] = []
    drawn: dict[str, list[tuple[float, float]]] = {}
    for each in scale.auctions_per_book:
        progress(f"{number(each)} auctions a book")
        share, found = _tables(count, scale, each)
        title = f"cover {number(share)} ({number(each)} auctions a book)"
        points = {
            "boolean": found["boolean"].points[0],
            "boolean, pruned": found["boolean"].cut_off,
            "conjunctive": found["conjunctive"].points[0],
            "conjunctive, covered": found["covered"].points[0],
            "conjunctive, covered and pruned": found["covered"].cut_off,
        }
        entries = count * (BROKERS - 1) / 2
        for name, point in points.items():
            cells = (point.bytes / entries, point.microseconds, point.load, point.vain)
            size_, time_, load, vain = map(number, cells)
            figures[f"{title}, {name}"] = (
                f"{size_} bytes a subscription, {time_} us/event, N {load}, {vain} in vain"
            )
            rows.append((title, name, size_, time_, load, vain))
            drawn.setdefault(name, []).append((100 * share, point.bytes / entries))
        saved = 1 - points["conjunctive, covered and pruned"].bytes / points["conjunctive, covered"].bytes
        figures[f"{title}: bytes that pruning saves after covering"] = number(saved)
    heads = ("", "contestant", "bytes a subscription", "us/event", "N", "in vain")
    chart = charts.lines("bytes a subscription by percent covered", "bytes", drawn)
    return figures, {}, [chart, table(heads, rows)]


def _tables(count: int, scale: Scale, auctions_per_book: float) -> tuple[float, dict[str, Pruned]]:
    """The share of ANDs that others cover, over all links, and the tables of all three forms."""
    data = auctions(count, scale.events, auctions_per_book=auctions_per_book)
    events = BatchFrame(EventBatch.of(data.events, data.event_type))
    past = BatchFrame(EventBatch.of(data.past, data.event_type))
    forest = forest_of(data.formulas)
    made = [terms(formula) or [formula] for formula in data.formulas]
    subscriber = np.repeat(np.arange(count), [len(each) for each in made])
    all_terms = forest_of([term for each in made for term in each])
    links = [np.arange(count) % BROKERS > broker for broker in range(BROKERS - 1)]
    boolean = [select_formulas(forest, np.flatnonzero(behind)) for behind in links]
    conjunctive = [select_formulas(all_terms, np.flatnonzero(behind[subscriber])) for behind in links]
    covered = [select_formulas(each, np.array(uncovered(each), np.int64)) for each in conjunctive]
    wanted = [matched(each, events) for each in boolean]
    share = 1 - sum(map(len, covered)) / sum(map(len, conjunctive))
    progress(f"  {sum(map(len, conjunctive))} ANDs, {number(share)} of them covered")
    return share, {
        "boolean": _pruned("hits", boolean, past, events, wanted, scale.steps),
        "conjunctive": Pruned((_point(_Table("counting", conjunctive, past), events, wanted),)),
        "covered": _pruned("counting", covered, past, events, wanted, scale.steps),
    }


class _Table:
    """The entries of all links and the engine that filters by them."""

    def __init__(self, engine: str, links: Sequence[Forest], past: BatchFrame) -> None:
        self.engine = engine
        self.pruners = [EntryPruner(link, _MEASURE, sample=[past]) for link in links]

    @property
    def prunings(self) -> int:
        return sum(pruner.prunings for pruner in self.pruners)


def _pruned(
    engine: str,
    links: Sequence[Forest],
    past: BatchFrame,
    events: BatchFrame,
    wanted: Sequence[Mask],
    steps: int,
) -> Pruned:
    whole = _Table(engine, links, past)
    for pruner in whole.pruners:
        pruner.prune()
    counts = [ceil(pruner.prunings / steps) for pruner in whole.pruners]
    gradual = _Table(engine, links, past)
    points = [_point(gradual, events, wanted)]
    while gradual.prunings < whole.prunings:
        for pruner, count in zip(gradual.pruners, counts, strict=True):
            pruner.prune(count=count)
        points.append(_point(gradual, events, wanted))
    return Pruned(tuple(points))


def _point(entries: _Table, events: BatchFrame, wanted: Sequence[Mask]) -> Point:
    """Send the events along the line."""
    sent = vain = 0
    seconds = 0.0
    reached = np.arange(events.rows)
    for pruner, useful in zip(entries.pruners, wanted, strict=True):
        index = ENGINES[entries.engine].build(forest_of(pruner.formulas()[0]))
        frame = events.take(reached)
        index.match(frame.take(np.arange(1)))  # reads columns and makes what an index makes at its first match
        began = time.process_time()
        rows = index.match(frame).rows
        seconds += time.process_time() - began
        reached = reached[np.unique(rows)]
        lost = np.setdiff1d(np.flatnonzero(useful), reached)
        assert not len(lost), f"{entries.engine}: an event is lost after {entries.prunings} prunings"
        sent, vain = sent + len(reached), vain + len(reached) - int(useful.sum())
    stored = sum(pruner.stored_bytes for pruner in entries.pruners)
    load = sent / (events.rows * len(entries.pruners))
    point = Point(entries.prunings, stored, load, vain / max(1, sent), 1e6 * seconds / events.rows)
    progress(f"  {entries.engine}, {point}")
    return point
