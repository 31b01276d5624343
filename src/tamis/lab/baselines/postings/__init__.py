"""`postings`: the counting algorithm over static posting lists that are merged by cells of values.

Formulas become conjunctions (`tamis.engines.conjunctions.dnf`), and a conjunction holds when all its leaves do.
The values of an event name posting lists of conjunctions (`lists`); each posting counts down a byte of its
conjunction, and those that reach zero hold. Between events every byte is the number of leaves again.

It is no engine of a paper, but a fast and simple form of Yan and Garcia-Molina's algorithm, which the benchmarks
compare with. An index does not change after it was built.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, U32, AnyArray
from tamis.engines.array_kernels import count_up_to, grow
from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.bitslice import Bitslice
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, Conjunctions, conjunctions_of
from tamis.engines.encoding import EncodedBatch, Encoder
from tamis.engines.forest import Leaves, Pieces, forest_of
from tamis.engines.formula_program import (
    Candidates,
    EvaluationMemory,
    RowTests,
    new_memory,
    program_of,
    row_tests_of,
    verify_candidates,
)
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.kernels import kernel
from tamis.lab.baselines.postings.lists import CellPostings, postings_of
from tamis.statistics import Statistics

_COPY_SHARE = 32  # setting one counter after another costs as much as copying so many of them in a row


class _Targets(NamedTuple):
    """The conjunctions.

    needed: uint8[conjunctions]: the number of leaves.
    slots: int32[conjunctions].
    flags: uint8[conjunctions]: SEVERAL and UNSURE.
    always: int32[...]: the conjunctions without leaves.
    """

    needed: U8
    slots: I32
    flags: U8
    always: I32


class _Axes(NamedTuple):
    """The axes that matter for a batch.

    with_null: int32[...]: those on which NULL satisfies some leaf.
    shown: int32[...]: those on which some row of the batch has a value.
    """

    with_null: I32
    shown: I32


class _CountingScratch(NamedTuple):
    """The scratch space of a thread.

    counters: uint8[conjunctions]: equal to `needed` between events.
    found: int32[conjunctions]: those that hold.
    seen: int64[slots]: the last event, counted from 1, for which the slot was reported.
    events: int64[1]: how many events there were.
    starts, ends: int64[...]: the posting lists of the current event.
    parts: uint32[...]: conjunctions from partly filled cells.
    """

    counters: U8
    found: I32
    seen: I64
    events: I64
    starts: I64
    ends: I64
    parts: U32


class Postings:
    """The engine `postings`; it has no settings."""

    name = "postings"
    dynamic = False

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> PostingsIndex:
        return PostingsIndex(formulas)


class PostingsIndex:
    """Formulas as conjunctions, in posting lists of their predicates."""

    def __init__(self, formulas: Sequence[Formula]) -> None:
        forest = forest_of(formulas)
        conjunctions = conjunctions_of(forest)
        self._encoder = Encoder(forest.axes, forest.tests, build_index=Bitslice().build)
        self._program, self._roots = program_of(forest)
        self._test_count = len(forest.tests)
        leaves = Leaves(*map(np.ascontiguousarray, forest.leaves))
        pieces = Pieces(*map(np.ascontiguousarray, forest.pieces))
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
        candidates = Candidates(*_match(self._postings, self._targets, axes, event, row_tests, room))
        return verify_candidates(self._program, self._roots, event, row_tests, candidates, memory)

    def _room(self) -> tuple[_CountingScratch, EvaluationMemory]:
        """The scratch space of this thread; kept, since making it would cost more than matching a small batch."""
        if not hasattr(self._rooms, "room"):
            room = _CountingScratch(
                self._targets.needed.copy(),
                np.empty(len(self._targets.needed), np.int32),
                np.zeros(len(self._roots), np.int64),
                np.zeros(1, np.int64),
                np.empty(self._list_bound, np.int64),
                np.empty(self._list_bound, np.int64),
                np.empty(self._part_bound, np.uint32),
            )
            self._rooms.room = room, new_memory(self._program, self._test_count)
        found: tuple[_CountingScratch, EvaluationMemory] = self._rooms.room
        return found

    def stats(self) -> Stats:
        """Subscriptions, conjunctions, predicates, and how many formulas must be evaluated."""
        flags, slots = self._targets.flags, self._targets.slots
        counts = {
            "subscriptions": len(self._roots),
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
            "formulas": _bytes(*self._program),
        }
        return Stats(counts, sizes)


def _bytes(*arrays: AnyArray) -> int:
    return sum(array.nbytes for array in arrays)


def _targets(conjunctions: Conjunctions) -> _Targets:
    lengths = np.diff(conjunctions.firsts)
    always = np.flatnonzero(lengths == 0).astype(np.int32)
    return _Targets(lengths.astype(np.uint8), conjunctions.slots, conjunctions.flags, always)


@kernel
def _bounds(postings: CellPostings, tests: int) -> tuple[int, int]:
    """How many lists, and how many parts, an event can meet at most."""
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


@kernel
def _add_key(postings: CellPostings, key: int, room: _CountingScratch, lists: int) -> int:
    """Append the list of a key and those that it refers to; returns the number of lists."""
    if postings.firsts[key] < postings.firsts[key + 1]:
        room.starts[lists], room.ends[lists] = postings.firsts[key], postings.firsts[key + 1]
        lists += 1
    for at in range(postings.ref_firsts[key], postings.ref_firsts[key + 1]):
        shared = postings.refs[at]
        room.starts[lists], room.ends[lists] = postings.firsts[shared], postings.firsts[shared + 1]
        lists += 1
    return lists


@kernel
def _gather(
    postings: CellPostings, axes: _Axes, event: EncodedBatch, row: int, row_tests: RowTests, room: _CountingScratch
) -> tuple[int, int]:
    """Collect the lists and the parts that an event meets; returns how many of each."""
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
        position = count_up_to(
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


@kernel
def _count_down(ids: U32, start: int, end: int, counters: U8, found: I32, count: int) -> int:
    """Count down the conjunctions of a list; append those at zero to `found[:count]`; returns the new count."""
    for at in range(start, end):
        conjunction = ids[at]
        left = counters[conjunction] - np.uint8(1)
        counters[conjunction] = left
        if left == 0:
            found[count] = conjunction
            count += 1
    return count


@kernel
def _restore(postings: CellPostings, needed: U8, room: _CountingScratch, lists: int, parts: int) -> None:
    """Reset all counters that the event may have changed."""
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


@kernel
def _match(
    postings: CellPostings,
    targets: _Targets,
    axes: _Axes,
    event: EncodedBatch,
    row_tests: RowTests,
    room: _CountingScratch,
) -> tuple[I32, I32, U8]:
    """Rows and slots of the candidate pairs, and 1 for those that need no verification."""
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
            rows, slots, sure = grow(rows, length), grow(slots, length), grow(sure, length)
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
