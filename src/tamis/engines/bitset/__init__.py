"""`bitset`: for every event, OR the bitmaps of the conjunctions that certainly fail, and verify the survivors.

As in REIN and HEM, an event bitmaps what does not match, many conjunctions at a time, and what stays unmarked
matches. Formulas become conjunctions (`tamis.engines.conjunctions.dnf`). When the index is built, each axis is cut
into cells, and each cell gets a bitmap of the conjunctions that fail in all of it (`fail_bitmaps`), so that a
value selects one bitmap per axis. Conjunctions on rare attributes and tests are in lists instead (`access_lists`).
A survivor may still fail in a part of a cell: few survivors are verified by evaluating their formulas; for many,
the ends of intervals inside the cells are compared first. An index is immutable.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, U32, U64, AnyArray
from tamis.engines.array_kernels import count_up_to, grow
from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.bitset.access_lists import AccessLists
from tamis.engines.bitset.fail_bitmaps import FailBitmaps, build_fail_bitmaps
from tamis.engines.bitslice import Bitslice
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, conjunctions_of
from tamis.engines.encoding import EncodedBatch, Encoder
from tamis.engines.forest import Leaves, Pieces, forest_of
from tamis.engines.forest.axes import LOWEST
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
from tamis.statistics import Statistics

_EVALUATION_COST = 1_000
"""Ends of intervals that are compared in the time in which one formula is evaluated that is not in the cache."""

# The position of the only set bit of a word: a de Bruijn sequence, shifted by the position, has it in its upper
# six bits, because it contains every number of six bits once.
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
_BIT_PLACES = np.zeros(64, np.int64)
for _bit in range(64):
    _BIT_PLACES[(((1 << _bit) * int(_SEQUENCE)) & (2**64 - 1)) >> 58] = _bit


class _BitsetScratch(NamedTuple):
    """The arrays that one thread works with.

    failing: uint64[words]: the conjunctions that fail.
    doubtful: uint64[words]: those that must be evaluated, because a cell does not decide a leaf of several
    intervals. left: int32[conjunctions]: those that do not fail. chosen: int64[3 * axes]: the bitmaps to OR.
    present: uint8[2 * axes]: which nodes of the tree of NULL are above an attribute that the event has. seen:
    int64[slots]: the last event, counted from 1, in which the slot was reported. events: int64[1]: how many events
    there were.
    """

    failing: U64
    doubtful: U64
    left: I32
    chosen: I64
    present: U8
    seen: I64
    events: I64


class Bitset:
    """The engine `bitset`; its indexes are immutable."""

    name = "bitset"
    dynamic = False

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> BitsetIndex:
        """An index with formula i in slot i."""
        return BitsetIndex(formulas)


class BitsetIndex:
    """Formulas as conjunctions, one bit each."""

    def __init__(self, formulas: Sequence[Formula]) -> None:
        forest = forest_of(formulas)
        conjunctions = conjunctions_of(forest)
        self._encoder = Encoder(forest.axes, forest.tests, build_index=Bitslice().build)
        self._program, self._roots = program_of(forest)
        self._test_count = len(forest.tests)
        leaves = Leaves(*map(np.ascontiguousarray, forest.leaves))
        pieces = Pieces(*map(np.ascontiguousarray, forest.pieces))
        self._bitmaps, flags = build_fail_bitmaps(
            leaves, pieces, len(forest.axes), len(forest.tests), conjunctions
        )
        # A slot and its flags, SEVERAL and UNSURE, in one word: survivors read them in random order.
        self._targets = conjunctions.slots.astype(np.int64) << 2 | flags
        self._local = threading.local()

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in the order of rows."""
        event = self._encoder.encode(frame_of(events))
        shown = np.flatnonzero(event.columns >= 0).astype(np.int32)
        row_tests = row_tests_of(event)
        scratch, memory = self._scratch_of_thread()
        candidates = Candidates(*_match(self._bitmaps, self._targets, event, shown, row_tests, scratch))
        return verify_candidates(self._program, self._roots, event, row_tests, candidates, memory)

    def _scratch_of_thread(self) -> tuple[_BitsetScratch, EvaluationMemory]:
        """Of this thread. It is kept, because clearing it would take longer than matching a small batch."""
        if not hasattr(self._local, "scratch"):
            words, axes = len(self._bitmaps.access.start), len(self._bitmaps.axes)
            scratch = _BitsetScratch(
                np.zeros(words, np.uint64),
                np.zeros(words, np.uint64),
                np.empty(len(self._targets), np.int32),
                np.empty(3 * axes, np.int64),
                np.empty(2 * axes, np.uint8),
                np.zeros(len(self._roots), np.int64),
                np.zeros(1, np.int64),
            )
            self._local.scratch = scratch, new_memory(self._program, self._test_count)
        found: tuple[_BitsetScratch, EvaluationMemory] = self._local.scratch
        return found

    def stats(self) -> Stats:
        """Subscriptions, conjunctions, bitmaps, and formulas that must always be evaluated when they survive."""
        bitmaps = self._bitmaps
        counts = {
            "subscriptions": len(self._roots),
            "conjunctions": len(self._targets),
            "bitsets": len(bitmaps.bits),
            "filed": len(bitmaps.access.conjunctions),
            "unsure": len(np.unique(self._targets[(self._targets & UNSURE) != 0] >> 2)),
        }
        sizes = {
            "bitsets": _bytes(bitmaps.bits, bitmaps.empty, bitmaps.cuts),
            "ends": _bytes(*bitmaps.lows, *bitmaps.highs, bitmaps.doubt_firsts, bitmaps.doubts),
            "filed": _bytes(*bitmaps.access),
            "conjunctions": _bytes(self._targets),
            "formulas": _bytes(*self._program),
        }
        return Stats(counts, sizes)


