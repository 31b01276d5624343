"""Filing: under which predicates a subscription stands, so that most events never visit it.

A cover of a formula is a set of leaves one of which holds whenever the formula does: of a conjunction the cover of
one operand, of a disjunction the covers of all. Each subscription is filed under the cover that the fewest events
are expected to reach. A leaf of several pieces is filed under each piece; pieces exclude each other, so no event
is reported twice for them, and for the leaves of a cover the entry of a later leaf reports only what no earlier
leaf admits. Where attributes are rare, a conjunction is filed under two of them instead: a couple.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import Bytes, Cells, Floats, Ints, Shorts, Spans
from tamis.engines.bitslice.spans import Numbered
from tamis.engines.forest import INTERVAL, PIECES, TEST, Forest, Leaves, Nodes, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST

MOST_ATOMS = 16
"""In how many places a subscription may stand."""
_ALWAYS_COST = 0.95
_RARE = 0.0625
"""Share of events below which the difference between one predicate and another is worth a group of its own."""

_MOST_TOGETHER = 0.5
"""Share of events that may have both attributes of a couple."""
_CHEAPER = 4.0
"""How many times as many entries may be looked at in a couple as by a cover, for the same price."""
_PARTNER_WORDS = 4
"""That bits of couples may take, for each subscription."""
_MOST_AXES = 1 << 16

ALWAYS, CELLS, TESTED, POINT, COUPLE = 0, 1, 2, 3, 5
"""What leads to an entry: nothing, a range of cells, a test, one exact coordinate, or two attributes.

