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
from tamis.engines.bitslice.build import build_index
from tamis.engines.bitslice.handle import Handle, candidates_with, handle_of, search_with
from tamis.engines.bitslice.layout import Bodies, Cells, Couples, Groups, Index, Outline, Program, Spans
from tamis.engines.bitslice.masks import CHUNK, STRIP, Tables
from tamis.engines.bitslice.program import new_memory
from tamis.engines.bitslice.search import State
from tamis.engines.encoding import Encoder
from tamis.engines.forest import Forest, forest_of
from tamis.events.batch import EventBatch
from tamis.language.formula import Formula
from tamis.predicates.base import Frame
from tamis.statistics import Statistics

PAIRS = 1 << 12
"""Room for pairs to begin with."""
_FEWEST = 2
"""Events of a group from which masks can be worth while."""
_PROBES = "probes."


class Bitslice:
    """The engine."""

    name = "bitslice"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> BitsliceIndex:
        """An index with formula i in slot i."""
        forest = forest_of(formulas)
        return BitsliceIndex(forest, build_index(forest, statistics))


class BitsliceIndex:
    """Formulas in slots, ready to be matched; several threads may match at the same time."""

    def __init__(self, forest: Forest, index: Index, probes: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        self.forest = forest
        self.index = _read_only(index)
        self.fewest = _FEWEST
        self._encoder = Encoder(forest.axes, forest.tests, probes)
        self._spare: list[Handle] = []
        self._room = PAIRS

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in no particular order."""
        encoded = self._encoder.encode(frame_of(events))
        handle = self._handle()
        rows, slots, count = search_with(handle, tuple(encoded), self.fewest, self._room)
        self._spare.append(handle)
        if count > self._room:
            self._room = count + count // 4
        if 2 * count < len(rows):
            return Matches(rows[:count].copy(), slots[:count].copy())
        return Matches(rows[:count], slots[:count])

    def estimate(self, events: EventBatch | Frame) -> npt.NDArray[np.int64]:
        """As `Estimating`: the entries of the groups that an event visits."""
        encoded = self._encoder.encode(frame_of(events))
        handle = self._handle()
        found = np.asarray(candidates_with(handle, tuple(encoded)))
        self._spare.append(handle)
        return found

    def _handle(self) -> Handle:
        """For one search; whoever is done with it puts it back."""
        return self._spare.pop() if self._spare else handle_of(self.index, self._new_state())

    def _new_state(self) -> State:
        index = self.index
        tests = len(self.forest.tests)
        rows, spans = len(index.cells.axis_of) + tests, len(index.spans.lows)
        words = STRIP // 64
        return State(
            np.concatenate([index.cells.bases[:-1], np.zeros(tests, np.int32), np.ones(1, np.int32)]),
            np.concatenate([np.zeros(len(index.cells.counts), np.uint8), np.ones(1, np.uint8)]),
            np.zeros(len(index.groups.runs) - 1, np.int32),
            np.full(tests, -1, np.int32),
            np.concatenate([index.cells.widths[:-1], np.zeros(tests + 1, np.uint8)]).astype(np.int32),
            np.zeros(spans, np.uint8),
            Tables(
                np.zeros(rows * words, np.uint64),
                np.zeros(spans * words, np.uint64),
                np.zeros(words, np.uint64),
                np.zeros(STRIP + 64, np.int32),
                np.zeros(2 * CHUNK, np.int32),
                np.zeros(2 * CHUNK * words, np.uint64),
            ),
            new_memory(index.program),
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays of the index, by name, to be saved."""
        probes = {f"{_PROBES}{name}": array for name, array in self._encoder.tests.arrays().items()}
        return self._own_arrays() | probes

    def _own_arrays(self) -> dict[str, npt.NDArray[Any]]:
        parts = self.index._asdict().items()
        return {f"{part}.{name}": array for part, arrays in parts for name, array in arrays._asdict().items()}

    @classmethod
    def from_arrays(cls, forest: Forest, arrays: Mapping[str, npt.NDArray[Any]]) -> BitsliceIndex:
        """The index that was saved; arrays may be maps of files."""
        parts = zip(Index._fields, (Cells, Spans, Bodies, Groups, Outline, Couples, Program), strict=True)
        index = Index(*(kind(*(arrays[f"{part}.{name}"] for name in kind._fields)) for part, kind in parts))
        probes = {name.removeprefix(_PROBES): array for name, array in arrays.items() if name.startswith(_PROBES)}
        return cls(forest, index, probes)

    def stats(self) -> Stats:
        """What it holds."""
        counts = {
            "subscriptions": len(self.forest),
            "entries": len(self.index.bodies.slots),
            "groups": len(self.index.groups.runs) - 1,
            "runs": len(self.index.groups.run_lows),
            "spans": len(self.index.spans.lows),
            "axes": len(self.forest.axes),
            "tests": len(self.forest.tests),
            "nodes": len(self.index.program.least),
            "couples": len(self.index.groups.runs) - 1 - int(self.index.couples.first_group[0]),
            "outlines": int(np.count_nonzero(np.diff(self.index.outline.firsts))),
        }
        return Stats(counts, {name: int(array.nbytes) for name, array in self._own_arrays().items()})


def _read_only(index: Index) -> Index:
    """The same arrays, all read-only as those of a snapshot are: kernels are compiled once for both."""
    return Index(*(type(part)(*(_view(array) for array in part)) for part in index))


def _view(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
