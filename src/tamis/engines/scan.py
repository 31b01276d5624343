"""`scan`: evaluate every formula on every batch, whole columns at a time.

The simplest engine that is exact on the whole language: one mask over the events for each distinct predicate and
each distinct sub-formula, shared by the formulas that contain it. Time grows with subscriptions times events, so
other engines are measured against it; it is good enough for a small matcher.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from tamis.arrays import I32, Mask
from tamis.engines.base import Matches, Stats, frame_of
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.statistics import Statistics

MASK_BYTES = 1 << 26
MIN_ROWS = 64


class Scan:
    """The engine `scan`."""

    name = "scan"
    dynamic = True

    def build(self, formulas: Sequence[Formula], _statistics: Statistics | None = None) -> ScanIndex:
        """An index with formula i in slot i."""
        index = ScanIndex()
        index.insert_many(np.arange(len(formulas), dtype=np.int32), formulas)
        return index


class ScanIndex:
    """Formulas by slot, as objects."""

    def __init__(self) -> None:
        self._formulas: dict[int, Formula] = {}

    def insert(self, slot: int, formula: Formula) -> None:
        self._formulas[slot] = formula

    def delete(self, slot: int) -> None:
        del self._formulas[slot]

    def insert_many(self, slots: I32, formulas: Sequence[Formula]) -> None:
        self._formulas |= zip(slots.tolist(), formulas, strict=True)

    def delete_many(self, slots: I32) -> None:
        for slot in slots.tolist():
            del self._formulas[slot]

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs; the batch is split so that the masks of all sub-formulas take some 64 MB at most."""
        frame = frame_of(events)
        step = max(MIN_ROWS, MASK_BYTES // max(1, len(self._formulas)))
        found = [
            self._match_part(frame, start, min(start + step, frame.rows)) for start in range(0, frame.rows, step)
        ]
        empty = np.empty(0, np.int32)
        rows = np.concatenate([part.rows for part in found]) if found else empty
        slots = np.concatenate([part.slots for part in found]) if found else empty
        return Matches(rows, slots)

    def _match_part(self, frame: Frame, start: int, stop: int) -> Matches:
        part = frame if (start, stop) == (0, frame.rows) else frame.slice(start, stop)
        memory: dict[Formula, Mask] = {}
        rows, slots = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for slot, formula in self._formulas.items():
            here = np.flatnonzero(formula.mask(part, memory))
            if len(here):
                rows.append(here + start)
                slots.append(np.full(len(here), slot))
        return Matches(np.concatenate(rows).astype(np.int32), np.concatenate(slots).astype(np.int32))

    def stats(self) -> Stats:
        """Subscriptions, distinct predicates and nodes; the bytes are those of the objects."""
        held = {id(node): node for formula in self._formulas.values() for node in formula.nodes()}.values()
        nodes = set(held)
        leaves = sum(1 for node in nodes if node.predicate is not None)
        counts = {"subscriptions": len(self._formulas), "predicates": leaves, "nodes": len(nodes)}
        sizes = {
            "nodes": sum(sys.getsizeof(node) + sys.getsizeof(node.operands) for node in held),
            "predicates": sum(sys.getsizeof(node.predicate) for node in held if node.predicate is not None),
            "slots": sys.getsizeof(self._formulas),
        }
        return Stats(counts, sizes)