def _bytes(*arrays: AnyArray) -> int:
    return sum(array.nbytes for array in arrays)


@kernel
def _apply_access_lists(
    bitmaps: FailBitmaps, event: EncodedBatch, shown: I32, row: int, row_tests: RowTests, failing: U64
) -> None:
    """Let all conjunctions in access lists fail, but for those whose access leaf holds."""
    for word in range(len(failing)):
        failing[word] = bitmaps.access.start[word]
    for axis in shown:
        line = event.columns[axis]
        if bitmaps.access.firsts[axis] < bitmaps.access.firsts[axis + 1] and event.valid[line, row]:
            _clear_satisfied(bitmaps.access, axis, event.coordinates[line, row], failing)
    for at in range(row_tests.firsts[row], row_tests.firsts[row + 1]):
        _clear_satisfied(bitmaps.access, len(event.columns) + row_tests.tests[at], 0, failing)


@kernel
def _clear_satisfied(lists: AccessLists, group: int, value: int, failing: U64) -> None:
    """Clear the bits of the conjunctions in a group whose access leaf holds at the value."""
    for at in range(lists.firsts[group], lists.firsts[group + 1]):
        if lists.lows[at] <= value <= lists.highs[at]:
            conjunction = lists.conjunctions[at]
            failing[conjunction >> 6] &= ~(np.uint64(1) << np.uint64(conjunction & np.uint32(63)))


@kernel
def _select_bitmaps(
    bitmaps: FailBitmaps, event: EncodedBatch, row: int, scratch: _BitsetScratch
) -> tuple[int, int]:
    """Choose the bitmaps of an event, cells first; gives their number, and that of ends and doubts in cells."""
    axes = len(bitmaps.axes)
    chosen, present = scratch.chosen, scratch.present
    count, doubts = 0, 0
    for place in range(axes):
        line = event.columns[bitmaps.axes[place]]
        if line < 0 or event.valid[line, row] == 0:
            present[axes + place] = 0
            continue
        present[axes + place] = 1
        value = event.coordinates[line, row]
        bitset = bitmaps.bases[place] + count_up_to(
            bitmaps.cuts, bitmaps.cut_firsts[place], bitmaps.cut_firsts[place + 1], value
        )
        chosen[count] = bitset
        doubts += bitmaps.doubt_firsts[bitset + 1] - bitmaps.doubt_firsts[bitset]
        doubts += bitmaps.lows.firsts[bitset + 1] - bitmaps.lows.firsts[bitset]
        doubts += bitmaps.highs.firsts[bitset + 1] - bitmaps.highs.firsts[bitset]
        count += 1
    for node in range(axes - 1, 0, -1):
        present[node] = present[2 * node] | present[2 * node + 1]
    for node in range(1, 2 * axes):
        # The highest nodes below which the event has no attribute.
        if present[node] == 0 and (node == 1 or present[node >> 1]) and bitmaps.empty[bitmaps.tree + node] == 0:
            chosen[count] = bitmaps.tree + node
            count += 1
    return count, doubts


