"""`bitset`: for every event, join the bitsets of the conjunctions that surely fail, and look at the rest.

In the manner of REIN and HEM: what does not match is marked, many at a time, and what is left unmarked matches.
Formulas become conjunctions (`tamis.engines.conjunctions.dnf`) whose bitsets are made when the index is built
(`marks`); a value picks one of them an axis. What they leave over fails at most in a part of a cell: if it is
little, the formulas are evaluated, else the cells are looked into. An index does not change after it was built.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.bitset.filed import Filed
from tamis.engines.bitset.marks import Marks, marks_of
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, conjunctions_of
from tamis.engines.conjunctions.formula_program import (
    Found,
    Memory,
    RowTests,
    memory_for,
    program_of,
    row_tests_of,
    settled,
)
from tamis.engines.encoding import Encoded, Encoder
from tamis.engines.forest import forest_of
from tamis.engines.forest.axes import LOWEST
from tamis.engines.grouping import cuts_up_to, grown
from tamis.events.batch import EventBatch
from tamis.language.formula import Formula
from tamis.predicates.base import Frame
from tamis.statistics import Statistics

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Numbers: TypeAlias = npt.NDArray[np.uint32]
Words: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

_LOOK_PRICE = 1_000  # evaluating a formula that is not in the cache costs as much as passing so many ends

# Where the only set bit of a word is: the upper six bits of the word times a number that has every six bits once.
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
_BIT_PLACES = np.zeros(64, np.int64)
for _bit in range(64):
    _BIT_PLACES[(((1 << _bit) * int(_SEQUENCE)) & (2**64 - 1)) >> 58] = _bit


class _Room(NamedTuple):
    """What one thread works with.

    failing: uint64[words]: the conjunctions that fail.
    doubtful: uint64[words]: those that a cell has doubts about.
    left: int32[conjunctions]: those that do not fail.
    chosen: int64[3 * axes]: the bitsets to join.
    present: uint8[2 * axes]: which nodes of the tree of NULL are above an attribute that is there.
    seen: int64[slots]: the last event, counted from 1, in which the slot was settled.
    events: int64[1]: how many there were.
    """

    failing: Words
    doubtful: Words
    left: Shorts
    chosen: Ints
    present: Bytes
    seen: Ints
    events: Ints


class Bitset:
    """The engine."""

    name = "bitset"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> BitsetIndex:
        """An index with formula i in slot i."""
        return BitsetIndex(formulas)


class BitsetIndex:
    """Formulas as conjunctions, a bit each."""

    def __init__(self, formulas: Sequence[Formula]) -> None:
        forest = forest_of(formulas)
        conjunctions = conjunctions_of(forest)
        self._encoder = Encoder(forest.axes, forest.tests)
        self._program = program_of(forest)
        leaves, pieces = self._program.leaves, self._program.pieces
        self._marks, flags = marks_of(leaves, pieces, len(forest.axes), len(forest.tests), conjunctions)
        # A slot and its flags, SEVERAL and UNSURE, in one number, because they are read in no order.
        self._targets = conjunctions.slots.astype(np.int64) << 2 | flags
        self._rooms = threading.local()

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in the order of rows."""
        event = self._encoder.encode(frame_of(events))
        shown = np.flatnonzero(event.columns >= 0).astype(np.int32)
        row_tests = row_tests_of(event)
        room, memory = self._room()
        found = Found(*_match(self._marks, self._targets, event, shown, row_tests, room))
        return settled(self._program, event, row_tests, found, memory)

    def _room(self) -> tuple[_Room, Memory]:
        """Of this thread; kept, because clearing it for every batch would cost more than a small one takes."""
        if not hasattr(self._rooms, "room"):
            words, axes = len(self._marks.filed.start), len(self._marks.axes)
            room = _Room(
                np.zeros(words, np.uint64),
                np.zeros(words, np.uint64),
                np.empty(len(self._targets), np.int32),
                np.empty(3 * axes, np.int64),
                np.empty(2 * axes, np.uint8),
                np.zeros(len(self._program.roots), np.int64),
                np.zeros(1, np.int64),
            )
            self._rooms.room = room, memory_for(self._program)
        found: tuple[_Room, Memory] = self._rooms.room
        return found

    def stats(self) -> Stats:
        """Subscriptions, conjunctions, bitsets, and how many formulas must always be evaluated if left over."""
        marks = self._marks
        counts = {
            "subscriptions": len(self._program.roots),
            "conjunctions": len(self._targets),
            "bitsets": len(marks.bits),
            "filed": len(marks.filed.conjunctions),
            "unsure": len(np.unique(self._targets[(self._targets & UNSURE) != 0] >> 2)),
        }
        sizes = {
            "bitsets": _bytes(marks.bits, marks.empty, marks.cuts),
            "ends": _bytes(*marks.lows, *marks.highs, marks.doubt_firsts, marks.doubts),
            "filed": _bytes(*marks.filed),
            "conjunctions": _bytes(self._targets),
            "formulas": _bytes(*self._program.leaves, *self._program.pieces, *self._program.nodes),
        }
        return Stats(counts, sizes)


