"""What `bitslice` assumes of events when it places subscriptions: the fraction of events up to each cell.

Samples and priors are those of `tamis.selectivity`. Without a sample all cells of an axis are equally likely:
their cuts are where conditions cut, and conditions cut where events are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import F64
from tamis.engines.bitslice.layout import AxisCells
from tamis.engines.forest import Forest
from tamis.engines.selectivity import non_null_fractions, sampled_coordinates
from tamis.selectivity import priors
from tamis.selectivity.sampling import fractions_below
from tamis.statistics import Statistics

_RATHER_MORE = 4.0
"""How many times as many events as its prior says may have an attribute of which nothing is known."""
_NO_SAMPLE = np.empty(0, np.int64)


class CellSelectivities(NamedTuple):
    """The expected fractions of events.

    mass: per row of the table of cells, events below it: rows [low, high) hold in mass[high] - mass[low].
    tests: per test, events that pass it.
    points: per axis, events with one exact value, where cells do not tell values apart.
    ranks: per axis a number from 0 to 1; the axis that most leaves ask about has 0. It breaks ties.
    non_null_fractions: per axis, events that may have the attribute, rather too many than too few.
    """

    mass: F64
    tests: F64
    points: F64
    ranks: F64
    non_null_fractions: F64


def cell_selectivities(
    forest: Forest, cells: AxisCells, statistics: Statistics | None = None
) -> CellSelectivities:
    """The fractions of events that a placement goes by."""
    count = len(forest.axes)
    uses = np.bincount(forest.leaves.axes + 1, minlength=count + 1)[1:]
    ranks = np.empty(count)
    ranks[np.argsort(-uses, kind="stable")] = np.linspace(0.0, 1.0, count)
    non_null = non_null_fractions(forest, statistics)
    at_most_non_null = non_null.copy()
    mass = [np.array([0.0, 1.0])]
    for number, axis in enumerate(forest.axes):
        facts = None if statistics is None else statistics.of(axis.attribute)
        if facts is None:
            at_most_non_null[number] = min(1.0, _RATHER_MORE * non_null[number])
        sample = sampled_coordinates(axis, facts)
        cuts = cells.cuts[cells.cut_firsts[number] : cells.cut_firsts[number + 1]]
        below = fractions_below(_NO_SAMPLE if sample is None else sample, cuts)
        # Row 0 of an axis is NULL, so all cells lie above the events without the attribute.
        mass.append(1.0 - non_null[number] + non_null[number] * np.concatenate([[0.0], below, [1.0]]))
    tests = np.full(len(forest.tests), priors.TEST)
    return CellSelectivities(np.concatenate(mass), tests, non_null / priors.MANY_DISTINCT, ranks, at_most_non_null)
