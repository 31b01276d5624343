"""Kernels on plain arrays that several engines share: counting sort, growth, binary search."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64, AnyArray
from tamis.kernels import kernel


@kernel
def group_by_number(numbers: I32, count: int) -> tuple[I64, I32]:
    """Counting sort: the positions of number n are `order[firsts[n]:firsts[n + 1]]`, ascending.

    Negative numbers belong to no group.
    """
    firsts = np.zeros(count + 1, np.int64)
    for number in numbers:
        if number >= 0:
            firsts[number + 1] += 1
    for number in range(count):
        firsts[number + 1] += firsts[number]
    ends = firsts.copy()
    order = np.empty(firsts[-1], np.int32)
    for place in range(len(numbers)):
        number = numbers[place]
        if number >= 0:
            order[ends[number]] = place
            ends[number] += 1
    return firsts, order


@kernel
def grow(array: AnyArray, length: int) -> AnyArray:
    """A longer array that begins with this one; the rest is uninitialised."""
    longer = np.empty(length, array.dtype)
    for place in range(len(array)):
        longer[place] = array[place]
    return longer


@kernel
def count_up_to(cuts: I64, first: int, last: int, value: int) -> int:
    """How many of the sorted `cuts[first:last]` are at or below the value."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if cuts[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - first
