"""A broker: decides which of its clients and which of its neighbours get an event.

Subscriptions of its own clients are *local* and stay exact. Those that a neighbour sent are *non-local* entries,
tagged with that neighbour. Only these are generalised, and only in this broker's table: it forwards what it
received, or a generalisation of that if it prunes before forwarding. With covering, it forwards a subscription
over a link only while no other that it forwarded there covers it, and drops covered entries of its own table. All
entries are in one index. A broker answers a message with messages to its neighbours; it never calls another broker
itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame, Predicate
from tamis.lab.bittner.advertisements import Advertisement, Advertisements
from tamis.lab.bittner.covering import CoverChange, Covering
from tamis.lab.bittner.network.filtering import BrokerFilter, FilterResult, NonLocalEntries
from tamis.lab.bittner.network.settings import NetworkSettings
from tamis.lab.bittner.pruning import TableTotals
from tamis.lab.bittner.ranking import Ranking, generalise
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.routing.overlap import OverlapIndex


class Subscribe(NamedTuple):
    """Register a subscription; `hops` are the links from its subscriber's broker to the receiver."""

    id: str
    formula: Formula
    hops: int


class Retract(NamedTuple):
    """Remove a subscription, by its id."""

    id: str


class Withdraw(NamedTuple):
    """Remove an advertisement, by its id."""

    id: str


Message: TypeAlias = Subscribe | Retract | Advertisement | Withdraw
Outgoing: TypeAlias = list[tuple[int, Message]]
"""Messages with the neighbours that they go to."""


class BrokerTable(NamedTuple):
    """The size of a broker's routing table.

    `totals` and `bytes` are those of non-local entries, `covered_share` is the share of terms that others cover,
    `index_bytes` are those that the index of all entries really takes.

    Bytes follow the model of Bittner's thesis (2008). Trees: the encoded tree, an association for each leaf, the
    location of the tree, two hit counters, and a bit for each distinct predicate. Conjunctions: two references for
    each predicate, and two counters.
    """

    local: int
    non_local: int
    totals: TableTotals
    bytes: float
    covered_share: float
    index_bytes: int = 0


