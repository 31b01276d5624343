"""A broker: it knows which of its clients and which of its neighbours want an event.

Subscriptions of its own clients are *local* and stay exact. Those that a neighbour sent are *non-local* entries,
tagged with that neighbour; only they are ever generalised or covered, and only in this broker's table: what it
sends on is what it received, or a generalisation of that if it prunes before it forwards. All entries are in one
index. What it answers to a message are messages to its neighbours; it never calls another broker itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.counting import Counting
from tamis.engines.hits import Hits, HitsIndex
from tamis.events.event_type import EventType
from tamis.language.formula import Formula
from tamis.predicates.base import Frame, Predicate
from tamis.routing.advertisements import Advertisement, Advertisements
from tamis.routing.covering import CoveringPruner, TermId
from tamis.routing.measures import ACCURACY, Facts, Measure, distance
from tamis.routing.overlap import OverlapIndex
from tamis.routing.pruning import Entry, Pruner, Strategy, Totals
from tamis.routing.ranking import Estimates, Ranked, Ranking, generalised
from tamis.routing.selectivity import SelectivityTable
from tamis.routing.trees import terms

Rows: TypeAlias = npt.NDArray[np.int64]
EngineName: TypeAlias = Literal["hits", "counting"]
Forwarding: TypeAlias = Literal["subscriptions", "advertisements"]

_NUMBER_BYTES, _COUNT_BYTES = 4, 1
"""Of the number of a predicate, of a subscription, or of a place; of a count of hits."""
_MOST_RANKED = 1 << 18
"""Formulas whose ranks are remembered, at most."""


@dataclass(frozen=True, slots=True)
class PrePruning:
    """How far subscriptions are generalised before they are forwarded over a link, see `generalised`."""

    count: int | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What all brokers of a network have in common; see `tamis.routing.overlay.Overlay`.

    Attributes:
        ranking: Of entries, if ranks do not depend on the other entries of a broker.
    """

    event_type: EventType
    table: Estimates
    ranking: Ranking | None
    measure: Measure = ACCURACY
    strategy: Strategy = "strict"
    forwarding: Forwarding = "subscriptions"
    engine: EngineName = "hits"
    conjunctive: bool = False
    covering: bool = False
    shortcut: bool = True
    pre: PrePruning | None = None


class SharedRanking(Ranking):
    """A ranking for several brokers: what they all have to rank is ranked once, until more events are counted.

    It is not for measures that go by the other entries of a broker.
    """

    def __init__(self, measure: Measure, table: Estimates) -> None:
        """Nothing is ranked yet."""
        super().__init__(measure, table)
        self._version = table.version
        self._facts: dict[Formula, Facts] = {}
        self._best: dict[tuple[Facts, Formula, int], Ranked | None] = {}
        self._is_near = distance not in measure.parts

    def facts(self, formula: Formula) -> Facts:
        """As `Ranking`."""
        self._forget()
        found = self._facts.get(formula)
        if found is None:
            found = self._facts[formula] = super().facts(formula)
        return found

    def best(self, original: Facts, current: Formula, hops: int = 1) -> Ranked | None:
        """As `Ranking`."""
        self._forget()
        key = original, current, 0 if self._is_near else hops
        if key not in self._best:
            self._best[key] = super().best(original, current, hops)
        return self._best[key]

    def _forget(self) -> None:
        """Forget everything when it is out of date, or too much."""
        if self._version != self.table.version or len(self._facts) + len(self._best) > _MOST_RANKED:
            self._version = self.table.version
            self._facts.clear()
            self._best.clear()


class Subscribe(NamedTuple):
    """A subscription; `hops` are the brokers between its subscriber and who gets this, 0 for the first."""

    id: str
    formula: Formula
    hops: int


class Retract(NamedTuple):
    """Forget a subscription."""

    id: str


class Withdraw(NamedTuple):
    """Forget an advertisement."""

    id: str


Message: TypeAlias = Subscribe | Retract | Advertisement | Withdraw
Outgoing: TypeAlias = list[tuple[int, Message]]
"""Messages with the neighbours that they go to."""


class Wanted(NamedTuple):
    """Who wants what: pairs of a row and a local subscription, and the rows for each neighbour, ascending."""

    rows: Rows
    ids: list[str]
    forwards: dict[int, Rows]


