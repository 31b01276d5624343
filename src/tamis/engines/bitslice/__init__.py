"""`bitslice`: masks over a batch of events, in an immutable index.

One bit an event: each predicate has a mask of the events that satisfy it, each subscription ANDs a few of these.
Subscriptions are placed under the predicates that the fewest events satisfy, so that whole groups are skipped.
`docs/bitslice.md` draws one small example through all steps, and has a glossary.

Building (`build.py`), each step a module with its compiled loops in `kernels/` under the same name:

    formulas ┬▶ mask_programs: those that many events reach
             └▶ disjuncts ─▶ cells ─▶ cell_ranges ─▶ placement ─▶ groups ─▶ entries ─▶ attribute_pairs,
                                                                              coarse_bitmaps, residual_graph

Matching, all in `kernels/`:

    batch ┬▶ visits ─▶ search, event by event ──┐
          │       └──▶ masks, many events ──────┴─▶ verify ┬▶ pairs
          └▶ mask_programs ────────────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tamis.arrays import I64, AnyArray
from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.bitslice.build import build_index
from tamis.engines.bitslice.entries import bound_code
from tamis.engines.bitslice.kernels.handle import (
    Handle,
    count_candidates_with_handle,
    new_handle,
    search_with_handle,
)
from tamis.engines.bitslice.kernels.mask_programs import HEAD, MOST_DIGITS
from tamis.engines.bitslice.kernels.masks import MOST_LANES, STRIP, SURVIVORS, MaskTables
from tamis.engines.bitslice.kernels.search import SearchState
from tamis.engines.bitslice.layout import PARTS, IndexArrays, stored_name
from tamis.engines.bitslice.mask_programs import positions_of
from tamis.engines.encoding import Encoder
from tamis.engines.forest import Forest, forest_of
from tamis.engines.formula_program import new_memory
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.statistics import Statistics

_FIRST_ROOM = 1 << 12
"""Room for pairs in the first match."""
_FEWEST_EVENTS = 2
"""Events of a group from which masks can cost less than a search event by event."""
_PATTERN_INDEX = "probes."
"""How the names of stored arrays begin that are of the encoder's pattern index."""


class Bitslice:
    """The engine `bitslice`, whose index snapshots keep."""

    name = "bitslice"
    dynamic = False

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> BitsliceIndex:
        """An index with formula i in slot i."""
        forest = forest_of(formulas)
        return BitsliceIndex(forest, build_index(forest, statistics))

    def open(self, formulas: Sequence[Formula], arrays: Mapping[str, AnyArray]) -> BitsliceIndex:
        """As `MappedEngine`."""
        return BitsliceIndex.from_arrays(forest_of(formulas), arrays)


