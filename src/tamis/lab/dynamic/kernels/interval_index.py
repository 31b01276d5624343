"""The interval index: intervals of many axes that come and go, and which of them contain a coordinate.

The intervals of an axis are sorted into classes by their length, which doubles from class to class; intervals
without a lower end, and those without an upper one, have a class each. A class is a list in the order of lower
ends (of upper ends where those are all there is), in blocks of `BLOCK` below a directory:

    axis 0 -> class 3 (lengths 4..7) -> directory: least key of each block -> keys, ends, owners of up to 64
           -> class "up to"          -> ...

An interval of a class of length < 2^c can contain v only if its lower end is in (v - 2^c, v], and of those at
least half do. So a query scans at most twice what it finds, plus two binary searches for each class that the axis
has: there are seldom more than a few.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64
from tamis.engines.array_kernels import grow
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.structs import struct
from tamis.kernels import kernel

BLOCK = 64
_POINT, _UP_TO, _FROM = 0, 65, 66
"""The classes of single coordinates, and of intervals without a lower or upper end; others are bit lengths."""


@struct
class IntervalIndex(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_interval_index`; only compiled code reads its fields.

    axes: int32[axes]: the first list of each axis, -1 if there is none.
    classes, following: int32[lists]: the class of a list, the next list of its axis.
    firsts, lengths, rooms: int32[lists]: where the directory of a list begins, its length, its capacity.
    lists: how many lists there are.
    blocks, least_keys, least_owners: [entries]: the block of a directory entry, and the least key and owner in it.
    entries: how many directory entries were ever used.
    counts: int32[blocks]: how many intervals a block has; of a free one, the next free one.
    keys, ends, owners: [blocks * BLOCK]: the end by which the list is sorted, the upper end, the predicate.
    made: how many blocks there are.
    free: a free block, -1 if there is none.
    """

    axes: I32
    classes: I32
    following: I32
    firsts: I32
    lengths: I32
    rooms: I32
    lists: int
    blocks: I32
    least_keys: I64
    least_owners: I32
    entries: int
    counts: I32
    keys: I64
    ends: I64
    owners: I32
    made: int
    free: int


