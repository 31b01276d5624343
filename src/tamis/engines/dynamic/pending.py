"""Formulas that were put into an index one by one and wait to be filed together, which costs much less each."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.language.formula import Formula

Shorts: TypeAlias = npt.NDArray[np.int32]

MOST = 1_024
"""As many wait at most."""


class Pending:
    """Formulas by slot."""

    def __init__(self) -> None:
        self._formulas: dict[int, Formula] = {}

    def __len__(self) -> int:
        """Number of formulas that wait."""
        return len(self._formulas)

    def add(self, slot: int, formula: Formula) -> bool:
        """Let a formula wait for an empty slot; are there enough of them?"""
        self._formulas[slot] = formula
        return len(self._formulas) >= MOST

    def drop(self, slots: Shorts) -> Shorts:
        """Forget those that wait for some slots; gives the slots of no such formula."""
        if not self._formulas:
            return slots
        return np.array([slot for slot in slots.tolist() if self._formulas.pop(slot, None) is None], np.int32)

    def taken(self) -> tuple[Shorts, list[Formula]]:
        """All that wait, which do so no longer."""
        slots, formulas = np.array([*self._formulas], np.int32), [*self._formulas.values()]
        self._formulas = {}
        return slots, formulas
