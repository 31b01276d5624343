"""Interned predicates: equal leaves share a number, with a use count; unused numbers are given again.

A predicate is a list of closed intervals on an axis, with a flag for NULL; or a test of another kind (a pattern),
known by its number. `intern_leaf` finds or makes the predicate of a leaf by a hash table and counts a use;
`release_predicate` takes a use back. While a predicate has a use, `satisfied_in` finds it for every row that
satisfies it: by the interval index, by the posting list of the axes that are NULL, or by the tests that hold.

    axes      3   3  -1  -2          -1: a test, -2: a free number
    firsts    0   2   7   .          first interval of its chain (or the test)
    uses      5   1   2   .
    chain     .   .   .   4          next in the hash bucket, or the next free number
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.encoding import EncodedBatch
from tamis.engines.forest import PIECES, TEST, Leaves, Pieces
from tamis.engines.formula_program import RowTests
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.interval_index import (
    IntervalIndex,
    add_interval,
    empty_interval_index,
    interval_index_bytes,
    owners_at,
    remove_interval,
    reserve_axes,
)
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    add_posting,
    empty_posting_lists,
    posting_list_bytes,
    remove_posting,
    reserve_lists,
    run_bounds,
    run_count,
)

_MIX = np.uint64(0x9E3779B97F4A7C15)
_FREE = -2


@struct
class Predicates(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_predicates`; only compiled code reads its fields.

    axes: int32[predicates]: -1 of a test, -2 of a free number.
    nulls: uint8[predicates]: 1 if it holds where its axis is NULL.
    firsts: int32[predicates]: its first interval, -1 if it has none; of a test its number.
    uses: int32[predicates].
    chain: int32[predicates]: the next one in the same hash bucket, or the next free number.
    made, free, count: numbers ever given, a free one or -1, predicates in use.
    table: int32[a power of two]: the first predicate of each hash bucket, -1 if there is none.
    lows, highs, following: intervals, each with the next one of its predicate, or the next free one.
    pieces_made, pieces_free: intervals ever made, a free one or -1.
    test_owners: int32[tests]: the predicate of a test, -1 if there is none.
    dropped, drops: the tests that lost their last use since the last `take_dropped_tests`, and how many.
    intervals, null_owners: predicates by coordinate, and by axis those that NULL satisfies.
    """

    axes: I32
    nulls: U8
    firsts: I32
    uses: I32
    chain: I32
    made: int
    free: int
    count: int
    table: I32
    lows: I64
    highs: I64
    following: I32
    pieces_made: int
    pieces_free: int
    test_owners: I32
    dropped: I32
    drops: int
    intervals: IntervalIndex
    null_owners: PostingLists


@kernel
def empty_predicates() -> Predicates:
    return Predicates(
        np.empty(0, np.int32),
        np.empty(0, np.uint8),
        *(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)),
        *(0, -1, 0),
        np.full(16, -1, np.int32),
        *(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32), 0, -1),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        0,
        empty_interval_index(),
        empty_posting_lists(0),
    )


@kernel
def reserve_predicates(predicates: Predicates, axes: int, tests: int) -> None:
    """Make at least so many axes and tests."""
    reserve_axes(predicates.intervals, axes)
    reserve_lists(predicates.null_owners, axes)
    old = len(predicates.test_owners)
    if tests > old:
        predicates.test_owners = grow(predicates.test_owners, max(tests, 2 * old))
        predicates.test_owners[old:] = -1


@kernel
def _mix(hash_: int, value: int) -> np.uint64:
    mixed = (np.uint64(hash_) ^ np.uint64(value)) * _MIX
    return mixed ^ (mixed >> np.uint64(29))


@kernel
def _hash(predicates: Predicates, number: int) -> np.uint64:
    hash_ = _mix(np.uint64(predicates.axes[number] + 1), np.uint64(predicates.nulls[number]))
    if predicates.axes[number] < 0:
        return _mix(hash_, np.uint64(predicates.firsts[number]))
    piece = predicates.firsts[number]
    while piece >= 0:
        hash_ = _mix(_mix(hash_, np.uint64(predicates.lows[piece])), np.uint64(predicates.highs[piece]))
        piece = predicates.following[piece]
    return hash_


@kernel
def _same(predicates: Predicates, one: int, other: int) -> bool:
    if predicates.axes[one] != predicates.axes[other] or predicates.nulls[one] != predicates.nulls[other]:
        return False
    a, b = predicates.firsts[one], predicates.firsts[other]
    if predicates.axes[one] < 0:
        return a == b
    while a >= 0 and b >= 0:
        if predicates.lows[a] != predicates.lows[b] or predicates.highs[a] != predicates.highs[b]:
            return False
        a, b = predicates.following[a], predicates.following[b]
    return a < 0 and b < 0


