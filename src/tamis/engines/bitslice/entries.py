"""Entries: what each placement of a subscription asks of an event, as cell ranges and exact bounds.

What led an event to the entry is left out where it is exact. The rest of the conjunction follows, most selective
first, because a search stops at the first range that an event is not in.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.bitslice.kernels.entries import (
    EntryDraft,
    EntrySizes,
    EntrySource,
    PrefetchPlan,
    WrittenEntries,
    fill_entries,
    fill_sizes,
)
from tamis.engines.bitslice.kernels.verify import (
    ADMITS_NULL,
    HIGHEST_NARROW,
    LOWEST_NARROW,
    MOST_OFFSET,
    BoundCode,
)
from tamis.engines.bitslice.layout import AxisCells, CellRanges, EntryArrays
from tamis.engines.forest import Forest


def measure_entries(source: EntrySource, forest: Forest) -> tuple[EntrySizes, int]:
    """The sizes of all entries, in the order of placements, and the number of residual parts of all of them."""
    sizes = EntrySizes(*(np.empty(len(source.placements.slots), np.int32) for _ in range(3)))
    parts = fill_sizes(source, _new_draft(forest), sizes)
    return sizes, parts


def write_entries(
    source: EntrySource, forest: Forest, sizes: EntrySizes, residual_parts: int, order: I64, run_axes: I32
) -> WrittenEntries:
    """The entries of placements in this order, and their residual parts; residuals and guards are still empty.

    `run_axes` has the axis of each entry's run.
    """
    count = len(order)
    total, words = int(sizes.ranges.sum(dtype=np.int64)), int(sizes.words.sum(dtype=np.int64))
    none = np.empty(0, np.int32)
    entries = EntryArrays(
        slots=np.empty(count, np.int32),
        firsts=_empty_offsets(count + 1, total),
        ranges=np.empty(total, np.uint16) if len(source.ranges.lows) <= 1 << 16 else np.empty(total, np.uint32),
        bound_firsts=_bound_offsets(count, total, words, source.widths),
        bounds=np.empty(words, np.int32),
        residuals=none,
        guards=none,
    )
    out = WrittenEntries(entries, order, np.empty(count + 1, np.int64), np.empty(residual_parts, np.int32))
    fill_entries(source, _prefetch_plan(source, order), run_axes, _new_draft(forest), out)
    return out


def bound_code(cells: AxisCells, ranges: CellRanges, tests: int) -> BoundCode:
    """How the exact bounds of entries are to be read."""
    widths = np.concatenate([cells.widths[:-1], np.zeros(tests + 1, np.uint8)])
    range_widths = widths[ranges.axes]
    # Ranges of tests have neither: their rows are not those of an axis.
    has_bounds = range_widths > 0
    first_rows, last_rows = (np.where(has_bounds, rows, 0) for rows in (ranges.lows + 1, ranges.highs))
    range_floors = np.stack([cells.floors[first_rows], cells.floors[last_rows]], axis=1).reshape(-1)
    range_widths[has_bounds & (ranges.lows == 0)] = ADMITS_NULL
    # Bounds of one word are offsets of 16 bits from a floor; those of two have 32 bits.
    room = MOST_OFFSET
    is_narrow = not (cells.widths == 4).any() and bool(
        (range_floors > LOWEST_NARROW + room).all() and (range_floors < HIGHEST_NARROW - room).all()
    )
    return BoundCode(widths.astype(np.int32), range_widths, range_floors, is_narrow)


def _new_draft(forest: Forest) -> EntryDraft:
    widest = int(np.max(np.diff(forest.nodes.firsts), initial=1)) + 2
    return EntryDraft(
        ranges=np.empty(widest, np.int32),
        lows=np.empty(widest, np.int64),
        highs=np.empty(widest, np.int64),
        costs=np.empty(widest),
        residual_parts=np.empty(widest, np.int32),
    )


def _prefetch_plan(source: EntrySource, order: I64) -> PrefetchPlan:
    roots = source.roots[source.placements.slots[order]]
    children = np.append(source.nodes.children, np.int32(~0))
    leaves = np.where(roots < 0, roots, children[source.nodes.firsts[np.maximum(roots, 0)]])
    return PrefetchPlan(roots, np.where(leaves < 0, ~leaves, 0))


def _bound_offsets(entries: int, ranges: int, words: int, widths: U8) -> I32 | I64:
    """Room for the first word of each entry's bounds; or, if all ranges have equally many, their number."""
    each = words // max(1, ranges)
    is_same = len(widths) == 1 or (widths[:-1] == each).all()
    if words == each * ranges and (is_same or words == 0):
        return np.full(1, each, np.int32)
    return _empty_offsets(entries, words)


def _empty_offsets(size: int, most: int) -> I32 | I64:
    """Room for offsets up to `most`, in 32 bits where these are enough."""
    return np.empty(size, np.int32) if most < 1 << 31 else np.empty(size, np.int64)