class Table(NamedTuple):
    """What a broker has: local subscriptions, those of neighbours, and what became of these.

    Totals and bytes are those of the entries, `hidden` is the share of terms that others cover.

    Bytes are those that Bittner's thesis (2008) reckons with: of encoded trees, of an association for each leaf,
    of where a tree is and two counts of hits, and a bit for each predicate that there is; of conjunctions, two
    numbers for each predicate of each, and two counts.
    """

    local: int
    non_local: int
    totals: Totals
    bytes: float
    hidden: float


class Broker:
    """One broker of a network.

    Attributes:
        neighbours: Their numbers.
        local_advertisements: Of its own publishers.
    """

    def __init__(self, neighbours: Iterable[int], settings: Settings) -> None:
        """Without clients yet."""
        self.neighbours = tuple(neighbours)
        self.local_advertisements = Advertisements()
        self._settings = settings
        self._known: dict[str, _Known] = {}
        self._sent: dict[int, set[str]] = {neighbour: set() for neighbour in self.neighbours}
        self._filter = _Filter(settings, self.neighbours)
        self._entries = _Entries(settings, self._filter)
        self._ranking = settings.ranking or Ranking(settings.measure, settings.table)
        self._subscriptions = OverlapIndex()
        matches = settings.table.held if isinstance(settings.table, SelectivityTable) else _never
        self._advertised = {
            neighbour: Advertisements(self._subscriptions, matches) for neighbour in self.neighbours
        }

    @property
    def changes(self) -> int:
        """Entries that were put into its index or taken out of it, so far."""
        return self._filter.changes

    def hops(self, id_: str) -> int:
        """How far the subscriber is; 0 if it is local, KeyError if the broker does not know it."""
        return self._known[id_].hops

    def receive(self, message: Message, sender: int | None) -> Outgoing:
        """Take note of a message of a neighbour, or of an own client if there is no sender."""
        match message:
            case Subscribe():
                return self._subscribe(message, sender)
            case Retract():
                return self._retract(message)
            case Advertisement():
                return self._advertise(message, sender)
            case Withdraw():
                return self._withdraw(message, sender)

    def wanted(self, frame: Frame) -> Wanted:
        """Filter events."""
        return self._filter.match(frame)

    def prune(self, *, count: int | None = None, threshold: float | None = None) -> int:
        """Generalise non-local entries, see `Pruner.prune`; gives the number of generalisations."""
        pruner = self._entries.pruner
        before = pruner.totals.prunings
        self._filter.replace(pruner.prune(count=count, threshold=threshold))
        return pruner.totals.prunings - before

    def prune_advertisements(self, *, count: int | None = None, threshold: float | None = None) -> float:
        """Generalise the advertisements of neighbours, see `Advertisements.prune`; gives the share removed, M.

        What was sent stays sent: a subscription that overlaps only now would find nothing.
        """
        name = self._settings.event_type.name
        totals = []
        for advertised in self._advertised.values():
            advertised.rank(name)
            advertised.prune(name, count=count, threshold=threshold)
            totals.append(advertised.totals(name))
        before = sum(each.original_leaves for each in totals)
        return 1.0 - sum(each.leaves for each in totals) / before if before else 0.0

    def undo(self, count: int) -> None:
        """Take back the last generalisations."""
        self._filter.replace(self._entries.pruner.undo(count))

    def rank(self) -> None:
        """Rank all entries anew, by what is counted now."""
        self._entries.pruner.rebuild()

    def table(self) -> Table:
        """How large it is."""
        local = sum(known.source is None for known in self._known.values())
        entries = self._entries
        return Table(local, len(self._known) - local, entries.pruner.totals, entries.bytes(), entries.hidden)

    def work(self) -> dict[str, int]:
        """What filtering did since this was asked last, in counts."""
        return self._filter.work()

    # --- subscriptions -------------------------------------------------------------------------------------

    def _subscribe(self, message: Subscribe, sender: int | None) -> Outgoing:
        id_, formula, hops = message
        self._known[id_] = _Known(formula, sender, hops)
        if sender is None:
            self._filter.put(id_, formula, None)
        else:
            self._entries.register(id_, formula, sender, hops)
        if self._settings.forwarding == "advertisements":
            self._subscriptions.add(id_, self._settings.event_type.name, formula)
        targets = [each for each in self.neighbours if each != sender and self._is_wanted_by(each, formula)]
        return [self._forwarded(id_, neighbour) for neighbour in targets]

    def _is_wanted_by(self, neighbour: int, formula: Formula) -> bool:
        """May events of the neighbour match?"""
        if self._settings.forwarding == "subscriptions":
            return True
        advertised = self._advertised[neighbour]
        return len(advertised) > 0 and advertised.overlaps(self._settings.event_type.name, formula)

    def _forwarded(self, id_: str, neighbour: int) -> tuple[int, Subscribe]:
        known, pre = self._known[id_], self._settings.pre
        self._sent[neighbour].add(id_)
        formula, hops = known.formula, known.hops + 1
        if pre is not None:
            formula = generalised(formula, self._ranking, count=pre.count, threshold=pre.threshold, hops=hops)
        return neighbour, Subscribe(id_, formula, hops)

    def _retract(self, message: Retract) -> Outgoing:
        if self._known.pop(message.id).source is None:
            self._filter.drop(message.id)
        else:
            self._entries.deregister(message.id)
        if self._settings.forwarding == "advertisements":
            self._subscriptions.remove(message.id)
        told = [neighbour for neighbour, sent in self._sent.items() if message.id in sent]
        for neighbour in told:
            self._sent[neighbour].remove(message.id)
        return [(neighbour, message) for neighbour in told]

    # --- advertisements ------------------------------------------------------------------------------------

    def _advertise(self, message: Advertisement, sender: int | None) -> Outgoing:
        flood: Outgoing = [(each, message) for each in self.neighbours if each != sender]
        if sender is None:
            self.local_advertisements.add(message)
            return flood
        self._advertised[sender].add(message)
        if not self._known:
            return flood
        found = self._subscriptions.overlapping(message.event_type, message.formula)
        new = [id_ for id_ in found if self._known[id_].source != sender and id_ not in self._sent[sender]]
        return flood + [self._forwarded(id_, sender) for id_ in new]

    def _withdraw(self, message: Withdraw, sender: int | None) -> Outgoing:
        flood: Outgoing = [(each, message) for each in self.neighbours if each != sender]
        if sender is None:
            self.local_advertisements.remove(message.id)
            return flood
        sent, advertised = self._sent[sender], self._advertised[sender]
        if not sent:
            advertised.remove(message.id)
            return flood
        vain = [id_ for id_ in advertised.withdraw(message.id) if id_ in sent]
        sent.difference_update(vain)
        return flood + [(sender, Retract(id_)) for id_ in vain]