class BitsliceIndex:
    """Formulas in slots, ready to be matched; several threads may match at the same time."""

    def __init__(
        self, forest: Forest, index: IndexArrays, pattern_index: Mapping[str, AnyArray] | None = None
    ) -> None:
        self.forest = forest
        self.index = _read_only(index)
        self.fewest = _FEWEST_EVENTS
        self._encoder = Encoder(forest.axes, forest.tests, pattern_index, Bitslice().build)
        # Handles that no search uses. `pop` and `append` of a list are atomic, so threads need no lock.
        self._spare: list[Handle] = []
        self._room = _FIRST_ROOM

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in no particular order."""
        encoded: Any = tuple(self._encoder.encode(frame_of(events)))
        handle = self._handle()
        rows, slots, count = search_with_handle(handle, encoded, self.fewest, self._room)
        self._spare.append(handle)
        if count > self._room:
            self._room = count + count // 4
        if 2 * count < len(rows):  # whoever keeps the pairs shall not keep a mostly empty buffer
            return Matches(rows[:count].copy(), slots[:count].copy())
        return Matches(rows[:count], slots[:count])

    def estimate(self, events: EventBatch | Frame) -> I64:
        """As `Estimating`: the entries of the groups that an event visits, and the formulas of mask programs."""
        encoded: Any = tuple(self._encoder.encode(frame_of(events)))
        handle = self._handle()
        counts = np.asarray(count_candidates_with_handle(handle, encoded))
        self._spare.append(handle)
        return counts

    def _handle(self) -> Handle:
        """A handle for one search, which puts it back to `_spare` afterwards."""
        return self._spare.pop() if self._spare else new_handle(self.index, self._new_state())

    def _new_state(self) -> SearchState:
        index = self.index
        tests = len(self.forest.tests)
        rows, ranges = len(index.cells.axis_of), len(index.ranges.lows)
        words = STRIP // 64
        programs = index.mask_programs
        return SearchState(
            rows=np.concatenate([index.cells.bases[:-1], np.zeros(tests, np.int32), np.ones(1, np.int32)]),
            cells=np.concatenate([np.zeros(len(index.cells.counts), np.uint8), np.ones(1, np.uint8)]),
            counts=np.zeros(len(index.groups.runs) - 1, np.int32),
            test_lines=np.full(tests, -1, np.int32),
            code=bound_code(index.cells, index.ranges, tests),
            verdicts=np.zeros(ranges, np.uint8),
            tables=MaskTables(
                rows=aligned_zeros((max(rows, int(programs.bases.max(initial=0))) + tests) * words, np.uint64),
                ranges=aligned_zeros(max(ranges, positions_of(programs)) * words, np.uint64),
                full=aligned_zeros(words, np.uint64),
                set_bits=np.zeros(STRIP + 64, np.int32),
                survivors=np.zeros(SURVIVORS, np.int32),
                masks=aligned_zeros(SURVIVORS * words, np.uint64),
                lows=aligned_zeros(MOST_LANES, np.int64),
                highs=aligned_zeros(MOST_LANES, np.int64),
                narrow_lows=aligned_zeros(MOST_LANES, np.int32),
                narrow_highs=aligned_zeros(MOST_LANES, np.int32),
            ),
            memory=new_memory(index.program, tests),
            digits=aligned_zeros(MOST_DIGITS * words, np.uint64),
        )

    def arrays(self) -> dict[str, AnyArray]:
        """All arrays of the index, under the names by which they are stored."""
        pattern_index = {f"{_PATTERN_INDEX}{name}": array for name, array in self._encoder.tests.arrays().items()}
        return self._own_arrays() | pattern_index

    def _own_arrays(self) -> dict[str, AnyArray]:
        parts = self.index._asdict().items()
        return {stored_name(part, name): array for part, some in parts for name, array in some._asdict().items()}

    @classmethod
    def from_arrays(cls, forest: Forest, arrays: Mapping[str, AnyArray]) -> BitsliceIndex:
        """The index of stored arrays, which may be maps of files."""
        parts = zip(IndexArrays._fields, PARTS, strict=True)
        index = IndexArrays(
            *(kind(*(arrays[stored_name(part, name)] for name in kind._fields)) for part, kind in parts)
        )
        pattern_index = {
            name.removeprefix(_PATTERN_INDEX): array
            for name, array in arrays.items()
            if name.startswith(_PATTERN_INDEX)
        }
        return cls(forest, index, pattern_index)

    def stats(self) -> Stats:
        """How many parts of each kind there are, and the bytes of each array."""
        groups = len(self.index.groups.runs) - 1
        counts = {
            "subscriptions": len(self.forest),
            "entries": len(self.index.entries.slots),
            "groups": groups,
            "runs": len(self.index.groups.run_lows),
            "cell_ranges": len(self.index.ranges.lows),
            "axes": len(self.forest.axes),
            "tests": len(self.forest.tests),
            "nodes": int(self.index.program.sizes[0]),
            "attribute_pairs": groups - int(self.index.attribute_pairs.first_group[0]),
            "mask_programs": len(self.index.mask_programs.heads) // HEAD - 1,
            "mask_formulas": len(self.index.mask_programs.slots),
            "coarse_bitmaps": int(np.count_nonzero(np.diff(self.index.bitmaps.firsts))),
        }
        return Stats(counts, {name: int(array.nbytes) for name, array in self._own_arrays().items()})


_CACHE_LINE_BYTES = 64


def aligned_zeros(size: int, dtype: type[np.generic]) -> AnyArray:
    """Zeros that begin with a cache line: a mask of eight words would else always stand in two of them.

    That made the search with masks 1.4 times as slow.
    """
    element = np.dtype(dtype)
    room = np.zeros(size * element.itemsize + _CACHE_LINE_BYTES, np.uint8)
    first = -room.ctypes.data % _CACHE_LINE_BYTES
    return room[first : first + size * element.itemsize].view(element)


def _read_only(index: IndexArrays) -> IndexArrays:
    """The same arrays, all read-only, as those of a snapshot are, so that kernels are compiled once for both."""
    parts: Any = index
    return IndexArrays(*(kind(*map(_read_only_view, part)) for kind, part in zip(PARTS, parts, strict=True)))


def _read_only_view(array: AnyArray) -> AnyArray:
    view = array.view(np.ndarray)  # without the subclass of a map
    view.flags.writeable = False
    return view
