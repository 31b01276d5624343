"""Leaves as sets of coordinates: their union and intersection, hash and selectivity, as kernels.

A set is a range of sorted, disjoint, closed intervals that do not touch, and a mark whether NULL belongs to it. A
test has no intervals; its axis is negative and says which test it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U8, U64, Bools
from tamis.engines.conjunctions.intervals import intervals_of
from tamis.engines.forest import TEST, Forest
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.selectivity import non_null_fractions, sampled_coordinates
from tamis.formulas.predicates.base import Frame
from tamis.kernels import kernel
from tamis.routing.stored_bytes import cut_bytes
from tamis.routing.trees import is_opaque, is_plain
from tamis.selectivity import priors
from tamis.statistics import Statistics

_CERTAIN = 1e-6
"""As far as leaf selectivities stay from 0 and 1."""


class LeafSets(NamedTuple):
    """The leaves of a forest; leaf i has the intervals `[firsts[i], lasts[i])`.

    axes: the axis, or -1 - t of test t.
    opaque: does it call an operator, or read a computed attribute?
    """

    axes: I32
    nulls: U8
    firsts: I64
    lasts: I64
    lows: I64
    highs: I64
    opaque: Bools
    selectivities: F64


class AxisFacts(NamedTuple):
    """What is known of each axis: sorted coordinates of a sample, priors, bytes of a cut, whether it is opaque."""

    samples: I64
    firsts: I64
    points: F64
    non_null: F64
    cuts: F64
    opaque: Bools


def leaf_sets(forest: Forest, facts: AxisFacts) -> LeafSets:
    """The leaves of a forest as sets."""
    leaves = forest.leaves
    found = intervals_of(leaves, forest.pieces, np.arange(len(leaves.kinds), dtype=np.int32))
    is_test = leaves.kinds == TEST
    axes = np.where(is_test, -1 - leaves.lows, leaves.axes).astype(np.int32)
    firsts, lasts = found.firsts[:-1].copy(), np.where(is_test, found.firsts[:-1], found.firsts[1:])
    opaque = np.append(facts.opaque, False)[np.where(is_test, -1, leaves.axes)]
    for number in np.unique(leaves.lows[is_test]).tolist():
        if is_opaque(forest.tests[number]):
            opaque |= axes == -1 - number
    nulls = np.asarray(leaves.nulls, np.uint8)
    selectivities = _set_selectivities(axes, nulls, firsts, lasts, found.lows, found.highs, facts)
    return LeafSets(axes, nulls, firsts, lasts, found.lows, found.highs, opaque, selectivities)


def axis_facts(forest: Forest, statistics: Statistics | None, sample: Sequence[Frame] = ()) -> AxisFacts:
    """What is known of the axes of a forest.

    Args:
        forest: Its axes.
        statistics: Of events.
        sample: Events that say more than statistics of attributes; computed attributes are not read.
    """
    leaves, rows = forest.leaves, sum(frame.rows for frame in sample)
    found = intervals_of(leaves, forest.pieces, np.arange(len(leaves.kinds), dtype=np.int32))
    owners = np.repeat(leaves.axes, np.diff(found.firsts))
    coordinates, points = [np.empty(0, np.int64)], np.zeros(len(forest.axes))
    non_null = non_null_fractions(forest, statistics) if forest.axes else np.zeros(0)
    opaque = np.array([not is_plain(axis.attribute) for axis in forest.axes], np.bool_)
    for number, axis in enumerate(forest.axes):
        here = (owners == number) & (found.lows == found.highs)
        points[number] = priors.point(len(np.unique(found.lows[here])))
        known = None if statistics is None else sampled_coordinates(axis, statistics.of(axis.attribute))
        if rows >= priors.MIN_SAMPLE and not opaque[number]:
            columns = [frame.column(axis.attribute) for frame in sample]
            known = np.sort(np.concatenate([axis.scale.coordinates(each)[each.valid] for each in columns]))
            non_null[number] = (len(known) + 0.5) / (rows + 1.0)
        coordinates.append(np.empty(0, np.int64) if known is None else known)
    firsts = np.cumsum([len(each) for each in coordinates]).astype(np.int64)
    return AxisFacts(np.concatenate(coordinates), firsts, points, non_null, cut_bytes(forest), opaque)


@kernel
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: a bijection whose bits look random."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def set_hash(axis: int, null: int, lows: I64, highs: I64, span: tuple[int, int], lane: int) -> np.uint64:
    """A hash of a set; in two lanes, different sets collide with a probability of 2 to the -128."""
    value = mix(np.uint64(lane + 1) * np.uint64(0x9E3779B97F4A7C15))
    value = mix(value + np.uint64(2 * axis + null))
    for place in range(span[0], span[1]):
        value = mix(value + np.uint64(lows[place]))
        value = mix(value + np.uint64(highs[place]))
    return value


def set_hashes(leaves: LeafSets, lane: int = 0) -> U64:
    """uint64[leaves]: the hash of each."""
    return _set_hashes(leaves.axes, leaves.nulls, leaves.firsts, leaves.lasts, leaves.lows, leaves.highs, lane)


@kernel
def _set_hashes(axes: I32, nulls: U8, firsts: I64, lasts: I64, lows: I64, highs: I64, lane: int) -> U64:
    found = np.empty(len(axes), np.uint64)
    for leaf in range(len(axes)):
        found[leaf] = set_hash(axes[leaf], nulls[leaf], lows, highs, (firsts[leaf], lasts[leaf]), lane)
    return found


@kernel
def set_selectivity(axis: int, null: int, lows: I64, highs: I64, span: tuple[int, int], facts: AxisFacts) -> float:
    """The selectivity of a set, by a sample or by priors, as `leaf_selectivities` estimates that of a leaf."""
    sample = facts.samples[facts.firsts[axis] : facts.firsts[axis + 1]]
    total = 0.0
    for place in range(span[0], span[1]):
        low, high = lows[place], highs[place]
        if len(sample):
            below = 0 if low == LOWEST else np.searchsorted(sample, low)
            upto = len(sample) if high == HIGHEST else np.searchsorted(sample, high, side="right")
            total += (upto - below + 0.5) / (len(sample) + 1.0)
        elif low == LOWEST and high == HIGHEST:
            total += 1.0
        else:
            total += facts.points[axis] if low == high else priors.RANGE
    non_null = facts.non_null[axis]
    return float(min(1.0 - _CERTAIN, max(_CERTAIN, total * non_null + null * (1.0 - non_null))))


@kernel
def _set_selectivities(
    axes: I32, nulls: U8, firsts: I64, lasts: I64, lows: I64, highs: I64, facts: AxisFacts
) -> F64:
    found = np.empty(len(axes), np.float64)
    for leaf in range(len(axes)):
        if axes[leaf] < 0:
            found[leaf] = priors.TEST
        else:
            span = firsts[leaf], lasts[leaf]
            found[leaf] = set_selectivity(axes[leaf], nulls[leaf], lows, highs, span, facts)
    return found


@kernel
def unite(lows: I64, highs: I64, one: tuple[int, int], other: tuple[int, int], at: int) -> int:
    """Write the union of two sets at a place behind both, for which there is room; returns its end."""
    end, i, j = at, one[0], other[0]
    while i < one[1] or j < other[1]:
        if j == other[1] or (i < one[1] and lows[i] <= lows[j]):
            low, high = lows[i], highs[i]
            i += 1
        else:
            low, high = lows[j], highs[j]
            j += 1
        if end > at and (highs[end - 1] == HIGHEST or highs[end - 1] + 1 >= low):
            highs[end - 1] = max(highs[end - 1], high)
        else:
            lows[end], highs[end] = low, high
            end += 1
    return end


@kernel
def intersect(lows: I64, highs: I64, one: tuple[int, int], other: tuple[int, int], at: int) -> int:
    """As `unite`, of the intersection."""
    end, i, j = at, one[0], other[0]
    while i < one[1] and j < other[1]:
        low, high = max(lows[i], lows[j]), min(highs[i], highs[j])
        if low <= high:
            lows[end], highs[end] = low, high
            end += 1
        if highs[i] < highs[j]:
            i += 1
        else:
            j += 1
    return end
