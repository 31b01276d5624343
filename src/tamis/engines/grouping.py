"""Small tools of kernels: things grouped by a number, cuts counted, arrays that grow."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt


@numba.njit(cache=True, nogil=True)
def grouped(numbers: npt.NDArray[np.int32], count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The places of each number: those of n are `order[firsts[n]:firsts[n + 1]]`, rising.

    A number below 0 belongs to no group.
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


@numba.njit(cache=True, nogil=True)
def grown(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """A longer array that begins with this one; what follows is unspecified."""
    longer = np.empty(length, array.dtype)
    for place in range(len(array)):
        longer[place] = array[place]
    return longer


@numba.njit(cache=True, nogil=True)
def cuts_up_to(cuts: npt.NDArray[np.int64], first: int, last: int, value: int) -> int:
    """How many of `cuts[first:last]`, which rise, are at or below the value."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if cuts[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - first
