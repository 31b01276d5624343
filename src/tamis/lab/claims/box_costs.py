"""Boxes and points as the R-tree takes them, and what each point costs at each level.

In counted tests, what a point costs depends on the tree and the level only, not on the other points of its array.
So it is counted once for a pool of points; arrays drawn from the pool are then served by arithmetic, which
`check_costs` compares with `batch_search` itself. Pairs are checked before anything is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.arrays import F64, I64
from tamis.lab.measuring.cases import SEED
from tamis.lab.wang.rtree import INNER, LEAF
from tamis.lab.wang.rtree.batch_search import batch_search, estimate
from tamis.lab.wang.rtree.kernels.bulk_load import REBUILD_FACTOR, bulk_load
from tamis.lab.wang.rtree.kernels.tree import empty_tree, height_of
from tamis.lab.workloads.boxes import arrays
from tamis.schedule.response import most_gain

SKEWS = {"uniform": 0.0, "skewed": 0.3}
"""The workloads by name: share of sides around hot spots, and of events close to one."""
_UNIT = float(1 << 60)
_CHUNK = 128
_CHECKED = 6


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes and points in whole numbers that are as far apart as the doubles they come from.

    lows, highs: int64[boxes, dimensions]; points: int64[events, dimensions].
    """

    lows: I64
    highs: I64
    points: I64

    def __len__(self) -> int:
        return len(self.lows)


def boxes_of(workload: str, boxes: int, events: int, *, seed: int = SEED, **parameters: Any) -> Boxes:
    """Of a workload by name, with other parameters if there are some."""
    found = arrays(subscriptions=boxes, events=events, seed=seed, skew=SKEWS[workload], **parameters)
    # Times a power of two, so that nothing is rounded that could be told apart.
    return Boxes(*((each * _UNIT).astype(np.int64) for each in found))


def packed(given: Boxes, count: int | None = None, inner: int = INNER, leaf: int = LEAF) -> Any:
    """A tree of the first boxes."""
    taken = len(given) if count is None else count
    tree = empty_tree(given.lows.shape[1], inner, leaf)
    bulk_load(tree, given.lows[:taken], given.highs[:taken], np.arange(taken, dtype=np.int32))
    return tree


def inserted(tree: Any, given: Boxes, first: int, last: int) -> None:
    """Insert boxes one by one into a tree of those before; in lots that are too small to pack the tree anew."""
    while first < last:
        stop = min(last, first + max(1, (first - 1) // REBUILD_FACTOR))
        bulk_load(tree, given.lows[first:stop], given.highs[first:stop], np.arange(first, stop, dtype=np.int32))
        first = stop


@dataclass(frozen=True, slots=True)
class Costs:
    """What points cost in a tree, in tests; level L is row L - 1.

    totals: int64[points]: all tests of a point, the same at every level.
    tests: int64[levels, points]: those of the estimate.
    workloads: int64[levels, points]: what the estimate says.
    """

    totals: I64
    tests: I64
    workloads: I64

    @property
    def levels(self) -> int:
        """The height of the tree."""
        return len(self.tests)

    def responses(self, level: int, drawn: I64) -> I64:
        """int64[arrays, n]: tests until the first, second, ... event of each array is done."""
        before = self.tests[level - 1][drawn]
        rest = self.totals[drawn] - before
        order = np.argsort(self.workloads[level - 1][drawn], axis=1, kind="stable")
        after = np.cumsum(np.take_along_axis(rest, order, axis=1), axis=1)
        return np.asarray(before.sum(axis=1, keepdims=True) + after)

    def means(self, drawn: I64) -> F64:
        """float64[levels, arrays]: the mean response of each array at each level."""
        return np.stack([self.responses(level, drawn).mean(axis=1) for level in range(1, self.levels + 1)])

    def most(self, drawn: I64) -> float:
        """What perfect knowledge of the work gains over arrival in any order: arrays weigh what they take."""
        work = self.totals[drawn]
        return float(np.average([most_gain(each) for each in work], weights=np.maximum(work.sum(axis=1), 1)))


def costs_of(tree: Any, points: I64, *, weighted: bool = False) -> Costs:
    """Count; a `weighted` estimate goes by the boxes below nodes."""
    levels = range(1, height_of(tree) + 1)
    chunks = [points[first : first + _CHUNK] for first in range(0, len(points), _CHUNK)]
    totals = [batch_search(tree, chunk, 1).tests for chunk in chunks]
    tables = [[estimate(tree, chunk, level, weighted=weighted) for chunk in chunks] for level in levels]
    return Costs(
        np.concatenate(totals),
        np.stack([np.concatenate([each.tests for each in row]) for row in tables]),
        np.stack([np.concatenate([each.workloads for each in row]) for row in tables]),
    )


def drawn(pool: int, events: int, count: int) -> I64:
    """int64[count, events]: arrays of different points each, all points equally often."""
    draws = np.random.default_rng(SEED + events)
    each = pool // events
    lots = [draws.permutation(pool)[: each * events] for _ in range(-(-count // each))]
    return np.concatenate(lots).reshape(-1, events)[:count]


def check_pairs(tree: Any, given: Boxes, title: str, count: int | None = None) -> None:
    """Hold what the tree finds at every level against a scan of the first boxes.

    Raises:
        SystemExit: They differ.
    """
    points = given.points[:_CHECKED]
    lows, highs = given.lows[:count], given.highs[:count]
    naive = [np.flatnonzero(((lows <= point) & (point <= highs)).all(axis=1)) for point in points]
    for level in range(1, height_of(tree) + 1):
        answers = batch_search(tree, points, level)
        for row, expected in enumerate(naive):
            found = np.sort(answers.payloads[answers.rows == row])
            if not np.array_equal(found, expected):
                msg = (
                    f"{title}, level {level}: point {row} is in {len(expected)} boxes, the tree finds {len(found)}"
                )
                raise SystemExit(msg)


def check_costs(tree: Any, given: Boxes, costs: Costs, title: str) -> None:
    """Hold the responses of an array by arithmetic against those of `batch_search`.

    Raises:
        SystemExit: They differ.
    """
    for array in drawn(len(given.points), 8, 2):
        for level in range(1, costs.levels + 1):
            served = np.sort(batch_search(tree, given.points[array], level).responses)
            counted = costs.responses(level, array[None, :])[0]
            if not np.array_equal(served, counted):
                msg = f"{title}, level {level}: responses are {served.tolist()}, counted were {counted.tolist()}"
                raise SystemExit(msg)