def _bytes(*arrays: npt.NDArray[Any]) -> int:
    return sum(array.nbytes for array in arrays)


@numba.njit(cache=True, nogil=True)
def _begin(marks: Marks, event: Encoded, shown: Shorts, row: int, row_tests: RowTests, failing: Words) -> None:
    """What fails from the start: all that is filed under something that the event does not bring up."""
    for word in range(len(failing)):
        failing[word] = marks.filed.start[word]
    for axis in shown:
        line = event.columns[axis]
        if marks.filed.firsts[axis] < marks.filed.firsts[axis + 1] and event.valid[line, row]:
            _admit(marks.filed, axis, event.coordinates[line, row], failing)
    for at in range(row_tests.firsts[row], row_tests.firsts[row + 1]):
        _admit(marks.filed, len(event.columns) + row_tests.tests[at], 0, failing)


@numba.njit(cache=True, nogil=True)
def _admit(filed: Filed, group: int, value: int, failing: Words) -> None:
    """Take back the marks of what is filed in a group and holds at the value."""
    for at in range(filed.firsts[group], filed.firsts[group + 1]):
        if filed.lows[at] <= value <= filed.highs[at]:
            conjunction = filed.conjunctions[at]
            failing[conjunction >> 6] &= ~(np.uint64(1) << np.uint64(conjunction & np.uint32(63)))


@numba.njit(cache=True, nogil=True)
def _select(marks: Marks, event: Encoded, row: int, room: _Room) -> tuple[int, int]:
    """The bitsets of an event, those of cells first: how many, and how many ends and doubts the cells have."""
    axes = len(marks.axes)
    chosen, present = room.chosen, room.present
    count, doubts = 0, 0
    for place in range(axes):
        line = event.columns[marks.axes[place]]
        if line < 0 or event.valid[line, row] == 0:
            present[axes + place] = 0
            continue
        present[axes + place] = 1
        value = event.coordinates[line, row]
        bitset = marks.bases[place] + cuts_up_to(
            marks.cuts, marks.cut_firsts[place], marks.cut_firsts[place + 1], value
        )
        chosen[count] = bitset
        doubts += marks.doubt_firsts[bitset + 1] - marks.doubt_firsts[bitset]
        doubts += marks.lows.firsts[bitset + 1] - marks.lows.firsts[bitset]
        doubts += marks.highs.firsts[bitset + 1] - marks.highs.firsts[bitset]
        count += 1
    for node in range(axes - 1, 0, -1):
        present[node] = present[2 * node] | present[2 * node + 1]
    for node in range(1, 2 * axes):
        # The highest nodes below which nothing is there.
        if present[node] == 0 and (node == 1 or present[node >> 1]) and marks.empty[marks.tree + node] == 0:
            chosen[count] = marks.tree + node
            count += 1
    return count, doubts


