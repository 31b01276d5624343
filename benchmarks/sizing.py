"""Sizing: what a worker takes by the number of subscriptions, a model fitted to it, and what the model predicts.

The model says that a core takes `a + b * N^c + d * matches` microseconds for an event, with N subscriptions. None
of the four is negative. Memory grows in proportion to the subscriptions. A point is measured in a process of its
own, which opens a published snapshot as a Spark worker would.
"""

from __future__ import annotations

import multiprocessing
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.memory import pages
from benchmarks.report import Figures, Size, number, spread
from tamis import EventBatch, Matcher, Statistics
from tamis.arrays import F64
from tamis.formulas.expression import Path as Attribute
from tamis.frames import BatchFrame
from tamis.lab.measuring.cases import PAST_EVENTS, SEED
from tamis.lab.measuring.timing import Times
from tamis.lab.workloads import Workload, generate
from tamis.report import charts

SWEPT: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "ranges": ({"width": 0.3}, {"width": 0.4}),
    "sparse": ({"matches": 5.0}, {"matches": 100.0}),
    "auction": ({"classes": (1.0, 1.0, 1.0)}, {"classes": (1.0, 1.0, 0.0)}),
}
"""Families and their parameters: few matches and many, so that a match has a price of its own."""
SIZES: dict[Size, tuple[int, ...]] = {
    "smallest": (200, 400, 800),
    "quick": (2_000, 6_000, 20_000),
    "full": (10_000, 30_000, 100_000, 300_000, 1_000_000),
}
EVENTS: dict[Size, int] = {"smallest": 256, "quick": 4_096, "full": 16_384}
ROUNDS: dict[Size, int] = {"smallest": 1, "quick": 3, "full": 5}
GOAL_SUBSCRIPTIONS = 100_000_000
GOAL_EVENTS_A_SECOND = 1_000_000
_BATCH_ROWS = 8_192
_EXPONENTS = np.linspace(0.05, 1.0, 96)
_STATM = Path("/proc/self/statm")
_PAGE_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Point:
    """One number of subscriptions of one family.

    Attributes:
        subscriptions: How many.
        matches: Of an event.
        microseconds: Of the processor for an event, a number a round.
        open_seconds: That opening the snapshot took.
        mapped_bytes: Of the snapshot in the address space; processes of one machine share them.
        resident_bytes: Of those in memory after matching.
        private_bytes: In memory besides.
    """

    subscriptions: int
    matches: float
    microseconds: tuple[float, ...]
    open_seconds: float
    mapped_bytes: int
    resident_bytes: int
    private_bytes: int


@dataclass(frozen=True, slots=True)
class Model:
    """Microseconds of a core for an event: `a + b * N^c + d * matches`.

    Attributes:
        a: For an event that finds nothing among nothing.
        b: For the search.
        c: How the search grows.
        d: For a match.
        residuals: Of the points that it was fitted to: predicted over measured, less one.
    """

    a: float
    b: float
    c: float
    d: float
    residuals: tuple[float, ...] = ()

    def microseconds(self, subscriptions: float, matches: float) -> float:
        """For an event."""
        return float(self.a + self.b * subscriptions**self.c + self.d * matches)

    def events_a_second(self, subscriptions: float, matches: float, cores: float) -> float:
        """What so many cores do."""
        return cores * 1e6 / self.microseconds(subscriptions, matches)

    def cores(self, subscriptions: float, matches: float, events_a_second: float, extra: float = 0.0) -> float:
        """What it takes, if Spark takes `extra` microseconds of a core for an event besides."""
        return events_a_second * (self.microseconds(subscriptions, matches) + extra) / 1e6

    def __str__(self) -> str:
        terms = (f"{number(self.a)} + {number(self.b)} N^{self.c:.2f}", f"{number(self.d)} matches")
        return f"{' + '.join(terms)} us/event"


def fit(points: Sequence[tuple[float, float, float]]) -> Model:
    """The model that is nearest to (subscriptions, matches, microseconds) of some points.

    Nearest by squares of relative errors, so that small contests count as much as large ones: for each exponent a
    linear problem with three unknowns, of which any that would be negative is 0.
    """
    sizes, matches, times = np.array(points, np.float64).T
    best: tuple[float, Model] | None = None
    for exponent in _EXPONENTS:
        # Columns of about 1, so that none is lost to rounding.
        scale = np.array([1.0, sizes.max() ** exponent, max(matches.max(), 1e-9)])
        design = np.column_stack([np.ones_like(sizes), sizes**exponent, matches]) / scale
        weights = _not_negative(design / times[:, None], np.ones_like(times))
        residuals = design @ weights / times - 1.0
        error = float(residuals @ residuals)
        if best is None or error < best[0] - 1e-12:
            a, b, d = (weights / scale).tolist()
            best = error, Model(a, b, float(exponent), d, tuple(residuals.tolist()))
    assert best is not None
    return best[1]


def _not_negative(design: F64, wanted: F64) -> F64:
    """Least squares with unknowns of at least 0: of all choices of those that are not 0, the best."""
    unknowns = design.shape[1]
    best = np.zeros(unknowns)
    least = float(wanted @ wanted)
    for count in range(1, unknowns + 1):
        for chosen in combinations(range(unknowns), count):
            found = np.zeros(unknowns)
            found[list(chosen)] = np.linalg.lstsq(design[:, chosen], wanted, rcond=None)[0]
            error = float(((design @ found - wanted) ** 2).sum())
            if (found >= 0).all() and error < least:
                best, least = found, error
    return best


