"""Attribute pairs: 16 entries tested against both attributes of an event in one step.

The lanes of a block of 16 entries are 64 bytes, one cache line:

    bytes  0-15   lows on the first axis      event's cell on the first axis must be  > low
    bytes 16-31   highs on the first axis                                            <= high
    bytes 32-47   lows on the second axis     the same for the second axis
    bytes 48-63   highs on the second axis

Cells fit in a byte, because an axis has at most 255 (`tamis.engines.bitslice.cells.MOST_CELLS`), and cell 0 is
NULL.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, U8, U32
from tamis.engines.bitslice.kernels.simd import bytes_below, bytes_not_below, lowest_bit, prefetch
from tamis.engines.bitslice.layout import AttributePairs, AxisCells, CellRanges, EntryArrays
from tamis.kernels import kernel

LANES = 16
"""Entries of a block."""
HEAD = 4
"""Numbers of a head: first block, first entry, first axis, second axis."""
BLOCK_BYTES = 4 * LANES
_HIGHS, _SECOND_LOWS, _SECOND_HIGHS = np.uint64(LANES), np.uint64(2 * LANES), np.uint64(3 * LANES)
_ONE, _TWO = np.uint64(1), np.uint64(2)


@kernel
def fill_lanes(
    heads: I32, entries: EntryArrays, ranges: CellRanges, cells: AxisCells, lanes: U8, further: U32
) -> None:
    """Write the cells of all entries of attribute pairs."""
    lanes[:] = 0  # no cell is above 0 and at most 0, so lanes without an entry never hit
    axes = len(cells.counts)
    for pair in range(len(heads) // HEAD - 1):
        block, first, first_axis, second_axis = heads[HEAD * pair : HEAD * pair + HEAD]
        for entry in range(first, heads[HEAD * pair + HEAD + 1]):
            low, high, second_low, second_high = 0, 255, 0, 255
            at = np.int64(2) * (entry - heads[1])
            # Without a further range: axis number `axes`, where every event has cell 1, and (0, 1].
            further[at] = further[at + 1] = axes | 1 << 24
            found = 0
            for place in range(entries.firsts[entry], entries.firsts[entry + 1]):
                cell_range = entries.ranges[place]
                axis = ranges.axes[cell_range]
                if axis >= axes:  # a test
                    continue
                base = cells.bases[axis]
                own_low, own_high = max(ranges.lows[cell_range] - base, 0), ranges.highs[cell_range] - base
                if axis == first_axis:
                    low, high = max(low, own_low), min(high, own_high)
                elif axis == second_axis:
                    second_low, second_high = max(second_low, own_low), min(second_high, own_high)
                elif found < 2 and ranges.lows[cell_range] > 0:  # cells above low cannot say "or NULL"
                    further[at + found] = axis | own_low << 16 | own_high << 24
                    found += 1
            number = entry - first
            lane = np.int64(block) * BLOCK_BYTES + number // LANES * BLOCK_BYTES + number % LANES
            lanes[lane], lanes[lane + LANES] = low, high
            lanes[lane + 2 * LANES], lanes[lane + 3 * LANES] = second_low, second_high


@kernel
def prefetch_blocks(attribute_pairs: AttributePairs, groups: I32, first: int, last: int) -> None:
    """Have the first blocks of the pairs that are visited in the cache soon."""
    for visit in range(first, last):
        head = np.uint64(HEAD * (groups[visit] - attribute_pairs.first_group[0]))
        prefetch(attribute_pairs.lanes, np.uint64(BLOCK_BYTES) * np.uint64(attribute_pairs.heads[head]))
        entry = attribute_pairs.heads[head + _ONE] - attribute_pairs.heads[1]
        prefetch(attribute_pairs.further, _TWO * np.uint64(entry))


@kernel(forceinline=True)
def _is_inside(wanted: np.uint32, cells: U8) -> bool:
    """Is an event with these cells in the range that an element of `further` has?"""
    cell = cells[np.uint64(wanted & np.uint32(0xFFFF))]
    return (cell > ((wanted >> np.uint32(16)) & np.uint32(0xFF))) & (cell <= (wanted >> np.uint32(24)))


@kernel
def pair_candidates(
    attribute_pairs: AttributePairs,
    groups: I32,
    start: tuple[int, int],
    last: int,
    skipped: I32,
    cells: U8,
    candidates: I32,
) -> tuple[int, tuple[int, int]]:
    """Write the entries of visited pairs whose four ranges of cells an event is in.

    `start` is a visit and a block of its pair. Returns the number of candidates, and the `start` to go on from
    when there is room again. `skipped` is as in `search_by_event`; `cells` has the event's cell of every axis, and
    1.
    """
    heads, lanes, further = attribute_pairs.heads, attribute_pairs.lanes, attribute_pairs.further
    first_group = attribute_pairs.first_group[0]
    base = np.uint64(heads[1])
    left = 0
    visit, done = start
    while visit < last:
        group = groups[visit]
        if len(skipped) and skipped[group]:
            visit += 1
            continue
        head = np.uint64(HEAD * (group - first_group))
        block, end = np.uint64(heads[head] + done), np.uint64(heads[head + np.uint64(HEAD)])
        entry = np.uint64(heads[head + np.uint64(1)] + LANES * done)
        first = cells[np.uint64(heads[head + np.uint64(2)])]
        second = cells[np.uint64(heads[head + np.uint64(3)])]
        while block < end:
            if left + LANES > len(candidates):
                return left, (visit, np.int64(block) - heads[head])
            at = block * np.uint64(BLOCK_BYTES)
            hits = np.uint64(
                bytes_below(lanes, at, first)
                & bytes_not_below(lanes, at + _HIGHS, first)
                & bytes_below(lanes, at + _SECOND_LOWS, second)
                & bytes_not_below(lanes, at + _SECOND_HIGHS, second)
            )
            while hits:
                own = entry + np.uint64(lowest_bit(hits))
                hits &= hits - _ONE
                own_further = _TWO * (own - base)
                # Written whether it counts or not: a branch on the two further ranges would be mispredicted.
                candidates[left] = own
                left += _is_inside(further[own_further], cells) & _is_inside(further[own_further + _ONE], cells)
            block += _ONE
            entry += np.uint64(LANES)
        visit += 1
        done = 0
    return left, (visit, 0)
