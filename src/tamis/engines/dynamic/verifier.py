"""Formulas that an index cannot file, asked one by one: what keeps every engine exact on the whole language."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches
from tamis.language.formula import Formula
from tamis.predicates.base import Frame
from tamis.values.column import Mask

Shorts: TypeAlias = npt.NDArray[np.int32]


class Verifier:
    """Formulas by slot."""

    def __init__(self) -> None:
        self._formulas: dict[int, Formula] = {}

    def __len__(self) -> int:
        """Number of formulas."""
        return len(self._formulas)

    def insert(self, slot: int, formula: Formula) -> None:
        """Put a formula into an empty slot."""
        self._formulas[slot] = formula

    def delete_many(self, slots: Shorts) -> Shorts:
        """Empty those of some slots that are here; gives the others."""
        if not self._formulas:
            return slots
        rest = [slot for slot in slots.tolist() if self._formulas.pop(slot, None) is None]
        return np.array(rest, np.int32)

    def match(self, frame: Frame) -> Matches:
        """All pairs."""
        memory: dict[Formula, Mask] = {}
        rows, slots = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for slot, formula in self._formulas.items():
            here = np.flatnonzero(formula.mask(frame, memory)).astype(np.int32)
            rows.append(here)
            slots.append(np.full(len(here), slot, np.int32))
        return Matches(np.concatenate(rows), np.concatenate(slots))

    def added(self, frame: Frame, found: Matches) -> Matches:
        """What was found elsewhere, and all pairs of these formulas."""
        if not self._formulas:
            return found
        rows, slots = self.match(frame)
        return Matches(np.concatenate([found.rows, rows]), np.concatenate([found.slots, slots]))

    def settled(self, frame: Frame, unsure: Matches) -> Matches:
        """Those pairs of candidates that hold."""
        rows, slots = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        memory: dict[Formula, Mask] = {}
        for slot in np.unique(unsure.slots).tolist():
            here = unsure.rows[unsure.slots == slot]
            kept = here[self._formulas[slot].mask(frame, memory)[here]]
            rows.append(kept)
            slots.append(np.full(len(kept), slot, np.int32))
        return Matches(np.concatenate(rows), np.concatenate(slots))