def _never(_: Predicate) -> float:
    return 0.0


class _Known(NamedTuple):
    """A subscription as it was received, and from whom; None from an own client."""

    formula: Formula
    source: int | None
    hops: int


class _Filter:
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
        return self._index.work()


class _FiledPruner(Pruner):
    """A pruner whose entries are in the index of their broker, too; `Broker` files what it makes of them."""

    def __init__(self, settings: Settings, filter_: _Filter) -> None:
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


class _Entries:
    """The non-local entries: as they come, as terms of their own, or those terms that no other covers."""

    def __init__(self, settings: Settings, filter_: _Filter) -> None:
        self.pruner = _FiledPruner(settings, filter_)
        self._covering = CoveringPruner(self.pruner) if settings.covering else None
        self._conjunctive = settings.conjunctive
        self._terms: dict[str, int] = {}

    @property
    def hidden(self) -> float:
        return 0.0 if self._covering is None else self._covering.hidden

    def register(self, id_: str, formula: Formula, neighbour: int, hops: int) -> None:
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
        """Of the framework: trees with associations, or conjunctions with predicates in both directions."""
        totals = self.pruner.totals
        predicates = {predicate for entry in self.pruner for predicate in entry.current.predicates()}
        bits = len(predicates) / 8
        if self._conjunctive or self._covering is not None:
            return totals.leaves * 2 * _NUMBER_BYTES + totals.entries * 2 * _COUNT_BYTES + bits
        associations = totals.leaves * _NUMBER_BYTES
        return totals.bytes + associations + totals.entries * (_NUMBER_BYTES + 2 * _COUNT_BYTES) + bits
