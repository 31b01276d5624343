"""Coarse bitmaps: filling them, and what the choice of axes needs to know.

    group of 5 entries, one axis with NULL and three coarse cells:      bit of entry:  4 3 2 1 0
      entries 0, 3 need coarse cells 1-2                      bitmap of NULL           0 0 1 0 0
      entry 1 needs coarse cell 3                             bitmap of cell 1         1 1 1 0 1
      entry 2 does not ask for this axis                      bitmap of cell 2         1 1 1 0 1
      entry 4 needs coarse cells 1-3                          bitmap of cell 3         1 0 1 1 0

A bitmap is padded with zeros to a multiple of STEP_WORDS words.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I32, I64, U64
from tamis.engines.bitslice.kernels.simd import has_events, load, lowest_bit, mask_and, no_inline, store
from tamis.engines.bitslice.layout import CoarseBitmaps, EntryArrays
from tamis.kernels import kernel

STEP_WORDS = 8
"""Words of bitmaps that are ANDed at a time."""
MOST_COARSE_CELLS = 256
"""Of all axes of a group together: so many bits an entry takes at most."""
_NONE, _ONE, _STEP = np.uint64(0), np.uint64(1), np.uint64(STEP_WORDS)


@kernel(forceinline=True)
def bitmap_words(entries: int) -> int:
    """Words of a bitmap with a bit for so many entries."""
    return (entries + 64 * STEP_WORDS - 1) // (64 * STEP_WORDS) * STEP_WORDS


@kernel
def passing_shares(entries: EntryArrays, range_axes: I32, shares: F64, sample: I64, passing: F64) -> None:
    """Multiply `passing[i, axis]` by the share of events in each range that entry `sample[i]` has on that axis."""
    for number in range(len(sample)):
        for place in range(entries.firsts[sample[number]], entries.firsts[sample[number] + 1]):
            cell_range = entries.ranges[place]
            if range_axes[cell_range] < passing.shape[1]:  # no test
                passing[number, range_axes[cell_range]] *= shares[cell_range]


@kernel
def fill_bitmaps(
    entries: EntryArrays,
    range_axes: I32,
    entry_firsts: I64,
    counts: I32,
    coarse: tuple[I32, I32],
    out: CoarseBitmaps,
) -> None:
    """Write the bitmaps of all groups that have axes in `out`.

    `entry_firsts` has the first entry of each group, `counts` the number of coarse cells of each axis, with that
    of NULL, and `coarse` the first and last coarse cell of each cell range.
    """
    firsts, lasts = coarse
    axes = len(counts)
    offsets = np.full(axes, -1, np.int64)  # of the axis' coarse cell 0 in `lines`; -1 if it has no bitmaps here
    for group in range(len(entry_firsts) - 1):
        first_axis, last_axis = out.firsts[group], out.firsts[group + 1]
        if first_axis == last_axis:
            continue
        total = 0
        for place in range(first_axis, last_axis):
            offsets[out.axes[place]] = total
            total += counts[out.axes[place]]
        # One word of all bitmaps at a time: 64 entries are read once, and `lines` stays in the first cache.
        lines = np.empty(total, np.uint64)
        start = out.bitmap_firsts[first_axis]
        first, last = entry_firsts[group], entry_firsts[group + 1]
        words = bitmap_words(last - first)
        for word in range(words):
            left = min(max(last - first - 64 * word, 0), 64)
            # Begin with 1 for all entries that there are, and clear what a range excludes.
            lines[:] = ~np.uint64(0) if left == 64 else (np.uint64(1) << np.uint64(left)) - np.uint64(1)
            for bit in range(left):
                others = ~(np.uint64(1) << np.uint64(bit))
                entry = first + 64 * word + bit
                for place in range(entries.firsts[entry], entries.firsts[entry + 1]):
                    cell_range = entries.ranges[place]
                    axis = range_axes[cell_range]
                    if axis < axes and offsets[axis] >= 0:
                        own = offsets[axis]
                        for line in range(own, own + firsts[cell_range]):
                            lines[line] &= others
                        # An empty range has its last cell below its first one.
                        after = max(lasts[cell_range] + 1, firsts[cell_range])
                        for line in range(own + after, own + counts[axis]):
                            lines[line] &= others
            for line in range(total):
                out.bits[start + line * words + word] = lines[line]
        for place in range(first_axis, last_axis):
            offsets[out.axes[place]] = -1


@kernel
def bitmap_candidates(
    bits: U64, starts: U64, first_entry: int, words: tuple[int, int], mask: U64, candidates: I32, left: int
) -> tuple[int, int]:
    """AND some bitmaps, at least one, and append the entries whose bits are left to the first `left` candidates.

    Bitmap i begins at `bits[starts[i]]`; bit 0 is that of `first_entry`. `words` are the word to begin with and
    the number of words. Returns how many candidates there are then, and the word to go on from when there is room
    again: the number of words if nothing is left. `mask` is room for STEP_WORDS words.
    """
    no_inline()
    word, stop, count = np.uint64(words[0]), np.uint64(words[1]), np.uint64(len(starts))
    while word < stop and left + 64 * STEP_WORDS <= len(candidates):
        both = load(STEP_WORDS, bits, starts[_NONE] + word)
        bitmap = _ONE
        while bitmap < count:
            both = mask_and(both, load(STEP_WORDS, bits, starts[bitmap] + word))
            bitmap += _ONE
        if has_events(both):  # here, entries
            store(both, mask, _NONE)
            for offset in range(_STEP):
                rest = mask[offset]
                while rest:
                    candidates[left] = first_entry + 64 * np.int64(word + offset) + lowest_bit(rest)
                    left += 1
                    rest &= rest - _ONE  # clears the lowest bit
        word += _STEP
    return left, np.int64(word)
