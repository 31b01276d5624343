"""The search with masks, for groups that many events of a batch visit.

The events of the group are packed together, at most 512 at a time, and get one bit each. A table is made with the
mask of every cell range that the group's entries refer to. Then an entry costs an AND of a few masks, however many
events there are; the entries whose mask is not empty survive, and are verified exactly.

    rows of one axis, events a b c d (bit 0 = a)     after `finish`: events of that row and all rows before
      NULL     d         1000                          1000
      cell 1   a         0001                          1001
      cell 2   b c       0110                          1111
      cell 3             0000                          1111
    mask of the range of cells 2-3, (cell 1, cell 3]:  1111 & ~1001 = 0110

So the mask of a range, however many cells it has, takes two loads and an AND.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U64
from tamis.engines.bitslice.kernels.simd import (
    LANES,
    NARROW_LANES,
    count_bits,
    finish_1,
    finish_4,
    finish_8,
    is_between,
    is_between_narrow,
    lowest_bit,
    no_inline,
    prefetch,
    survivors_1,
    survivors_4,
    survivors_8,
)
from tamis.engines.bitslice.kernels.verify import (
    BoundCode,
    PairBuffer,
    fill_lanes,
    fill_narrow_lanes,
    is_within_bounds,
    prefetch_bounds,
    room_for,
)
from tamis.engines.bitslice.kernels.visits import PackedGroups
from tamis.engines.bitslice.layout import CellBatch, CellRanges, EntryArrays, Groups, RangeNumbers
from tamis.kernels import kernel

STRIP = 512
"""Events that are searched at a time: eight words, the widest vector that processors have."""
SURVIVORS = 2_048
"""Entries that are verified together."""
_UNCONDITIONAL_BITS = 3
"""Bits of a word that are extracted without asking whether there are so many."""
MOST_LANES = 64
"""Columns up to which an event is compared with the bounds of all at once, in vectors."""
_AHEAD = 32
"""How many entries before its turn an entry is prefetched."""
_LANES, _NARROW_LANES = np.uint64(LANES), np.uint64(NARROW_LANES)
_ONE = np.uint64(1)
_NONE = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class MaskTables(NamedTuple):
    """What a search with masks writes to. A mask has W = 1, 4 or 8 words.

    rows: uint64[rows * W]: masks of rows, as drawn above.
    ranges: uint64[ranges * W]: masks of cell ranges.
    full: uint64[W]: the events of the strip.
    set_bits: int32[512 + 64]: the numbers of the bits of a mask that are set, and room for some more.
    survivors: int32[SURVIVORS]: entries.
    masks: uint64[SURVIVORS * W]: theirs.
    lows, highs: int64[MOST_LANES]: the bounds of an entry, by column of the batch.
    narrow_lows, narrow_highs: int32[MOST_LANES]: the same where bounds are narrow.
    """

    rows: U64
    ranges: U64
    full: U64
    set_bits: I32
    survivors: I32
    masks: U64
    lows: I64
    highs: I64
    narrow_lows: I32
    narrow_highs: I32


@kernel
def axes_and_tests(ranges: RangeNumbers, axes: I32, columns: I32) -> tuple[I32, I32, I32, I32]:
    """What some cell ranges, sorted by axis, refer to.

    Returns all axes; the columns of those that the batch has; the axes that are NULL in all events; and tests.
    """
    asked, present = np.empty(len(ranges), np.int32), np.empty(len(ranges), np.int32)
    absent, tests = np.empty(len(ranges), np.int32), np.empty(len(ranges), np.int32)
    counts = np.zeros(4, np.int64)
    before = -1
    for cell_range in ranges:
        axis = axes[cell_range]
        if axis == before:
            continue
        before = axis
        if axis >= len(columns):
            tests[counts[3]] = axis - len(columns)
            counts[3] += 1
            continue
        asked[counts[0]] = axis
        counts[0] += 1
        if columns[axis] >= 0:
            present[counts[1]] = columns[axis]
            counts[1] += 1
        else:
            absent[counts[2]] = axis
            counts[2] += 1
    return asked[: counts[0]], present[: counts[1]], absent[: counts[2]], tests[: counts[3]]


@kernel
def fill_masks(
    asked: tuple[I32, I32, I32, I32],
    named: RangeNumbers,
    ranges: CellRanges,
    batch: CellBatch,
    events: I32,
    tables: MaskTables,
) -> int:
    """Make the masks of the cell ranges that are named, over some events; returns the words of a mask: 1, 4 or 8.

    `asked` is what `axes_and_tests` gives for them.
    """
    no_inline()
    axes, columns, absent, tests = asked
    words, shift = np.uint64(1), np.uint64(0)
    if len(events) > 64:
        words, shift = (np.uint64(4), np.uint64(2)) if len(events) <= 256 else (np.uint64(8), np.uint64(3))
    rows = tables.rows
    for axis in axes:
        for place in range(np.uint64(batch.bases[axis]) * words, np.uint64(batch.bases[axis + 1]) * words):
            rows[place] = _NONE
    for word in range(words):
        left = min(max(len(events) - 64 * np.int64(word), 0), 64)
        tables.full[word] = _ALL if left == 64 else (_ONE << np.uint64(left)) - _ONE
        rows[word] = _NONE
        rows[words + word] = tables.full[word]
        for axis in absent:  # NULL in all events
            rows[np.uint64(batch.bases[axis]) * words + word] = tables.full[word]
    # Set the bit of each event in the row that it is in.
    for place in range(np.uint64(len(events))):
        event = np.uint64(events[place])
        word, bit = place >> np.uint64(6), _ONE << (place & np.uint64(63))
        if len(columns) == batch.rows.shape[1]:  # all of them: no look-up of which
            for column in range(np.uint64(len(columns))):
                rows[(np.uint64(batch.rows[event, column]) << shift) + word] |= bit
        else:
            for number in range(np.uint64(len(columns))):
                rows[(np.uint64(batch.rows[event, np.uint64(columns[number])]) << shift) + word] |= bit
    first_test = batch.bases[len(batch.bases) - 1]
    for test in tests:
        start = np.uint64(first_test + test) * words
        for word in range(words):
            rows[start + word] = _NONE
        line = batch.test_lines[test]
        if line >= 0:
            for place in range(np.uint64(len(events))):
                event = np.uint64(events[place])
                held = batch.test_bits[line, event >> np.uint64(6)] >> (event & np.uint64(63)) & _ONE
                rows[start + (place >> np.uint64(6))] |= held << (place & np.uint64(63))
    # The number of words is a constant of each of these functions, so that a mask is one register.
    if words == 1:
        finish_1(axes, batch.bases, named, ranges.lows, ranges.highs, rows, tables.ranges)
    elif words == 4:
        finish_4(axes, batch.bases, named, ranges.lows, ranges.highs, rows, tables.ranges)
    else:
        finish_8(axes, batch.bases, named, ranges.lows, ranges.highs, rows, tables.ranges)
    return np.int64(words)


@kernel(forceinline=True, borrows=True)
def set_bits_of(masks: U64, first: int, words: int, out: I32) -> int:
    """Write the numbers of the bits of a mask that are set; returns how many there are.

    The first three bits of a word are extracted whether they are there or not, and what is too much is written
    over: a branch for each bit would mostly be predicted wrongly.
    """
    count = 0
    for word in range(words):
        mask = masks[first + word]
        more = count + count_bits(mask)
        for _ in range(_UNCONDITIONAL_BITS):
            out[count] = (word << 6) + lowest_bit(mask)
            count += 1
            mask &= mask - _ONE  # clears the lowest bit
        while count < more:
            out[count] = (word << 6) + lowest_bit(mask)
            count += 1
            mask &= mask - _ONE
        count = more
    return count


@kernel(borrows=True)
def _verify_survivors(
    entries: EntryArrays,
    ranges: CellRanges,
    code: BoundCode,
    batch: CellBatch,
    values: I64,
    narrow: I32,
    left: int,
    words: int,
    events: I32,
    tables: MaskTables,
    pairs: PairBuffer,
    count: int,
) -> int:
    """Compare the events of the first `left` survivors with exact bounds; returns the number of pairs then.

    `values` and `narrow` are those of the batch, in one dimension, and `pairs` has room for all events of these
    survivors, and one more: a pair is written before it is known to count.
    """
    no_inline()
    has_program = len(entries.residuals) + len(entries.guards) > 0
    stride = np.uint64(batch.values.shape[1])
    narrow_stride = np.uint64(batch.narrow.shape[1])
    has_lanes = stride <= MOST_LANES
    is_narrow = has_lanes and code.is_narrow
    set_bits, lows, highs = tables.set_bits, tables.lows[:stride], tables.highs[:stride]
    narrow_lows, narrow_highs = tables.narrow_lows[:narrow_stride], tables.narrow_highs[:narrow_stride]
    # Survivors are spread over a large index, so each load would wait for memory.
    for number in range(min(left, _AHEAD)):
        prefetch_bounds(entries, np.uint64(tables.survivors[number]))
    for number in range(left):
        if number + _AHEAD < left:
            prefetch_bounds(entries, np.uint64(tables.survivors[number + _AHEAD]))
            prefetch(entries.slots, np.uint64(tables.survivors[number + _AHEAD]))
        entry = np.uint64(tables.survivors[number])
        name = np.int32(entry) if has_program else entries.slots[entry]
        found = set_bits_of(tables.masks, number * words, words, set_bits)
        if len(entries.bounds) == 0:
            for place in range(found):
                pairs.events[count] = events[set_bits[place]]
                pairs.numbers[count] = name
                count += 1
        elif is_narrow and fill_narrow_lanes(
            entries, ranges.axes, code, batch.columns, entry, narrow_lows, narrow_highs
        ):
            for place in range(found):
                event = events[set_bits[place]]
                start = narrow_stride * np.uint64(event)
                inside = True
                lane = _NONE
                while lane < narrow_stride:
                    inside &= is_between_narrow(narrow, start + lane, narrow_lows, narrow_highs, lane)
                    lane += _NARROW_LANES
                pairs.events[count] = event
                pairs.numbers[count] = name
                count += inside
        elif has_lanes and fill_lanes(entries, ranges.axes, code, batch.columns, entry, lows, highs):
            for place in range(found):
                event = events[set_bits[place]]
                start = stride * np.uint64(event)
                inside = True
                lane = _NONE
                while lane < stride:
                    inside &= is_between(values, start + lane, lows, highs, lane)
                    lane += _LANES
                pairs.events[count] = event
                pairs.numbers[count] = name
                count += inside
        else:
            for place in range(found):
                event = events[set_bits[place]]
                pairs.events[count] = event
                pairs.numbers[count] = name
                count += is_within_bounds(entries, ranges, code, entry, batch, np.uint64(event))
    return count


@kernel
def search_with_masks(
    entries: EntryArrays,
    groups: Groups,
    ranges: CellRanges,
    code: BoundCode,
    batch: CellBatch,
    packed: PackedGroups,
    tables: MaskTables,
    pairs: PairBuffer,
    count: int,
) -> tuple[PairBuffer, int]:
    """Search the packed groups; returns the pairs and their new number."""
    no_inline()
    run_ranges = (groups.run_lows, groups.run_highs)
    values, narrow = batch.values.reshape(-1), batch.narrow.reshape(-1)
    for number in range(len(packed.groups)):
        group = packed.groups[number]
        events = packed.events[packed.firsts[number] : packed.firsts[number + 1]]
        named = groups.ranges[groups.range_firsts[group] : groups.range_firsts[group + 1]]
        asked = axes_and_tests(named, ranges.axes, batch.columns)
        for first_event in range(0, len(events), STRIP):
            strip = events[first_event : first_event + STRIP]
            words = fill_masks(asked, named, ranges, batch, strip, tables)
            # Rows (0, 1] if a run has no range of its own: all events. Else `rows` has its axis, because at least
            # one entry of the run has a range there.
            run, last_run = np.int64(groups.runs[group]), np.int64(groups.runs[group + 1])
            entry = np.int64(groups.run_entries[run])
            while run < last_run:
                at = (run, entry, last_run)
                ask = (
                    entries.firsts,
                    entries.ranges,
                    groups.run_entries,
                    run_ranges,
                    at,
                    tables.rows,
                    tables.ranges,
                )
                if words == 1:
                    left, run, entry = survivors_1(*ask, tables.survivors, tables.masks)
                elif words == 4:
                    left, run, entry = survivors_4(*ask, tables.survivors, tables.masks)
                else:
                    left, run, entry = survivors_8(*ask, tables.survivors, tables.masks)
                if left:
                    most = 0
                    for place in range(left * words):
                        most += count_bits(tables.masks[place])
                    pairs = room_for(pairs, count, most + 1)
                    count = _verify_survivors(
                        entries, ranges, code, batch, values, narrow, left, words, strip, tables, pairs, count
                    )
    return pairs, count
