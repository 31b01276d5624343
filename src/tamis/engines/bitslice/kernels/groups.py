"""Groups and runs: sorting entries, and halving sets of them."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64, Bools
from tamis.engines.bitslice.layout import EntryArrays
from tamis.kernels import kernel


@kernel
def counting_sort(order: I64, keys: I32, count: int) -> I64:
    """The elements of `order`, stably sorted by `keys[element]`, which are in [0, count)."""
    firsts = np.zeros(count + 1, np.int64)
    for element in order:
        firsts[keys[element] + 1] += 1
    for key in range(count):
        firsts[key + 1] += firsts[key]
    out = np.empty_like(order)
    for element in order:
        key = keys[element]
        out[firsts[key]] = element
        firsts[key] += 1
    return out


@kernel
def halve(order: I64, firsts: I64, limits: I64, bases: I64, lows: I32, highs: I32, begins: Bools) -> None:
    """Halve each segment of `order` again and again, stably, and mark where the resulting sets begin.

    The cell ranges of a segment, `lows` and `highs` of its elements, are of one axis, whose base is given. A set
    is not halved if it has at most `limits` elements, or all its ranges are equal.
    """
    spare = np.empty_like(order)
    histogram = np.zeros(512, np.int64)  # a bound is one of at most 256 cells, NULL included
    stack = np.empty((1_024, 2), np.int64)  # every halving takes a cell from a bound: at most 2 * 256 deep
    for segment in range(len(limits)):
        base = bases[segment]
        stack[0, 0], stack[0, 1] = firsts[segment], firsts[segment + 1]
        height = 1
        while height:
            height -= 1
            first, last = stack[height]
            begins[first] = True
            if last - first <= limits[segment]:
                continue
            # Bounds as cells: the first one and the last one of a range; 0 if it begins, or ends, at NULL.
            least_low, most_low, least_high, most_high = 1 << 40, 0, 1 << 40, 0
            for place in range(first, last):
                low, high = max(lows[order[place]] - base + 1, 0), max(highs[order[place]] - base, 0)
                least_low, most_low = min(least_low, low), max(most_low, low)
                least_high, most_high = min(least_high, high), max(most_high, high)
            by_low = most_low - least_low >= most_high - least_high
            least, most = (least_low, most_low) if by_low else (least_high, most_high)
            if least == most:
                continue
            # Split by the bound that varies most, where the halves differ least in size. `border` is the last cell
            # of the left half; the right half is never empty.
            ends, shift = (lows, 1) if by_low else (highs, 0)
            histogram[: most - least + 1] = 0
            for place in range(first, last):
                histogram[max(ends[order[place]] - base + shift, 0) - least] += 1
            left, border = histogram[0], 0
            while border + 1 < most - least and abs(2 * (left + histogram[border + 1]) - (last - first)) < abs(
                2 * left - (last - first)
            ):
                border += 1
                left += histogram[border]
            at, behind = first, first + left
            for place in range(first, last):
                element = order[place]
                if max(ends[element] - base + shift, 0) - least <= border:
                    spare[at] = element
                    at += 1
                else:
                    spare[behind] = element
                    behind += 1
            order[first:last] = spare[first:last]
            stack[height, 0], stack[height, 1] = first + left, last
            stack[height + 1, 0], stack[height + 1, 1] = first, first + left
            height += 2


@kernel
def group_ranges(entries: EntryArrays, entry_firsts: I64, count: int, groups: I32, ranges: I32) -> int:
    """Write pairs of a group and a cell range that its entries refer to, each once; returns their number.

    `entry_firsts` has the first entry of each group, `count` is the number of ranges.
    """
    seen = np.full(count, -1, np.int32)  # the last group that refers to the range
    written = 0
    for group in range(len(entry_firsts) - 1):
        for place in range(entries.firsts[entry_firsts[group]], entries.firsts[entry_firsts[group + 1]]):
            cell_range = entries.ranges[place]
            if seen[cell_range] != group:
                seen[cell_range] = group
                groups[written], ranges[written] = group, cell_range
                written += 1
    return written
