"""The filter of a broker: all entries in one index, and those of neighbours in a pruner, too.

Entries of neighbours are kept as received, or as conjunctions (*terms*), or as the terms that no other covers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.lab.baselines.counting import Counting
from tamis.lab.bittner.covering import CoveringPruner, TermId
from tamis.lab.bittner.hits import Hits, HitsIndex
from tamis.lab.bittner.implication import terms
from tamis.lab.bittner.network.settings import NetworkSettings
from tamis.lab.bittner.pruning import Pruner, RoutingEntry

_MOST_REPLACED = 0.125
"""The share of entries that may be replaced before the index is built again."""
_NUMBER_BYTES, _COUNT_BYTES = 4, 1
"""Bytes of a reference to a predicate, a subscription or a location; bytes of a hit counter."""


class FilterResult(NamedTuple):
    """Pairs of a row and a local subscription, and the ascending rows to forward to each neighbour."""

    rows: I64
    ids: list[str]
    forwards: dict[int, I64]


class BrokerFilter:
    """An index of all entries by key: subscriptions, or terms of them. Each entry has an owner.

    Owners are numbered: neighbours first, then each local subscription by its slot.
    """

    def __init__(self, settings: NetworkSettings, neighbours: tuple[int, ...]) -> None:
        self.changes = 0
        self._engine: Hits | Counting = Hits() if settings.engine == "hits" else Counting()
        self._index = self._engine.build([])
        self._formulas: dict[Hashable, Formula] = {}
        self._replaced = 0
        self._work: Counter[str] = Counter()  # of indexes before
        self._shortcut = settings.shortcut
        self._neighbours = neighbours
        self._numbers = {neighbour: number for number, neighbour in enumerate(neighbours)}
        self._slots: dict[Hashable, int] = {}
        self._ids: list[str] = []  # by slot, of local subscriptions
        self._free: list[int] = []
        self._owners = np.zeros(16, np.int32)

    def insert(self, key: Hashable, formula: Formula, neighbour: int | None) -> None:
        """Insert an entry; a local one has no neighbour."""
        slot = self._free.pop() if self._free else len(self._ids)
        if slot == len(self._ids):
            self._ids.append("")
            if slot == len(self._owners):
                self._owners = np.concatenate([self._owners, np.zeros_like(self._owners)])
        self._slots[key] = slot
        self._formulas[key] = formula
        self._ids[slot] = str(key) if neighbour is None else ""
        self._owners[slot] = len(self._numbers) + slot if neighbour is None else self._numbers[neighbour]
        self._index.insert(slot, formula)
        self.changes += 1

    def delete(self, key: Hashable) -> None:
        slot = self._slots.pop(key)
        del self._formulas[key]
        self._index.delete(slot)
        self._free.append(slot)
        self.changes += 1

    def replace(self, formulas: Mapping[Hashable, Formula]) -> None:
        """Replace the formulas of some entries.

        An index keeps the room of what is gone. After many replacements it is built again, so that its bytes are
        those of the entries that it has.
        """
        if not formulas:
            return
        self.changes += len(formulas)
        self._formulas.update(formulas)
        self._replaced += len(formulas)
        if self._replaced > _MOST_REPLACED * len(self._slots):
            self._build()
            return
        slots = np.array([self._slots[key] for key in formulas], np.int32)
        self._index.delete_many(slots)
        self._index.insert_many(slots, list(formulas.values()))

    def _build(self) -> None:
        """Build the index again; slots are numbered without gaps."""
        self._work.update(self._index.work())
        is_local = self._owners >= len(self._numbers)
        old = np.fromiter((self._slots[key] for key in self._formulas), np.int64, len(self._formulas))
        owners = np.where(is_local[old], len(self._numbers) + np.arange(len(old)), self._owners[old])
        self._owners = np.concatenate([owners.astype(np.int32), np.zeros(16, np.int32)])
        self._ids = [self._ids[slot] for slot in old.tolist()]
        self._slots = {key: slot for slot, key in enumerate(self._formulas)}
        self._free = []
        self._index = self._engine.build(list(self._formulas.values()))
        self._replaced = 0

    @property
    def index_bytes(self) -> int:
        """Bytes of the index."""
        return sum(self._index.stats().bytes.values())

    def match(self, frame: Frame) -> FilterResult:
        """Match the events of a frame."""
        if not self._slots:
            return FilterResult(np.empty(0, np.int64), [], {})
        rows, owners = self._match_owners(frame)
        places = owners.astype(np.int64) - len(self._numbers)
        is_local = places >= 0
        forwards = {}
        for number, neighbour in enumerate(self._neighbours):
            found = np.unique(rows[owners == number]).astype(np.int64)
            if len(found):
                forwards[neighbour] = found
        ids = [self._ids[slot] for slot in places[is_local].tolist()]
        return FilterResult(rows[is_local].astype(np.int64), ids, forwards)

    def _match_owners(self, frame: Frame) -> tuple[I32, I32]:
        """Pairs of rows and owners, perhaps with repetitions."""
        owners = self._owners[: len(self._ids)]
        if self._shortcut and isinstance(self._index, HitsIndex):
            return self._index.match_owners(frame, owners)
        rows, slots = self._index.match(frame)
        return rows, owners[slots]

    def work(self) -> dict[str, int]:
        """Counted work since the last call."""
        before, self._work = self._work, Counter()
        return dict(before + Counter(self._index.work()))


class _IndexedPruner(Pruner):
    """A pruner that keeps its entries in the filter of a broker; `Broker` passes changed formulas on."""

    def __init__(self, settings: NetworkSettings, filter_: BrokerFilter) -> None:
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
        self._filter.insert(id_, self[id_].current, neighbour)

    def deregister(self, id_: Hashable) -> RoutingEntry:
        self._filter.delete(id_)
        return super().deregister(id_)


class NonLocalEntries:
    """The non-local entries: as received, as terms, or as the terms that no other covers."""

    def __init__(self, settings: NetworkSettings, filter_: BrokerFilter) -> None:
        self.pruner = _IndexedPruner(settings, filter_)
        self._covering = CoveringPruner(self.pruner) if settings.covering else None
        self._conjunctive = settings.conjunctive
        self._terms: dict[str, int] = {}

    @property
    def covered_share(self) -> float:
        """The share of terms that others cover."""
        return 0.0 if self._covering is None else self._covering.covered_share

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
        if self._covering is not None:
            self._covering.deregister(id_)
        elif not self._conjunctive:
            self.pruner.deregister(id_)
        else:
            for number in range(self._terms.pop(id_)):
                self.pruner.deregister(TermId(id_, number))

    def bytes(self) -> float:
        """By the memory model: trees with associations, or conjunctions with predicates in both directions."""
        totals = self.pruner.totals
        predicates = {predicate for entry in self.pruner for predicate in entry.current.predicates()}
        bits = len(predicates) / 8
        if self._conjunctive or self._covering is not None:
            return totals.leaves * 2 * _NUMBER_BYTES + totals.entries * 2 * _COUNT_BYTES + bits
        associations = totals.leaves * _NUMBER_BYTES
        return totals.bytes + associations + totals.entries * (_NUMBER_BYTES + 2 * _COUNT_BYTES) + bits
