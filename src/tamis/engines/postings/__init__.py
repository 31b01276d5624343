"""`postings`: counting on lists that are merged by cells of values.

Formulas become conjunctions (`tamis.engines.conjunctions.dnf`), and each holds when all of its leaves are met.
Lists of conjunctions (`lists`) are found by the values of the event; reading a list counts down a byte of each
conjunction in it, and those that arrive at zero hold. Between events every byte stands at the number of leaves
again. An index does not change after it was built.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, Conjunctions, conjunctions_of
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
from tamis.engines.grouping import cuts_up_to, grown
from tamis.engines.postings.lists import Lists, postings_of
from tamis.events.batch import EventBatch
from tamis.language.formula import Formula
from tamis.predicates.base import Frame
from tamis.statistics import Statistics

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Numbers: TypeAlias = npt.NDArray[np.uint32]
Bytes: TypeAlias = npt.NDArray[np.uint8]

_COPY_SHARE = 32  # setting one counter after another costs as much as copying so many of them in a row


class _Targets(NamedTuple):
    """What to do about a conjunction that holds.

    needed: uint8[conjunctions]: its leaves.
    slots: int32[conjunctions].
    flags: uint8[conjunctions]: SEVERAL and UNSURE.
    always: int32[...]: the conjunctions without leaves.
    """

    needed: Bytes
    slots: Shorts
    flags: Bytes
    always: Shorts


class _Axes(NamedTuple):
    """Which axes to look at.

    with_null: int32[...]: those on which NULL satisfies some leaf.
    shown: int32[...]: those on which some row of the batch has a value.
    """

    with_null: Shorts
    shown: Shorts


class _Room(NamedTuple):
    """What one thread works with.

    counters: uint8[conjunctions]: as `needed` between events.
    found: int32[conjunctions]: those that hold.
    seen: int64[slots]: the last event, counted from 1, in which the slot was settled.
    events: int64[1]: how many there were.
    starts, ends: int64[...]: the lists of the event under way.
    parts: uint32[...]: conjunctions from partly filled cells.
    """

    counters: Bytes
    found: Shorts
    seen: Ints
    events: Ints
    starts: Ints
    ends: Ints
    parts: Numbers


class Postings:
    """The engine."""

    name = "postings"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> PostingsIndex:
        """An index with formula i in slot i."""
        return PostingsIndex(formulas)


class PostingsIndex:
    """Formulas as conjunctions, listed under their predicates."""

    def __init__(self, formulas: Sequence[Formula]) -> None:
        forest = forest_of(formulas)
        conjunctions = conjunctions_of(forest)
        self._encoder = Encoder(forest.axes, forest.tests)
        self._program = program_of(forest)
        leaves, pieces = self._program.leaves, self._program.pieces
        self._postings, self._predicates = postings_of(
            leaves, pieces, len(forest.axes), len(forest.tests), conjunctions
        )
        self._targets = _targets(conjunctions)
        self._list_bound, self._part_bound = (int(bound) for bound in _bounds(self._postings, len(forest.tests)))
        nulls, bases = self._postings, self._postings.scales.bases[:-1]
        is_empty = (nulls.firsts[bases] == nulls.firsts[bases + 1]) & (
            nulls.ref_firsts[bases] == nulls.ref_firsts[bases + 1]
        )
        self._with_null = np.flatnonzero(~is_empty).astype(np.int32)
        self._rooms = threading.local()

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in the order of rows."""
        event = self._encoder.encode(frame_of(events))
        axes = _Axes(self._with_null, np.flatnonzero(event.columns >= 0).astype(np.int32))
        row_tests = row_tests_of(event)
        room, memory = self._room()
        found = Found(*_match(self._postings, self._targets, axes, event, row_tests, room))
        return settled(self._program, event, row_tests, found, memory)

    def _room(self) -> tuple[_Room, Memory]:
        """Of this thread; kept, because clearing it for every batch would cost more than a small one takes."""
        if not hasattr(self._rooms, "room"):
            room = _Room(
                self._targets.needed.copy(),
                np.empty(len(self._targets.needed), np.int32),
                np.zeros(len(self._program.roots), np.int64),
                np.zeros(1, np.int64),
                np.empty(self._list_bound, np.int64),
                np.empty(self._list_bound, np.int64),
                np.empty(self._part_bound, np.uint32),
            )
            self._rooms.room = room, memory_for(self._program)
        found: tuple[_Room, Memory] = self._rooms.room
        return found

    def stats(self) -> Stats:
        """Subscriptions, conjunctions, predicates, and how many formulas must be evaluated."""
        flags, slots = self._targets.flags, self._targets.slots
        counts = {
            "subscriptions": len(self._program.roots),
            "conjunctions": len(slots),
            "predicates": self._predicates,
            "postings": len(self._postings.ids) + len(self._postings.part_targets),
            "unsure": len(np.unique(slots[(flags & UNSURE) != 0])),
            "scanned": int(np.count_nonzero(flags[self._targets.always] & UNSURE)),
        }
        postings = self._postings
        parts = (postings.part_firsts, postings.part_lows, postings.part_highs, postings.part_targets)
        sizes = {
            "cuts": _bytes(*postings.scales),
            "lists": _bytes(postings.firsts, postings.ids),
            "references": _bytes(postings.ref_firsts, postings.refs),
            "parts": _bytes(*parts),
            "conjunctions": _bytes(*self._targets),
            "formulas": _bytes(*self._program.leaves, *self._program.pieces, *self._program.nodes),
        }
        return Stats(counts, sizes)


