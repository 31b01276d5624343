"""Intervals of many axes that come and go, and which of them hold a coordinate.

The intervals of an axis are sorted into classes by their length, which doubles from class to class; intervals
without one of their ends have a class each. A class is a list sorted by the lower end (by the upper one where that
is all there is), in blocks under a directory. A coordinate can only be in intervals of a class whose lower end is
within the class's length below it, and at least half of those hold it: looking up takes time for what is found,
whatever else there is.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

BLOCK = 64
_POINT, _UP_TO, _FROM = 0, 65, 66
"""Classes of single coordinates, of intervals without a lower and an upper end; others are bit lengths."""


@struct
class Intervals(structref.StructRefProxy):  # type: ignore[misc]
    """What `intervals_of` gives; only compiled code looks into it.

    axes: int32[axes]: the first list of each axis, -1 if there is none.
    classes, following: int32[lists]: the class of a list, the next list of its axis.
    firsts, lengths, rooms: int32[lists]: the list's part of the directory, how much of it is used.
    lists: how many lists there are.
    blocks, least_keys, least_owners: of an entry of the directory, its block and the least of that.
    entries: how many entries of the directory were ever used.
    counts: int32[blocks]: how many intervals a block has; of a free one, the next free one.
    keys, ends, owners: [blocks * BLOCK]: the end by which the list is sorted, the upper end, whose it is.
    made: how many blocks there are.
    free: a free block, -1 if there is none.
    """

    axes: Shorts
    classes: Shorts
    following: Shorts
    firsts: Shorts
    lengths: Shorts
    rooms: Shorts
    lists: int
    blocks: Shorts
    least_keys: Ints
    least_owners: Shorts
    entries: int
    counts: Shorts
    keys: Ints
    ends: Ints
    owners: Shorts
    made: int
    free: int


@numba.njit(cache=True, nogil=True)
def intervals_of() -> Intervals:
    """None yet, of no axes."""
    return Intervals(
        np.empty(0, np.int32),
        *(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)),
        np.empty(0, np.int32),
        0,
        *(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32)),
        0,
        *(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)),
        0,
        -1,
    )


@numba.njit(cache=True, nogil=True)
def reserve_axes(lists: Intervals, count: int) -> None:
    """Let there be at least so many axes."""
    old = len(lists.axes)
    if count > old:
        lists.axes = grown(lists.axes, max(count, 2 * old))
        lists.axes[old:] = -1


@numba.njit(cache=True, nogil=True)
def _class_of(low: int, high: int) -> int:
    if high == HIGHEST:
        return _FROM
    if low == LOWEST:
        return _UP_TO
    length = np.uint64(high) - np.uint64(low)
    bits = 0
    while length:
        length >>= np.uint64(1)
        bits += 1
    return bits


@numba.njit(cache=True, nogil=True)
def _list_of(lists: Intervals, axis: int, class_: int) -> int:
    """The list of a class of an axis; -1 if there is none."""
    number = lists.axes[axis]
    while number >= 0 and lists.classes[number] != class_:
        number = lists.following[number]
    return int(number)


@numba.njit(cache=True, nogil=True)
def _new_list(lists: Intervals, axis: int, class_: int) -> int:
    number = lists.lists
    if number == len(lists.classes):
        length = 2 * number + 4
        lists.classes, lists.following = grown(lists.classes, length), grown(lists.following, length)
        lists.firsts, lists.lengths = grown(lists.firsts, length), grown(lists.lengths, length)
        lists.rooms = grown(lists.rooms, length)
    lists.lists = number + 1
    lists.classes[number], lists.following[number] = class_, lists.axes[axis]
    lists.firsts[number] = lists.lengths[number] = lists.rooms[number] = 0
    lists.axes[axis] = number
    return int(number)


@numba.njit(cache=True, nogil=True)
def _new_block(lists: Intervals) -> int:
    if lists.free >= 0:
        block = lists.free
        lists.free = lists.counts[block]
    else:
        block = lists.made
        lists.made = block + 1
        if block == len(lists.counts):
            length = block + block // 2 + 4
            lists.counts, lists.owners = grown(lists.counts, length), grown(lists.owners, length * BLOCK)
            lists.keys, lists.ends = grown(lists.keys, length * BLOCK), grown(lists.ends, length * BLOCK)
    lists.counts[block] = 0
    return int(block)


@numba.njit(cache=True, nogil=True)
def _entry_for(lists: Intervals, number: int, key: int, owner: int) -> int:
    """Of a list that is not empty, the last entry whose least is not above; the first one if all are."""
    first = lists.firsts[number]
    low, high = first + 1, first + lists.lengths[number]
    while low < high:
        middle = (low + high) >> 1
        least = lists.least_keys[middle]
        if least < key or (least == key and lists.least_owners[middle] <= owner):
            low = middle + 1
        else:
            high = middle
    return low - 1


@numba.njit(cache=True, nogil=True)
def _new_entry(lists: Intervals, number: int, at: int, block: int) -> int:
    """Put a block into the directory of a list at a place within it; gives the entry."""
    length, first = lists.lengths[number], lists.firsts[number]
    if length == lists.rooms[number]:
        room = max(1, 2 * length)
        if lists.entries + room > len(lists.blocks):
            entries = 2 * len(lists.blocks) + room
            lists.blocks, lists.least_keys = grown(lists.blocks, entries), grown(lists.least_keys, entries)
            lists.least_owners = grown(lists.least_owners, entries)
        for place in range(length):
            lists.blocks[lists.entries + place] = lists.blocks[first + place]
            lists.least_keys[lists.entries + place] = lists.least_keys[first + place]
            lists.least_owners[lists.entries + place] = lists.least_owners[first + place]
        lists.firsts[number] = first = lists.entries
        lists.rooms[number] = room
        lists.entries += room
    for place in range(first + length, first + at, -1):
        lists.blocks[place] = lists.blocks[place - 1]
        lists.least_keys[place] = lists.least_keys[place - 1]
        lists.least_owners[place] = lists.least_owners[place - 1]
    lists.blocks[first + at] = block
    lists.lengths[number] = length + 1
    return int(first + at)


@numba.njit(cache=True, nogil=True)
def _note_least(lists: Intervals, entry: int) -> None:
    at = lists.blocks[entry] * BLOCK
    lists.least_keys[entry], lists.least_owners[entry] = lists.keys[at], lists.owners[at]


@numba.njit(cache=True, nogil=True)
def _place_in(lists: Intervals, block: int, key: int, owner: int) -> int:
    """The first place of a block that has no less."""
    low, high = block * BLOCK, block * BLOCK + lists.counts[block]
    while low < high:
        middle = (low + high) >> 1
        if lists.keys[middle] < key or (lists.keys[middle] == key and lists.owners[middle] < owner):
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def add_interval(lists: Intervals, axis: int, low: int, high: int, owner: int) -> None:
    """Add an interval, its ends inside; one owner's intervals have different lower ends."""
    class_ = _class_of(low, high)
    key = high if class_ == _UP_TO else low
    number = _list_of(lists, axis, class_)
    if number < 0:
        number = _new_list(lists, axis, class_)
    if lists.lengths[number] == 0:
        entry = _new_entry(lists, number, 0, _new_block(lists))
    else:
        entry = _entry_for(lists, number, key, owner)
        if lists.counts[lists.blocks[entry]] == BLOCK:
            _split(lists, number, entry, key)
            entry = _entry_for(lists, number, key, owner)
    block = lists.blocks[entry]
    at = _place_in(lists, block, key, owner)
    for place in range(block * BLOCK + lists.counts[block], at, -1):
        lists.keys[place], lists.ends[place] = lists.keys[place - 1], lists.ends[place - 1]
        lists.owners[place] = lists.owners[place - 1]
    lists.keys[at], lists.ends[at], lists.owners[at] = key, high, owner
    lists.counts[block] += 1
    _note_least(lists, entry)


