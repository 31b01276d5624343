"""Posting lists that grow and shrink: many sorted multisets of whole numbers in one array of cells.

A list of up to `BLOCK` postings is one run of cells, with room for the next power of two. A longer one is a
directory of blocks, so that an insertion or deletion moves at most one block, however long the list is:

    list 0:  heads[0] = 40          cells[40:43] = 3 8 8 _                       (3 postings, room for 4)
    list 1:  heads[1] = ~96         cells[96:]   = blocks, power | least start count | least start count | ...
                                                                      |
                                                   cells[start:start + count] = 5 7 7 9 ...

Freed runs and directories are chained by their power of two and used again for the same size. A posting may occur
several times in a list, since a predicate may occur several times in a subscription.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel

BLOCK_POWER = 8
BLOCK = 1 << BLOCK_POWER
_POWERS = 31
# A directory: how many blocks there are, its own power of two, then for each block: least posting, start, count.
_HEADER, _ENTRY = 2, 3
_LEAST, _START, _COUNT = 0, 1, 2


@struct
class PostingLists(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_posting_lists`; only compiled code reads its fields.

    counts: int32[lists]: how many postings each list has.
    heads: int32[lists]: where its run begins; the ones' complement of where its directory begins.
    cells: int32[...]: runs and directories.
    used: how many cells were ever used.
    free: int32[powers]: a free range of each power of two, -1 if there is none; its first cell names the next.
    """

    counts: I32
    heads: I32
    cells: I32
    used: int
    free: I32


@kernel
def empty_posting_lists(count: int) -> PostingLists:
    """A given number of lists without postings."""
    return PostingLists(
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.empty(16, np.int32),
        0,
        np.full(_POWERS, -1, np.int32),
    )


