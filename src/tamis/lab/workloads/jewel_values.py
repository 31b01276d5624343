"""Operands of predicates, and values of events that exceed a given share of them."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I64
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, Draws, cumulate, zipf

_SAMPLE = 256


class Operands(NamedTuple):
    """How operands are distributed over the values from `least` on, of which there are `size`.

    ranks: cumulated shares of the values, the most frequent first; empty if all are equally frequent.
    below: share of operands below each value, the least first, and 1 at the end; empty likewise.
    step: the value of rank r is `least + r * step % size`.
    """

    least: int
    size: int
    ranks: F64
    below: F64
    step: int

    @staticmethod
    def of(limits: tuple[int, int], skew: float) -> Operands:
        """Operands from the least to the greatest value, with a Zipf exponent."""
        return _operands(limits, skew)

    def draw(self, draws: Draws, series: int, columns: int) -> I64:
        """Operands [rows, columns]; without skew those of a column differ, in one series and between several."""
        if len(self.ranks):
            return self.least + draws.pick(self.ranks, columns) * self.step % self.size
        places = draws.uniform(columns).argsort(axis=0, kind="stable") + draws.uniform(columns)
        # A block has as many places as a series; each place is divided among the series.
        strata = np.floor(places * (BLOCK_CONDITIONS / draws.rows))
        several = max(1, self.size // BLOCK_CONDITIONS)
        within = strata + series % several / several
        return self.least + np.floor(within * (self.size / BLOCK_CONDITIONS)).astype(np.int64)

    def values_at(self, uniform: F64, level: float) -> I64:
        """Values that exceed a share of operands: uniform around `level`, as far as 0 and 1 allow."""
        low, high = max(0.0, 2 * level - 1), min(1.0, 2 * level)
        return self.least + self._places(low + (high - low) * uniform)

    def mean_below(self, levels: F64) -> F64:
        """The share of operands that values of each level really exceed, on average."""
        low, high = np.maximum(0.0, 2 * levels - 1), np.minimum(1.0, 2 * levels)
        within = (np.arange(_SAMPLE) + 0.5) / _SAMPLE
        places = self._places(low[:, None] + (high - low)[:, None] * within)
        below = self.below[places] if len(self.below) else places / self.size
        mean: F64 = below.mean(axis=1)
        return mean

    def _places(self, requested: F64) -> I64:
        if len(self.below):
            return np.minimum(self.below.searchsorted(requested), self.size - 1)
        return np.minimum(np.floor(requested * self.size).astype(np.int64), self.size - 1)


@lru_cache(maxsize=4)
def _operands(limits: tuple[int, int], skew: float) -> Operands:
    count = limits[1] - limits[0] + 1
    nothing = np.empty(0)
    if not skew:
        return Operands(limits[0], count, nothing, nothing, 1)
    # A step that visits every value once and goes far each time, so that frequent values are apart.
    step = max(1, int(count * 0.618034))
    while gcd(step, count) > 1:
        step += 1
    ranks = zipf(count, skew)
    weights = np.empty(count)
    weights[np.arange(count) * step % count] = np.diff(ranks, prepend=0.0)
    return Operands(limits[0], count, ranks, np.concatenate([[0.0], cumulate(weights)]), step)
