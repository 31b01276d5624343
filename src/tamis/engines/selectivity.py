"""Selectivities of the leaves and inner nodes of a forest, as arrays.

Per attribute a leaf is estimated from the sample of values if there is one, else by the priors of
`tamis.selectivity`.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I64
from tamis.engines.conjunctions.intervals import intervals_of
from tamis.engines.forest import TEST, Forest, Nodes
from tamis.engines.forest.axes import HIGHEST, LOWEST, Axis
from tamis.kernels import kernel
from tamis.selectivity import priors
from tamis.selectivity.combination import at_least
from tamis.selectivity.sampling import fractions_inside, has_sample
from tamis.statistics import AttributeStatistics, Statistics

_CERTAIN = 1e-6
"""Estimates stay this far from 0 and 1, for no estimate proves either and they are divided by."""


def non_null_fractions(forest: Forest, statistics: Statistics | None, fallback: F64 | None = None) -> F64:
    """Per axis, the fraction of events that have its attribute; the prior, or the fallback, without statistics."""
    if fallback is None:
        uses = np.bincount(forest.leaves.axes + 1, minlength=len(forest.axes) + 1)[1:]
        fallback = priors.non_null_fractions(uses, len(forest))
    fractions = fallback.copy()
    for number, axis in enumerate(forest.axes):
        facts = None if statistics is None else statistics.of(axis.attribute)
        if facts is not None:
            fractions[number] = facts.non_null_fraction
    return fractions


def sampled_coordinates(axis: Axis, facts: AttributeStatistics | None) -> I64 | None:
    """The sample of an axis' values as coordinates, sorted; None if it is too small to tell anything."""
    if facts is None or not has_sample(facts):
        return None
    type_ = axis.attribute.type
    return np.sort(np.array([axis.scale.coordinate(type_, value) for value in facts.sample], np.int64))


def leaf_selectivities(forest: Forest, statistics: Statistics | None, *, always_present: bool = False) -> F64:
    """The selectivity of every leaf, never quite 0 or 1.

    Args:
        forest: Whose leaves.
        statistics: Of attributes, where known.
        always_present: Assume that all events have the attributes without statistics, for an upper estimate.
    """
    leaves = forest.leaves
    numbers = np.arange(len(leaves.kinds), dtype=np.int32)
    intervals = intervals_of(leaves, forest.pieces, numbers)
    owners = np.repeat(numbers, np.diff(intervals.firsts))
    fractions = np.empty(len(owners))
    axes = leaves.axes[owners]
    by_axis = np.argsort(axes, kind="stable")
    firsts = np.searchsorted(axes[by_axis], np.arange(len(forest.axes) + 1))
    for number, axis in enumerate(forest.axes):
        here = by_axis[firsts[number] : firsts[number + 1]]
        lows, highs = intervals.lows[here], intervals.highs[here]
        sample = sampled_coordinates(axis, None if statistics is None else statistics.of(axis.attribute))
        fractions[here] = (
            _prior_fractions(lows, highs) if sample is None else _sampled_fractions(sample, lows, highs)
        )
    # Without any interval, the sums are integers.
    selectivities = np.bincount(owners, fractions, len(leaves.kinds)).astype(np.float64)
    is_axis = leaves.kinds != TEST
    if len(forest.axes):
        fallback = np.ones(len(forest.axes)) if always_present else None
        non_null = non_null_fractions(forest, statistics, fallback)[leaves.axes[is_axis]]
        selectivities[is_axis] = selectivities[is_axis] * non_null + leaves.nulls[is_axis] * (1.0 - non_null)
    selectivities[~is_axis] = priors.TEST
    return np.asarray(np.clip(selectivities, _CERTAIN, 1.0 - _CERTAIN))


def _prior_fractions(lows: I64, highs: I64) -> F64:
    """The fraction of an attribute's values in each interval, from how many points conditions ask for."""
    is_point = lows == highs
    fractions = np.where(is_point, priors.point(len(np.unique(lows[is_point]))), priors.RANGE)
    fractions[(lows == LOWEST) & (highs == HIGHEST)] = 1.0
    return fractions


def _sampled_fractions(sample: I64, lows: I64, highs: I64) -> F64:
    """The fraction of an attribute's values in each interval, from a sorted sample."""
    below = np.searchsorted(sample, lows, side="left")
    below[lows == LOWEST] = 0
    upto = np.searchsorted(sample, highs, side="right")
    upto[highs == HIGHEST] = len(sample)
    return fractions_inside(upto - below, len(sample))


@kernel
def node_selectivities(nodes: Nodes, leaves: F64) -> F64:
    """The selectivity of every node from those of the leaves, as if children were independent."""
    found = np.empty(len(nodes.least), np.float64)
    for node in range(len(found)):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        least, every, none = nodes.least[node], 1.0, 1.0
        for place in range(first, last):
            child = nodes.children[place]
            selectivity = found[child] if child >= 0 else leaves[~child]
            every *= selectivity
            none *= 1.0 - selectivity
        if least >= last - first:
            found[node] = every if least == last - first else 0.0
        elif least <= 1:
            found[node] = 1.0 - none if least == 1 else 1.0
        else:
            children = np.empty(last - first, np.float64)
            for place in range(first, last):
                child = nodes.children[place]
                children[place - first] = found[child] if child >= 0 else leaves[~child]
            found[node] = at_least(least, children)
    return found


@kernel
def most_selective_parts(nodes: Nodes, selectivities: F64) -> F64:
    """Per node, the fraction of events that pass the most selective child of every AND below it."""
    found = np.empty(len(nodes.least), np.float64)
    for node in range(len(found)):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        least, total = 1.0, 0.0
        for at in range(first, last):
            child = nodes.children[at]
            selectivity = found[child] if child >= 0 else selectivities[~child]
            least = min(least, selectivity)
            total += selectivity
        if nodes.least[node] == last - first:
            found[node] = least
        else:
            found[node] = min(1.0, total / max(1, nodes.least[node])) if first < last else 0.0
    return found
