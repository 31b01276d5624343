"""The filter of a broker: all entries in one index, and those of neighbours in a pruner, too.

Entries of neighbours are there as they came, as terms of their own, or as those terms that no other covers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.counting import Counting
from tamis.engines.hits import Hits, HitsIndex
from tamis.language.formula import Formula
from tamis.predicates.base import Frame
from tamis.routing.covering import CoveringPruner, TermId
from tamis.routing.pruning import Entry, Pruner
from tamis.routing.settings import Settings
from tamis.routing.trees import terms

Rows: TypeAlias = npt.NDArray[np.int64]

_NUMBER_BYTES, _COUNT_BYTES = 4, 1
"""Of the number of a predicate, of a subscription, or of a place; of a count of hits."""


class Wanted(NamedTuple):
    """Who wants what: pairs of a row and a local subscription, and the rows for each neighbour, ascending."""

    rows: Rows
    ids: list[str]
    forwards: dict[int, Rows]


class Filter:
    """All entries in one index, by key: subscriptions, or terms of them; each tells an owner.

    Owners are numbered: neighbours first, then each local subscription by its slot.
    """

    def __init__(self, settings: Settings, neighbours: tuple[int, ...]) -> None:
        self.changes = 0
        self._index = Hits().build([]) if settings.engine == "hits" else Counting().build([])
        self._shortcut = settings.shortcut
        self._neighbours = neighbours
        self._numbers = {neighbour: number for number, neighbour in enumerate(neighbours)}
        self._slots: dict[Hashable, int] = {}
        self._ids: list[str] = []  # by slot, of local subscriptions
        self._free: list[int] = []
        self._owners = np.zeros(16, np.int32)

    def put(self, key: Hashable, formula: Formula, neighbour: int | None) -> None:
        """File an entry; a local one has no neighbour."""
        slot = self._free.pop() if self._free else len(self._ids)
        if slot == len(self._ids):
            self._ids.append("")
            if slot == len(self._owners):
                self._owners = np.concatenate([self._owners, np.zeros_like(self._owners)])
        self._slots[key] = slot
        self._ids[slot] = str(key) if neighbour is None else ""
        self._owners[slot] = len(self._numbers) + slot if neighbour is None else self._numbers[neighbour]
        self._index.insert(slot, formula)
        self.changes += 1

    def drop(self, key: Hashable) -> None:
        """Take an entry out."""
        slot = self._slots.pop(key)
        self._index.delete(slot)
        self._free.append(slot)
        self.changes += 1

    def replace(self, formulas: Mapping[Hashable, Formula]) -> None:
        """Put other formulas in the place of those of some entries."""
        if formulas:
            slots = np.array([self._slots[key] for key in formulas], np.int32)
            self._index.delete_many(slots)
            self._index.insert_many(slots, list(formulas.values()))
            self.changes += len(formulas)

    def match(self, frame: Frame) -> Wanted:
        """Who wants the events of a frame."""
        if not self._slots:
            return Wanted(np.empty(0, np.int64), [], {})
        rows, owners = self._matched(frame)
        places = owners.astype(np.int64) - len(self._numbers)
        is_local = places >= 0
        forwards = {}
        for number, neighbour in enumerate(self._neighbours):
            found = np.unique(rows[owners == number]).astype(np.int64)
            if len(found):
                forwards[neighbour] = found
        ids = [self._ids[slot] for slot in places[is_local].tolist()]
        return Wanted(rows[is_local].astype(np.int64), ids, forwards)

    def _matched(self, frame: Frame) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Pairs of rows and owners, not always each once."""
        owners = self._owners[: len(self._ids)]
        if self._shortcut and isinstance(self._index, HitsIndex):
            return self._index.match_owners(frame, owners)
        rows, slots = self._index.match(frame)
        return rows, owners[slots]

    def work(self) -> dict[str, int]:
        """What was counted since it was last asked."""
        return self._index.work()


class _FiledPruner(Pruner):
    """A pruner whose entries are in the index of their broker, too; `Broker` files what it makes of them."""

    def __init__(self, settings: Settings, filter_: Filter) -> None:
        super().__init__(settings.measure, settings.table, strategy=settings.strategy)
        self._ranking = settings.ranking or self._ranking
        self._filter = filter_

    def register(
        self,
        id_: Hashable,
        formula: Formula,
        *,
        neighbour: Hashable = None,
        hops: int = 1,
        count: int | None = None,
        threshold: float | None = None,
    ) -> None:
        super().register(id_, formula, neighbour=neighbour, hops=hops, count=count, threshold=threshold)
        assert isinstance(neighbour, int), "entries come from neighbours"
        self._filter.put(id_, self[id_].current, neighbour)

    def deregister(self, id_: Hashable) -> Entry:
        self._filter.drop(id_)
        return super().deregister(id_)


class Entries:
    """The non-local entries: as they come, as terms of their own, or those terms that no other covers."""

    def __init__(self, settings: Settings, filter_: Filter) -> None:
        self.pruner = _FiledPruner(settings, filter_)
        self._covering = CoveringPruner(self.pruner) if settings.covering else None
        self._conjunctive = settings.conjunctive
        self._terms: dict[str, int] = {}

    @property
    def hidden(self) -> float:
        """The share of terms that others cover."""
        return 0.0 if self._covering is None else self._covering.hidden

    def register(self, id_: str, formula: Formula, neighbour: int, hops: int) -> None:
        """Add a subscription that a neighbour sent."""
        if self._covering is not None:
            self._covering.register(id_, formula, neighbour=neighbour, hops=hops)
        elif not self._conjunctive:
            self.pruner.register(id_, formula, neighbour=neighbour, hops=hops)
        else:
            found = terms(formula)
            parts = [formula] if found is None else found
            self._terms[id_] = len(parts)
            for number, part in enumerate(parts):
                self.pruner.register(TermId(id_, number), part, neighbour=neighbour, hops=hops)

    def deregister(self, id_: str) -> None:
        """Remove one."""
        if self._covering is not None:
            self._covering.deregister(id_)
        elif not self._conjunctive:
            self.pruner.deregister(id_)
        else:
            for number in range(self._terms.pop(id_)):
                self.pruner.deregister(TermId(id_, number))

    def bytes(self) -> float:
        """Of the framework: trees with associations, or conjunctions with predicates in both directions."""
        totals = self.pruner.totals
        predicates = {predicate for entry in self.pruner for predicate in entry.current.predicates()}
        bits = len(predicates) / 8
        if self._conjunctive or self._covering is not None:
            return totals.leaves * 2 * _NUMBER_BYTES + totals.entries * 2 * _COUNT_BYTES + bits
        associations = totals.leaves * _NUMBER_BYTES
        return totals.bytes + associations + totals.entries * (_NUMBER_BYTES + 2 * _COUNT_BYTES) + bits
