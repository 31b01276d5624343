"""Coarse bitmaps: one bit an entry, to search a large group for few events.

A group with many entries that no run lets an event skip would have to be compared with the event entry by entry.
Its coarse bitmaps say of each entry, with one bit, whether the coarse cell that the event is in overlaps a range
of the entry. An event takes one bitmap for each axis, and the entries in all of them are candidates. A bitmap
never excludes an entry that the event satisfies; what it lets through is verified.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I32
from tamis.engines.bitslice.groups import BATCH_EVENTS, MANY_EVENTS, Hulls
from tamis.engines.bitslice.kernels.coarse_bitmaps import (
    MOST_COARSE_CELLS,
    STEP_WORDS,
    fill_bitmaps,
    passing_shares,
)
from tamis.engines.bitslice.layout import AxisCells, CellRanges, CoarseBitmaps, EntryArrays, Groups
from tamis.engines.bitslice.selectivity import CellSelectivities

LEAST_ENTRIES = 1_024
"""Of a group with coarse bitmaps."""
COARSE_CELLS = 12
"""Of an axis, without that of NULL."""
_LEAST_REFUSED = 1 / 16
"""The share of entries that the bitmaps of an axis must exclude to be worth their room."""
_MOST_LEFT = 0.25
"""The share of entries that all bitmaps together may let through; with more, verification would cost most
anyway."""
_SAMPLE = 512
"""Entries of a group by which its axes are chosen."""
_GROUP_NS, _WORD_NS, _ENTRY_NS = 100.0, 0.8, 60.0
"""The price of visiting a group, of reading a word of a bitmap and of verifying an entry, in ns."""


def coarse_bitmaps_of(
    cells: AxisCells,
    ranges: CellRanges,
    entries: EntryArrays,
    groups: Groups,
    hulls: Hulls,
    first_pair_group: int,
    selectivities: CellSelectivities,
) -> CoarseBitmaps:
    """The coarse bitmaps of the groups for which they pay; `hulls` has the cell range that leads to each group.

    Groups of attribute pairs, from `first_pair_group` on, have none.
    """
    coarse_cells, counts = _coarse_cells(cells, selectivities)
    firsts, lasts = _coarse_ranges(ranges, cells, coarse_cells)
    shares = _shares(ranges, cells, coarse_cells, selectivities.mass)
    entry_firsts = groups.run_entries[groups.runs].astype(np.int64)
    led = selectivities.mass[hulls.highs] - selectivities.mass[hulls.lows]  # share of events that visit a group
    sizes = np.diff(entry_firsts)
    words = -(-sizes // (64 * STEP_WORDS)) * STEP_WORDS
    left, lengths = np.ones(len(led)), np.zeros(len(led), np.int64)
    chosen = [np.empty(0, np.int32)]
    large = (sizes >= LEAST_ENTRIES) & (led * BATCH_EVENTS >= MANY_EVENTS)
    large[first_pair_group:] = False
    for group in np.flatnonzero(large).tolist():
        own, between = int(hulls.axes[group]), (entry_firsts[group], entry_firsts[group + 1])
        some, left[group] = _choose_axes(entries, ranges.axes, shares, between, own, led[group], counts)
        chosen.append(some)
        lengths[group] = len(some)
    axes = np.concatenate(chosen)
    bitmap_firsts = np.concatenate([[0], np.cumsum(np.repeat(words, lengths) * counts[axes])])
    out = CoarseBitmaps(
        coarse_cells=coarse_cells,
        firsts=np.concatenate([[0], np.cumsum(lengths)]),
        axes=axes,
        bitmap_firsts=bitmap_firsts[:-1],
        costs=_GROUP_NS + _WORD_NS * lengths * words + _ENTRY_NS * left * sizes,
        bits=np.empty(int(bitmap_firsts[-1]), np.uint64),
    )
    if len(out.bits):
        fill_bitmaps(entries, ranges.axes, entry_firsts, counts, (firsts, lasts), out)
    return out


def _coarse_cells(cells: AxisCells, selectivities: CellSelectivities) -> tuple[I32, I32]:
    """The coarse cell of every row, from 0 for NULL of its axis, and the number of coarse cells of every axis.

    Cells are joined so that coarse cells are about equally likely, not equally many cells each.
    """
    coarse_cells, counts = np.zeros(len(cells.axis_of), np.int32), np.zeros(len(cells.counts), np.int32)
    for axis, base in enumerate(cells.bases[:-1].tolist()):
        count = int(cells.counts[axis])
        up_to = selectivities.mass[base : base + count + 1]
        middles = ((up_to[1:] + up_to[:-1]) / 2 - up_to[0]) / max(up_to[-1] - up_to[0], 1e-9)
        if count <= COARSE_CELLS:  # nothing has to be joined
            middles = (np.arange(count) + 0.5) / count
        coarse = np.minimum(COARSE_CELLS - 1, (middles * COARSE_CELLS).astype(np.int32))
        numbers = np.unique(coarse, return_inverse=True)[1] + 1  # without gaps
        coarse_cells[base + 1 : base + count + 1] = numbers
        counts[axis] = numbers.max() + 1
    return coarse_cells, counts


def _coarse_ranges(ranges: CellRanges, cells: AxisCells, coarse_cells: I32) -> tuple[I32, I32]:
    """The first and last coarse cell of every cell range; of tests, nothing that means anything."""
    is_axis = ranges.axes < len(cells.counts)
    lows, highs = np.where(is_axis, ranges.lows, 0), np.where(is_axis, ranges.highs, 0)
    # An empty range at the end of the last axis has no row above its low.
    firsts = np.where(lows == 0, 0, coarse_cells[np.minimum(lows + 1, len(coarse_cells) - 1)])
    return firsts.astype(np.int32), coarse_cells[highs].astype(np.int32)


def _shares(ranges: CellRanges, cells: AxisCells, coarse_cells: I32, mass: F64) -> F64:
    """The share of events that is expected in the coarse cells of every cell range; 1 for tests."""
    changes = np.flatnonzero((np.diff(coarse_cells) != 0) | (np.diff(cells.axis_of) != 0)) + 1
    begins = np.concatenate([[0], changes])  # rows in which a coarse cell begins
    place = np.searchsorted(begins, np.arange(len(coarse_cells)), side="right") - 1
    last_rows = np.append(begins[1:], len(coarse_cells))[place] - 1
    is_axis = ranges.axes < len(cells.counts)
    lows, highs = np.where(is_axis, ranges.lows, 0), np.where(is_axis, ranges.highs, 1)
    low_rows = np.where(lows == 0, 0, begins[place[np.minimum(lows + 1, len(coarse_cells) - 1)]] - 1)
    shares = mass[last_rows[highs]] - mass[low_rows]
    return np.where(is_axis & (highs > lows), shares, np.where(is_axis, 0.0, 1.0))


def _choose_axes(
    entries: EntryArrays,
    range_axes: I32,
    shares: F64,
    between: tuple[int, int],
    own: int,
    led: float,
    counts: I32,
) -> tuple[I32, float]:
    """The axes of a group's bitmaps, those that exclude most first, and the share of entries that is left.

    The group has the entries `between`; the axis `own` leads a share of events, `led`, to it.
    """
    sample = np.unique(np.linspace(between[0], between[1] - 1, _SAMPLE).astype(np.int64))
    passing = np.ones((len(sample), len(counts)))
    passing_shares(entries, range_axes, shares, sample, passing)
    # Only events in the hull of that axis' ranges come here, so its ranges let more of them pass.
    if own < len(counts):
        passing[:, own] = np.minimum(1.0, passing[:, own] / led)
    refused = 1.0 - passing.mean(0)
    axes = np.argsort(-refused, kind="stable")
    axes = axes[(refused[axes] >= _LEAST_REFUSED)]
    axes = axes[np.cumsum(counts[axes]) <= MOST_COARSE_CELLS]
    left = float(passing[:, axes].prod(1).mean())
    if not len(axes) or left > _MOST_LEFT:
        return np.empty(0, np.int32), 1.0
    return axes.astype(np.int32), left