4 is spoken for in `tamis.engines.bitslice.groups`.
"""


class Weights(NamedTuple):
    """The share of events that is expected: up to a row, with a test, with one of an axis' points.

    `ranks` orders the axes, those that most subscriptions ask first, by numbers from 0 to 1. `presence` is the
    share of events that may have an axis, rather too large than too small.
    """

    mass: Floats
    tests: Floats
    points: Floats
    ranks: Floats
    presence: Floats


class Atoms(NamedTuple):
    """Where entries are filed, one entry of an array an entry of the index.

    slots: whose.
    kinds: ALWAYS, CELLS, TESTED, POINT or COUPLE.
    leaves: the leaf of the cover, or -1.
    lows, highs: the piece, as coordinates; of a test its number; of a couple its second axis.
    spans: of what leads to the entry; -1 for ALWAYS; of a couple, one on its first axis.
    earlier: how many leaves of the cover come before.
    """

    slots: Shorts
    kinds: Bytes
    leaves: Shorts
    lows: Ints
    highs: Ints
    spans: Shorts
    earlier: Shorts


def span_costs(spans: Spans, cells: Cells, weights: Weights) -> Floats:
    """The share of events that is expected in a span, coarsely where it is large, ties broken by axis.

    So that subscriptions whose predicates cost much the same gather on few axes: large groups have small tables.
    """
    costs = np.empty(len(spans.lows))
    is_axis = spans.axes < len(cells.counts)
    costs[~is_axis] = weights.tests[spans.axes[~is_axis] - len(cells.counts)]
    share = np.maximum(weights.mass[spans.highs[is_axis]] - weights.mass[spans.lows[is_axis]], 1e-9)
    steps = 2.0 ** np.where(
        share < _RARE, np.floor(2.0 * np.log2(share)) / 2.0, np.floor(np.log2(2.0 * share) / 1.5) * 1.5 - 1.0
    )
    costs[is_axis] = steps * (1.0 + 1e-3 * weights.ranks[spans.axes[is_axis]])
    return costs


@numba.njit(cache=True, nogil=True)
def leaf_costs(
    leaves: Leaves,
    pieces: Pieces,
    cells: Cells,
    points: Floats,
    numbered: Numbered,
    spans: Floats,
    costs: Floats,
    atoms: Shorts,
) -> None:
    """The share of events in which a leaf is expected to hold, and in how many places it is filed.

    `points` is the expected share of events with one exact value of an axis, `spans` what spans cost.
    """
    for leaf in range(len(leaves.kinds)):
        kind, axis = leaves.kinds[leaf], leaves.axes[leaf]
        low, high, null = leaves.lows[leaf], leaves.highs[leaf], leaves.nulls[leaf]
        atoms[leaf] = 1
        if kind == PIECES:
            cost = spans[numbered.nulls[axis]] if null else 0.0
            for place in range(low, high):
                own = spans[numbered.pieces[place]]
                if pieces.lows[place] == pieces.highs[place] and cells.widths[axis]:
                    own = min(own, points[axis])
                cost += own
            costs[leaf] = cost
            atoms[leaf] = high - low + null
            continue
        costs[leaf] = spans[numbered.leaves[leaf]]
        if kind == INTERVAL:
            if low == high and not null and cells.widths[axis]:
                costs[leaf] = min(costs[leaf], points[axis])
            if null and low != LOWEST and low <= high:
                costs[leaf] = spans[numbered.values[leaf]] + spans[numbered.nulls[axis]]
                atoms[leaf] = 2


@numba.njit(cache=True, nogil=True, forceinline=True)
def _cost_of(
    child: int, leaf_cost: Floats, leaf_atoms: Shorts, node_cost: Floats, node_atoms: Shorts
) -> tuple[float, int]:
    if child < 0:
        if leaf_atoms[~child] > MOST_ATOMS:
            return 2.0, 1
        return leaf_cost[~child], leaf_atoms[~child]
    return node_cost[child], node_atoms[child]


@numba.njit(cache=True, nogil=True)
def node_costs(nodes: Nodes, leaf_cost: Floats, leaf_atoms: Shorts, node_cost: Floats, node_atoms: Shorts) -> None:
    """The cost of the best cover of every node, and the number of its atoms; 2 or more if it has none."""
    for node in range(len(nodes.least)):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        least = nodes.least[node]
        if least == 0 or first == last:
            node_cost[node], node_atoms[node] = (2.0, 1) if least == 0 else (0.0, 0)
            continue
        needed = last - first - least + 1
        if needed == 1:
            best, atoms = 4.0, 1
            for place in range(first, last):
                cost, count = _cost_of(nodes.children[place], leaf_cost, leaf_atoms, node_cost, node_atoms)
                if cost < best:
                    best, atoms = cost, count
        elif needed == last - first:
            best, atoms = 0.0, 0
            for place in range(first, last):
                cost, count = _cost_of(nodes.children[place], leaf_cost, leaf_atoms, node_cost, node_atoms)
                best += cost
                atoms += count
        else:
            costs = np.empty(last - first, np.float64)
            counts = np.empty(last - first, np.int64)
            for place in range(first, last):
                cost, count = _cost_of(nodes.children[place], leaf_cost, leaf_atoms, node_cost, node_atoms)
                costs[place - first], counts[place - first] = cost, count
            order = np.argsort(costs, kind="mergesort")[:needed]
            best, atoms = costs[order].sum(), counts[order].sum()
        node_cost[node] = min(best, 4.0) if atoms <= MOST_ATOMS else 4.0
        node_atoms[node] = min(atoms, MOST_ATOMS + 1)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _cover(
    root: int,
    nodes: Nodes,
    leaf_cost: Floats,
    leaf_atoms: Shorts,
    node_cost: Floats,
    node_atoms: Shorts,
    stack: Shorts,
    cover: Shorts,
) -> int:
    """Write the leaves of the best cover, each once; gives their number."""
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
            best, chosen = 5.0, first
            for place in range(first, last):
                cost, _ = _cost_of(nodes.children[place], leaf_cost, leaf_atoms, node_cost, node_atoms)
                if cost < best:
                    best, chosen = cost, place
            stack[height] = nodes.children[chosen]
            height += 1
            continue
        costs = np.empty(last - first, np.float64)
        for place in range(first, last):
            costs[place - first], _ = _cost_of(nodes.children[place], leaf_cost, leaf_atoms, node_cost, node_atoms)
        order = np.argsort(costs, kind="mergesort")[:needed]
        for place in order[::-1]:
            stack[height] = nodes.children[first + place]
            height += 1
    return size


class Costs(NamedTuple):
    """Of leaves and nodes: the share of events expected to reach the best cover, and its number of atoms."""

    leaf: Floats
    leaf_atoms: Shorts
    node: Floats
    node_atoms: Shorts


@numba.njit(cache=True, nogil=True, forceinline=True)
def _couple(
    root: int, leaves: Leaves, nodes: Nodes, presence: Floats, leaf_cost: Floats
) -> tuple[int, int, float]:
    """Two leaves of a conjunction, by axis, whose attributes few events have both, and the share of these events.

    2 is the share if there are no such leaves.
    """
    first_leaf, second_leaf = -1, -1
    least, more = 4.0, 4.0
    if root < 0 or nodes.least[root] != nodes.firsts[root + 1] - nodes.firsts[root]:
        return -1, -1, 2.0
    for place in range(nodes.firsts[root], nodes.firsts[root + 1]):
        leaf = ~nodes.children[place]
        if leaf < 0 or leaves.kinds[leaf] == TEST or leaves.nulls[leaf]:
            continue
        # Rare is what counts, and selective what helps then.
        share = presence[leaves.axes[leaf]]
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
    together = presence[leaves.axes[first_leaf]] * presence[leaves.axes[second_leaf]]
    if leaves.axes[first_leaf] > leaves.axes[second_leaf]:
        return second_leaf, first_leaf, together
    return first_leaf, second_leaf, together


@numba.njit(cache=True, nogil=True)
def _file(
    forest: tuple[Leaves, Pieces, Nodes, Shorts],
    widths: Bytes,
    presence: Floats,
    numbered: Numbered,
    costs: Costs,
    out: Atoms,
    covers: Shorts,
    cover_firsts: Ints,
) -> tuple[int, int]:
    """Fill in the atoms and, per slot, the leaves of its cover; gives the numbers of both."""
    leaves, pieces, nodes, roots = forest
    atoms = 0
    written = 0
    widest = 1
    for node in range(len(nodes.least)):
        widest = max(widest, nodes.firsts[node + 1] - nodes.firsts[node])
    # Whatever waits on the stack has at least one of the atoms, or is FALSE below one wide node.
    stack = np.empty(widest + 2 * MOST_ATOMS, np.int32)
    cover = np.empty(MOST_ATOMS + 1, np.int32)
    for slot in range(len(roots)):
        cover_firsts[slot] = written
        root = roots[slot]
        cost, count = _cost_of(root, costs.leaf, costs.leaf_atoms, costs.node, costs.node_atoms)
        if count == 0:  # FALSE
            continue
        if len(presence):
            one, other, together = _couple(root, leaves, nodes, presence, costs.leaf)
            if together <= min(_MOST_TOGETHER, _CHEAPER * cost):
                out.slots[atoms], out.kinds[atoms], out.leaves[atoms], out.earlier[atoms] = slot, COUPLE, -1, 0
                out.lows[atoms], out.highs[atoms] = leaves.axes[other], 0
                out.spans[atoms] = numbered.leaves[one]
                atoms += 1
                continue
        if cost > _ALWAYS_COST:
            out.slots[atoms], out.kinds[atoms], out.leaves[atoms], out.earlier[atoms] = slot, ALWAYS, -1, 0
            out.lows[atoms], out.highs[atoms], out.spans[atoms] = 0, 0, -1
            atoms += 1
            continue
        size = _cover(root, nodes, costs.leaf, costs.leaf_atoms, costs.node, costs.node_atoms, stack, cover)
        for earlier in range(size):
            leaf = cover[earlier]
            covers[written] = leaf
            written += 1
            kind, axis = leaves.kinds[leaf], leaves.axes[leaf]
            low, high, null = leaves.lows[leaf], leaves.highs[leaf], leaves.nulls[leaf]
            first, last = (low, high) if kind == PIECES else (0, 1)
            own_null = null and (kind == PIECES or (low != LOWEST and low <= high))
            for place in range(first, last + (1 if own_null else 0)):
                out.slots[atoms], out.leaves[atoms], out.earlier[atoms] = slot, leaf, earlier
                if place == last:
                    out.lows[atoms], out.highs[atoms] = HIGHEST, LOWEST
                    out.spans[atoms] = numbered.nulls[axis]
                elif kind == PIECES:
                    out.lows[atoms], out.highs[atoms] = pieces.lows[place], pieces.highs[place]
                    out.spans[atoms] = numbered.pieces[place]
                else:
                    out.lows[atoms], out.highs[atoms] = low, high
                    out.spans[atoms] = numbered.leaves[leaf]
                    if own_null:
                        out.spans[atoms] = numbered.values[leaf]
                if kind == TEST:
                    out.kinds[atoms] = TESTED
                elif out.lows[atoms] == out.highs[atoms] and widths[axis]:
                    out.kinds[atoms] = POINT
                else:
                    out.kinds[atoms] = CELLS
                atoms += 1
    cover_firsts[len(roots)] = written
    return atoms, written


class Filed(NamedTuple):
    """The atoms of all formulas; the leaves of their covers, by slot; what spans cost."""

    atoms: Atoms
    covers: Shorts
    cover_firsts: Ints
    span_costs: Floats


def filed(forest: Forest, cells: Cells, numbered: Numbered, weights: Weights) -> Filed:
    """Where every formula stands."""
    count, nodes = len(forest.leaves.kinds), len(forest.nodes.least)
    costs = Costs(np.empty(count), np.empty(count, np.int32), np.empty(nodes), np.empty(nodes, np.int32))
    spans = span_costs(numbered.spans, cells, weights)
    leaf_costs(forest.leaves, forest.pieces, cells, weights.points, numbered, spans, costs.leaf, costs.leaf_atoms)
    node_costs(forest.nodes, *costs)
    roots = forest.roots
    own = np.where(roots >= 0, costs.node_atoms[np.maximum(roots, 0)] if nodes else 1, 0)
    of_leaf = np.minimum(costs.leaf_atoms[np.where(roots < 0, ~roots, 0)] if count else 1, MOST_ATOMS)
    own = np.where(roots < 0, of_leaf, own)
    room = int(np.minimum(np.maximum(own, 1), MOST_ATOMS + 1).sum())
    out = Atoms(
        np.empty(room, np.int32),
        np.empty(room, np.uint8),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
    )
    covers, cover_firsts = np.empty(room, np.int32), np.empty(len(roots) + 1, np.int64)
    parts = (forest.leaves, forest.pieces, forest.nodes, roots)
    axes = len(forest.axes)
    can_couple = axes < _MOST_AXES and axes * (axes >> 6) <= _PARTNER_WORDS * len(roots)
    presence = weights.presence if can_couple else np.empty(0)
    atoms, written = _file(parts, cells.widths, presence, numbered, costs, out, covers, cover_firsts)
    return Filed(Atoms(*(each[:atoms] for each in out)), covers[:written], cover_firsts, spans)
