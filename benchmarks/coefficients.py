"""Coefficients: what the features of subscriptions cost each engine, for `engine="auto"`.

Every engine matches workloads of several families and sizes, one event at a time and in batches. Prices that are
not negative are fitted to the times by least squares of relative errors; the table is that of
`tamis.engines.engine_choice`. Pairs of all engines are compared before any time is taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.report import Figures, Report, Size
from benchmarks.timing import timed
from tamis.arrays import F64
from tamis.engines import ENGINES
from tamis.engines.base import Index
from tamis.engines.engine_choice import BATCH_EVENTS, features
from tamis.engines.forest import Forest, forest_of
from tamis.events import EventBatch
from tamis.frames import BatchFrame
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions
from tamis.statistics import Statistics

PRICED: dict[str, tuple[str, ...]] = {
    "bitslice": ("event", "looked", "walked", "matches", "leaves"),
    "scan": ("event", "leaves"),
    "postings": ("event", "hits", "held", "leaves"),
    "hits": ("event", "hits", "held", "matches"),
    "counting": ("event", "hits", "held"),
    "cluster": ("event", "looked", "held"),
}
"""What the time of each engine depends on."""
_CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("auction", {}),
    ("ranges", {}),
    ("ranges", {"width": (0.6, 0.6)}),
    ("equality", {}),
    ("sparse", {}),
    ("ads", {}),
    ("artificial", {}),
    ("jewel", {"operators": "B", "shared": 0.5, "matches": 0.13, "pool": 1_000}),
    ("jewel", {"attribute_set": "fixed", "comparison": "=", "pool": 5, "matches": 0.005, "shared": 0.38}),
)
_SIZES: dict[Size, tuple[int, ...]] = {
    "smallest": (100, 200),
    "quick": (100, 1_000, 10_000),
    "full": (100, 1_000, 10_000, 100_000),
}
_ROUNDS: dict[Size, int] = {"smallest": 1, "quick": 3, "full": 5}
_PER_TIMING = 200_000
"""Subscriptions times events of one timing of a slow engine, at most; `scan` gets no more subscriptions."""
_SINGLES = 16


def run(size: Size) -> Report:
    """Measure, and fit prices."""
    times: dict[str, dict[str, list[tuple[dict[str, float], float]]]] = {"one": {}, "batch": {}}
    for family, parameters in _CASES:
        for count in _SIZES[size]:
            print(f"{family} {parameters or ''}, {count} subscriptions", flush=True)
            for name, kind, found, us in _measured(family, count, _ROUNDS[size], parameters):
                times[kind].setdefault(name, []).append((found, us))
    figures: Figures = {}
    for kind, engines in times.items():
        table: dict[str, dict[str, float]] = {}
        for name, points in engines.items():
            prices, errors = _fitted(PRICED[name], points)
            table[name] = {feature: float(f"{price:.3g}") for feature, price in prices.items() if price > 0}
            figures[f"{kind}, {name}: median error of the estimate, times"] = f"{median(errors):.2f}"
        figures[f"{kind}: prices, us"] = json.dumps(table)
        print(f'    "{kind}": {json.dumps(table)},')
    return Report("coefficients", figures)


def _measured(
    family: str, count: int, rounds: int, parameters: dict[str, Any]
) -> Iterator[tuple[str, str, dict[str, float], float]]:
    """Per engine and kind of batch, the features and the microseconds an event."""
    data = generate(family, subscriptions=count, events=4 * BATCH_EVENTS, seed=2026, **parameters)
    forest = forest_of(compile_conditions(data.conditions, data.event_type))
    batches = [EventBatch.of(data.events.slice(k * BATCH_EVENTS, BATCH_EVENTS), data.event_type) for k in range(3)]
    events = data.events.slice(3 * BATCH_EVENTS, _SINGLES).to_pylist()
    single = [
        EventBatch.of([{k: v for k, v in event.items() if v is not None}], data.event_type) for event in events
    ]
    statistics = Statistics()
    for batch in batches:
        statistics.observe(BatchFrame(batch), [axis.attribute for axis in forest.axes])
    found = features(forest, statistics)
    indexes = _built(forest, count, statistics)
    wanted = _pairs(indexes["bitslice"], batches[0], 64)
    for name, index in indexes.items():
        assert _pairs(index, batches[0], 64) == wanted, f"{family}, {count}: {name} has other pairs than bitslice"
    for name, index in indexes.items():
        rows = BATCH_EVENTS if name == "bitslice" else max(1, min(BATCH_EVENTS, _PER_TIMING // count))
        part = EventBatch.of(data.events.slice(BATCH_EVENTS, rows), data.event_type)
        taken = [timed(partial(index.match, part)) / rows for _ in range(rounds)]
        yield name, "batch", found, 1e6 * min(taken)
        some = single[: max(1, min(_SINGLES, _PER_TIMING // count))]
        for one in some:
            index.match(one)
        taken = [timed(partial(_match_all, index, some)) / len(some) for _ in range(rounds)]
        yield name, "one", found, 1e6 * min(taken)


def _built(forest: Forest, count: int, statistics: Statistics) -> dict[str, Index]:
    names = [name for name in PRICED if name != "scan" or count <= 10_000]
    return {name: ENGINES[name].build(forest, statistics) for name in names}


def _match_all(index: Index, batches: Sequence[EventBatch]) -> None:
    for batch in batches:
        index.match(batch)


def _pairs(index: Index, batch: EventBatch, rows: int) -> set[tuple[int, int]]:
    found = index.match(BatchFrame(batch).slice(0, rows))
    return set(zip(found.rows.tolist(), found.slots.tolist(), strict=True))


def _fitted(
    names: tuple[str, ...], points: list[tuple[dict[str, float], float]]
) -> tuple[dict[str, float], list[float]]:
    """Prices of features, none below 0, and by how many times each estimate is off."""
    rows = np.array([[found[name] for name in names] for found, _ in points])
    times = np.array([us for _, us in points])
    scaled = rows / times[:, np.newaxis]
    kept = list(range(len(names)))
    prices: F64 = np.zeros(len(names))
    while kept:
        solved, *_ = np.linalg.lstsq(scaled[:, kept], np.ones(len(times)), rcond=None)
        if (solved >= 0).all():
            prices[kept] = solved
            break
        kept.pop(int(np.argmin(solved * scaled[:, kept].mean(axis=0))))
    estimates = np.maximum(rows @ prices, 1e-9)
    errors = np.maximum(estimates / times, times / estimates)
    return dict(zip(names, prices.tolist(), strict=True)), errors.tolist()