@numba.njit(cache=True, nogil=True)
def _split(lists: Intervals, number: int, entry: int, key: int) -> None:
    """Move the upper part of a full block to a new one behind it."""
    at = entry - lists.firsts[number]
    old = lists.blocks[entry]
    is_last = at == lists.lengths[number] - 1
    # Keys often come in order; what is behind them all begins a block of its own then.
    keep = BLOCK - 1 if is_last and key >= lists.keys[old * BLOCK + BLOCK - 1] else BLOCK // 2
    block = _new_block(lists)
    for place in range(keep, BLOCK):
        source, target = old * BLOCK + place, block * BLOCK + place - keep
        lists.keys[target], lists.ends[target] = lists.keys[source], lists.ends[source]
        lists.owners[target] = lists.owners[source]
    lists.counts[old], lists.counts[block] = keep, BLOCK - keep
    _note_least(lists, _new_entry(lists, number, at + 1, block))


@numba.njit(cache=True, nogil=True)
def remove_interval(lists: Intervals, axis: int, low: int, high: int, owner: int) -> bool:
    """Remove an interval that was added; was it there?"""
    class_ = _class_of(low, high)
    key = high if class_ == _UP_TO else low
    number = _list_of(lists, axis, class_)
    if number < 0 or lists.lengths[number] == 0:
        return False
    entry = _entry_for(lists, number, key, owner)
    block = lists.blocks[entry]
    at = _place_in(lists, block, key, owner)
    last = block * BLOCK + lists.counts[block] - 1
    if at > last or lists.keys[at] != key or lists.owners[at] != owner:
        return False
    for place in range(at, last):
        lists.keys[place], lists.ends[place] = lists.keys[place + 1], lists.ends[place + 1]
        lists.owners[place] = lists.owners[place + 1]
    lists.counts[block] -= 1
    if lists.counts[block]:
        _note_least(lists, entry)
        return True
    lists.counts[block], lists.free = lists.free, block
    lists.lengths[number] -= 1
    for place in range(entry, lists.firsts[number] + lists.lengths[number]):
        lists.blocks[place] = lists.blocks[place + 1]
        lists.least_keys[place] = lists.least_keys[place + 1]
        lists.least_owners[place] = lists.least_owners[place + 1]
    return True