def sweep(size: Size, folder: Path, spark_microseconds: float, progress: Callable[[str], None]) -> Sweep:
    """Measure all points, fit, predict.

    Args:
        size: How much to measure.
        folder: For files.
        spark_microseconds: Of a core, that Spark itself takes for an event.
        progress: Is told what goes on.
    """
    found = Sweep({}, [])
    for family, several in list(SWEPT.items())[: 1 if size == "smallest" else None]:
        points: list[Point] = []
        for parameters in several:
            label = " ".join([family, *(str(value) for value in parameters.values())])
            own: list[Point] = []
            for subscriptions in SIZES[size]:
                progress(f"sizing: {label}, {subscriptions} subscriptions")
                own.append(_point(family, parameters, subscriptions, size, folder / "sizing"))
            _record(label, own, found)
            points += own
        _predict(family, points, spark_microseconds, found)
    return found


@dataclass(frozen=True, slots=True)
class Sweep:
    """What was found: figures, and drawings for a page."""

    figures: Figures
    drawings: list[str]


def _point(family: str, parameters: Mapping[str, Any], subscriptions: int, size: Size, folder: Path) -> Point:
    events = EVENTS[size]
    data = generate(family, subscriptions=subscriptions, events=PAST_EVENTS + events, seed=SEED, **parameters)
    matcher = Matcher(data.event_type, statistics=_learned(data))
    matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    folder.mkdir()
    try:
        matcher.publish(folder / "snapshot")
        del matcher
        pq.write_table(data.events.slice(PAST_EVENTS), folder / "events.parquet")
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(measured, folder, subscriptions, ROUNDS[size]).result()
    finally:
        shutil.rmtree(folder)


def _learned(data: Workload) -> Statistics:
    """What past events tell."""
    past = EventBatch.of(data.events.slice(0, PAST_EVENTS), data.event_type)
    found = Statistics()
    attributes = [Attribute((each.name,), each.type) for each in data.event_type.attributes or ()]
    found.survey(BatchFrame(past), attributes, PAST_EVENTS)
    return found


def measured(folder: Path, subscriptions: int, rounds: int) -> Point:
    """In a process of its own: open, match, tell."""
    snapshot = (folder / "snapshot").resolve()
    events = pq.read_table(folder / "events.parquet").combine_chunks()
    Matcher().match_batch(events.slice(0, 1))
    start = time.perf_counter()
    matcher = Matcher.open(snapshot)
    opened = time.perf_counter() - start
    batches = events.to_batches(_BATCH_ROWS)
    matcher.match_batch(batches[0], sort=None)  # kernels are loaded by the first match
    times, pairs = Times(), 0
    for _ in range(rounds):
        with times.taken():
            pairs = sum(matcher.match_batch(batch, sort=None).num_rows for batch in batches)
    size, resident = pages(snapshot)
    everything = int(_STATM.read_text().split()[1]) * _PAGE_BYTES
    each = tuple(seconds / events.num_rows * 1e6 for seconds in times.cpu)
    return Point(subscriptions, pairs / events.num_rows, each, opened, size, resident, everything - resident)


def _record(label: str, points: Sequence[Point], found: Sweep) -> None:
    print(f"\nsizing, {label}, one core")
    for point in points:
        name = f"sizing, {label}, {point.subscriptions} subscriptions"
        figures = {
            "us/event": spread(point.microseconds),
            "matches an event": number(point.matches),
            "opening, ms": number(point.open_seconds * 1e3),
            "mapped, bytes/subscription": number(point.mapped_bytes / point.subscriptions),
            "of those in memory, bytes/subscription": number(point.resident_bytes / point.subscriptions),
            "other memory of the worker, MB": number(point.private_bytes / 1e6),
        }
        found.figures.update({f"{name}: {title}": value for title, value in figures.items()})
        print(f"{point.subscriptions:>9}: " + ", ".join(f"{value} {title}" for title, value in figures.items()))
    line = [(float(point.subscriptions), median(point.microseconds)) for point in points]
    found.drawings.append(charts.lines(f"sizing: {label}", "us/event", {"one core": line}))


def _predict(family: str, points: Sequence[Point], spark_microseconds: float, found: Sweep) -> None:
    model = fit([(point.subscriptions, point.matches, median(point.microseconds)) for point in points])
    largest = max(points, key=lambda point: (point.subscriptions, -point.matches))
    growth = GOAL_SUBSCRIPTIONS / largest.subscriptions
    worst = max(map(abs, model.residuals))
    lines = {
        "model": f"{model}; N subscriptions",
        "model, greatest residual": f"{worst:.1%} of {len(points)} points",
        "model, residuals": ", ".join(f"{each:+.1%}" for each in model.residuals),
        "model, extrapolated": f"{growth:.0f} times as many subscriptions as the most that were measured",
        f"snapshot of {GOAL_SUBSCRIPTIONS} subscriptions, GB": number(largest.mapped_bytes * growth / 1e9),
        "of that in memory, GB": number(largest.resident_bytes * growth / 1e9),
        "memory of a worker besides, GB": number(largest.private_bytes / 1e9),
    }
    for matches, what in ((largest.matches, "as many"), (largest.matches * growth, "in proportion")):
        for extra, where in ((0.0, "engine alone"), (spark_microseconds, "in Spark")):
            cores = model.cores(GOAL_SUBSCRIPTIONS, matches, GOAL_EVENTS_A_SECOND, extra)
            title = f"{GOAL_EVENTS_A_SECOND} events/s, {number(matches)} matches an event ({what}), {where}: cores"
            lines[title] = number(cores)
    print(f"\nsizing, {family}: what the model says")
    for title, value in lines.items():
        found.figures[f"sizing, {family}: {title}"] = value
        print(f"  {title}: {value}")
