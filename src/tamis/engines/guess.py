"""How much work an event is, for engines that cannot say: how many predicates it satisfies, by a sample of them.

Engines differ in what they do, but few can avoid looking at what holds. Only plain attributes are looked at,
because computed ones have a price, and only so many predicates that the arrays fit a processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.encoding import Encoded, Encoder
from tamis.engines.encoding.dict_events import plain_path
from tamis.engines.forest import INTERVAL, PIECES, Forest
from tamis.engines.forest.tests import tests_of
from tamis.predicates.base import Frame

Ints: TypeAlias = npt.NDArray[np.int64]

SAMPLE = 1 << 14
"""Predicates that are looked at, at most."""


class _Ends(NamedTuple):
    """The intervals of every axis.

    firsts: int64[axes + 1]: axis a has the intervals from `firsts[a]` to `firsts[a + 1]`.
    lows, highs: int64[intervals]: their ends, both inside, each sorted within its axis.
    """

    firsts: Ints
    lows: Ints
    highs: Ints


class Guess:
    """Guesses for the formulas of a forest; several threads may ask at the same time."""

    def __init__(self, forest: Forest) -> None:
        plain = [number for number, axis in enumerate(forest.axes) if plain_path(axis.attribute) is not None]
        self._encoder = Encoder([forest.axes[number] for number in plain], tests_of(())[0])
        numbers = np.full(len(forest.axes) + 1, -1, np.int64)  # the last for leaves without an axis
        numbers[plain] = np.arange(len(plain))
        axes, lows, highs, self._each = _sample(forest)
        self._ends = _by_axis(numbers[axes], lows, highs, len(plain))

    def estimate(self, frame: Frame) -> Ints:
        """The number of predicates that each row satisfies, more or less."""
        return np.asarray(_held(self._ends, self._encoder.encode(frame))) * self._each


def _sample(forest: Forest) -> tuple[Ints, Ints, Ints, int]:
    """Axis and ends of some intervals, and how many predicates each of them stands for."""
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


def _by_axis(axes: Ints, lows: Ints, highs: Ints, count: int) -> _Ends:
    kept = np.flatnonzero((axes >= 0) & (lows <= highs))
    axes, lows, highs = axes[kept], lows[kept], highs[kept]
    firsts = np.searchsorted(np.sort(axes), np.arange(count + 1)).astype(np.int64)
    return _Ends(firsts, lows[np.lexsort((lows, axes))], highs[np.lexsort((highs, axes))])


@numba.njit(cache=True, nogil=True)
def _held(ends: _Ends, events: Encoded) -> Ints:
    """Per row the intervals that hold: those that begin at or below the value, but for those that end below it."""
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
