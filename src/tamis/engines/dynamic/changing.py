"""The frame of an index that changes in place: a lock, and formulas that wait to be filed together."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.dynamic.pending import Pending
from tamis.engines.forest import Forest, forest_of
from tamis.language.formula import Formula

Shorts: TypeAlias = npt.NDArray[np.int32]


class ChangingIndex(ABC):
    """Formulas by slot; one thread at a time changes or matches. Who reads what is filed calls `_flush` first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending = Pending()

    def insert(self, slot: int, formula: Formula) -> None:
        """Put a formula into an empty slot."""
        with self._lock:
            if self._pending.add(slot, formula):
                self._flush()

    def insert_many(self, slots: Shorts, formulas: Sequence[Formula]) -> None:
        """Put formulas into empty slots."""
        with self._lock:
            self._insert(slots, forest_of(formulas))

    def filled(self, formulas: Sequence[Formula]) -> Self:
        """This index, which is empty, with formula i in slot i."""
        forest = forest_of(formulas)
        self.insert_many(np.arange(len(forest), dtype=np.int32), forest)
        return self

    def delete(self, slot: int) -> None:
        """Empty a slot."""
        self.delete_many(np.array([slot], np.int32))

    def delete_many(self, slots: Shorts) -> None:
        """Empty slots."""
        with self._lock:
            self._delete(self._pending.drop(slots))

    def _flush(self) -> None:
        if len(self._pending):
            slots, formulas = self._pending.taken()
            self._insert(slots, forest_of(formulas))

    @abstractmethod
    def _insert(self, slots: Shorts, forest: Forest) -> None:
        """File formulas; the lock is held."""

    @abstractmethod
    def _delete(self, slots: Shorts) -> None:
        """Empty slots of filed formulas; the lock is held."""
