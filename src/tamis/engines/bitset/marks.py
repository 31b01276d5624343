"""Bitsets over conjunctions: which of them surely fail when an axis' value is in a cell, or NULL.

Every axis that many conjunctions ask about is cut into cells, and each cell has a bitset of the conjunctions with
a leaf that fails everywhere in it. A leaf that fails in a part of the cell has no mark there: if it is one
interval, its end is among the cell's ends, so that those that fail can be found by the value; else the conjunction
is on the cell's list of doubts. The bitsets for NULL stand in a tree, so that however many attributes are missing,
a few bitsets say it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.bitset.filed import LINE_WORDS, Filed, filed_of, padded_words
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.conjunctions.intervals import Intervals, intervals_of
from tamis.engines.forest import Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.grouping import cuts_up_to, grouped

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Numbers: TypeAlias = npt.NDArray[np.uint32]
Words: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

BUDGET_BYTES = 1_400_000_000
"""What all bitsets together may take."""

_MOST_CELLS = 256
_LEAST_CELLS = 6
_RARE = 100  # an axis that fewer than one in so many conjunctions ask about has no bitsets
_SAMPLE = 200_000


class Ends(NamedTuple):
    """Ends of intervals inside of cells: those of row r are `[firsts[r], firsts[r + 1])`, rising by value.

    values: int64[...]: the end, which is inside of the interval.
    conjunctions: uint32[...]: that fail beyond it.
    """

    firsts: Ints
    values: Ints
    conjunctions: Numbers


class Marks(NamedTuple):
    """The bitsets and lists.

    bits: uint64[rows, words]: bit c of a row: conjunction c surely fails there. First the cells of the axes, then
        the tree of NULL.
    empty: uint8[rows]: 1 if a row has no bit.
    axes: int32[...]: the axes that have cells.
    bases: int64[...]: of each of them, its first row.
    cut_firsts: int64[... + 1], cuts: int64[...]: the cuts between its cells: cell c is that of values with c cuts
        at or below them.
    tree: the row before the tree's top. Node n has the children 2 n and 2 n + 1, axis i of `axes` is node
        `len(axes) + i`.
    lows, highs: per row of a cell, the ends in it.
    doubt_firsts: int64[cells + 1], doubts: uint32[...]: per row of a cell, what must be evaluated.
    filed: what has a leaf on another axis, or a test.
    """

    bits: Words
    empty: Bytes
    axes: Shorts
    bases: Ints
    cut_firsts: Ints
    cuts: Ints
    tree: int
    lows: Ends
    highs: Ends
    doubt_firsts: Ints
    doubts: Numbers
    filed: Filed


class _Line(NamedTuple):
    """One axis: its leaves, in the order of conjunctions, its cuts and its rows."""

    conjunctions: Shorts
    nulls: Bytes
    intervals: Intervals
    cuts: Ints
    base: int
    null_row: int


def marks_of(
    leaves: Leaves, pieces: Pieces, axis_count: int, test_count: int, conjunctions: Conjunctions
) -> tuple[Marks, Bytes]:
    """The bitsets of these conjunctions, and their flags: UNSURE also if no bitset speaks of some leaf."""
    count = len(conjunctions.slots)
    owners = np.repeat(np.arange(count, dtype=np.int32), np.diff(conjunctions.firsts))
    firsts, order = grouped(leaves.axes[conjunctions.leaves], axis_count)
    loads = np.diff(firsts)
    words = padded_words(count)
    row_budget = BUDGET_BYTES // max(8 * words, 1)
    axes = _chosen(loads, count, row_budget)
    lines: list[_Line] = []
    base = 0
    for axis, cells in zip(axes.tolist(), _shares(loads[axes], row_budget - 2 * len(axes)), strict=True):
        here = order[firsts[axis] : firsts[axis + 1]]
        asked = conjunctions.leaves[here]
        intervals = intervals_of(leaves, pieces, asked)
        cuts = _cuts(intervals, cells)
        lines.append(_Line(owners[here], leaves.nulls[asked], intervals, cuts, base, len(lines)))
        base += len(cuts) + 1
    bits = np.zeros((base + 2 * len(axes), words), np.uint64)
    lines = [line._replace(null_row=base + len(axes) + line.null_row) for line in lines]
    for line in lines:
        _mark(line, bits)
    for node in range(len(axes) - 1, 0, -1):
        np.bitwise_or(bits[base + 2 * node], bits[base + 2 * node + 1], out=bits[base + node])
    lows, highs, doubts = zip(*map(_inside, lines), strict=True) if lines else ((), (), ())
    all_doubts = _joined_ends(doubts)
    has_cells = np.zeros(axis_count + 1, np.uint8)
    has_cells[axes] = 1
    filed, flags = filed_of(leaves, pieces, conjunctions, has_cells, loads, test_count)
    marks = Marks(
        bits,
        np.asarray(~bits.any(axis=1), np.uint8),
        axes,
        np.array([line.base for line in lines], np.int64),
        _offsets(np.array([len(line.cuts) for line in lines], np.int64)),
        np.concatenate([np.empty(0, np.int64), *(line.cuts for line in lines)]),
        base,
        _joined_ends(lows),
        _joined_ends(highs),
        all_doubts.firsts,
        all_doubts.conjunctions,
        filed,
    )
    return marks, flags


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _joined_ends(parts: tuple[Ends, ...]) -> Ends:
    """Those of all rows; each part comes with the counts of its own."""
    return Ends(
        _offsets(np.concatenate([np.empty(0, np.int64), *(part.firsts for part in parts)])),
        np.concatenate([np.empty(0, np.int64), *(part.values for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part.conjunctions for part in parts)]),
    )


def _chosen(loads: Ints, conjunctions: int, row_budget: int) -> Shorts:
    """The axes that get bitsets: those asked about often, as many as there is room for."""
    by_load = np.argsort(-loads, kind="stable")
    often = by_load[loads[by_load] * _RARE >= max(conjunctions, 1)]
    return np.sort(often[: row_budget // (2 + _LEAST_CELLS)]).astype(np.int32)


def _shares(loads: Ints, rows: int) -> list[int]:
    """How many cells each axis gets."""
    wanted = rows * loads // max(int(loads.sum()), 1)
    return [int(cells) for cells in np.clip(wanted, _LEAST_CELLS, _MOST_CELLS)]


def _cuts(intervals: Intervals, cells: int) -> Ints:
    """Cuts between at most so many cells that have about as many ends each."""
    step = -(-max(len(intervals.lows), 1) // _SAMPLE)
    lows, highs = intervals.lows[::step], intervals.highs[::step]
    ends = np.sort(np.concatenate([lows[lows != LOWEST], highs[highs != HIGHEST] + 1]))
    distinct = np.unique(ends)
    if len(distinct) < cells:
        return distinct
    return np.unique(ends[np.arange(1, cells) * len(ends) // cells])


@numba.njit(cache=True, nogil=True)
def _mark(line: _Line, bits: Words) -> None:
    """Fill in the rows of an axis, a cache line of each at a time."""
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
                for cell in range(failing, cuts_up_to(line.cuts, 0, cells - 1, line.intervals.lows[at])):
                    row[cell] |= bit
                failing = cuts_up_to(line.cuts, 0, cells - 1, line.intervals.highs[at]) + 1
            for cell in range(failing, cells):
                row[cell] |= bit
            place += 1
        for cell in range(cells):
            for word in range(LINE_WORDS):
                bits[line.base + cell, here * LINE_WORDS + word] = block[word, cell]


def _inside(line: _Line) -> tuple[Ends, Ends, Ends]:
    """The low ends, the high ends and the doubts of an axis' cells; with counts instead of firsts."""
    lengths = np.diff(line.intervals.firsts)
    owners = np.repeat(line.conjunctions, lengths).astype(np.uint32)
    is_only = np.repeat(lengths == 1, lengths)
    lows, highs, cuts = line.intervals.lows, line.intervals.highs, line.cuts
    # An end at a cut is the end of a cell, too, and so is the end of everything.
    inside_low = (lows != LOWEST) & ~_is_in(cuts, lows)
    inside_high = highs != HIGHEST
    inside_high[inside_high] = ~_is_in(cuts, highs[inside_high] + 1)
    some, others = inside_low & is_only, inside_low & ~is_only
    low_ends = _sorted_ends(cuts, lows[some], owners[some])
    doubt_values, doubt_owners = lows[others], owners[others]
    some, others = inside_high & is_only, inside_high & ~is_only
    high_ends = _sorted_ends(cuts, highs[some], owners[some])
    doubts = _sorted_ends(
        cuts,
        np.concatenate([doubt_values, highs[others]]),
        np.concatenate([doubt_owners, owners[others]]),
    )
    return low_ends, high_ends, doubts


def _is_in(cuts: Ints, values: Ints) -> npt.NDArray[np.bool_]:
    if not len(cuts):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(cuts, values), len(cuts) - 1)
    return np.asarray(cuts[places] == values)


def _sorted_ends(cuts: Ints, values: Ints, owners: Numbers) -> Ends:
    order = np.argsort(values, kind="stable")
    values, owners = values[order], owners[order]
    firsts = np.searchsorted(values, cuts)
    counts = np.diff(np.concatenate([[0], firsts, [len(values)]])).astype(np.int64)
    return Ends(counts, values, owners)
