"""Bags: many sorted lists of whole numbers that grow and shrink, a number as often as it was put in.

A bag of up to `BLOCK` numbers is one run of cells, with room for the next power of two. A larger one is a
directory of blocks, so that putting in and taking out touch one block, however many numbers there are. All runs
and directories lie in one array; what becomes free is used again for the same size.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Shorts: TypeAlias = npt.NDArray[np.int32]

BLOCK_POWER = 8
BLOCK = 1 << BLOCK_POWER
_POWERS = 31
# A directory: how many blocks there are, its power of two, then per block its least number, where it is, how many.
_HEADER, _ENTRY = 2, 3
_LEAST, _START, _COUNT = 0, 1, 2


@struct
class Bags(structref.StructRefProxy):  # type: ignore[misc]
    """What `bags_of` gives; only compiled code looks into it.

    counts: int32[bags]: how many numbers there are.
    heads: int32[bags]: where the run is; the ones' complement of where the directory is.
    cells: int32[...]: runs and directories.
    used: how many cells were ever used.
    free: int32[powers]: a free place of each power of two, -1 if there is none; the place says which is next.
    """

    counts: Shorts
    heads: Shorts
    cells: Shorts
    used: int
    free: Shorts


@numba.njit(cache=True, nogil=True)
def bags_of(count: int) -> Bags:
    """So many empty bags."""
    return Bags(
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.empty(16, np.int32),
        0,
        np.full(_POWERS, -1, np.int32),
    )


@numba.njit(cache=True, nogil=True)
def reserve_bags(bags: Bags, count: int) -> None:
    """Let there be at least so many bags; new ones are empty."""
    old = len(bags.counts)
    if count > old:
        length = max(count, old + old // 2)
        bags.counts, bags.heads = grown(bags.counts, length), grown(bags.heads, length)
        bags.counts[old:] = 0


@numba.njit(cache=True, nogil=True)
def runs_of(counts: Shorts, heads: Shorts, cells: Shorts, bag: int) -> int:
    """How many runs of cells a bag has; takes the arrays, so that loops can look them up once."""
    if counts[bag] == 0:
        return 0
    return 1 if heads[bag] >= 0 else int(cells[~heads[bag]])


@numba.njit(cache=True, nogil=True)
def run_of(counts: Shorts, heads: Shorts, cells: Shorts, bag: int, run: int) -> tuple[int, int]:
    """The cells of a run: from the first up to, but without, the last."""
    head = heads[bag]
    if head >= 0:
        return head, head + counts[bag]
    entry = ~head + _HEADER + run * _ENTRY
    start = cells[entry + _START]
    return start, start + cells[entry + _COUNT]


@numba.njit(cache=True, nogil=True)
def numbers_in(bags: Bags, bag: int) -> Shorts:
    """All numbers of a bag, rising."""
    counts, heads, cells = bags.counts, bags.heads, bags.cells
    found = np.empty(counts[bag], np.int32)
    at = 0
    for run in range(runs_of(counts, heads, cells, bag)):
        start, end = run_of(counts, heads, cells, bag, run)
        for place in range(start, end):
            found[at] = cells[place]
            at += 1
    return found


@numba.njit(cache=True, nogil=True)
def _power(count: int) -> int:
    """The least power of two that has room for so many."""
    power = 0
    while (1 << power) < count:
        power += 1
    return power


@numba.njit(cache=True, nogil=True)
def _take(bags: Bags, power: int) -> int:
    """A free place."""
    head = bags.free[power]
    if head >= 0:
        bags.free[power] = bags.cells[head]
        return int(head)
    size = 1 << power
    if bags.used + size > len(bags.cells):
        bags.cells = grown(bags.cells, max(bags.used + size, len(bags.cells) + len(bags.cells) // 2))
    head = bags.used
    bags.used += size
    return int(head)


@numba.njit(cache=True, nogil=True)
def _give(bags: Bags, power: int, head: int) -> None:
    """Make a place free."""
    bags.cells[head] = bags.free[power]
    bags.free[power] = head


@numba.njit(cache=True, nogil=True)
def _put(cells: Shorts, start: int, count: int, number: int) -> None:
    """Put a number into a run that has room behind it."""
    at = start + count
    while at > start and cells[at - 1] > number:
        cells[at] = cells[at - 1]
        at -= 1
    cells[at] = number


@numba.njit(cache=True, nogil=True)
def _place_in(cells: Shorts, start: int, count: int, number: int) -> int:
    """The first place of a run that has no less than the number."""
    low, high = start, start + count
    while low < high:
        middle = (low + high) >> 1
        if cells[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def put_in(bags: Bags, bag: int, number: int) -> None:
    """Put a number into a bag."""
    count = bags.counts[bag]
    if count == 0:
        head = _take(bags, 0)
        bags.cells[head] = number
        bags.heads[bag] = head
    elif bags.heads[bag] >= 0 and count < BLOCK:
        head = bags.heads[bag]
        if count & (count - 1) == 0:
            power = _power(count)
            longer = _take(bags, power + 1)
            for place in range(count):
                bags.cells[longer + place] = bags.cells[head + place]
            _give(bags, power, head)
            bags.heads[bag] = head = longer
        _put(bags.cells, head, count, number)
    else:
        if bags.heads[bag] >= 0:
            _make_directory(bags, bag)
        _put_in_block(bags, bag, number)
    bags.counts[bag] += 1


@numba.njit(cache=True, nogil=True)
def _make_directory(bags: Bags, bag: int) -> None:
    """Make the one run of a bag, which is full, the first block of a directory."""
    head = bags.heads[bag]
    power = 4
    directory = _take(bags, power)
    cells = bags.cells
    cells[directory], cells[directory + 1] = 1, power
    entry = directory + _HEADER
    cells[entry + _LEAST], cells[entry + _START], cells[entry + _COUNT] = cells[head], head, bags.counts[bag]
    bags.heads[bag] = ~directory


@numba.njit(cache=True, nogil=True)
def _block_for(cells: Shorts, directory: int, number: int) -> int:
    """The last block whose least number is not above the number; the first block if all are."""
    low, high = 1, cells[directory]
    while low < high:
        middle = (low + high) >> 1
        if cells[directory + _HEADER + middle * _ENTRY + _LEAST] <= number:
            low = middle + 1
        else:
            high = middle
    return low - 1


@numba.njit(cache=True, nogil=True)
def _put_in_block(bags: Bags, bag: int, number: int) -> None:
    directory = ~bags.heads[bag]
    block = _block_for(bags.cells, directory, number)
    entry = directory + _HEADER + block * _ENTRY
    if bags.cells[entry + _COUNT] == BLOCK:
        directory = _split(bags, bag, block, number)
        block = _block_for(bags.cells, directory, number)
        entry = directory + _HEADER + block * _ENTRY
    cells = bags.cells
    _put(cells, cells[entry + _START], cells[entry + _COUNT], number)
    cells[entry + _COUNT] += 1
    cells[entry + _LEAST] = cells[cells[entry + _START]]


@numba.njit(cache=True, nogil=True)
def _split(bags: Bags, bag: int, block: int, number: int) -> int:
    """Move the upper part of a full block to a new one behind it; gives the directory."""
    directory = ~bags.heads[bag]
    blocks, power = bags.cells[directory], bags.cells[directory + 1]
    if _HEADER + (blocks + 1) * _ENTRY > 1 << power:
        longer = _take(bags, power + 1)
        for place in range(_HEADER + blocks * _ENTRY):
            bags.cells[longer + place] = bags.cells[directory + place]
        _give(bags, power, directory)
        directory = longer
        bags.cells[directory + 1] = power + 1
        bags.heads[bag] = ~directory
    start = _take(bags, BLOCK_POWER)
    cells = bags.cells
    entry = directory + _HEADER + block * _ENTRY
    old = cells[entry + _START]
    # Numbers often come in order; what is behind them all begins a block of its own then.
    keep = BLOCK - 1 if block == blocks - 1 and number >= cells[old + BLOCK - 1] else BLOCK // 2
    for place in range(keep, BLOCK):
        cells[start + place - keep] = cells[old + place]
    for at in range(directory + _HEADER + blocks * _ENTRY - 1, entry + _ENTRY - 1, -1):
        cells[at + _ENTRY] = cells[at]
    cells[entry + _COUNT] = keep
    following = entry + _ENTRY
    cells[following + _LEAST], cells[following + _START], cells[following + _COUNT] = (
        cells[start],
        start,
        BLOCK - keep,
    )
    cells[directory] = blocks + 1
    return int(directory)


@numba.njit(cache=True, nogil=True)
def take_out(bags: Bags, bag: int, number: int) -> bool:
    """Take a number out of a bag, once; was it there?"""
    count = bags.counts[bag]
    if count == 0:
        return False
    head = bags.heads[bag]
    if head >= 0:
        cells = bags.cells
        at = _place_in(cells, head, count, number)
        if at == head + count or cells[at] != number:
            return False
        for place in range(at, head + count - 1):
            cells[place] = cells[place + 1]
        _shrink_run(bags, bag, head, count - 1)
    elif not _take_from_block(bags, bag, number):
        return False
    bags.counts[bag] -= 1
    return True


@numba.njit(cache=True, nogil=True)
def _shrink_run(bags: Bags, bag: int, head: int, left: int) -> None:
    """Give back half of a run when so many numbers are left that the other half has room for them."""
    power = _power(left + 1)
    if left == 0:
        _give(bags, 0, head)
    elif left == 1 << (power - 1):
        shorter = _take(bags, power - 1)
        for place in range(left):
            bags.cells[shorter + place] = bags.cells[head + place]
        _give(bags, power, head)
        bags.heads[bag] = shorter


@numba.njit(cache=True, nogil=True)
def _take_from_block(bags: Bags, bag: int, number: int) -> bool:
    directory = ~bags.heads[bag]
    cells = bags.cells
    block = _block_for(cells, directory, number)
    entry = directory + _HEADER + block * _ENTRY
    start, count = cells[entry + _START], cells[entry + _COUNT]
    at = _place_in(cells, start, count, number)
    if at == start + count or cells[at] != number:
        return False
    for place in range(at, start + count - 1):
        cells[place] = cells[place + 1]
    cells[entry + _COUNT] = count - 1
    cells[entry + _LEAST] = cells[start]
    if count == 1:
        _give(bags, BLOCK_POWER, start)
        blocks = cells[directory]
        for at in range(entry, directory + _HEADER + (blocks - 1) * _ENTRY):
            cells[at] = cells[at + _ENTRY]
        cells[directory] = blocks - 1
    if bags.counts[bag] - 1 == BLOCK // 2:
        _make_run(bags, bag, BLOCK // 2)
    return True


@numba.njit(cache=True, nogil=True)
def _make_run(bags: Bags, bag: int, count: int) -> None:
    """Make one run of the blocks of a bag, and give them back."""
    directory = ~bags.heads[bag]
    power = _power(count)
    run = _take(bags, power)
    cells = bags.cells
    at = run
    for block in range(cells[directory]):
        entry = directory + _HEADER + block * _ENTRY
        start = cells[entry + _START]
        for place in range(start, start + cells[entry + _COUNT]):
            cells[at] = cells[place]
            at += 1
        _give(bags, BLOCK_POWER, start)
    _give(bags, cells[directory + 1], directory)
    bags.heads[bag] = run


@numba.njit(cache=True, nogil=True)
def bag_bytes(bags: Bags) -> int:
    """What all bags take, free places included."""
    return int(bags.counts.nbytes + bags.heads.nbytes + 4 * bags.used)
