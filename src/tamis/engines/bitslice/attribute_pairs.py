"""Attribute pairs: groups for entries that need two attributes which events seldom have both.

Where there are hundreds of attributes and an event has few of them, most conjunctions fail because an attribute is
missing. An event finds its pairs by one AND of bits for each of its attributes. Then it asks of each entry whether
it is in its cells of both attributes, sixteen entries at a time, then whether it is in those of two further
attributes. All of that stands side by side in memory: what fails there, which is nearly everything, never touches
an entry.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I64, Bools
from tamis.engines.bitslice.kernels.attribute_pairs import BLOCK_BYTES, HEAD, LANES, fill_lanes
from tamis.engines.bitslice.kernels.placement import ATTRIBUTE_PAIR, Placements
from tamis.engines.bitslice.layout import AttributePairs, AxisCells, CellRanges, EntryArrays


def attribute_pairs_of(
    placements: Placements, order: I64, begins: Bools, entries: EntryArrays, ranges: CellRanges, cells: AxisCells
) -> AttributePairs:
    """The attribute pairs of an index.

    Entry i is that of `placements[order[i]]`; groups begin where `begins` is true, and those of pairs come last.
    """
    firsts = np.flatnonzero(begins)
    is_pair = placements.kinds[order[firsts]] == ATTRIBUTE_PAIR
    count = int(np.count_nonzero(is_pair))
    first_group = np.array([len(firsts) - count], np.int32)
    if not count:
        i32, u8, u32 = np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint32)
        return AttributePairs(first_group, np.empty(0, np.uint64), i32, i32, u8, u32)
    firsts = firsts[is_pair]
    first_axes, second_axes = ranges.axes[placements.ranges[order[firsts]]], placements.lows[order[firsts]]
    blocks = -(-np.diff(np.append(firsts, len(order))) // LANES)
    heads = np.zeros((count + 1, HEAD), np.int32)
    heads[1:, 0] = np.cumsum(blocks)
    heads[:, 1] = np.append(firsts, len(order))
    heads[:-1, 2], heads[:-1, 3] = first_axes, second_axes
    axes = len(cells.counts)
    words = (axes + 63) >> 6
    partners = np.zeros((axes, words), np.uint64)
    bits = np.uint64(1) << (second_axes & 63).astype(np.uint64)
    np.bitwise_or.at(partners, (first_axes, second_axes >> 6), bits)
    # Pairs are sorted by first and second axis, so a pair's number is how many pairs stand before its bit.
    ranks = np.searchsorted(first_axes.astype(np.int64) * words + (second_axes >> 6), np.arange(axes * words))
    lanes = np.empty(int(heads[-1, 0]) * BLOCK_BYTES, np.uint8)
    further = np.empty(2 * (len(order) - int(firsts[0])), np.uint32)
    fill_lanes(heads.reshape(-1), entries, ranges, cells, lanes, further)
    return AttributePairs(
        first_group, partners.reshape(-1), ranks.astype(np.int32), heads.reshape(-1), lanes, further
    )
