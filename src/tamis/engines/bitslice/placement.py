"""Placement: under which predicates a subscription stands, so that most events never visit it.

A *cover* of a formula is a set of leaves one of which holds whenever the formula does: for a conjunction the cover
of one operand, for a disjunction the covers of all operands together. Each subscription is placed under the cover
that the fewest events are expected to reach.

A leaf of several pieces is placed under each piece. Pieces exclude each other, so no event is reported twice for
them. Leaves of a cover need not exclude each other, so the entry of a later leaf has a deduplication guard: it
reports only events for which no earlier leaf holds. Where attributes are rare, a conjunction is placed under two
of them instead, an attribute pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import F64
from tamis.engines.bitslice.kernels.cell_ranges import NumberedRanges
from tamis.engines.bitslice.kernels.placement import (
    MOST_PLACEMENTS,
    PlacedFormulas,
    PlacementCosts,
    Placements,
    fill_placements,
    leaf_costs,
    node_costs,
)
from tamis.engines.bitslice.layout import AxisCells, CellRanges
from tamis.engines.bitslice.selectivity import CellSelectivities
from tamis.engines.forest import Forest

_RARE = 0.0625
"""Share of events below which finer steps of cost are worth a group of their own."""
_PARTNER_WORDS = 4
"""Words that the bits of attribute pairs may take for each subscription."""
_MOST_AXES = 1 << 16
"""That attribute pairs can number: two bytes of `AttributePairs.further`."""


def place_formulas(
    forest: Forest, cells: AxisCells, numbered: NumberedRanges, selectivities: CellSelectivities
) -> PlacedFormulas:
    """The placements of all formulas of a forest."""
    count, nodes = len(forest.leaves.kinds), len(forest.nodes.least)
    costs = PlacementCosts(np.empty(count), np.empty(count, np.int32), np.empty(nodes), np.empty(nodes, np.int32))
    of_ranges = range_costs(numbered.ranges, cells, selectivities)
    leaf_costs(forest.leaves, forest.pieces, cells, selectivities.points, numbered, of_ranges, costs)
    node_costs(forest.nodes, costs)
    roots = forest.roots
    own = np.where(roots >= 0, costs.node_placements[np.maximum(roots, 0)] if nodes else 1, 0)
    of_leaf = np.minimum(costs.leaf_placements[np.where(roots < 0, ~roots, 0)] if count else 1, MOST_PLACEMENTS)
    own = np.where(roots < 0, of_leaf, own)
    room = int(np.minimum(np.maximum(own, 1), MOST_PLACEMENTS + 1).sum())
    placements = Placements(
        slots=np.empty(room, np.int32),
        kinds=np.empty(room, np.uint8),
        leaves=np.empty(room, np.int32),
        lows=np.empty(room, np.int64),
        highs=np.empty(room, np.int64),
        ranges=np.empty(room, np.int32),
        earlier=np.empty(room, np.int32),
    )
    out = PlacedFormulas(placements, np.empty(room, np.int32), np.empty(len(roots) + 1, np.int64), of_ranges)
    axes = len(forest.axes)
    can_pair = axes < _MOST_AXES and axes * (axes >> 6) <= _PARTNER_WORDS * len(roots)
    non_null_fractions = selectivities.non_null_fractions if can_pair else np.empty(0)
    parts = (forest.leaves, forest.pieces, forest.nodes, roots)
    size, covered = fill_placements(parts, cells.widths, non_null_fractions, numbered, costs, out)
    kept: list[Any] = [each[:size] for each in placements]
    return out._replace(placements=Placements(*kept), covers=out.covers[:covered])


def range_costs(ranges: CellRanges, cells: AxisCells, selectivities: CellSelectivities) -> F64:
    """The expected share of events in each cell range, rounded to steps, ties broken by axis.

    Steps are coarser where the share is large. So subscriptions whose predicates cost much the same gather on the
    axes that most subscriptions ask for, and make few large groups, whose tables of masks serve many entries.
    """
    costs = np.empty(len(ranges.lows))
    is_axis = ranges.axes < len(cells.counts)
    costs[~is_axis] = selectivities.tests[ranges.axes[~is_axis] - len(cells.counts)]
    share = np.maximum(selectivities.mass[ranges.highs[is_axis]] - selectivities.mass[ranges.lows[is_axis]], 1e-9)
    steps = 2.0 ** np.where(
        share < _RARE, np.floor(2.0 * np.log2(share)) / 2.0, np.floor(np.log2(2.0 * share) / 1.5) * 1.5 - 1.0
    )
    costs[is_axis] = steps * (1.0 + 1e-3 * selectivities.ranks[ranges.axes[is_axis]])
    return costs