@numba.njit(cache=True, nogil=True)
def _join(bits: Words, chosen: Ints, count: int, failing: Words) -> None:
    """OR; several at a time, so that what they are joined to is read and written less often."""
    at = 0
    while at + 4 <= count:
        first, second = bits[chosen[at]], bits[chosen[at + 1]]
        third, fourth = bits[chosen[at + 2]], bits[chosen[at + 3]]
        for word in range(len(failing)):
            failing[word] |= first[word] | second[word] | third[word] | fourth[word]
        at += 4
    while at < count:
        first = bits[chosen[at]]
        for word in range(len(failing)):
            failing[word] |= first[word]
        at += 1


@numba.njit(cache=True, nogil=True)
def _left_over(failing: Words, left: Shorts) -> int:
    """The conjunctions without a mark: how many."""
    count = 0
    for word in range(len(failing)):
        rest = ~failing[word]
        while rest != 0:
            lowest = rest & (~rest + np.uint64(1))
            left[count] = 64 * word + _BIT_PLACES[(lowest * _SEQUENCE) >> np.uint64(58)]
            count += 1
            rest ^= lowest
    return count


@numba.njit(cache=True, nogil=True)
def _look_into_cells(marks: Marks, event: Encoded, row: int, room: _Room) -> None:
    """Mark what fails in a part of its cell, as far as ends tell; collect what is doubtful."""
    for word in range(len(room.doubtful)):
        room.doubtful[word] = 0
    at = 0
    for axis in marks.axes:
        line = event.columns[axis]
        if line < 0 or event.valid[line, row] == 0:
            continue
        value, bitset = event.coordinates[line, row], room.chosen[at]
        at += 1
        lows, highs = marks.lows, marks.highs
        first, last = lows.firsts[bitset], lows.firsts[bitset + 1]
        _set_bits(lows.conjunctions, first + cuts_up_to(lows.values, first, last, value), last, room.failing)
        first = highs.firsts[bitset]
        below = first
        if value != LOWEST:
            below += cuts_up_to(highs.values, first, highs.firsts[bitset + 1], value - 1)
        _set_bits(highs.conjunctions, first, below, room.failing)
        _set_bits(marks.doubts, marks.doubt_firsts[bitset], marks.doubt_firsts[bitset + 1], room.doubtful)


@numba.njit(cache=True, nogil=True)
def _set_bits(conjunctions: Numbers, first: int, last: int, words: Words) -> None:
    for at in range(first, last):
        conjunction = conjunctions[at]
        words[conjunction >> 6] |= np.uint64(1) << np.uint64(conjunction & np.uint32(63))


@numba.njit(cache=True, nogil=True)
def _match(
    marks: Marks,
    targets: Ints,
    event: Encoded,
    shown: Shorts,
    row_tests: RowTests,
    room: _Room,
) -> tuple[Shorts, Shorts, Bytes]:
    """The pairs that hold, and those that may, as `Found` has them."""
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.rows):
        _begin(marks, event, shown, row, row_tests, room.failing)
        bitsets, doubts = _select(marks, event, row, room)
        _join(marks.bits, room.chosen, bitsets, room.failing)
        count = _left_over(room.failing, room.left)
        # Few are evaluated, wherever in their cells the values are.
        is_exact = count * _LOOK_PRICE > doubts
        if is_exact and doubts:
            _look_into_cells(marks, event, row, room)
            count = _left_over(room.failing, room.left)
        if used + count > len(rows):
            length = 2 * (used + count)
            rows, slots, sure = grown(rows, length), grown(slots, length), grown(sure, length)
        room.events[0] += 1
        for at in range(count):
            conjunction = room.left[at]
            target = targets[conjunction]
            slot = target >> 2
            if target & SEVERAL:
                if room.seen[slot] == room.events[0]:
                    continue
                room.seen[slot] = room.events[0]
            is_sure = is_exact and target & UNSURE == 0
            if is_sure and doubts:
                is_sure = (room.doubtful[conjunction >> 6] >> np.uint64(conjunction & 63)) & np.uint64(1) == 0
            rows[used], slots[used], sure[used] = row, slot, is_sure
            used += 1
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()
