"""Predicates that come and go: equal ones are one, each with a number that is used again when nobody needs it.

A predicate is a list of intervals on an axis, and whether NULL counts; or a test of another kind, known by its
number. Who enters a leaf gets its predicate's number and must let go of it once. Predicates with a use are found
by the events that satisfy them (`held_in`).
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.conjunctions.formula_program import RowTests
from tamis.engines.dynamic.bags import Bags, bag_bytes, bags_of, put_in, reserve_bags, run_of, runs_of, take_out
from tamis.engines.dynamic.intervals import (
    Intervals,
    add_interval,
    interval_bytes,
    intervals_of,
    owners_at,
    remove_interval,
    reserve_axes,
)
from tamis.engines.encoding import Encoded
from tamis.engines.forest import PIECES, TEST, Leaves, Pieces
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_FREE = -2


@struct
class Predicates(structref.StructRefProxy):  # type: ignore[misc]
    """What `predicates_of` gives; only compiled code looks into it.

    axes: int32[predicates]: -1 of a test, -2 of a free number.
    nulls: uint8[predicates]: 1 if it holds where its axis is NULL.
    firsts: int32[predicates]: its first piece, -1 if it has none; of a test its number.
    uses: int32[predicates].
    chain: int32[predicates]: the next one in the same place of the table, or the next free number.
    made, free, count: numbers ever given, a free one or -1, predicates in use.
    table: int32[a power of two]: a predicate, -1 if there is none.
    lows, highs, following: pieces, each with the next one of its predicate; those made, a free one or -1.
    test_owners: int32[tests]: the predicate of a test, -1 if there is none.
    dropped, drops: the tests whose predicates are gone, and how many since somebody asked.
    intervals, null_owners: what finds them by a coordinate, and by NULL.
    """

    axes: Shorts
    nulls: Bytes
    firsts: Shorts
    uses: Shorts
    chain: Shorts
    made: int
    free: int
    count: int
    table: Shorts
    lows: Ints
    highs: Ints
    following: Shorts
    pieces_made: int
    pieces_free: int
    test_owners: Shorts
    dropped: Shorts
    drops: int
    intervals: Intervals
    null_owners: Bags


@numba.njit(cache=True, nogil=True)
def predicates_of() -> Predicates:
    """None yet."""
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
        intervals_of(),
        bags_of(0),
    )


@numba.njit(cache=True, nogil=True)
def reserve_predicates(predicates: Predicates, axes: int, tests: int) -> None:
    """Let there be so many axes and tests."""
    reserve_axes(predicates.intervals, axes)
    reserve_bags(predicates.null_owners, axes)
    old = len(predicates.test_owners)
    if tests > old:
        predicates.test_owners = grown(predicates.test_owners, max(tests, 2 * old))
        predicates.test_owners[old:] = -1


@numba.njit(cache=True, nogil=True)
def _mixed(hash_: int, value: int) -> np.uint64:
    mixed = (np.uint64(hash_) ^ np.uint64(value)) * _MIX
    return mixed ^ (mixed >> np.uint64(29))


@numba.njit(cache=True, nogil=True)
def _hash(predicates: Predicates, number: int) -> np.uint64:
    hash_ = _mixed(np.uint64(predicates.axes[number] + 1), np.uint64(predicates.nulls[number]))
    if predicates.axes[number] < 0:
        return _mixed(hash_, np.uint64(predicates.firsts[number]))
    piece = predicates.firsts[number]
    while piece >= 0:
        hash_ = _mixed(_mixed(hash_, np.uint64(predicates.lows[piece])), np.uint64(predicates.highs[piece]))
        piece = predicates.following[piece]
    return hash_


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
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
        predicates.axes, predicates.nulls = grown(predicates.axes, length), grown(predicates.nulls, length)
        predicates.firsts, predicates.uses = grown(predicates.firsts, length), grown(predicates.uses, length)
        predicates.chain = grown(predicates.chain, length)
    return int(number)


@numba.njit(cache=True, nogil=True)
def _free_number(predicates: Predicates, number: int) -> None:
    """Free a number and its pieces."""
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


@numba.njit(cache=True, nogil=True)
def _new_piece(predicates: Predicates, low: int, high: int, following: int) -> int:
    if predicates.pieces_free >= 0:
        piece = predicates.pieces_free
        predicates.pieces_free = predicates.following[piece]
    else:
        piece = predicates.pieces_made
        predicates.pieces_made += 1
        if piece == len(predicates.lows):
            length = piece + piece // 2 + 16
            predicates.lows, predicates.highs = grown(predicates.lows, length), grown(predicates.highs, length)
            predicates.following = grown(predicates.following, length)
    predicates.lows[piece], predicates.highs[piece], predicates.following[piece] = low, high, following
    return int(piece)


@numba.njit(cache=True, nogil=True)
def _link(predicates: Predicates, number: int) -> None:
    """Put a predicate into the table."""
    place = _hash(predicates, number) & np.uint64(len(predicates.table) - 1)
    predicates.chain[number] = predicates.table[place]
    predicates.table[place] = number


@numba.njit(cache=True, nogil=True)
def _unlink(predicates: Predicates, number: int) -> None:
    """Take a predicate out of the table."""
    place = _hash(predicates, number) & np.uint64(len(predicates.table) - 1)
    if predicates.table[place] == number:
        predicates.table[place] = predicates.chain[number]
        return
    before = predicates.table[place]
    while predicates.chain[before] != number:
        before = predicates.chain[before]
    predicates.chain[before] = predicates.chain[number]


@numba.njit(cache=True, nogil=True)
def _widen_table(predicates: Predicates) -> None:
    predicates.table = np.full(2 * len(predicates.table), -1, np.int32)
    for number in range(predicates.made):
        if predicates.axes[number] != _FREE:
            _link(predicates, number)


@numba.njit(cache=True, nogil=True)
def enter_leaf(predicates: Predicates, leaves: Leaves, pieces: Pieces, leaf: int) -> int:
    """The predicate of a leaf whose axis, ends and test are those of these predicates; it has a use more."""
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
            put_in(predicates.null_owners, axis, number)
        while piece >= 0:
            add_interval(predicates.intervals, axis, predicates.lows[piece], predicates.highs[piece], number)
            piece = predicates.following[piece]
    if predicates.count > len(predicates.table):
        _widen_table(predicates)
    return int(number)


@numba.njit(cache=True, nogil=True)
def hold_on(predicates: Predicates, number: int) -> None:
    """A use more of a predicate that is in use."""
    predicates.uses[number] += 1


@numba.njit(cache=True, nogil=True)
def let_go_all(predicates: Predicates, numbers: Shorts) -> None:
    """A use less of every predicate, as often as it stands there."""
    for number in numbers:
        let_go(predicates, number)


@numba.njit(cache=True, nogil=True)
def let_go(predicates: Predicates, number: int) -> bool:
    """A use less of a predicate; was it the last?"""
    predicates.uses[number] -= 1
    if predicates.uses[number]:
        return False
    _unlink(predicates, number)
    axis, piece = predicates.axes[number], predicates.firsts[number]
    if axis < 0:
        predicates.test_owners[piece] = -1
        if predicates.drops == len(predicates.dropped):
            predicates.dropped = grown(predicates.dropped, 2 * predicates.drops + 4)
        predicates.dropped[predicates.drops] = piece
        predicates.drops += 1
    else:
        if predicates.nulls[number]:
            take_out(predicates.null_owners, axis, number)
        while piece >= 0:
            remove_interval(predicates.intervals, axis, predicates.lows[piece], predicates.highs[piece], number)
            piece = predicates.following[piece]
    _free_number(predicates, number)
    return True


@numba.njit(cache=True, nogil=True)
def move_axis(predicates: Predicates, axis: int, old: Ints, new: Ints) -> None:
    """Give the coordinates of an axis new labels, which rise as the old ones do."""
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


@numba.njit(cache=True, nogil=True)
def enter_leaves(predicates: Predicates, leaves: Leaves, pieces: Pieces) -> Shorts:
    """The predicate of every leaf; each has a use more."""
    numbers = np.empty(len(leaves.kinds), np.int32)
    for leaf in range(len(numbers)):
        numbers[leaf] = enter_leaf(predicates, leaves, pieces, leaf)
    return numbers


@numba.njit(cache=True, nogil=True)
def dropped_tests(predicates: Predicates) -> Shorts:
    """The tests whose predicates went since this was asked last."""
    found = predicates.dropped[: predicates.drops].copy()
    predicates.drops = 0
    return found


@numba.njit(cache=True, nogil=True)
def axes_with_nulls(predicates: Predicates) -> Shorts:
    """The axes on which NULL satisfies some predicate."""
    counts = predicates.null_owners.counts
    found = np.empty(np.count_nonzero(counts), np.int32)
    at = 0
    for axis in range(len(counts)):
        if counts[axis]:
            found[at] = axis
            at += 1
    return found


@numba.njit(cache=True, nogil=True)
def room_for_held(predicates: Predicates) -> Shorts:
    """What `held_in` needs to write to."""
    return np.empty(predicates.made + 1, np.int32)


@numba.njit(cache=True, nogil=True)
def held_in(
    predicates: Predicates, event: Encoded, tests: RowTests, with_null: Shorts, row: int, held: Shorts
) -> int:
    """Write the predicates that a row satisfies, each once, in any order; gives their number."""
    count = 0
    nulls = predicates.null_owners
    for axis in with_null:
        line = event.columns[axis]
        if line < 0 or event.valid[line, row] == 0:
            for run in range(runs_of(nulls.counts, nulls.heads, nulls.cells, axis)):
                start, end = run_of(nulls.counts, nulls.heads, nulls.cells, axis, run)
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


@numba.njit(cache=True, nogil=True)
def uses_held(predicates: Predicates, event: Encoded, tests: RowTests, with_null: Shorts) -> Ints:
    """Of each row, the uses of all predicates that it satisfies."""
    held = room_for_held(predicates)
    found = np.zeros(event.rows, np.int64)
    for row in range(event.rows):
        for place in range(held_in(predicates, event, tests, with_null, row, held)):
            found[row] += predicates.uses[held[place]]
    return found


@numba.njit(cache=True, nogil=True)
def predicate_bytes(predicates: Predicates) -> tuple[int, int, int]:
    """What is taken by the predicates themselves, by what finds them by value, and by NULL."""
    table = predicates.table.nbytes + predicates.test_owners.nbytes
    own = 17 * predicates.made + 20 * predicates.pieces_made + table
    return own, interval_bytes(predicates.intervals), bag_bytes(predicates.null_owners)


@numba.njit(cache=True, nogil=True)
def predicate_counts(predicates: Predicates) -> tuple[int, int]:
    """How many predicates are in use, and one more than the greatest number ever given."""
    return predicates.count, predicates.made
