"""How likely leaves and nodes of a forest are to hold, as far as anybody can tell."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.conjunctions.intervals import intervals_of
from tamis.engines.forest import TEST, Forest, Nodes
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.statistics import Statistics

Floats: TypeAlias = npt.NDArray[np.float64]

_RANGE, _TEST = 0.35, 0.05
"""What is assumed of a range over an attribute that nothing is known of, and of other tests."""
_VALUES = 20
"""Values that an attribute is taken to have at least; it has as many as conditions ask for, if these are more."""


def leaf_chances(forest: Forest, statistics: Statistics | None) -> Floats:
    """The chance of every leaf; never quite 0 or 1."""
    leaves = forest.leaves
    everyone = np.arange(len(leaves.kinds), dtype=np.int32)
    intervals = intervals_of(leaves, forest.pieces, everyone)
    owners = np.repeat(everyone, np.diff(intervals.firsts))
    is_point = intervals.lows == intervals.highs
    share = np.full(len(owners), _RANGE)
    presence = np.ones(len(forest.axes))
    for number, axis in enumerate(forest.axes):
        known = None if statistics is None else statistics.of(axis.attribute)
        here = np.flatnonzero(leaves.axes[owners] == number)
        if known is None or not known.sample:
            points = here[is_point[here]]
            share[points] = 1.0 / max(_VALUES, len(np.unique(intervals.lows[points])))
            continue
        presence[number] = known.presence
        type_ = axis.attribute.type
        sample = np.sort(np.array([axis.scale.coordinate(type_, value) for value in known.sample], np.int64))
        below = np.searchsorted(sample, intervals.lows[here], side="left")
        below[intervals.lows[here] == LOWEST] = 0
        upto = np.searchsorted(sample, intervals.highs[here], side="right")
        upto[intervals.highs[here] == HIGHEST] = len(sample)
        share[here] = (upto - below + 0.5) / (len(sample) + 1.0)
    found = np.bincount(owners, share, len(leaves.kinds))
    is_axis = leaves.kinds != TEST
    here = presence[leaves.axes[is_axis]] if len(presence) else np.ones(0)
    found[is_axis] = found[is_axis] * here + leaves.nulls[is_axis] * (1.0 - here)
    found[~is_axis] = _TEST
    return np.asarray(np.clip(found, 1e-6, 1.0 - 1e-6))


@numba.njit(cache=True, nogil=True)
def node_chances(nodes: Nodes, chances: Floats) -> Floats:
    """The chance of every node, as if children were independent."""
    found = np.empty(len(nodes.least), np.float64)
    for node in range(len(found)):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        every, none, total = 1.0, 1.0, 0.0
        for at in range(first, last):
            child = nodes.children[at]
            chance = found[child] if child >= 0 else chances[~child]
            every *= chance
            none *= 1.0 - chance
            total += chance
        if nodes.least[node] >= last - first:
            found[node] = every if nodes.least[node] == last - first else 0.0
        elif nodes.least[node] <= 1:
            found[node] = 1.0 - none if nodes.least[node] == 1 else 1.0
        else:
            found[node] = min(1.0, total / (nodes.least[node] + 1.0))
    return found


@numba.njit(cache=True, nogil=True)
def ordered_children(nodes: Nodes, leaf_chance: Floats, node_chance: Floats) -> npt.NDArray[np.int32]:
    """The children of every node in the order that decides it soonest.

    A child comes first that decides its node for little: an AND if it fails, an OR if it holds. What a child costs
    are its leaves.
    """
    children = nodes.children.copy()
    leaves = np.zeros(len(nodes.least), np.float64)
    for node in range(len(nodes.least)):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        is_and = nodes.least[node] == last - first
        ranks = np.empty(last - first, np.float64)
        for place in range(first, last):
            child = children[place]
            chance = node_chance[child] if child >= 0 else leaf_chance[~child]
            cost = leaves[child] if child >= 0 else 1.0
            leaves[node] += cost
            rank = cost / max(1.0 - chance if is_and else chance, 1e-12)
            at = place
            while at > first and ranks[at - 1 - first] > rank:
                children[at], ranks[at - first] = children[at - 1], ranks[at - 1 - first]
                at -= 1
            children[at], ranks[at - first] = child, rank
    return children