@kernel
def empty_interval_index() -> IntervalIndex:
    """An index without axes."""
    return IntervalIndex(
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


@kernel
def reserve_axes(lists: IntervalIndex, count: int) -> None:
    """Make at least `count` axes."""
    old = len(lists.axes)
    if count > old:
        lists.axes = grow(lists.axes, max(count, 2 * old))
        lists.axes[old:] = -1


@kernel
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


@kernel
def _list_of(lists: IntervalIndex, axis: int, class_: int) -> int:
    """The list of a class of an axis, -1 if there is none."""
    number = lists.axes[axis]
    while number >= 0 and lists.classes[number] != class_:
        number = lists.following[number]
    return int(number)


@kernel
def _new_list(lists: IntervalIndex, axis: int, class_: int) -> int:
    number = lists.lists
    if number == len(lists.classes):
        length = 2 * number + 4
        lists.classes, lists.following = grow(lists.classes, length), grow(lists.following, length)
        lists.firsts, lists.lengths = grow(lists.firsts, length), grow(lists.lengths, length)
        lists.rooms = grow(lists.rooms, length)
    lists.lists = number + 1
    lists.classes[number], lists.following[number] = class_, lists.axes[axis]
    lists.firsts[number] = lists.lengths[number] = lists.rooms[number] = 0
    lists.axes[axis] = number
    return int(number)


@kernel
def _new_block(lists: IntervalIndex) -> int:
    if lists.free >= 0:
        block = lists.free
        lists.free = lists.counts[block]
    else:
        block = lists.made
        lists.made = block + 1
        if block == len(lists.counts):
            length = block + block // 2 + 4
            lists.counts, lists.owners = grow(lists.counts, length), grow(lists.owners, length * BLOCK)
            lists.keys, lists.ends = grow(lists.keys, length * BLOCK), grow(lists.ends, length * BLOCK)
    lists.counts[block] = 0
    return int(block)


@kernel
def _entry_for(lists: IntervalIndex, number: int, key: int, owner: int) -> int:
    """The last directory entry of a list whose least (key, owner) is not above; the first if there is none."""
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


@kernel
def _new_entry(lists: IntervalIndex, number: int, at: int, block: int) -> int:
    """Insert a block at a place of the directory of a list; returns the entry."""
    length, first = lists.lengths[number], lists.firsts[number]
    if length == lists.rooms[number]:
        room = max(1, 2 * length)
        if lists.entries + room > len(lists.blocks):
            entries = 2 * len(lists.blocks) + room
            lists.blocks, lists.least_keys = grow(lists.blocks, entries), grow(lists.least_keys, entries)
            lists.least_owners = grow(lists.least_owners, entries)
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


@kernel
def _refresh_least(lists: IntervalIndex, entry: int) -> None:
    at = lists.blocks[entry] * BLOCK
    lists.least_keys[entry], lists.least_owners[entry] = lists.keys[at], lists.owners[at]


@kernel
def _lower_bound(lists: IntervalIndex, block: int, key: int, owner: int) -> int:
    """The first place of a block whose (key, owner) is not less."""
    low, high = block * BLOCK, block * BLOCK + lists.counts[block]
    while low < high:
        middle = (low + high) >> 1
        if lists.keys[middle] < key or (lists.keys[middle] == key and lists.owners[middle] < owner):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def add_interval(lists: IntervalIndex, axis: int, low: int, high: int, owner: int) -> None:
    """Add a closed interval; the intervals of one owner have different lower ends."""
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
            _split_block(lists, number, entry, key)
            entry = _entry_for(lists, number, key, owner)
    block = lists.blocks[entry]
    at = _lower_bound(lists, block, key, owner)
    for place in range(block * BLOCK + lists.counts[block], at, -1):
        lists.keys[place], lists.ends[place] = lists.keys[place - 1], lists.ends[place - 1]
        lists.owners[place] = lists.owners[place - 1]
    lists.keys[at], lists.ends[at], lists.owners[at] = key, high, owner
    lists.counts[block] += 1
    _refresh_least(lists, entry)


@kernel
def _split_block(lists: IntervalIndex, number: int, entry: int, key: int) -> None:
    """Move the upper part of a full block to a new block behind it."""
    at = entry - lists.firsts[number]
    old = lists.blocks[entry]
    is_last = at == lists.lengths[number] - 1
    # Keys often come in ascending order: leave the full block full then.
    keep = BLOCK - 1 if is_last and key >= lists.keys[old * BLOCK + BLOCK - 1] else BLOCK // 2
    block = _new_block(lists)
    for place in range(keep, BLOCK):
        source, target = old * BLOCK + place, block * BLOCK + place - keep
        lists.keys[target], lists.ends[target] = lists.keys[source], lists.ends[source]
        lists.owners[target] = lists.owners[source]
    lists.counts[old], lists.counts[block] = keep, BLOCK - keep
    _refresh_least(lists, _new_entry(lists, number, at + 1, block))


@kernel
def remove_interval(lists: IntervalIndex, axis: int, low: int, high: int, owner: int) -> bool:
    """Remove an interval; False if the index does not have it."""
    class_ = _class_of(low, high)
    key = high if class_ == _UP_TO else low
    number = _list_of(lists, axis, class_)
    if number < 0 or lists.lengths[number] == 0:
        return False
    entry = _entry_for(lists, number, key, owner)
    block = lists.blocks[entry]
    at = _lower_bound(lists, block, key, owner)
    last = block * BLOCK + lists.counts[block] - 1
    if at > last or lists.keys[at] != key or lists.owners[at] != owner:
        return False
    for place in range(at, last):
        lists.keys[place], lists.ends[place] = lists.keys[place + 1], lists.ends[place + 1]
        lists.owners[place] = lists.owners[place + 1]
    lists.counts[block] -= 1
    if lists.counts[block]:
        _refresh_least(lists, entry)
        return True
    lists.counts[block], lists.free = lists.free, block
    lists.lengths[number] -= 1
    for place in range(entry, lists.firsts[number] + lists.lengths[number]):
        lists.blocks[place] = lists.blocks[place + 1]
        lists.least_keys[place] = lists.least_keys[place + 1]
        lists.least_owners[place] = lists.least_owners[place + 1]
    return True


@kernel
def owners_at(lists: IntervalIndex, axis: int, value: int, found: I32, count: int) -> int:
    """Append the owners of the intervals that contain a coordinate to `found[:count]`; returns the new count."""
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
                at = start if each > entry else _lower_bound(lists, blocks[each], value, -1)
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
                at = start if each > entry else _lower_bound(lists, blocks[each], least, -1)
                # The hot loop of phase 1: write every owner and advance by the test, so that there is no branch to
                # mispredict.
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


@kernel
def interval_index_bytes(lists: IntervalIndex) -> int:
    """Bytes of all intervals, free blocks included."""
    lists_bytes = 20 * lists.lists + lists.axes.nbytes
    return int(lists_bytes + 16 * lists.entries + lists.made * (4 + 20 * BLOCK))