def _bytes(*arrays: npt.NDArray[Any]) -> int:
    return sum(array.nbytes for array in arrays)


def _targets(conjunctions: Conjunctions) -> _Targets:
    lengths = np.diff(conjunctions.firsts)
    always = np.flatnonzero(lengths == 0).astype(np.int32)
    return _Targets(lengths.astype(np.uint8), conjunctions.slots, conjunctions.flags, always)


@numba.njit(cache=True, nogil=True)
def _bounds(postings: Lists, tests: int) -> tuple[int, int]:
    """How many lists, and how many parts, one event can meet at most."""
    scales = postings.scales
    lists, parts = tests, 0
    for axis in range(len(scales.cells)):
        base, cells = scales.bases[axis], scales.cells[axis]
        most_lists = 1 + postings.ref_firsts[base + 1] - postings.ref_firsts[base]
        most_parts = 0
        for cell in range(cells):
            key = base + cells + cell
            inside = postings.part_firsts[key + 1] - postings.part_firsts[key]
            met = inside
            node = cells + cell
            while node > 0:
                met += 1 + postings.ref_firsts[base + node + 1] - postings.ref_firsts[base + node]
                node >>= 1
            most_lists = max(most_lists, met)
            most_parts = max(most_parts, inside)
        lists += most_lists
        parts += most_parts
    return lists, parts


@numba.njit(cache=True, nogil=True)
def _add_key(postings: Lists, key: int, room: _Room, lists: int) -> int:
    """Take a key's own list and those that it refers to; gives the number of lists."""
    if postings.firsts[key] < postings.firsts[key + 1]:
        room.starts[lists], room.ends[lists] = postings.firsts[key], postings.firsts[key + 1]
        lists += 1
    for at in range(postings.ref_firsts[key], postings.ref_firsts[key + 1]):
        shared = postings.refs[at]
        room.starts[lists], room.ends[lists] = postings.firsts[shared], postings.firsts[shared + 1]
        lists += 1
    return lists


