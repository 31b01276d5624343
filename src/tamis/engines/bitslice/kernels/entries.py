"""Entries: writing the conjunction of each placement as cell ranges and exact bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U8
from tamis.engines.bitslice.kernels.placement import ATTRIBUTE_PAIR, CELLS, Placements
from tamis.engines.bitslice.kernels.simd import prefetch
from tamis.engines.bitslice.kernels.verify import MOST_OFFSET
from tamis.engines.bitslice.layout import CellRanges, EntryArrays
from tamis.engines.forest import INTERVAL, TEST, Leaves, Nodes
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.kernels import kernel

_AHEAD = 16
"""How many entries before its turn the sources of an entry are prefetched."""
_IMPLIED_COST = 0.99
"""Of a range on an axis that has led to the entry: it will hardly refuse an event, so it comes last."""


class EntrySource(NamedTuple):
    """What entries are made from: placements, the forest, widths of axes, floors of cells, cell ranges.

    leaf_ranges: int32[leaves]: as `NumberedRanges.leaves`.
    range_costs: float64[ranges]: as `PlacedFormulas.range_costs`.
    """

    placements: Placements
    leaves: Leaves
    nodes: Nodes
    roots: I32
    widths: U8
    floors: I64
    ranges: CellRanges
    leaf_ranges: I32
    range_costs: F64


class EntryDraft(NamedTuple):
    """Room for one entry while it is written.

    ranges, lows, highs, costs: its cell ranges, their exact bounds and costs, in no order yet.
    residual_parts: nodes and leaves that are more than a cell range.
    """

    ranges: I32
    lows: I64
    highs: I64
    costs: F64
    residual_parts: I32


class EntrySizes(NamedTuple):
    """Per placement, what its entry takes.

    ranges: int32[placements]: number of cell ranges.
    words: int32[placements]: of exact bounds.
    seconds: int32[placements]: the most selective range, by which entries of a group are sorted into runs, or -1.
    """

    ranges: I32
    words: I32
    seconds: I32


class PrefetchPlan(NamedTuple):
    """Where the sources of entries stand, to prefetch them: entries have another order than formulas.

    roots: int32[entries]: the root of the formula.
    leaves: int32[entries]: one of its first leaves.
    """

    roots: I32
    leaves: I32


class WrittenEntries(NamedTuple):
    """Entries in their final order, and the parts of each that are more than a conjunction.

    order: int64[entries]: the placement of each entry.
    residual_firsts: int64[entries + 1]: the entry's part of `residual_parts`.
    residual_parts: int32[...]: nodes, or ~leaves, of the forest; all of an entry must hold.
    """

    entries: EntryArrays
    order: I64
    residual_firsts: I64
    residual_parts: I32


@kernel(forceinline=True)
def _is_one_range(leaves: Leaves, leaf: int) -> bool:
    """Do a cell range and two exact bounds say all about this leaf?

    Not about several pieces, and not about "NULL or an interval with a lower bound": its range, from NULL on,
    contains the cells below the interval.
    """
    if leaves.kinds[leaf] != INTERVAL:
        return False
    low = leaves.lows[leaf]
    return leaves.nulls[leaf] == 0 or low == LOWEST or low > leaves.highs[leaf]


@kernel(forceinline=True)
def _is_implied(nodes: Nodes, part: int, placed_leaf: int) -> bool:
    """Does this part of the conjunction hold if the placement's leaf does: is it that leaf, or an OR with it?"""
    if part < 0:
        return ~part == placed_leaf
    if nodes.least[part] != 1:
        return False
    for place in range(nodes.firsts[part], nodes.firsts[part + 1]):
        if ~nodes.children[place] == placed_leaf:
            return True
    return False


@kernel(forceinline=True)
def _draft_entry(source: EntrySource, placement: int, draft: EntryDraft) -> tuple[int, int]:
    """Write an entry to the draft; returns the numbers of its cell ranges and of its residual parts."""
    leaves, nodes = source.leaves, source.nodes
    size, residual_parts = 0, 0
    root = source.roots[source.placements.slots[placement]]
    first, last = 0, 1
    is_and = root >= 0 and nodes.least[root] == nodes.firsts[root + 1] - nodes.firsts[root]
    if is_and:
        first, last = nodes.firsts[root], nodes.firsts[root + 1]
    placed_leaf = source.placements.leaves[placement]
    for place in range(first, last):
        part = nodes.children[place] if is_and else root
        if placed_leaf >= 0 and _is_implied(nodes, part, placed_leaf):
            continue
        if part >= 0:
            draft.residual_parts[residual_parts] = part
            residual_parts += 1
            continue
        leaf = ~part
        cell_range = source.leaf_ranges[leaf]
        draft.ranges[size], draft.costs[size] = cell_range, source.range_costs[cell_range]
        draft.lows[size], draft.highs[size] = leaves.lows[leaf], leaves.highs[leaf]
        if leaves.kinds[leaf] != TEST and not _is_one_range(leaves, leaf):
            # The range is necessary and refuses most events; the leaf is evaluated for those that are in it.
            draft.lows[size], draft.highs[size] = LOWEST, HIGHEST
            draft.residual_parts[residual_parts] = part
            residual_parts += 1
        size += 1
    if source.placements.kinds[placement] == CELLS:
        cell_range = source.placements.ranges[placement]
        axis = leaves.axes[placed_leaf]
        is_one_cell = source.ranges.highs[cell_range] - source.ranges.lows[cell_range] == 1
        if not (is_one_cell and source.widths[axis] == 0):
            # A group is reached by the hull of its entries' ranges, and a cell may be larger than the interval.
            draft.ranges[size], draft.costs[size] = cell_range, 1.0
            draft.lows[size] = source.placements.lows[placement]
            draft.highs[size] = source.placements.highs[placement]
            size += 1
    return size, residual_parts