@numba.njit(cache=True, nogil=True)
def owners_at(lists: Intervals, axis: int, value: int, found: Shorts, count: int) -> int:
    """Write the owners of intervals that hold a coordinate into `found` from `count` on; gives the new count."""
    keys, ends, owners, counts, blocks = lists.keys, lists.ends, lists.owners, lists.counts, lists.blocks
    number = lists.axes[axis]
    while number >= 0:
        class_ = lists.classes[number]
        first, length = lists.firsts[number], lists.lengths[number]
        if length == 0:
            number = lists.following[number]
            continue
        if class_ == _UP_TO:
            entry = _entry_for(lists, number, value, -1)
            for each in range(entry, first + length):
                start = blocks[each] * BLOCK
                at = start if each > entry else _place_in(lists, blocks[each], value, -1)
                for place in range(at, start + counts[blocks[each]]):
                    found[count] = owners[place]
                    count += 1
        else:
            least = value
            if class_ == _FROM or class_ >= 63:
                least = LOWEST
            elif class_ != _POINT:
                reach = (1 << class_) - 1
                least = value - reach if value >= LOWEST + reach else LOWEST
            entry = _entry_for(lists, number, least, -1)
            each = entry
            while each < first + length and lists.least_keys[each] <= value:
                start = blocks[each] * BLOCK
                end = start + counts[blocks[each]]
                at = start if each > entry else _place_in(lists, blocks[each], least, -1)
                # Written whether it counts or not: there is no branch to guess wrong.
                if class_ == _FROM or each + 1 == first + length or lists.least_keys[each + 1] > value:
                    for place in range(at, end):
                        found[count] = owners[place]
                        count += keys[place] <= value <= ends[place]
                else:
                    for place in range(at, end):
                        found[count] = owners[place]
                        count += value <= ends[place]
                each += 1
        number = lists.following[number]
    return count


@numba.njit(cache=True, nogil=True)
def interval_bytes(lists: Intervals) -> int:
    """What all intervals take, free blocks included."""
    lists_bytes = 20 * lists.lists + lists.axes.nbytes
    return int(lists_bytes + 16 * lists.entries + lists.made * (4 + 20 * BLOCK))