@kernel
def _new_number(predicates: Predicates) -> int:
    predicates.count += 1
    if predicates.free >= 0:
        number = predicates.free
        predicates.free = predicates.chain[number]
        return int(number)
    number = predicates.made
    predicates.made += 1
    if number == len(predicates.axes):
        length = number + number // 2 + 16
        predicates.axes, predicates.nulls = grow(predicates.axes, length), grow(predicates.nulls, length)
        predicates.firsts, predicates.uses = grow(predicates.firsts, length), grow(predicates.uses, length)
        predicates.chain = grow(predicates.chain, length)
    return int(number)


@kernel
def _free_number(predicates: Predicates, number: int) -> None:
    """Free a number and its intervals."""
    if predicates.axes[number] >= 0:
        piece = predicates.firsts[number]
        while piece >= 0:
            following = predicates.following[piece]
            predicates.following[piece] = predicates.pieces_free
            predicates.pieces_free = piece
            piece = following
    predicates.axes[number] = _FREE
    predicates.chain[number] = predicates.free
    predicates.free = number
    predicates.count -= 1


@kernel
def _new_piece(predicates: Predicates, low: int, high: int, following: int) -> int:
    if predicates.pieces_free >= 0:
        piece = predicates.pieces_free
        predicates.pieces_free = predicates.following[piece]
    else:
        piece = predicates.pieces_made
        predicates.pieces_made += 1
        if piece == len(predicates.lows):
            length = piece + piece // 2 + 16
            predicates.lows, predicates.highs = grow(predicates.lows, length), grow(predicates.highs, length)
            predicates.following = grow(predicates.following, length)
    predicates.lows[piece], predicates.highs[piece], predicates.following[piece] = low, high, following
    return int(piece)


@kernel
def _link(predicates: Predicates, number: int) -> None:
    """Add a predicate to the hash table."""
    place = _hash(predicates, number) & np.uint64(len(predicates.table) - 1)
    predicates.chain[number] = predicates.table[place]
    predicates.table[place] = number


@kernel
def _unlink(predicates: Predicates, number: int) -> None:
    """Remove a predicate from the hash table."""
    place = _hash(predicates, number) & np.uint64(len(predicates.table) - 1)
    if predicates.table[place] == number:
        predicates.table[place] = predicates.chain[number]
        return
    before = predicates.table[place]
    while predicates.chain[before] != number:
        before = predicates.chain[before]
    predicates.chain[before] = predicates.chain[number]


@kernel
def _grow_table(predicates: Predicates) -> None:
    predicates.table = np.full(2 * len(predicates.table), -1, np.int32)
    for number in range(predicates.made):
        if predicates.axes[number] != _FREE:
            _link(predicates, number)


@kernel
def intern_leaf(predicates: Predicates, leaves: Leaves, pieces: Pieces, leaf: int) -> int:
    """The predicate of a leaf, with one more use; axes, coordinates and tests are those of the index.

    The predicate is written to a new number first, so that it can be hashed and compared like the others, and that
    number is freed if an equal predicate is there.
    """
    number = _new_number(predicates)
    kind = leaves.kinds[leaf]
    low, high = leaves.lows[leaf], leaves.highs[leaf]
    if kind == TEST:
        predicates.axes[number], predicates.nulls[number], predicates.firsts[number] = -1, 0, low
    else:
        predicates.axes[number], predicates.nulls[number] = leaves.axes[leaf], leaves.nulls[leaf]
        first = -1
        if kind == PIECES:
            for piece in range(high - 1, low - 1, -1):
                first = _new_piece(predicates, pieces.lows[piece], pieces.highs[piece], first)
        elif low <= high:
            first = _new_piece(predicates, low, high, -1)
        predicates.firsts[number] = first
    place = _hash(predicates, number) & np.uint64(len(predicates.table) - 1)
    other = predicates.table[place]
    while other >= 0 and not _same(predicates, other, number):
        other = predicates.chain[other]
    if other >= 0:
        _free_number(predicates, number)
        predicates.uses[other] += 1
        return int(other)
    _link(predicates, number)
    predicates.uses[number] = 1
    if kind == TEST:
        predicates.test_owners[low] = number
    else:
        axis, piece = predicates.axes[number], predicates.firsts[number]
        if predicates.nulls[number]:
            add_posting(predicates.null_owners, axis, number)
        while piece >= 0:
            add_interval(predicates.intervals, axis, predicates.lows[piece], predicates.highs[piece], number)
            piece = predicates.following[piece]
    if predicates.count > len(predicates.table):
        _grow_table(predicates)
    return int(number)


@kernel
def retain_predicate(predicates: Predicates, number: int) -> None:
    """Count one more use of a predicate that is in use."""
    predicates.uses[number] += 1


@kernel
def release_predicates(predicates: Predicates, numbers: I32) -> None:
    """Take back one use for each occurrence."""
    for number in numbers:
        release_predicate(predicates, number)


