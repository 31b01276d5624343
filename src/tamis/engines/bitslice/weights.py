"""Weights: which share of events is expected to satisfy a predicate.

What statistics know of an attribute counts; where they know nothing, an attribute is taken to be in events twice
as often as in subscriptions, and its cells, whose cuts are where subscriptions cut, to be equally likely.
"""

from __future__ import annotations

import numpy as np

from tamis.engines.bitslice.filing import Weights
from tamis.engines.bitslice.layout import Cells, Floats
from tamis.engines.forest import Forest
from tamis.engines.forest.axes import Axis
from tamis.statistics import AttributeStatistics, Statistics, shares

_TEST_SHARE = 0.01
"""Of events that a test of another kind, a pattern or an array, is taken to hold in."""
_POINT_SHARE = 0.001
"""Of events with one exact value, where values are too many to have a cell each."""
_RATHER_MORE = 4.0
"""How many times as often as taken to be, an attribute may be in events of which nothing is known."""
_ENOUGH = 16
"""Values from which a sample says something."""


def weights_of(forest: Forest, cells: Cells, statistics: Statistics | None = None) -> Weights:
    """What is expected of events."""
    count = len(forest.axes)
    used = np.bincount(forest.leaves.axes + 1, minlength=count + 1)[1:]
    ranks = np.empty(count)
    ranks[np.argsort(-used, kind="stable")] = np.linspace(0.0, 1.0, count)
    present = np.minimum(1.0, 2.0 * used / max(1, len(forest)))
    presence = np.minimum(1.0, _RATHER_MORE * present)
    known = [None if statistics is None else statistics.of(axis.attribute) for axis in forest.axes]
    for axis, facts in enumerate(known):
        if facts is not None:
            present[axis] = presence[axis] = facts.presence
    mass = [np.array([0.0, 1.0])]
    for number, (axis, facts) in enumerate(zip(forest.axes, known, strict=True)):
        first, last = cells.cut_firsts[number], cells.cut_firsts[number + 1]
        inside = _inside(axis, facts, cells.cuts[first:last])
        mass.append(1.0 - present[number] + present[number] * np.concatenate([[0.0], inside, [1.0]]))
    tests = np.full(len(forest.tests), _TEST_SHARE)
    return Weights(np.concatenate(mass), tests, _POINT_SHARE * present, ranks, presence)


def _inside(
    axis: Axis, facts: AttributeStatistics | None, cuts: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Floats:
    """The share of the attribute's values that is expected below each cut."""
    if facts is None or len(facts.sample) < _ENOUGH:
        return np.arange(1, len(cuts) + 1) / (len(cuts) + 1)
    type_ = axis.attribute.type
    coordinates = np.array([axis.scale.coordinate(type_, value) for value in facts.sample], np.int64)
    return shares(np.sort(coordinates), cuts)
