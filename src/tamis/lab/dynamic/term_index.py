"""An index of terms: every subscription in disjunctive normal form, a term for each of its conjunctions.

`TermIndex` does what all engines of terms have in common; a `TermStore` is where one engine keeps its terms, and
how it finds those that an event satisfies. A formula whose normal form would grow too large becomes terms that are
necessary only (`UNSURE`): those make it a candidate, which `FallbackFormulas` verifies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.conjunctions.dnf import UNSURE, Conjunctions, conjunctions_of
from tamis.engines.forest import Forest
from tamis.events.batch import EventBatch
from tamis.formulas.predicates.base import Frame
from tamis.lab.dynamic.fallback import FallbackFormulas
from tamis.lab.dynamic.kernels.predicates import satisfied_uses
from tamis.lab.dynamic.mutable_index import MutableIndex
from tamis.lab.dynamic.predicate_index import EncodedEvents, PredicateIndex


class TermStore(ABC):
    """Where an engine keeps terms; called by one thread at a time."""

    @abstractmethod
    def insert(self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: I32) -> None:
        """Store the conjunctions of a forest as terms of these slots."""

    @abstractmethod
    def delete(self, predicates: PredicateIndex, slots: I32) -> None:
        """Remove all terms of these slots."""

    @abstractmethod
    def match(self, predicates: PredicateIndex, events: EncodedEvents) -> tuple[I32, I32, U8]:
        """Rows and slots, each pair once, and 1 for the pairs that need no verification."""

    @abstractmethod
    def stats(self) -> Stats: ...

    @abstractmethod
    def work(self) -> dict[str, int]:
        """Counts of the work done since the last call."""

    def estimate(self, predicates: PredicateIndex, events: EncodedEvents) -> I64:
        """The work of each row, by which cheap ones may be matched first: the uses of its satisfied predicates."""
        return np.asarray(satisfied_uses(predicates.predicates, *events))


class TermIndex(MutableIndex):
    """Subscriptions as terms in the `TermStore` of an engine."""

    def __init__(self, store: TermStore, predicates: PredicateIndex | None = None) -> None:
        super().__init__()
        self._store = store
        self._predicates = PredicateIndex() if predicates is None else predicates
        self._unsure = FallbackFormulas()
        self._count = 0

    def _insert(self, slots: I32, forest: Forest) -> None:
        conjunctions = conjunctions_of(forest)
        self._store.insert(self._predicates, forest, conjunctions, slots)
        self._predicates.drop_unused_tests()  # those of leaves that no term has
        for place in np.unique(conjunctions.slots[(conjunctions.flags & UNSURE) != 0]).tolist():
            self._unsure.insert(int(slots[place]), forest[place])
        self._count += len(slots)

    def _delete(self, slots: I32) -> None:
        self._store.delete(self._predicates, slots)
        self._predicates.drop_unused_tests()
        self._unsure.delete_many(slots)
        self._count -= len(slots)

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs: in the order of rows, but for those that had to be verified, which come last."""
        frame = frame_of(events)
        with self._lock:
            self._flush()
            rows, slots, sure = self._store.match(self._predicates, self._predicates.encode(frame))
            if sure.all():
                return Matches(rows, slots)
            kept, unsure = sure != 0, sure == 0
            verified = self._unsure.verify(frame, Matches(rows[unsure], slots[unsure]))
        return Matches(np.concatenate([rows[kept], verified.rows]), np.concatenate([slots[kept], verified.slots]))

    def estimate(self, events: EventBatch | Frame) -> I64:
        frame = frame_of(events)
        with self._lock:
            self._flush()
            return self._store.estimate(self._predicates, self._predicates.encode(frame))

    def work(self) -> dict[str, int]:
        """Counts of the work done since the last call."""
        with self._lock:
            return self._store.work()

    def stats(self) -> Stats:
        """Subscriptions, terms, predicates, and how many formulas need verification."""
        with self._lock:
            self._flush()
            own = self._store.stats()
            counts = {"subscriptions": self._count, "predicates": len(self._predicates)}
            more = {"held": self._predicates.number_limit // 8 + 1} | self._predicates.bytes()
            return Stats(counts | own.counts | {"unsure": len(self._unsure)}, own.bytes | more)