class Broker:
    """One broker of a network.

    Attributes:
        neighbours: Their numbers.
        local_advertisements: Of its own publishers.
    """

    def __init__(self, neighbours: Iterable[int], settings: NetworkSettings) -> None:
        self.neighbours = tuple(neighbours)
        self.local_advertisements = Advertisements()
        self._settings = settings
        self._registered: dict[str, _Registration] = {}
        self._sent: dict[int, set[str]] = {neighbour: set() for neighbour in self.neighbours}
        # By link, all that the neighbour should know of, forwarded or covered; unused without covering.
        self._offered: dict[int, Covering] = {neighbour: Covering() for neighbour in self.neighbours}
        self._filter = BrokerFilter(settings, self.neighbours)
        self._entries = NonLocalEntries(settings, self._filter)
        self._ranking = settings.ranking or Ranking(settings.measure, settings.table)
        self._subscriptions = OverlapIndex()
        matches = settings.table.matches if isinstance(settings.table, SelectivityTable) else _never
        self._advertised = {
            neighbour: Advertisements(self._subscriptions, matches) for neighbour in self.neighbours
        }

    @property
    def changes(self) -> int:
        """Insertions into its index and deletions from it so far."""
        return self._filter.changes

    def hops(self, id_: str) -> int:
        """Links to the subscriber's broker; 0 if it is local, KeyError if the subscription is unknown."""
        return self._registered[id_].hops

    def receive(self, message: Message, sender: int | None) -> Outgoing:
        """Process a message of a neighbour, or of an own client if there is no sender."""
        match message:
            case Subscribe():
                return self._subscribe(message, sender)
            case Retract():
                return self._retract(message)
            case Advertisement():
                return self._advertise(message, sender)
            case Withdraw():
                return self._withdraw(message, sender)

    def filter(self, frame: Frame) -> FilterResult:
        return self._filter.match(frame)

    def prune(self, *, count: int | None = None, threshold: float | None = None) -> int:
        """Generalise non-local entries, see `Pruner.prune`; returns the number of generalisations."""
        pruner = self._entries.pruner
        before = pruner.totals.prunings
        self._filter.replace(pruner.prune(count=count, threshold=threshold))
        return pruner.totals.prunings - before

    def prune_advertisements(self, *, count: int | None = None, threshold: float | None = None) -> float:
        """Generalise the advertisements of neighbours, see `Advertisements.prune`; returns the share removed, M.

        Nothing is forwarded because of it: a subscription that overlaps only since then would match nothing.
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
        """Revert the last generalisations."""
        self._filter.replace(self._entries.pruner.undo(count))

    def rank(self) -> None:
        """Rank all entries again, by current counts."""
        self._entries.pruner.rebuild()

    def table(self) -> BrokerTable:
        local = sum(known.source is None for known in self._registered.values())
        entries = self._entries
        return BrokerTable(
            local,
            len(self._registered) - local,
            entries.pruner.totals,
            entries.bytes(),
            entries.covered_share,
            self._filter.index_bytes,
        )

    def work(self) -> dict[str, int]:
        """Counted work of filtering since the last call."""
        return self._filter.work()

    # --- subscriptions -------------------------------------------------------------------------------------

    def _subscribe(self, message: Subscribe, sender: int | None) -> Outgoing:
        id_, formula, hops = message
        self._registered[id_] = _Registration(formula, sender, hops)
        if sender is None:
            self._filter.insert(id_, formula, None)
        else:
            self._entries.register(id_, formula, sender, hops)
        if self._settings.forwarding == "advertisements":
            self._subscriptions.add(id_, self._settings.event_type.name, formula)
        targets = [each for each in self.neighbours if each != sender and self._is_wanted_by(each, formula)]
        return [message for neighbour in targets for message in self._offer(id_, neighbour)]

    def _is_wanted_by(self, neighbour: int, formula: Formula) -> bool:
        """May events that come from the neighbour match?"""
        if self._settings.forwarding == "subscriptions":
            return True
        advertised = self._advertised[neighbour]
        return len(advertised) > 0 and advertised.overlaps(self._settings.event_type.name, formula)

    def _offer(self, id_: str, neighbour: int) -> Outgoing:
        """Forward a subscription to a neighbour, unless others that were forwarded there cover it."""
        if not self._settings.covering:
            return [self._forward(id_, neighbour)]
        return self._forward_uncovered(
            [self._offered[neighbour].add(id_, self._registered[id_].formula)], neighbour
        )

    def _forward_uncovered(self, changes: Iterable[CoverChange], neighbour: int) -> Outgoing:
        """Forward what is uncovered since some changes, unless it was forwarded before."""
        ids = dict.fromkeys(str(term.id) for change in changes for term in change.added)
        offered, sent = self._offered[neighbour], self._sent[neighbour]
        return [self._forward(id_, neighbour) for id_ in ids if id_ in offered and id_ not in sent]

    def _recall(self, ids: Iterable[str], neighbour: int) -> Outgoing:
        """Retract subscriptions from a neighbour; those that only they covered are forwarded first."""
        ids, offered, sent = list(ids), self._offered[neighbour], self._sent[neighbour]
        changes = [offered.remove(id_) for id_ in ids if id_ in offered]
        retracted: Outgoing = [(neighbour, Retract(id_)) for id_ in ids if id_ in sent]
        sent.difference_update(ids)
        return self._forward_uncovered(changes, neighbour) + retracted

    def _forward(self, id_: str, neighbour: int) -> tuple[int, Subscribe]:
        known, pre = self._registered[id_], self._settings.pre
        self._sent[neighbour].add(id_)
        formula, hops = known.formula, known.hops + 1
        if pre is not None:
            formula = generalise(formula, self._ranking, count=pre.count, threshold=pre.threshold, hops=hops)
        return neighbour, Subscribe(id_, formula, hops)

    def _retract(self, message: Retract) -> Outgoing:
        if self._registered.pop(message.id).source is None:
            self._filter.delete(message.id)
        else:
            self._entries.deregister(message.id)
        if self._settings.forwarding == "advertisements":
            self._subscriptions.remove(message.id)
        return [answer for neighbour in self.neighbours for answer in self._recall([message.id], neighbour)]

    # --- advertisements ------------------------------------------------------------------------------------

    def _advertise(self, message: Advertisement, sender: int | None) -> Outgoing:
        flood: Outgoing = [(each, message) for each in self.neighbours if each != sender]
        if sender is None:
            self.local_advertisements.add(message)
            return flood
        self._advertised[sender].add(message)
        if not self._registered:
            return flood
        found = self._subscriptions.overlapping(message.event_type, message.formula)
        known = self._offered[sender] if self._settings.covering else self._sent[sender]
        new = [id_ for id_ in found if self._registered[id_].source != sender and id_ not in known]
        return flood + [answer for id_ in new for answer in self._offer(id_, sender)]

    def _withdraw(self, message: Withdraw, sender: int | None) -> Outgoing:
        flood: Outgoing = [(each, message) for each in self.neighbours if each != sender]
        if sender is None:
            self.local_advertisements.remove(message.id)
            return flood
        sent, advertised = self._sent[sender], self._advertised[sender]
        if not sent:
            advertised.remove(message.id)
            return flood
        return flood + self._recall(advertised.withdraw(message.id), sender)


def _never(_: Predicate) -> float:
    return 0.0


class _Registration(NamedTuple):
    """A subscription as received, and its sender; None for an own client."""

    formula: Formula
    source: int | None
    hops: int
