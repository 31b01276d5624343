"""The frame of an engine that keeps formulas as terms: everything but how terms are filed and found."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.conjunctions.dnf import UNSURE, Conjunctions, conjunctions_of
from tamis.engines.dynamic.index import Event, PredicateIndex
from tamis.engines.dynamic.pending import Pending
from tamis.engines.dynamic.predicates import let_go_all
from tamis.engines.dynamic.verifier import Verifier
from tamis.engines.forest import Forest, forest_of
from tamis.events.batch import EventBatch
from tamis.language.formula import Formula
from tamis.predicates.base import Frame

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int32]


class TermFile(Protocol):
    """Where terms are kept; called by one thread at a time."""

    def insert(
        self,
        predicates: PredicateIndex,
        forest: Forest,
        conjunctions: Conjunctions,
        numbers: Shorts,
        slots: Shorts,
    ) -> None:
        """File the conjunctions of a forest, whose leaves have these numbers, for these slots."""

    def delete(self, predicates: PredicateIndex, slots: Shorts) -> None:
        """Empty slots."""

    def match(self, predicates: PredicateIndex, event: Event) -> tuple[Shorts, Shorts, Bytes]:
        """Pairs, each once, and 1 for those that hold without a further look."""

    def stats(self) -> Stats:
        """What it holds."""

    def work(self) -> dict[str, int]:
        """What was done since this was asked last."""


class TermIndex:
    """Formulas as terms; changes in place."""

    def __init__(self, file: TermFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._predicates = PredicateIndex()
        self._unsure = Verifier()
        self._pending = Pending()
        self._count = 0

    def insert(self, slot: int, formula: Formula) -> None:
        """Put a formula into an empty slot."""
        with self._lock:
            if self._pending.add(slot, formula):
                self._flush()

    def insert_many(self, slots: Shorts, formulas: Sequence[Formula]) -> None:
        """Put formulas into empty slots."""
        with self._lock:
            self._insert(slots, forest_of(formulas))

    def _flush(self) -> None:
        if len(self._pending):
            slots, formulas = self._pending.taken()
            self._insert(slots, forest_of(formulas))

    def _insert(self, slots: Shorts, forest: Forest) -> None:
        conjunctions = conjunctions_of(forest)
        numbers = self._predicates.enter(forest)
        self._file.insert(self._predicates, forest, conjunctions, numbers, slots)
        let_go_all(self._predicates.predicates, numbers)
        self._predicates.tidy()  # what was too large to be kept as terms
        for place in np.unique(conjunctions.slots[(conjunctions.flags & UNSURE) != 0]).tolist():
            self._unsure.insert(int(slots[place]), forest[place])
        self._count += len(slots)

    def delete(self, slot: int) -> None:
        """Empty a slot."""
        self.delete_many(np.array([slot], np.int32))

    def delete_many(self, slots: Shorts) -> None:
        """Empty slots."""
        with self._lock:
            rest = self._pending.drop(slots)
            self._file.delete(self._predicates, rest)
            self._predicates.tidy()
            self._unsure.delete_many(rest)
            self._count -= len(rest)

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs; in the order of rows unless some had to be looked at again."""
        frame = frame_of(events)
        with self._lock:
            self._flush()
            rows, slots, sure = self._file.match(self._predicates, self._predicates.event(frame))
            if sure.all():
                return Matches(rows, slots)
            kept, unsure = sure != 0, sure == 0
            found = self._unsure.settled(frame, Matches(rows[unsure], slots[unsure]))
        return Matches(np.concatenate([rows[kept], found.rows]), np.concatenate([slots[kept], found.slots]))

    def work(self) -> dict[str, int]:
        """What was done since this was asked last, in counts."""
        with self._lock:
            return self._file.work()

    def stats(self) -> Stats:
        """Subscriptions, terms, predicates, and how many formulas must be evaluated."""
        with self._lock:
            self._flush()
            found = self._file.stats()
            counts = {"subscriptions": self._count, "predicates": len(self._predicates)}
            more = {"held": self._predicates.bound // 8 + 1} | self._predicates.bytes()
            return Stats(counts | found.counts | {"unsure": len(self._unsure)}, found.bytes | more)