@kernel
def fill_sizes(source: EntrySource, draft: EntryDraft, out: EntrySizes) -> int:
    """Fill `out`; returns the number of residual parts of all entries."""
    total = 0
    axes = len(source.widths) - 1
    for placement in range(len(source.placements.slots)):
        size, residual_parts = _draft_entry(source, placement, draft)
        words, best, second = 0, 1.0, -1
        for place in range(size):
            axis = source.ranges.axes[draft.ranges[place]]
            if axis < axes:
                words += source.widths[axis]
                if draft.costs[place] < best:
                    best, second = draft.costs[place], draft.ranges[place]
        if source.placements.kinds[placement] == ATTRIBUTE_PAIR:
            second = -1  # a pair is one run: its lanes are searched 16 entries at a time
        out.ranges[placement], out.words[placement], out.seconds[placement] = size, words, second
        total += residual_parts
    return total


@kernel(forceinline=True)
def _order_by_cost(costs: F64, size: int, order: I32) -> None:
    """Cheapest first; equal costs keep their order.

    The place of each is counted, without swaps: costs are close, and branches would be predicted wrongly.
    """
    for place in range(size):
        at = 0
        for other in range(size):
            at += costs[other] < costs[place] or (costs[other] == costs[place] and other < place)
        order[at] = place


@kernel(forceinline=True)
def _prefetch_sources(source: EntrySource, placement: np.uint64, root: int, leaf: np.uint64) -> None:
    """Have what an entry is made from in the cache soon."""
    placements, leaves, nodes = source.placements, source.leaves, source.nodes
    prefetch(placements.slots, placement)
    prefetch(placements.kinds, placement)
    prefetch(placements.leaves, placement)
    prefetch(placements.ranges, placement)
    prefetch(placements.lows, placement)
    prefetch(placements.highs, placement)
    if root >= 0:
        prefetch(nodes.least, np.uint64(root))
        prefetch(nodes.firsts, np.uint64(root))
    # Leaves of a formula stand next to each other; bounds of 8 bytes need a second cache line.
    prefetch(leaves.kinds, leaf)
    prefetch(leaves.nulls, leaf)
    prefetch(leaves.axes, leaf)
    prefetch(source.leaf_ranges, leaf)
    for further in (np.uint64(0), np.uint64(8)):
        prefetch(leaves.lows, leaf + further)
        prefetch(leaves.highs, leaf + further)


@kernel
def fill_entries(
    source: EntrySource, plan: PrefetchPlan, run_axes: I32, draft: EntryDraft, out: WrittenEntries
) -> None:
    """Fill the entries and residual parts of `out`; `run_axes` has the axis of each entry's run."""
    entries, order = out.entries, out.order
    has_offsets = len(entries.bound_firsts) == len(order)
    written = 0
    by_cost = np.empty(len(draft.ranges), np.int32)
    axes = len(source.widths) - 1
    word, start = 0, 0
    for entry in range(len(order)):
        placement = order[entry]
        if entry + _AHEAD < len(order):
            later = entry + _AHEAD
            _prefetch_sources(source, np.uint64(order[later]), plan.roots[later], np.uint64(plan.leaves[later]))
        size, residual_parts = _draft_entry(source, placement, draft)
        known, also_known = run_axes[entry], -1
        if source.placements.kinds[placement] == ATTRIBUTE_PAIR:
            known = source.ranges.axes[source.placements.ranges[placement]]
            also_known = source.placements.lows[placement]
        for place in range(size):
            axis = source.ranges.axes[draft.ranges[place]]
            if axis == known or axis == also_known:
                draft.costs[place] = _IMPLIED_COST
        _order_by_cost(draft.costs, size, by_cost)
        entries.slots[entry] = source.placements.slots[placement]
        entries.firsts[entry] = start
        if has_offsets:
            entries.bound_firsts[entry] = word
        for number in range(size):
            place = by_cost[number]
            cell_range = draft.ranges[place]
            entries.ranges[start + number] = cell_range
            axis = source.ranges.axes[cell_range]
            width = source.widths[axis] if axis < axes else 0
            low, high = draft.lows[place], draft.highs[place]
            if width == 1:
                low_floor = source.floors[source.ranges.lows[cell_range] + 1]
                high_floor = source.floors[source.ranges.highs[cell_range]]
                low_offset = low - low_floor if low > low_floor else 0
                high_offset = (
                    max(high, high_floor) - high_floor if high < high_floor + MOST_OFFSET else MOST_OFFSET
                )
                entries.bounds[word] = np.int32(low_offset & MOST_OFFSET | high_offset << 16)
            elif width == 2:
                if low > high:  # no value; these bounds may not fit in 32 bits
                    low, high = 1, 0
                # A missing bound becomes the lowest or highest number of 32 bits; see `verify.narrow_bounds`.
                entries.bounds[word] = max(low, -(1 << 31))
                entries.bounds[word + 1] = min(high, (1 << 31) - 1)
            elif width == 4:
                entries.bounds[word] = np.int32(low & 0xFFFFFFFF)
                entries.bounds[word + 1] = np.int32(low >> 32)
                entries.bounds[word + 2] = np.int32(high & 0xFFFFFFFF)
                entries.bounds[word + 3] = np.int32(high >> 32)
            word += width
        start += size
        out.residual_firsts[entry] = written
        for place in range(residual_parts):
            out.residual_parts[written] = draft.residual_parts[place]
            written += 1
    entries.firsts[len(order)] = start
    out.residual_firsts[len(order)] = written
