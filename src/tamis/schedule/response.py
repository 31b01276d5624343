"""Response times: how long the events of a batch wait for their answers, and what an order of them can gain.

All events of a batch arrive together, at 0; one is answered when its own work and that of those before it is done.
Times are in whatever unit the work is in: counted steps, or seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tamis.arrays import F64, AnyArray, RowIndices

Numbers: TypeAlias = "AnyArray | Sequence[float]"

_PERCENTS = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Response:
    """Times within a batch: the mean, the time in which half, 90 and 99 in 100 were answered, and the longest."""

    events: int = 0
    mean: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    most: float = 0.0

    @classmethod
    def of(cls, times: Numbers, counts: Numbers | None = None) -> Response:
        """Of the time of each event, or of each part of so many events; all 0 if there is none.

        Percentiles are by nearest rank: each is the time of some event.

        >>> Response.of([1.0, 3.0, 2.0, 10.0])
        Response(events=4, mean=4.0, p50=2.0, p90=10.0, p99=10.0, most=10.0)
        """
        if len(times) == 1 and counts is not None and counts[0]:
            # Most batches are one part, and each call of numpy has a price.
            return cls(int(counts[0]), *(float(times[0]),) * 5)
        given = np.asarray(times, np.float64)
        weights = np.ones(len(given), np.int64) if counts is None else np.asarray(counts, np.int64)
        total = int(weights.sum())
        if not total:
            return cls()
        order = np.argsort(given, kind="stable")
        ordered, ends = given[order], np.cumsum(weights[order])
        ranks = [-(-total * percent // 100) for percent in _PERCENTS]
        p50, p90, p99 = ordered[np.searchsorted(ends, ranks)].tolist()
        most = float(ordered[np.searchsorted(ends, total)])
        return cls(total, float(given @ weights) / total, p50, p90, p99, most)


def shortest_first(estimates: AnyArray) -> RowIndices:
    """The rows in the order in which they are answered: little work first, equals as they arrived."""
    return np.argsort(estimates, kind="stable").astype(np.int64)


def response_times(work: Numbers, order: RowIndices | None = None) -> F64:
    """When each event is answered, by row, if they are matched in an order; in that of arrival by default."""
    needed = np.asarray(work, np.float64)
    if order is None:
        return np.cumsum(needed)
    times = np.empty(len(needed), np.float64)
    times[order] = np.cumsum(needed[order])
    return times


def gain(work: Numbers, order: RowIndices) -> float:
    """How much shorter the mean response time is than in the order of arrival, as a share of that.

    >>> round(gain([8, 1, 1], np.array([1, 2, 0])), 3)
    0.519
    """
    arrival = float(response_times(work).sum())
    return 1.0 - float(response_times(work, order).sum()) / arrival if arrival else 0.0


def gini(work: Numbers) -> float:
    """The unbiased Gini coefficient of the work: 0 if all events need the same, 1 if one needs it all.

    Half the mean difference of two different events, over the mean.
    """
    ordered = np.sort(np.asarray(work, np.float64))
    count, total = len(ordered), float(ordered.sum())
    if count < 2 or not total:
        return 0.0
    # Of two events the later one is the greater: each counts once for those before, and less for those after.
    ranks = 2 * np.arange(count) - (count - 1)
    return float(ordered @ ranks) / ((count - 1) * total)


def most_gain(work: Numbers) -> float:
    """What perfect knowledge of the work gains over an arrival in random order, on average over all of those.

    (n - 1) / (n + 1) times `gini`. On one arrival in particular, if it is a bad one, more can be gained.
    """
    count = len(work)
    return (count - 1) / (count + 1) * gini(work) if count else 0.0
