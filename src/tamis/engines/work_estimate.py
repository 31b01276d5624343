"""How much work an event is, for engines without an estimate of their own: how many predicates it satisfies.

Engines differ, but most of them touch every predicate that holds. Only plain attributes count, because computed
ones cost time, and only a sample of the predicates, so that the arrays fit into a processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I64
from tamis.engines.encoding import EncodedBatch, Encoder
from tamis.engines.encoding.dict_events import plain_path
from tamis.engines.forest import INTERVAL, PIECES, Forest
from tamis.engines.forest.tests import tests_of
from tamis.formulas.predicates.base import Frame
from tamis.interpretation import Allowance
from tamis.kernels import kernel

SAMPLE = 1 << 14
"""Predicates in the sample, at most."""
_allowance = Allowance(to_load=1_000, to_compile=100_000)
"""Of values that are looked up without kernels."""


class _SortedEnds(NamedTuple):
    """The intervals of every axis, low and high ends sorted apart from each other.

    firsts: int64[axes + 1]: axis a has the intervals from `firsts[a]` to `firsts[a + 1]`.
    lows, highs: int64[intervals]: their ends, both inside, each sorted within its axis.
    """

    firsts: I64
    lows: I64
    highs: I64


class WorkEstimator:
    """Estimates for the formulas of a forest; several threads may call it at the same time."""

    def __init__(self, forest: Forest) -> None:
        plain = [number for number, axis in enumerate(forest.axes) if plain_path(axis.attribute) is not None]
        self._encoder = Encoder([forest.axes[number] for number in plain], tests_of(())[0])
        numbers = np.full(len(forest.axes) + 1, -1, np.int64)  # the last for leaves without an axis
        numbers[plain] = np.arange(len(plain))
        axes, lows, highs, self._each = _sample(forest)
        self._ends = _sort_by_axis(numbers[axes], lows, highs, len(plain))

    def estimate(self, frame: Frame) -> I64:
        """About how many predicates each row satisfies."""
        events = self._encoder.encode(frame)
        count = _allowance.choose(_count_satisfied, events.rows * (len(self._ends.firsts) - 1))
        return np.asarray(count(self._ends, events)) * self._each


def _sample(forest: Forest) -> tuple[I64, I64, I64, int]:
    """Axis and ends of the sampled intervals, and how many predicates each of them represents."""
    leaves = forest.leaves
    each = -(-len(leaves.kinds) // SAMPLE) or 1
    kinds, axes = leaves.kinds[::each], leaves.axes[::each].astype(np.int64)
    lows, highs = leaves.lows[::each], leaves.highs[::each]
    one, several = kinds == INTERVAL, kinds == PIECES
    counts = (highs - lows)[several]
    pieces = np.repeat(lows[several] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    return (
        np.concatenate([axes[one], np.repeat(axes[several], counts)]),
        np.concatenate([lows[one], forest.pieces.lows[pieces]]),
        np.concatenate([highs[one], forest.pieces.highs[pieces]]),
        each,
    )


def _sort_by_axis(axes: I64, lows: I64, highs: I64, count: int) -> _SortedEnds:
    kept = np.flatnonzero((axes >= 0) & (lows <= highs))
    axes, lows, highs = axes[kept], lows[kept], highs[kept]
    firsts = np.searchsorted(np.sort(axes), np.arange(count + 1)).astype(np.int64)
    return _SortedEnds(firsts, lows[np.lexsort((lows, axes))], highs[np.lexsort((highs, axes))])


@kernel
def _count_satisfied(ends: _SortedEnds, events: EncodedBatch) -> I64:
    """Per row the intervals that hold: those that begin at or below the value, less those that end below it."""
    held = np.zeros(events.rows, np.int64)
    for axis in range(len(ends.firsts) - 1):
        line = events.columns[axis]
        if line < 0:
            continue
        lows = ends.lows[ends.firsts[axis] : ends.firsts[axis + 1]]
        highs = ends.highs[ends.firsts[axis] : ends.firsts[axis + 1]]
        for row in range(events.rows):
            if events.valid[line, row]:
                value = events.coordinates[line, row]
                held[row] += np.searchsorted(lows, value, side="right") - np.searchsorted(highs, value)
    return held