@numba.njit(cache=True, nogil=True)
def _gather(
    postings: Lists, axes: _Axes, event: Encoded, row: int, row_tests: RowTests, room: _Room
) -> tuple[int, int]:
    """The lists and the parts that an event meets: how many of each."""
    scales = postings.scales
    lists, parts = 0, 0
    for axis in axes.with_null:
        line = event.columns[axis]
        if line < 0 or event.valid[line, row] == 0:
            lists = _add_key(postings, scales.bases[axis], room, lists)
    for axis in axes.shown:
        base = scales.bases[axis]
        line = event.columns[axis]
        if event.valid[line, row] == 0:
            continue
        position = cuts_up_to(
            scales.cuts, scales.cut_firsts[axis], scales.cut_firsts[axis + 1], event.coordinates[line, row]
        )
        shift, cells = scales.shifts[axis], scales.cells[axis]
        node = cells + (position >> shift)
        inside = position & ((1 << shift) - 1)
        for at in range(postings.part_firsts[base + node], postings.part_firsts[base + node + 1]):
            if postings.part_lows[at] <= inside <= postings.part_highs[at]:
                target = postings.part_targets[at]
                if target >= 0:
                    room.parts[parts] = target
                    parts += 1
                else:
                    room.starts[lists], room.ends[lists] = postings.firsts[~target], postings.firsts[~target + 1]
                    lists += 1
        while node > 0:
            lists = _add_key(postings, base + node, room, lists)
            node >>= 1
    for at in range(row_tests.firsts[row], row_tests.firsts[row + 1]):
        lists = _add_key(postings, scales.bases[-1] + row_tests.tests[at], room, lists)
    return lists, parts


@numba.njit(cache=True, nogil=True)
def _count_down(ids: Numbers, start: int, end: int, counters: Bytes, found: Shorts, count: int) -> int:
    """Count down those in a part of a list; those at zero go to `found`, which has `count` by now."""
    for at in range(start, end):
        conjunction = ids[at]
        left = counters[conjunction] - np.uint8(1)
        counters[conjunction] = left
        if left == 0:
            found[count] = conjunction
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _restore(postings: Lists, needed: Bytes, room: _Room, lists: int, parts: int) -> None:
    """Set all counters that the event may have changed."""
    length = parts
    for each in range(lists):
        length += room.ends[each] - room.starts[each]
    if length * _COPY_SHARE > len(needed):
        for at in range(len(needed)):  # compiles to a copy; an assignment of slices does not
            room.counters[at] = needed[at]
        return
    for each in range(lists):
        for at in range(room.starts[each], room.ends[each]):
            conjunction = postings.ids[at]
            room.counters[conjunction] = needed[conjunction]
    for at in range(parts):
        room.counters[room.parts[at]] = needed[room.parts[at]]


@numba.njit(cache=True, nogil=True)
def _match(
    postings: Lists,
    targets: _Targets,
    axes: _Axes,
    event: Encoded,
    row_tests: RowTests,
    room: _Room,
) -> tuple[Shorts, Shorts, Bytes]:
    """The pairs that hold, and those that may, as `Found` has them."""
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.rows):
        lists, parts = _gather(postings, axes, event, row, row_tests, room)
        count = 0
        for always in targets.always:
            room.found[count] = always
            count += 1
        for each in range(lists):
            start, end = room.starts[each], room.ends[each]
            count = _count_down(postings.ids, start, end, room.counters, room.found, count)
        count = _count_down(room.parts, 0, parts, room.counters, room.found, count)
        _restore(postings, targets.needed, room, lists, parts)
        if used + count > len(rows):
            length = 2 * (used + count)
            rows, slots, sure = grown(rows, length), grown(slots, length), grown(sure, length)
        room.events[0] += 1
        for at in range(count):
            conjunction = room.found[at]
            slot, flags = targets.slots[conjunction], targets.flags[conjunction]
            if flags & SEVERAL:
                if room.seen[slot] == room.events[0]:
                    continue
                room.seen[slot] = room.events[0]
            rows[used], slots[used], sure[used] = row, slot, flags & UNSURE == 0
            used += 1
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()
