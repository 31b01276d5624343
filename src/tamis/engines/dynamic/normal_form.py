"""The frame of an engine that keeps formulas as terms: everything but how terms are filed and found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.conjunctions.dnf import UNSURE, Conjunctions, conjunctions_of
from tamis.engines.dynamic.changing import ChangingIndex
from tamis.engines.dynamic.index import Event, PredicateIndex
from tamis.engines.dynamic.predicates import uses_held
from tamis.engines.dynamic.verifier import Verifier
from tamis.engines.forest import Forest
from tamis.events.batch import EventBatch
from tamis.predicates.base import Frame

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


class TermFile(ABC):
    """Where terms are kept; called by one thread at a time."""

    @abstractmethod
    def insert(
        self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: Shorts
    ) -> None:
        """File the conjunctions of a forest for these slots."""

    @abstractmethod
    def delete(self, predicates: PredicateIndex, slots: Shorts) -> None:
        """Empty slots."""

    @abstractmethod
    def match(self, predicates: PredicateIndex, event: Event) -> tuple[Shorts, Shorts, Bytes]:
        """Pairs, each once, and 1 for those that hold without a further look."""

    @abstractmethod
    def stats(self) -> Stats:
        """What it holds."""

    @abstractmethod
    def work(self) -> dict[str, int]:
        """What was done since this was asked last."""

    def estimate(self, predicates: PredicateIndex, event: Event) -> Ints:
        """The work of each row, by which the cheap ones may be matched first: the uses of what holds in it."""
        return np.asarray(uses_held(predicates.predicates, *event))


class TermIndex(ChangingIndex):
    """Formulas as terms; changes in place."""

    def __init__(self, file: TermFile) -> None:
        super().__init__()
        self._file = file
        self._predicates = PredicateIndex()
        self._unsure = Verifier()
        self._count = 0

    def _insert(self, slots: Shorts, forest: Forest) -> None:
        conjunctions = conjunctions_of(forest)
        self._file.insert(self._predicates, forest, conjunctions, slots)
        self._predicates.tidy()  # what was too large to be kept as terms
        for place in np.unique(conjunctions.slots[(conjunctions.flags & UNSURE) != 0]).tolist():
            self._unsure.insert(int(slots[place]), forest[place])
        self._count += len(slots)

    def _delete(self, slots: Shorts) -> None:
        self._file.delete(self._predicates, slots)
        self._predicates.tidy()
        self._unsure.delete_many(slots)
        self._count -= len(slots)

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

    def estimate(self, events: EventBatch | Frame) -> Ints:
        """As `Estimating`."""
        frame = frame_of(events)
        with self._lock:
            self._flush()
            return self._file.estimate(self._predicates, self._predicates.event(frame))

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
