"""Bitmaps over conjunctions: which of them certainly fail when the value of an axis is in a cell, or NULL.

Every axis that many conjunctions use is cut into cells, and each cell has a bitmap of the conjunctions with a leaf
that fails in all of it:

    cells        0    |   1   |   2   |    3
    10 <= a <= 25     .   [-------]   .            fails in cells 0 and 3: bits there
    a < 15       -----------)         .            fails in cells 2 and 3; in a part of cell 1: an end there

A leaf that fails in a part of a cell has no bit there. If it is a single interval, its end is among the ends of
the cell, sorted, so that the value tells which of them fail; else the conjunction is on the cell's list of doubts.
The bitmaps for NULL are the nodes of a binary tree over the axes, an inner node the OR of its children, so that a
few bitmaps cover many missing attributes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, U32, U64, Bools
from tamis.engines.array_kernels import count_up_to, group_by_number
from tamis.engines.bitset.access_lists import LINE_WORDS, AccessLists, build_access_lists, padded_words
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.conjunctions.intervals import LeafIntervals, intervals_of
from tamis.engines.forest import Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.kernels import kernel

BUDGET_BYTES = 1_400_000_000
"""Memory that all bitmaps together may take."""

_MAX_CELLS = 256
_MIN_CELLS = 6
_RARE = 100  # an axis that fewer than one in so many conjunctions use has no bitmaps
_SAMPLE = 200_000


class CellEnds(NamedTuple):
    """Ends of intervals inside of cells: those of row r are `[firsts[r], firsts[r + 1])`, sorted by value.

    values: int64[...]: the end, which is inside of the interval.
    conjunctions: uint32[...]: the conjunction that fails beyond it.
    """

    firsts: I64
    values: I64
    conjunctions: U32


class FailBitmaps(NamedTuple):
    """The bitmaps and lists.

    bits: uint64[rows, words]: bit c of a row: conjunction c certainly fails there. First the cells of the axes,
    then     the tree of NULL. empty: uint8[rows]: 1 if a row has no bit. axes: int32[...]: the axes that have
    cells. bases: int64[...]: of each of them, its first row. cut_firsts: int64[... + 1], cuts: int64[...]: the
    cuts between its cells: cell c is that of values with c cuts     at or below them. tree: the row before the
    tree's top. Node n has the children 2 n and 2 n + 1, axis i of `axes` is node     `len(axes) + i`. lows, highs:
    per row of a cell, the ends in it. doubt_firsts: int64[cells + 1], doubts: uint32[...]: per row of a cell, the
    conjunctions that must be evaluated. access: conjunctions with a leaf on another axis, or a test.
    """

    bits: U64
    empty: U8
    axes: I32
    bases: I64
    cut_firsts: I64
    cuts: I64
    tree: int
    lows: CellEnds
    highs: CellEnds
    doubt_firsts: I64
    doubts: U32
    access: AccessLists


class _BitmapAxis(NamedTuple):
    """One axis: its leaves, in the order of conjunctions, its cuts and its rows."""

    conjunctions: I32
    nulls: U8
    intervals: LeafIntervals
    cuts: I64
    base: int
    null_row: int


def build_fail_bitmaps(
    leaves: Leaves, pieces: Pieces, axis_count: int, test_count: int, conjunctions: Conjunctions
) -> tuple[FailBitmaps, U8]:
    """The bitmaps of these conjunctions, and their flags; see `build_access_lists` for UNSURE."""
    count = len(conjunctions.slots)
    owners = np.repeat(np.arange(count, dtype=np.int32), np.diff(conjunctions.firsts))
    firsts, order = group_by_number(leaves.axes[conjunctions.leaves], axis_count)
    loads = np.diff(firsts)
    words = padded_words(count)
    row_budget = BUDGET_BYTES // max(8 * words, 1)
    axes = _indexed_axes(loads, count, row_budget)
    lines: list[_BitmapAxis] = []
    base = 0
    for axis, cells in zip(axes.tolist(), _cell_counts(loads[axes], row_budget - 2 * len(axes)), strict=True):
        here = order[firsts[axis] : firsts[axis + 1]]
        asked = conjunctions.leaves[here]
        intervals = intervals_of(leaves, pieces, asked)
        cuts = _cuts(intervals, cells)
        lines.append(_BitmapAxis(owners[here], leaves.nulls[asked], intervals, cuts, base, len(lines)))
        base += len(cuts) + 1
    bits = np.zeros((base + 2 * len(axes), words), np.uint64)
    lines = [line._replace(null_row=base + len(axes) + line.null_row) for line in lines]
    for line in lines:
        _fill_bitmaps(line, bits)
    for node in range(len(axes) - 1, 0, -1):
        np.bitwise_or(bits[base + 2 * node], bits[base + 2 * node + 1], out=bits[base + node])
    lows, highs, doubts = zip(*map(_partial_cells, lines), strict=True) if lines else ((), (), ())
    all_doubts = _concatenate_ends(doubts)
    has_cells = np.zeros(axis_count + 1, np.uint8)
    has_cells[axes] = 1
    access, flags = build_access_lists(leaves, pieces, conjunctions, has_cells, loads, test_count)
    bitmaps = FailBitmaps(
        bits,
        np.asarray(~bits.any(axis=1), np.uint8),
        axes,
        np.array([line.base for line in lines], np.int64),
        _offsets(np.array([len(line.cuts) for line in lines], np.int64)),
        np.concatenate([np.empty(0, np.int64), *(line.cuts for line in lines)]),
        base,
        _concatenate_ends(lows),
        _concatenate_ends(highs),
        all_doubts.firsts,
        all_doubts.conjunctions,
        access,
    )
    return bitmaps, flags


def _offsets(counts: I64) -> I64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _concatenate_ends(parts: tuple[CellEnds, ...]) -> CellEnds:
    """The ends of all rows; the parts have counts instead of offsets in `firsts`."""
    return CellEnds(
        _offsets(np.concatenate([np.empty(0, np.int64), *(part.firsts for part in parts)])),
        np.concatenate([np.empty(0, np.int64), *(part.values for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part.conjunctions for part in parts)]),
    )


def _indexed_axes(loads: I64, conjunctions: int, row_budget: int) -> I32:
    """The axes that get bitmaps: the most used ones, as many as memory allows."""
    by_load = np.argsort(-loads, kind="stable")
    often = by_load[loads[by_load] * _RARE >= max(conjunctions, 1)]
    return np.sort(often[: row_budget // (2 + _MIN_CELLS)]).astype(np.int32)


def _cell_counts(loads: I64, rows: int) -> list[int]:
    """How many cells each axis gets, in proportion to its use."""
    wanted = rows * loads // max(int(loads.sum()), 1)
    return [int(cells) for cells in np.clip(wanted, _MIN_CELLS, _MAX_CELLS)]


def _cuts(intervals: LeafIntervals, cells: int) -> I64:
    """Cuts into at most so many cells, with about as many ends of intervals in each."""
    step = -(-max(len(intervals.lows), 1) // _SAMPLE)
    lows, highs = intervals.lows[::step], intervals.highs[::step]
    ends = np.sort(np.concatenate([lows[lows != LOWEST], highs[highs != HIGHEST] + 1]))
    distinct = np.unique(ends)
    if len(distinct) < cells:
        return distinct
    return np.unique(ends[np.arange(1, cells) * len(ends) // cells])


@kernel
def _fill_bitmaps(line: _BitmapAxis, bits: U64) -> None:
    """Fill in the rows of an axis.

    Conjunctions come in order, so the words of 512 of them, one cache line of each row, are collected in `block`
    and written once. Setting bits in the rows directly would touch another cache line with every bit.
    """
    cells = len(line.cuts) + 1
    block = np.zeros((LINE_WORDS, cells), np.uint64)
    place = 0
    while place < len(line.conjunctions):
        here = line.conjunctions[place] // (64 * LINE_WORDS)
        for word in range(LINE_WORDS):
            for cell in range(cells):
                block[word, cell] = 0
        while place < len(line.conjunctions) and line.conjunctions[place] // (64 * LINE_WORDS) == here:
            conjunction = line.conjunctions[place]
            bit = np.uint64(1) << np.uint64(conjunction & 63)
            if line.nulls[place] == 0:
                bits[line.null_row, conjunction >> 6] |= bit
            row = block[(conjunction >> 6) % LINE_WORDS]
            failing = 0  # the first cell that is not known to have a value where the leaf holds
            for at in range(line.intervals.firsts[place], line.intervals.firsts[place + 1]):
                for cell in range(failing, count_up_to(line.cuts, 0, cells - 1, line.intervals.lows[at])):
                    row[cell] |= bit
                failing = count_up_to(line.cuts, 0, cells - 1, line.intervals.highs[at]) + 1
            for cell in range(failing, cells):
                row[cell] |= bit
            place += 1
        for cell in range(cells):
            for word in range(LINE_WORDS):
                bits[line.base + cell, here * LINE_WORDS + word] = block[word, cell]


def _partial_cells(line: _BitmapAxis) -> tuple[CellEnds, CellEnds, CellEnds]:
    """The low ends, the high ends and the doubts of an axis' cells, with counts instead of offsets in `firsts`."""
    lengths = np.diff(line.intervals.firsts)
    owners = np.repeat(line.conjunctions, lengths).astype(np.uint32)
    is_only = np.repeat(lengths == 1, lengths)
    lows, highs, cuts = line.intervals.lows, line.intervals.highs, line.cuts
    # An end at a cut is the end of a cell, so it divides none; neither does an open end.
    inside_low = (lows != LOWEST) & ~_is_in(cuts, lows)
    inside_high = highs != HIGHEST
    inside_high[inside_high] = ~_is_in(cuts, highs[inside_high] + 1)
    some, others = inside_low & is_only, inside_low & ~is_only
    low_ends = _sort_ends(cuts, lows[some], owners[some])
    doubt_values, doubt_owners = lows[others], owners[others]
    some, others = inside_high & is_only, inside_high & ~is_only
    high_ends = _sort_ends(cuts, highs[some], owners[some])
    doubts = _sort_ends(
        cuts,
        np.concatenate([doubt_values, highs[others]]),
        np.concatenate([doubt_owners, owners[others]]),
    )
    return low_ends, high_ends, doubts


def _is_in(cuts: I64, values: I64) -> Bools:
    if not len(cuts):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(cuts, values), len(cuts) - 1)
    return np.asarray(cuts[places] == values)


def _sort_ends(cuts: I64, values: I64, owners: U32) -> CellEnds:
    order = np.argsort(values, kind="stable")
    values, owners = values[order], owners[order]
    firsts = np.searchsorted(values, cuts)
    counts = np.diff(np.concatenate([[0], firsts, [len(values)]])).astype(np.int64)
    return CellEnds(counts, values, owners)
