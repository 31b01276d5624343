"""A broker: it knows which of its clients and which of its neighbours want an event.

Subscriptions of its own clients are *local* and stay exact. Those that a neighbour sent are *non-local* entries,
tagged with that neighbour; only they are ever generalised or covered, and only in this broker's table: what it
sends on is what it received, or a generalisation of that if it prunes before it forwards. All entries are in one
index. What it answers to a message are messages to its neighbours; it never calls another broker itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from tamis.language.formula import Formula
from tamis.predicates.base import Frame, Predicate
from tamis.routing.advertisements import Advertisement, Advertisements
from tamis.routing.filtering import Entries, Filter, Wanted
from tamis.routing.overlap import OverlapIndex
from tamis.routing.pruning import Totals
from tamis.routing.ranking import Ranking, generalised
from tamis.routing.selectivity import SelectivityTable
from tamis.routing.settings import Settings


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
        self._filter = Filter(settings, self.neighbours)
        self._entries = Entries(settings, self._filter)
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
