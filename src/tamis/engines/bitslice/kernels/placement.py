"""Placement: what covers cost, the best cover of each formula, and the placements that it leads to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U8
from tamis.engines.bitslice.kernels.cell_ranges import NumberedRanges
from tamis.engines.bitslice.layout import AxisCells
from tamis.engines.forest import INTERVAL, PIECES, TEST, Leaves, Nodes, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.kernels import kernel

MOST_PLACEMENTS = 16
"""Of one subscription; a cover with more counts as none."""
_ALWAYS_COST = 0.95
"""A cover that a larger share of events reaches is not worth a group: every event visits the entry."""
_NO_COVER = 2.0
"""The cost of a formula without a cover; above all shares of events, so that any cover is better."""
_TOO_MANY = 4.0
"""The cost of a cover with too many leaves."""
_MOST_TOGETHER = 0.5
"""Share of events that may have both attributes of a pair."""
_CHEAPER = 4.0
"""How many entries of a pair cost as much as one entry of a group: 16 are compared in one step."""

ALWAYS, CELLS, TESTED, POINT, EXACT_CELL, ATTRIBUTE_PAIR = 0, 1, 2, 3, 4, 5
"""What leads to an entry: nothing, a range of cells, a test, one exact coordinate, or two attributes.

EXACT_CELL is CELLS with one cell that is exact; only `tamis.engines.bitslice.groups` tells them apart. Groups have
the order of these numbers, so those of pairs are the last.
"""


class Placements(NamedTuple):
    """Where subscriptions are placed; each placement becomes one entry of the index.

    slots: int32[placements]: the subscription.
    kinds: uint8[placements]: ALWAYS, CELLS, TESTED, POINT or ATTRIBUTE_PAIR.
    leaves: int32[placements]: the leaf of the cover; -1 for ALWAYS and ATTRIBUTE_PAIR.
    lows, highs: int64[placements]: the interval or piece, as coordinates; of a test its number is the low; of a
        pair its second axis is the low.
    ranges: int32[placements]: the cell range that leads here; -1 for ALWAYS; of a pair one on its first axis.
    earlier: int32[placements]: how many leaves of the cover come before this one.
    """

    slots: I32
    kinds: U8
    leaves: I32
    lows: I64
    highs: I64
    ranges: I32
    earlier: I32


class PlacedFormulas(NamedTuple):
    """The placements of all formulas.

    covers: int32[...]: the leaves of covers.
    cover_firsts: int64[slots + 1]: the slot's part of `covers`.
    range_costs: float64[ranges]: the share of events that is expected in a cell range, in steps.
    """

    placements: Placements
    covers: I32
    cover_firsts: I64
    range_costs: F64


class PlacementCosts(NamedTuple):
    """Of leaves and nodes: the share of events that is expected to reach the best cover, and its placements."""

    leaf: F64
    leaf_placements: I32
    node: F64
    node_placements: I32


@kernel
def leaf_costs(
    leaves: Leaves,
    pieces: Pieces,
    cells: AxisCells,
    points: F64,
    numbered: NumberedRanges,
    range_costs: F64,
    out: PlacementCosts,
) -> None:
    """Fill the costs and numbers of placements of all leaves.

    `points` has the expected share of events with one exact value of an axis.
    """
    costs, placements = out.leaf, out.leaf_placements
    for leaf in range(len(leaves.kinds)):
        kind, axis = leaves.kinds[leaf], leaves.axes[leaf]
        low, high, null = leaves.lows[leaf], leaves.highs[leaf], leaves.nulls[leaf]
        placements[leaf] = 1
        if kind == PIECES:
            cost = range_costs[numbered.nulls[axis]] if null else 0.0
            for place in range(low, high):
                own = range_costs[numbered.pieces[place]]
                # One exact value is found by value, not by its cell, if the cell has others, too.
                if pieces.lows[place] == pieces.highs[place] and cells.widths[axis]:
                    own = min(own, points[axis])
                cost += own
            costs[leaf] = cost
            placements[leaf] = high - low + null
            continue
        costs[leaf] = range_costs[numbered.leaves[leaf]]
        if kind == INTERVAL:
            if low == high and not null and cells.widths[axis]:
                costs[leaf] = min(costs[leaf], points[axis])
            if null and low != LOWEST and low <= high:
                # Values and NULL are not next to each other: two placements.
                costs[leaf] = range_costs[numbered.values[leaf]] + range_costs[numbered.nulls[axis]]
                placements[leaf] = 2


@kernel(forceinline=True)
def _cost_of(child: int, costs: PlacementCosts) -> tuple[float, int]:
    """Cost and placements of a node, or of leaf ~child."""
    if child < 0:
        if costs.leaf_placements[~child] > MOST_PLACEMENTS:
            return _NO_COVER, 1
        return costs.leaf[~child], costs.leaf_placements[~child]
    return costs.node[child], costs.node_placements[child]


@kernel
def node_costs(nodes: Nodes, costs: PlacementCosts) -> None:
    """Fill the cost of the best cover of every node, and the number of its placements; 2 or more if it has none.

    If at least k of n children must hold, at most n - k fail, so one of any n - k + 1 of them holds: the cover of
    a node is the covers of its n - k + 1 cheapest children. For an AND that is one child, for an OR all of them.
    """
    for node in range(len(nodes.least)):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        least = nodes.least[node]
        if least == 0 or first == last:  # TRUE has no cover, FALSE an empty one
            costs.node[node], costs.node_placements[node] = (_NO_COVER, 1) if least == 0 else (0.0, 0)
            continue
        needed = last - first - least + 1
        if needed == 1:
            best, placements = _TOO_MANY, 1
            for place in range(first, last):
                cost, count = _cost_of(nodes.children[place], costs)
                if cost < best:
                    best, placements = cost, count
        elif needed == last - first:
            best, placements = 0.0, 0
            for place in range(first, last):
                cost, count = _cost_of(nodes.children[place], costs)
                best += cost
                placements += count
        else:
            each = np.empty(last - first, np.float64)
            counts = np.empty(last - first, np.int64)
            for place in range(first, last):
                each[place - first], counts[place - first] = _cost_of(nodes.children[place], costs)
            order = np.argsort(each, kind="mergesort")[:needed]
            best, placements = each[order].sum(), counts[order].sum()
        costs.node[node] = min(best, _TOO_MANY) if placements <= MOST_PLACEMENTS else _TOO_MANY
        costs.node_placements[node] = min(placements, MOST_PLACEMENTS + 1)


@kernel(forceinline=True)
def _best_cover(root: int, nodes: Nodes, costs: PlacementCosts, stack: I32, cover: I32) -> int:
    """Write the leaves of the best cover, each once; returns their number.

    The choice at each node is that of `node_costs`, made again instead of stored.
    """
    stack[0] = root
    height = 1
    size = 0
    while height:
        height -= 1
        node = stack[height]
        if node < 0:
            known = False
            for place in range(size):
                known = known or cover[place] == ~node
            if not known:
                cover[size] = ~node
                size += 1
            continue
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        needed = last - first - nodes.least[node] + 1
        if needed == 1:
            best, chosen = 5.0, first  # above all costs
            for place in range(first, last):
                cost, _ = _cost_of(nodes.children[place], costs)
                if cost < best:
                    best, chosen = cost, place
            stack[height] = nodes.children[chosen]
            height += 1
            continue
        each = np.empty(last - first, np.float64)
        for place in range(first, last):
            each[place - first], _ = _cost_of(nodes.children[place], costs)
        order = np.argsort(each, kind="mergesort")[:needed]
        for place in order[::-1]:  # the cheapest is popped first
            stack[height] = nodes.children[first + place]
            height += 1
    return size


@kernel(forceinline=True)
def _rarest_pair(
    root: int, leaves: Leaves, nodes: Nodes, non_null_fractions: F64, leaf_cost: F64
) -> tuple[int, int, float]:
    """Two leaves of a conjunction, by axis, whose attributes few events have both, and the share of these events.

    The share is 2 if there are no such leaves.
    """
    first_leaf, second_leaf = -1, -1
    least, more = 4.0, 4.0
    if root < 0 or nodes.least[root] != nodes.firsts[root + 1] - nodes.firsts[root]:
        return -1, -1, 2.0
    for place in range(nodes.firsts[root], nodes.firsts[root + 1]):
        leaf = ~nodes.children[place]
        if leaf < 0 or leaves.kinds[leaf] == TEST or leaves.nulls[leaf]:
            continue
        # A rare attribute keeps events from visiting the pair; a selective range only helps once they do.
        share = non_null_fractions[leaves.axes[leaf]]
        share *= np.sqrt(share * leaf_cost[leaf])
        if first_leaf >= 0 and leaves.axes[leaf] == leaves.axes[first_leaf]:
            least = min(least, share)
        elif share < least:
            second_leaf, more = first_leaf, least
            first_leaf, least = leaf, share
        elif share < more:
            second_leaf, more = leaf, share
    if second_leaf < 0:
        return -1, -1, 2.0
    together = non_null_fractions[leaves.axes[first_leaf]] * non_null_fractions[leaves.axes[second_leaf]]
    if leaves.axes[first_leaf] > leaves.axes[second_leaf]:
        return second_leaf, first_leaf, together
    return first_leaf, second_leaf, together


@kernel
def fill_placements(
    forest: tuple[Leaves, Pieces, Nodes, I32],
    widths: U8,
    non_null_fractions: F64,
    numbered: NumberedRanges,
    costs: PlacementCosts,
    placed: PlacedFormulas,
) -> tuple[int, int]:
    """Fill in the placements and covers of `placed`; returns the numbers of both.

    `non_null_fractions` is the share of events that may have an axis; empty if there are no attribute pairs.
    """
    leaves, pieces, nodes, roots = forest
    out, covers, cover_firsts = placed.placements, placed.covers, placed.cover_firsts
    size, covered = 0, 0
    widest = 1
    for node in range(len(nodes.least)):
        widest = max(widest, nodes.firsts[node + 1] - nodes.firsts[node])
    # Whatever waits on the stack has at least one placement of the cover, or is FALSE below one wide node.
    stack = np.empty(widest + 2 * MOST_PLACEMENTS, np.int32)
    cover = np.empty(MOST_PLACEMENTS + 1, np.int32)
    for slot in range(len(roots)):
        cover_firsts[slot] = covered
        root = roots[slot]
        cost, count = _cost_of(root, costs)
        if count == 0:  # FALSE: no event ever matches, so there is no entry
            continue
        if len(non_null_fractions):
            one, other, together = _rarest_pair(root, leaves, nodes, non_null_fractions, costs.leaf)
            if together <= min(_MOST_TOGETHER, _CHEAPER * cost):
                out.slots[size], out.kinds[size], out.leaves[size], out.earlier[size] = slot, ATTRIBUTE_PAIR, -1, 0
                out.lows[size], out.highs[size] = leaves.axes[other], 0
                out.ranges[size] = numbered.leaves[one]
                size += 1
                continue
        if cost > _ALWAYS_COST:
            out.slots[size], out.kinds[size], out.leaves[size], out.earlier[size] = slot, ALWAYS, -1, 0
            out.lows[size], out.highs[size], out.ranges[size] = 0, 0, -1
            size += 1
            continue
        for earlier in range(_best_cover(root, nodes, costs, stack, cover)):
            leaf = cover[earlier]
            covers[covered] = leaf
            covered += 1
            kind, axis = leaves.kinds[leaf], leaves.axes[leaf]
            low, high, null = leaves.lows[leaf], leaves.highs[leaf], leaves.nulls[leaf]
            first, last = (low, high) if kind == PIECES else (0, 1)
            # NULL has a placement of its own, after those of values, where it is not next to the interval.
            own_null = null and (kind == PIECES or (low != LOWEST and low <= high))
            for place in range(first, last + (1 if own_null else 0)):
                out.slots[size], out.leaves[size], out.earlier[size] = slot, leaf, earlier
                if place == last:  # NULL: an interval without values
                    out.lows[size], out.highs[size] = HIGHEST, LOWEST
                    out.ranges[size] = numbered.nulls[axis]
                elif kind == PIECES:
                    out.lows[size], out.highs[size] = pieces.lows[place], pieces.highs[place]
                    out.ranges[size] = numbered.pieces[place]
                else:
                    out.lows[size], out.highs[size] = low, high
                    out.ranges[size] = numbered.values[leaf] if own_null else numbered.leaves[leaf]
                if kind == TEST:
                    out.kinds[size] = TESTED
                elif out.lows[size] == out.highs[size] and widths[axis]:
                    out.kinds[size] = POINT
                else:
                    out.kinds[size] = CELLS
                size += 1
    cover_firsts[len(roots)] = covered
    return size, covered