@kernel
def release_predicate(predicates: Predicates, number: int) -> bool:
    """Take back one use; True if it was the last, which frees the number."""
    predicates.uses[number] -= 1
    if predicates.uses[number]:
        return False
    _unlink(predicates, number)
    axis, piece = predicates.axes[number], predicates.firsts[number]
    if axis < 0:
        predicates.test_owners[piece] = -1
        if predicates.drops == len(predicates.dropped):
            predicates.dropped = grow(predicates.dropped, 2 * predicates.drops + 4)
        predicates.dropped[predicates.drops] = piece
        predicates.drops += 1
    else:
        if predicates.nulls[number]:
            remove_posting(predicates.null_owners, axis, number)
        while piece >= 0:
            remove_interval(predicates.intervals, axis, predicates.lows[piece], predicates.highs[piece], number)
            piece = predicates.following[piece]
    _free_number(predicates, number)
    return True


@kernel
def relabel_axis(predicates: Predicates, axis: int, old: I64, new: I64) -> None:
    """Replace the labels of an axis; old and new labels rise alike (`order_labels`).

    All predicates of the axis leave their structures before the first returns with its new ends: the two orders
        must never mix.
    """
    for number in range(predicates.made):
        if predicates.axes[number] != axis:
            continue
        _unlink(predicates, number)
        piece = predicates.firsts[number]
        while piece >= 0:
            low, high = predicates.lows[piece], predicates.highs[piece]
            remove_interval(predicates.intervals, axis, low, high, number)
            at = np.searchsorted(old, low)
            if at < len(old) and old[at] == low:
                low = new[at]
            at = np.searchsorted(old, high + 1) if high + 1 > high else len(old)
            if at < len(old) and old[at] == high + 1:
                high = new[at] - 1
            predicates.lows[piece], predicates.highs[piece] = low, high
            piece = predicates.following[piece]
    for number in range(predicates.made):
        if predicates.axes[number] != axis:
            continue
        _link(predicates, number)
        piece = predicates.firsts[number]
        while piece >= 0:
            add_interval(predicates.intervals, axis, predicates.lows[piece], predicates.highs[piece], number)
            piece = predicates.following[piece]


@kernel
def intern_leaves(predicates: Predicates, leaves: Leaves, pieces: Pieces) -> I32:
    """The predicate of every leaf, each with one more use."""
    numbers = np.empty(len(leaves.kinds), np.int32)
    for leaf in range(len(numbers)):
        numbers[leaf] = intern_leaf(predicates, leaves, pieces, leaf)
    return numbers


@kernel
def take_dropped_tests(predicates: Predicates) -> I32:
    """The tests that lost their last use since the last call."""
    found = predicates.dropped[: predicates.drops].copy()
    predicates.drops = 0
    return found


@kernel
def axes_with_nulls(predicates: Predicates) -> I32:
    """The axes on which NULL satisfies some predicate."""
    counts = predicates.null_owners.counts
    found = np.empty(np.count_nonzero(counts), np.int32)
    at = 0
    for axis in range(len(counts)):
        if counts[axis]:
            found[at] = axis
            at += 1
    return found


@kernel
def satisfied_buffer(predicates: Predicates) -> I32:
    """An array that is long enough for `satisfied_in`."""
    return np.empty(predicates.made + 1, np.int32)


@kernel
def satisfied_in(
    predicates: Predicates, event: EncodedBatch, tests: RowTests, with_null: I32, row: int, held: I32
) -> int:
    """Write the predicates that a row satisfies, each once, in any order; returns how many there are."""
    count = 0
    nulls = predicates.null_owners
    for axis in with_null:
        line = event.columns[axis]
        if line < 0 or event.valid[line, row] == 0:
            for run in range(run_count(nulls.counts, nulls.heads, nulls.cells, axis)):
                start, end = run_bounds(nulls.counts, nulls.heads, nulls.cells, axis, run)
                for place in range(start, end):
                    held[count] = nulls.cells[place]
                    count += 1
    for axis in range(len(event.columns)):
        line = event.columns[axis]
        if line >= 0 and event.valid[line, row]:
            count = owners_at(predicates.intervals, axis, event.coordinates[line, row], held, count)
    for at in range(tests.firsts[row], tests.firsts[row + 1]):
        owner = predicates.test_owners[tests.tests[at]]
        if owner >= 0:
            held[count] = owner
            count += 1
    return count


@kernel
def satisfied_uses(predicates: Predicates, event: EncodedBatch, tests: RowTests, with_null: I32) -> I64:
    """int64[rows]: the sum of the use counts of the predicates that each row satisfies."""
    held = satisfied_buffer(predicates)
    found = np.zeros(event.rows, np.int64)
    for row in range(event.rows):
        for place in range(satisfied_in(predicates, event, tests, with_null, row, held)):
            found[row] += predicates.uses[held[place]]
    return found


@kernel
def predicate_bytes(predicates: Predicates) -> tuple[int, int, int]:
    """Bytes of the predicates, of the interval index, and of the posting lists of NULL."""
    table = predicates.table.nbytes + predicates.test_owners.nbytes
    own = 17 * predicates.made + 20 * predicates.pieces_made + table
    return own, interval_index_bytes(predicates.intervals), posting_list_bytes(predicates.null_owners)


@kernel
def predicate_counts(predicates: Predicates) -> tuple[int, int]:
    """How many predicates are in use, and one more than the greatest number ever given."""
    return predicates.count, predicates.made
