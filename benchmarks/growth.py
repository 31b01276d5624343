"""Growth: the time of an event by the number of subscriptions, while the number of its matches stays the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.families import BAR_BATCH, Scale
from tamis.engines import ENGINES
from tamis.lab.measuring.cases import Case, data_of
from tamis.lab.measuring.contest import OURS
from tamis.lab.measuring.timing import Times

CASE = Case("sparse", "sparse")
BAR_FROM = 100_000
"""The exponent that has a bar begins here."""


@dataclass(frozen=True, slots=True)
class Point:
    """One size.

    Attributes:
        subscriptions: How many.
        microseconds: Of the processor for an event, a number a round.
        pairs: Of an event.
    """

    subscriptions: int
    microseconds: tuple[float, ...]
    pairs: float


def points(scale: Scale, report: Callable[[str], None]) -> list[Point]:
    """Measure every size, one after the other."""
    found: list[Point] = []
    for subscriptions in scale.growth:
        report(f"growth: {subscriptions} subscriptions")
        rows = min(BAR_BATCH, scale.events)
        data = data_of(CASE, subscriptions, max(rows, scale.events // 2))
        index = ENGINES[OURS].build(data.forest, data.statistics)
        batches = [data.batch(start, rows) for start in range(0, data.events - rows + 1, rows)]
        pairs = [len(index.match(batch).slots) for batch in batches]
        times = Times()
        for turn in range(2 * scale.rounds):
            with times.taken():
                index.match(batches[turn % len(batches)])
        each = tuple(seconds / rows * 1e6 for seconds in times.cpu)
        found.append(Point(subscriptions, each, sum(pairs) / (rows * len(pairs))))
    return found


def exponent(measured: Sequence[Point]) -> float:
    """The slope of a straight line through the logarithms of size and time, by least squares."""
    sizes = np.log([point.subscriptions for point in measured])
    times = np.log([median(point.microseconds) for point in measured])
    return float(np.polyfit(sizes, times, 1)[0])
