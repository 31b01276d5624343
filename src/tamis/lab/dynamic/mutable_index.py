"""The base class of an index that changes in place: a lock, and a buffer of inserts.

Formulas that arrive one by one wait in a dictionary and are indexed together, which costs much less for each.
Invariant: a slot is in the
buffer or in the index, never in both. Whatever reads the index calls `_flush` first.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np

from tamis.arrays import I32
from tamis.engines.forest import Forest, forest_of
from tamis.formulas.formula import Formula

BUFFER_SIZE = 1_024
"""How many formulas the insert buffer holds before it is flushed."""


class MutableIndex(ABC):
    """Formulas by slot; one thread at a time changes or matches an index."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buffer: dict[int, Formula] = {}

    def insert(self, slot: int, formula: Formula) -> None:
        """Put a formula into an empty slot."""
        with self._lock:
            self._buffer[slot] = formula
            if len(self._buffer) >= BUFFER_SIZE:
                self._flush()

    def insert_many(self, slots: I32, formulas: Sequence[Formula]) -> None:
        """Put formulas into empty slots."""
        with self._lock:
            self._insert(slots, forest_of(formulas))

    def fill(self, formulas: Sequence[Formula]) -> Self:
        """Put formula i into slot i of this index, which is empty."""
        forest = forest_of(formulas)
        self.insert_many(np.arange(len(forest), dtype=np.int32), forest)
        return self

    def delete(self, slot: int) -> None:
        self.delete_many(np.array([slot], np.int32))

    def delete_many(self, slots: I32) -> None:
        """Empty slots that hold formulas."""
        with self._lock:
            if self._buffer:
                indexed = [slot for slot in slots.tolist() if self._buffer.pop(slot, None) is None]
                slots = np.array(indexed, np.int32)
            self._delete(slots)

    def _flush(self) -> None:
        """Index the formulas of the buffer; the lock is held."""
        if self._buffer:
            slots, formulas = np.array([*self._buffer], np.int32), [*self._buffer.values()]
            self._buffer = {}
            self._insert(slots, forest_of(formulas))

    @abstractmethod
    def _insert(self, slots: I32, forest: Forest) -> None:
        """Index the formulas of a forest under empty slots; the lock is held."""

    @abstractmethod
    def _delete(self, slots: I32) -> None:
        """Empty slots of indexed formulas; the lock is held."""