@kernel
def reserve_lists(lists: PostingLists, count: int) -> None:
    """Make at least `count` lists; new ones are empty."""
    old = len(lists.counts)
    if count > old:
        length = max(count, old + old // 2)
        lists.counts, lists.heads = grow(lists.counts, length), grow(lists.heads, length)
        lists.counts[old:] = 0


@kernel
def run_count(counts: I32, heads: I32, cells: I32, which: int) -> int:
    """How many runs of cells a list has; takes the arrays, so that loops load them once."""
    if counts[which] == 0:
        return 0
    return 1 if heads[which] >= 0 else int(cells[~heads[which]])


@kernel
def run_bounds(counts: I32, heads: I32, cells: I32, which: int, run: int) -> tuple[int, int]:
    """Where a run of cells begins, and where it ends (exclusive)."""
    head = heads[which]
    if head >= 0:
        return head, head + counts[which]
    entry = ~head + _HEADER + run * _ENTRY
    start = cells[entry + _START]
    return start, start + cells[entry + _COUNT]


@kernel
def postings_in(lists: PostingLists, which: int) -> I32:
    """A copy of all postings of a list, rising."""
    counts, heads, cells = lists.counts, lists.heads, lists.cells
    found = np.empty(counts[which], np.int32)
    at = 0
    for run in range(run_count(counts, heads, cells, which)):
        start, end = run_bounds(counts, heads, cells, which, run)
        for place in range(start, end):
            found[at] = cells[place]
            at += 1
    return found


@kernel
def _power_for(count: int) -> int:
    """The least p such that 2^p cells hold `count` postings."""
    power = 0
    while (1 << power) < count:
        power += 1
    return power


@kernel
def _allocate(lists: PostingLists, power: int) -> int:
    """The first of 2^power free cells."""
    head = lists.free[power]
    if head >= 0:
        lists.free[power] = lists.cells[head]
        return int(head)
    size = 1 << power
    if lists.used + size > len(lists.cells):
        lists.cells = grow(lists.cells, max(lists.used + size, len(lists.cells) + len(lists.cells) // 2))
    head = lists.used
    lists.used += size
    return int(head)


@kernel
def _free(lists: PostingLists, power: int, head: int) -> None:
    """Return 2^power cells."""
    lists.cells[head] = lists.free[power]
    lists.free[power] = head


@kernel
def _insert_sorted(cells: I32, start: int, count: int, number: int) -> None:
    """Insert a posting into a run that has room for it."""
    at = start + count
    while at > start and cells[at - 1] > number:
        cells[at] = cells[at - 1]
        at -= 1
    cells[at] = number


@kernel
def _lower_bound(cells: I32, start: int, count: int, number: int) -> int:
    """The first cell of a run whose posting is not less than `number`."""
    low, high = start, start + count
    while low < high:
        middle = (low + high) >> 1
        if cells[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def add_posting(lists: PostingLists, which: int, number: int) -> None:
    count = lists.counts[which]
    if count == 0:
        head = _allocate(lists, 0)
        lists.cells[head] = number
        lists.heads[which] = head
    elif lists.heads[which] >= 0 and count < BLOCK:
        head = lists.heads[which]
        if count & (count - 1) == 0:
            power = _power_for(count)
            longer = _allocate(lists, power + 1)
            for place in range(count):
                lists.cells[longer + place] = lists.cells[head + place]
            _free(lists, power, head)
            lists.heads[which] = head = longer
        _insert_sorted(lists.cells, head, count, number)
    else:
        if lists.heads[which] >= 0:
            _promote_to_directory(lists, which)
        _add_to_block(lists, which, number)
    lists.counts[which] += 1


@kernel
def _promote_to_directory(lists: PostingLists, which: int) -> None:
    """Make the one run of a list, which is full, the first block of a directory."""
    head = lists.heads[which]
    power = 4
    directory = _allocate(lists, power)
    cells = lists.cells
    cells[directory], cells[directory + 1] = 1, power
    entry = directory + _HEADER
    cells[entry + _LEAST], cells[entry + _START], cells[entry + _COUNT] = cells[head], head, lists.counts[which]
    lists.heads[which] = ~directory


@kernel
def _block_for(cells: I32, directory: int, number: int) -> int:
    """The last block whose least posting is not above `number`; the first block if there is none."""
    low, high = 1, cells[directory]
    while low < high:
        middle = (low + high) >> 1
        if cells[directory + _HEADER + middle * _ENTRY + _LEAST] <= number:
            low = middle + 1
        else:
            high = middle
    return low - 1


@kernel
def _add_to_block(lists: PostingLists, which: int, number: int) -> None:
    directory = ~lists.heads[which]
    block = _block_for(lists.cells, directory, number)
    entry = directory + _HEADER + block * _ENTRY
    if lists.cells[entry + _COUNT] == BLOCK:
        directory = _split_block(lists, which, block, number)
        block = _block_for(lists.cells, directory, number)
        entry = directory + _HEADER + block * _ENTRY
    cells = lists.cells
    _insert_sorted(cells, cells[entry + _START], cells[entry + _COUNT], number)
    cells[entry + _COUNT] += 1
    cells[entry + _LEAST] = cells[cells[entry + _START]]


@kernel
def _split_block(lists: PostingLists, which: int, block: int, number: int) -> int:
    """Move the upper part of a full block to a new one behind it; returns the directory, which may have moved."""
    directory = ~lists.heads[which]
    blocks, power = lists.cells[directory], lists.cells[directory + 1]
    if _HEADER + (blocks + 1) * _ENTRY > 1 << power:
        longer = _allocate(lists, power + 1)
        for place in range(_HEADER + blocks * _ENTRY):
            lists.cells[longer + place] = lists.cells[directory + place]
        _free(lists, power, directory)
        directory = longer
        lists.cells[directory + 1] = power + 1
        lists.heads[which] = ~directory
    start = _allocate(lists, BLOCK_POWER)
    cells = lists.cells
    entry = directory + _HEADER + block * _ENTRY
    old = cells[entry + _START]
    # Slots and terms are numbered as they come, so insertions are often ascending: leave the full block full.
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


@kernel
def remove_posting(lists: PostingLists, which: int, number: int) -> bool:
    """Remove one occurrence of a posting; False if the list does not have it."""
    count = lists.counts[which]
    if count == 0:
        return False
    head = lists.heads[which]
    if head >= 0:
        cells = lists.cells
        at = _lower_bound(cells, head, count, number)
        if at == head + count or cells[at] != number:
            return False
        for place in range(at, head + count - 1):
            cells[place] = cells[place + 1]
        _shrink_run(lists, which, head, count - 1)
    elif not _remove_from_block(lists, which, number):
        return False
    lists.counts[which] -= 1
    return True


@kernel
def _shrink_run(lists: PostingLists, which: int, head: int, left: int) -> None:
    """Move a run to one of half the room as soon as its postings fit there."""
    power = _power_for(left + 1)
    if left == 0:
        _free(lists, 0, head)
    elif left == 1 << (power - 1):
        shorter = _allocate(lists, power - 1)
        for place in range(left):
            lists.cells[shorter + place] = lists.cells[head + place]
        _free(lists, power, head)
        lists.heads[which] = shorter


@kernel
def _remove_from_block(lists: PostingLists, which: int, number: int) -> bool:
    directory = ~lists.heads[which]
    cells = lists.cells
    block = _block_for(cells, directory, number)
    entry = directory + _HEADER + block * _ENTRY
    start, count = cells[entry + _START], cells[entry + _COUNT]
    at = _lower_bound(cells, start, count, number)
    if at == start + count or cells[at] != number:
        return False
    for place in range(at, start + count - 1):
        cells[place] = cells[place + 1]
    cells[entry + _COUNT] = count - 1
    cells[entry + _LEAST] = cells[start]
    if count == 1:
        _free(lists, BLOCK_POWER, start)
        blocks = cells[directory]
        for at in range(entry, directory + _HEADER + (blocks - 1) * _ENTRY):
            cells[at] = cells[at + _ENTRY]
        cells[directory] = blocks - 1
    if lists.counts[which] - 1 == BLOCK // 2:
        _collapse_to_run(lists, which, BLOCK // 2)
    return True


@kernel
def _collapse_to_run(lists: PostingLists, which: int, count: int) -> None:
    """Copy the blocks of a list to one run, and free them."""
    directory = ~lists.heads[which]
    power = _power_for(count)
    run = _allocate(lists, power)
    cells = lists.cells
    at = run
    for block in range(cells[directory]):
        entry = directory + _HEADER + block * _ENTRY
        start = cells[entry + _START]
        for place in range(start, start + cells[entry + _COUNT]):
            cells[at] = cells[place]
            at += 1
        _free(lists, BLOCK_POWER, start)
    _free(lists, cells[directory + 1], directory)
    lists.heads[which] = run


@kernel
def posting_list_bytes(lists: PostingLists) -> int:
    """Bytes of all lists, free ranges included."""
    return int(lists.counts.nbytes + lists.heads.nbytes + 4 * lists.used)