@kernel
def _or_bitmaps(bits: U64, chosen: I64, count: int, failing: U64) -> None:
    """OR the chosen bitmaps, four at a time, so that `failing` is read and written a quarter as often."""
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


@kernel
def _survivors(failing: U64, left: I32) -> int:
    """Collect the conjunctions that do not fail: how many."""
    count = 0
    for word in range(len(failing)):
        rest = ~failing[word]
        while rest != 0:
            lowest = rest & (~rest + np.uint64(1))
            left[count] = 64 * word + _BIT_PLACES[(lowest * _SEQUENCE) >> np.uint64(58)]
            count += 1
            rest ^= lowest
    return count


@kernel
def _apply_cell_ends(bitmaps: FailBitmaps, event: EncodedBatch, row: int, scratch: _BitsetScratch) -> None:
    """Let fail what the ends of intervals inside the cells exclude; collect what ends do not decide."""
    for word in range(len(scratch.doubtful)):
        scratch.doubtful[word] = 0
    at = 0
    for axis in bitmaps.axes:
        line = event.columns[axis]
        if line < 0 or event.valid[line, row] == 0:
            continue
        value, bitset = event.coordinates[line, row], scratch.chosen[at]
        at += 1
        lows, highs = bitmaps.lows, bitmaps.highs
        first, last = lows.firsts[bitset], lows.firsts[bitset + 1]
        _set_bits(lows.conjunctions, first + count_up_to(lows.values, first, last, value), last, scratch.failing)
        first = highs.firsts[bitset]
        below = first
        if value != LOWEST:
            below += count_up_to(highs.values, first, highs.firsts[bitset + 1], value - 1)
        _set_bits(highs.conjunctions, first, below, scratch.failing)
        _set_bits(bitmaps.doubts, bitmaps.doubt_firsts[bitset], bitmaps.doubt_firsts[bitset + 1], scratch.doubtful)


@kernel
def _set_bits(conjunctions: U32, first: int, last: int, words: U64) -> None:
    for at in range(first, last):
        conjunction = conjunctions[at]
        words[conjunction >> 6] |= np.uint64(1) << np.uint64(conjunction & np.uint32(63))


@kernel
def _match(
    bitmaps: FailBitmaps,
    targets: I64,
    event: EncodedBatch,
    shown: I32,
    row_tests: RowTests,
    scratch: _BitsetScratch,
) -> tuple[I32, I32, U8]:
    """The pairs that hold, and those that may: the candidates."""
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.rows):
        _apply_access_lists(bitmaps, event, shown, row, row_tests, scratch.failing)
        bitsets, doubts = _select_bitmaps(bitmaps, event, row, scratch)
        _or_bitmaps(bitmaps.bits, scratch.chosen, bitsets, scratch.failing)
        count = _survivors(scratch.failing, scratch.left)
        # Few survivors are evaluated at once; for many it pays to compare the ends of intervals first.
        is_exact = count * _EVALUATION_COST > doubts
        if is_exact and doubts:
            _apply_cell_ends(bitmaps, event, row, scratch)
            count = _survivors(scratch.failing, scratch.left)
        if used + count > len(rows):
            length = 2 * (used + count)
            rows, slots, sure = grow(rows, length), grow(slots, length), grow(sure, length)
        scratch.events[0] += 1
        for at in range(count):
            conjunction = scratch.left[at]
            target = targets[conjunction]
            slot = target >> 2
            if target & SEVERAL:
                if scratch.seen[slot] == scratch.events[0]:
                    continue
                scratch.seen[slot] = scratch.events[0]
            is_sure = is_exact and target & UNSURE == 0
            if is_sure and doubts:
                is_sure = (scratch.doubtful[conjunction >> 6] >> np.uint64(conjunction & 63)) & np.uint64(1) == 0
            rows[used], slots[used], sure[used] = row, slot, is_sure
            used += 1
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()
