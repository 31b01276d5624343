"""`bitslice`: masks over a batch of events, in an immutable index.

One bit an event: for each predicate a mask of the events that satisfy it, for each subscription a few words ANDed.
Subscriptions are filed under the predicates that the fewest events satisfy, so that whole groups are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.bitslice import search
from tamis.engines.bitslice.build import build_index
from tamis.engines.bitslice.cells import event_rows
from tamis.engines.bitslice.layout import Batch, Bodies, Cells, Found, Groups, Index, Life, Program
from tamis.engines.bitslice.program import new_memory
from tamis.engines.encoding import Encoded, Encoder
from tamis.engines.forest import Forest, forest_of
from tamis.events.batch import EventBatch
from tamis.language.formula import Formula
from tamis.predicates.base import Frame
from tamis.statistics import Statistics

_PAIRS = search.CHUNK * 64 * search.STRIP_WORDS
"""Room for pairs: what a chunk of entries can give at most."""
_FEWEST = 6
"""Events from which masks can be worth while."""
_ALIVE = Life(np.empty(0, np.int64), 0)


class Bitslice:
    """The engine."""

    name = "bitslice"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> BitsliceIndex:
        """An index with formula i in slot i."""
        forest = forest_of(formulas)
        return BitsliceIndex(forest, build_index(forest, statistics))


class BitsliceIndex:
    """Formulas in slots, ready to be matched; several threads may match at the same time."""

    def __init__(self, forest: Forest, index: Index) -> None:
        self.forest = forest
        self.index = index
        self.fewest = _FEWEST
        self._encoder = Encoder(forest.axes, forest.tests)
        self._groups = len(index.groups.runs) - 1
        entries = index.groups.run_entries[index.groups.runs]
        self._room = max(_PAIRS, int(np.max(np.diff(entries), initial=0)))
        self._spare: list[tuple[search.State, Found]] = []

    def match(self, events: EventBatch | Frame, life: Life = _ALIVE) -> Matches:
        """All pairs, in no particular order."""
        index = self.index
        encoded = self._encoder.encode(frame_of(events))
        batch = self._batch(encoded)
        firsts = np.empty(encoded.rows + 1, np.int64)
        visiting = (index.groups, index.cells, batch, encoded.rows, encoded.firsts, encoded.hits, encoded.tests)
        count = search.visits_of(*visiting, firsts, np.empty(0, np.int32))
        groups = np.empty(count, np.int32)
        if count:
            search.visits_of(*visiting, firsts, groups)
        visits = search.Visits(firsts, groups)
        packed = np.zeros(self._groups, np.int32)
        if encoded.rows >= self.fewest:
            search.choose(index, visits, self.fewest, packed)
        state, found = self._spare.pop() if self._spare else self._scratch()
        state.progress[:] = 0
        state.memory.events[:] = -1
        parts: list[Found] = []
        while not search.one_by_one(index, batch, visits, packed, life, state, found):
            parts.append(_taken(found, state))
        if packed.any():
            group_firsts = np.empty(self._groups + 1, np.int64)
            group_events = np.empty(int(packed.sum()), np.int32)
            search.events_of_groups(visits, packed, group_firsts, group_events)
            while not search.by_masks(index, batch, packed, group_firsts, group_events, life, state, found):
                parts.append(_taken(found, state))
        parts.append(_taken(found, state))
        self._spare.append((state, found))
        if len(parts) == 1:
            return Matches(*parts[0])
        return Matches(
            np.concatenate([part.events for part in parts]), np.concatenate([part.slots for part in parts])
        )

    def _batch(self, encoded: Encoded) -> Batch:
        rows_of = np.empty(encoded.coordinates.shape, np.uint32)
        event_rows(self.index.cells, encoded.columns, encoded.coordinates, encoded.valid, rows_of)
        lines = len(encoded.tests)
        test_lines = np.full(len(self.forest.tests), -1, np.int32)
        test_lines[encoded.tests] = np.arange(lines)
        test_bits = np.zeros((lines, (encoded.rows >> 6) + 1), np.uint64)
        if lines:
            line = np.repeat(np.arange(lines), np.diff(encoded.firsts))
            bits = np.uint64(1) << (encoded.hits & 63).astype(np.uint64)
            np.bitwise_or.at(test_bits, (line, encoded.hits >> 6), bits)
        return Batch(encoded.columns, encoded.coordinates, encoded.valid, rows_of, test_lines, test_bits)

    def _scratch(self) -> tuple[search.State, Found]:
        index = self.index
        rows = len(index.cells.axis_of) + len(self.forest.tests)
        state = search.State(
            np.zeros(8, np.int64),
            np.zeros(len(index.cells.counts) + 1, np.int64),
            np.zeros(rows * search.STRIP_WORDS, np.uint64),
            np.zeros(search.CHUNK, np.int32),
            np.zeros((search.CHUNK + 1) * search.STRIP_WORDS, np.uint64),
            new_memory(index.program),
        )
        return state, Found(np.empty(self._room, np.int32), np.empty(self._room, np.int32))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays of the index, by name, to be saved."""
        parts = self.index._asdict().items()
        return {f"{part}.{name}": array for part, arrays in parts for name, array in arrays._asdict().items()}

    @classmethod
    def from_arrays(cls, forest: Forest, arrays: Mapping[str, npt.NDArray[Any]]) -> BitsliceIndex:
        """The index that was saved; arrays may be maps of files."""
        parts = zip(Index._fields, (Cells, Bodies, Groups, Program), strict=True)
        return cls(
            forest, Index(*(kind(*(arrays[f"{part}.{name}"] for name in kind._fields)) for part, kind in parts))
        )

    def stats(self) -> Stats:
        """What it holds."""
        counts = {
            "subscriptions": len(self.forest),
            "entries": len(self.index.bodies.slots),
            "groups": self._groups,
            "runs": len(self.index.groups.run_lows),
            "axes": len(self.forest.axes),
            "tests": len(self.forest.tests),
            "nodes": len(self.index.program.least),
        }
        return Stats(counts, {name: int(array.nbytes) for name, array in self.arrays().items()})


def _taken(found: Found, state: search.State) -> Found:
    """The pairs found so far; makes room for more."""
    count = int(state.progress[3])
    state.progress[3] = 0
    return Found(found.events[:count].copy(), found.slots[:count].copy())
