"""The part of `routing` that prunes a whole table by kernels, at the sizes of S. Bittner's thesis (2008), 8.3.1.

Five brokers in a line, subscribers spread evenly, and publishers at one end: an event passes up to four links, and
the entries of a link are those of all subscriptions behind it. Pruning is `tamis.routing.pruning`, as for shards;
entries take the bytes that are stored. What the laboratory's `Overlay` counts message by message is counted here
link by link: an event goes over a link if an entry of it matches, in vain if no subscription behind it does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.report import Bar, Figures, Size, number, table
from benchmarks.routing_network import Found
from tamis.engines import ENGINES, MAPPED_ENGINE
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.selection import select_formulas
from tamis.events.batch import EventBatch
from tamis.frames import BatchFrame
from tamis.lab.claims.networks import auctions, progress
from tamis.routing.pruning import MEASURES, EntryPruner

LEAST_RANKINGS = 50_000
MOST_IN_VAIN = 0.1
_JUDGED = ("accuracy", "occurrence")
BROKERS = 5
_SHARES = (1.0, 0.5, 0.25, 0.1)
"""Of the stored bytes of all entries, to which they are pruned."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Subscriptions, and events that are published."""

    subscriptions: int
    events: int


_SCALES: dict[Size, Scale] = {
    "smallest": Scale(60, 40),
    "quick": Scale(2_000, 1_000),
    "full": Scale(200_000, 2_000),
}


def kernels(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Section 8.3.1: five measures at 200,000 subscriptions, rankings a second and forwards in vain by bytes."""
    scale = _SCALES[size]
    count = max(sizes, default=scale.subscriptions)
    data = auctions(count, scale.events)
    forest = forest_of(data.formulas)
    events = BatchFrame(EventBatch.of(data.events, data.event_type))
    past = BatchFrame(EventBatch.of(data.past, data.event_type))
    links = [np.flatnonzero(np.arange(count) % BROKERS > broker) for broker in range(BROKERS - 1)]
    wanted = [matched(select_formulas(forest, behind), events) for behind in links]
    figures: Figures = {"size": f"line of 5 brokers, {count} subscriptions, {scale.events} events at one end"}
    bars: dict[str, Bar] = {}
    rows = []
    EntryPruner(select_formulas(forest, links[-1][:50]), "occurrence", sample=[past]).prune()  # compiles
    for name in MEASURES:
        progress(name)
        pruned = _pruned(forest, links, name, past, events, wanted)
        figures[f"{name}: rankings a second of the processor"] = round(pruned.rankings)
        progress(f"  {round(pruned.rankings)} rankings a second; share, N, in vain, bytes: {pruned.steps}")
        for share, load, vain, stored in pruned.steps:
            what = f"{name}: at {number(share)} of the bytes"
            figures[what] = (
                f"{number(stored)} bytes an entry, N {number(load)}, {number(vain)} of forwards in vain"
            )
            rows.append((name, number(share), number(stored), number(load), number(vain)))
        if name in _JUDGED:
            bars[f"{name}: rankings a second"] = Bar(pruned.rankings, LEAST_RANKINGS)
        if name == "occurrence":
            bars["occurrence: forwards in vain at a tenth of the bytes"] = Bar(
                pruned.steps[-1][2], MOST_IN_VAIN, at_most=True
            )
    heads = ("measure", "share of bytes", "bytes an entry", "N", "in vain")
    return figures, bars, [table(heads, rows)]


@dataclass(frozen=True, slots=True)
class Pruned:
    """Rankings a second; for each share of bytes the load, the share of forwards in vain, and bytes an entry."""

    rankings: float
    steps: list[tuple[float, float, float, float]]


def _pruned(
    forest: Forest,
    links: Sequence[np.ndarray],
    name: str,
    past: BatchFrame,
    events: BatchFrame,
    wanted: Sequence[np.ndarray],
) -> Pruned:
    began = time.process_time()
    pruners = [
        EntryPruner(
            select_formulas(forest, behind),
            name,
            sample=[past],
            hops=(behind % BROKERS - broker).astype(np.int32),
        )
        for broker, behind in enumerate(links)
    ]
    seconds = time.process_time() - began
    whole = [pruner.stored_bytes for pruner in pruners]
    entries = sum(map(len, links))
    steps = []
    for share in _SHARES:
        began = time.process_time()
        for pruner, stored in zip(pruners, whole, strict=True):
            pruner.prune(share * stored)
        seconds += time.process_time() - began
        sent = vain = 0
        reached = np.ones(events.rows, np.bool_)
        for pruner, useful in zip(pruners, wanted, strict=True):
            formulas, _ = pruner.formulas()
            reached = reached & matched(forest_of(formulas), events)
            assert not (useful & ~reached).any(), f"{name}: an event is lost at {share} of the bytes"
            sent, vain = sent + int(reached.sum()), vain + int((reached & ~useful).sum())
        load = sent / (events.rows * len(links))
        steps.append((share, load, vain / max(1, sent), sum(each.stored_bytes for each in pruners) / entries))
    rankings = (entries + sum(pruner.prunings for pruner in pruners)) / max(seconds, 1e-9)
    return Pruned(rankings, steps)


def matched(forest: Forest, events: BatchFrame) -> np.ndarray:
    """Which events satisfy one of the formulas."""
    found = np.zeros(events.rows, np.bool_)
    found[ENGINES[MAPPED_ENGINE].build(forest).match(events).rows] = True
    return found
