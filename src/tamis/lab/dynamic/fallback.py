"""Formulas that are evaluated one by one, because an index cannot hold them or decide them alone.

Every engine is exact on the whole language by this: what is too large for its structures is matched here in full
(`match`), and what its structures only make a candidate is verified here (`verify`).
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, Mask
from tamis.engines.base import Matches
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame


class FallbackFormulas:
    """Formulas by slot, each evaluated as a whole."""

    def __init__(self) -> None:
        self._formulas: dict[int, Formula] = {}

    def __len__(self) -> int:
        return len(self._formulas)

    def insert(self, slot: int, formula: Formula) -> None:
        """Put a formula into an empty slot."""
        self._formulas[slot] = formula

    def delete_many(self, slots: I32) -> I32:
        """Empty those of some slots that are here; returns the others."""
        if not self._formulas:
            return slots
        rest = [slot for slot in slots.tolist() if self._formulas.pop(slot, None) is None]
        return np.array(rest, np.int32)

    def match(self, frame: Frame) -> Matches:
        memory: dict[Formula, Mask] = {}
        rows, slots = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for slot, formula in self._formulas.items():
            here = np.flatnonzero(formula.mask(frame, memory)).astype(np.int32)
            rows.append(here)
            slots.append(np.full(len(here), slot, np.int32))
        return Matches(np.concatenate(rows), np.concatenate(slots))

    def append_matches(self, frame: Frame, found: Matches) -> Matches:
        """The pairs that were found elsewhere, followed by those of these formulas."""
        if not self._formulas:
            return found
        rows, slots = self.match(frame)
        return Matches(np.concatenate([found.rows, rows]), np.concatenate([found.slots, slots]))

    def verify(self, frame: Frame, candidates: Matches) -> Matches:
        """Those of the candidate pairs whose formulas are true."""
        rows, slots = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        memory: dict[Formula, Mask] = {}
        for slot in np.unique(candidates.slots).tolist():
            here = candidates.rows[candidates.slots == slot]
            kept = here[self._formulas[slot].mask(frame, memory)[here]]
            rows.append(kept)
            slots.append(np.full(len(kept), slot, np.int32))
        return Matches(np.concatenate(rows), np.concatenate(slots))
