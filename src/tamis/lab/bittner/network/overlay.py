"""A network of brokers in one process, for experiments and tests: messages, filtering work, false forwards.

Messages are delivered in the order in which they were sent, until none is left, so runs are deterministic.
Clients get exactly the events that their subscriptions match, whatever is pruned, covered or advertised. An
event that goes over a link behind which it matches no local subscription is a *false forward*.

All brokers share one table of selectivities; in a real network each would count for itself. Unless a table is
given, it learns from the events that are published: samples of the last batches are counted before entries are
pruned, and older ones have less weight.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamis.arrays import I64, Mask
from tamis.errors import EventError, SubscriptionError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.frames import BatchFrame
from tamis.lab.bittner.advertisements import Advertisement
from tamis.lab.bittner.implication import terms
from tamis.lab.bittner.measures import MEMORY, Measure
from tamis.lab.bittner.network.broker import Broker, BrokerTable, Message, Retract, Subscribe, Withdraw
from tamis.lab.bittner.network.settings import EngineName, Forwarding, NetworkSettings, PrePruning
from tamis.lab.bittner.network.topology import validate
from tamis.lab.bittner.pruning import Strategy
from tamis.lab.bittner.ranking import Estimates, SharedRanking
from tamis.lab.bittner.selectivity_table import SelectivityTable

_HALF_LIFE = 8_192
"""Events after which older ones count half."""
_SAMPLES, _SAMPLE_ROWS = 64, 256
"""The last batches that are remembered until entries are pruned, and the events of each."""
_KINDS = {
    Subscribe: "subscriptions",
    Retract: "retractions",
    Advertisement: "advertisements",
    Withdraw: "withdrawals",
}


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """Table and work of one broker.

    Attributes:
        table: The size of its routing table.
        filtered: Events that it filtered.
        seconds: Time spent on filtering.
        work: Counts of the engine.
        changes: Insertions into its index and deletions from it.
    """

    table: BrokerTable
    filtered: int
    seconds: float
    work: Mapping[str, int]
    changes: int


@dataclass(frozen=True, slots=True)
class OverlayReport:
    """Tables of a network, and its work since the last reset.

    Attributes:
        brokers: By number.
        published: Events.
        messages: Over links, by kind: "events", "subscriptions", "retractions", "advertisements", "withdrawals".
        false_forwards: Events that went over a link and matched nothing behind it.
        deliveries: Pairs of an event and a subscription.
        forwarded: Subscriptions times brokers that would get them without covering; None if advertisements decide.
        terms: The same for the ANDs of subscriptions, with covering.
    """

    brokers: tuple[BrokerReport, ...]
    published: int
    messages: Mapping[str, int]
    false_forwards: int
    deliveries: int
    forwarded: int | None = None
    terms: int | None = None

    @property
    def local(self) -> int:
        """Subscriptions of own clients, of all brokers."""
        return sum(each.table.local for each in self.brokers)

    @property
    def non_local(self) -> int:
        """Subscriptions that came from neighbours, of all brokers."""
        return sum(each.table.non_local for each in self.brokers)

    @property
    def associations(self) -> int:
        """Leaves of non-local entries."""
        return sum(each.table.totals.leaves for each in self.brokers)

    @property
    def prunings(self) -> int:
        """Generalisations of non-local entries that were not reverted."""
        return sum(each.table.totals.prunings for each in self.brokers)

    @property
    def removed_share(self) -> float:
        """The share of associations that pruning removed, M."""
        before = sum(each.table.totals.original_leaves for each in self.brokers)
        return 1.0 - self.associations / before if before else 0.0

    @property
    def covered_share(self) -> float:
        """The share of terms of non-local entries that others cover, at their brokers or on the way."""
        tables = [each.table for each in self.brokers]
        if self.terms:
            return 1.0 - sum(each.totals.entries for each in tables) / self.terms
        terms = sum(each.totals.entries / (1.0 - each.covered_share) for each in tables)
        return 1.0 - sum(each.totals.entries for each in tables) / terms if terms else 0.0

    @property
    def bytes_per_entry(self) -> float:
        """Bytes of non-local entries for each subscription of another broker, covered or not."""
        count = self.non_local if self.forwarded is None else self.forwarded
        return sum(each.table.bytes for each in self.brokers) / count if count else 0.0

    @property
    def load(self) -> float:
        """The share of brokers other than the publisher's that filter an event, N."""
        others = self.published * (len(self.brokers) - 1)
        return self.messages["events"] / others if others else 0.0

    @property
    def seconds(self) -> float:
        """Time spent on filtering, of all brokers."""
        return sum(each.seconds for each in self.brokers)

    @property
    def changes(self) -> int:
        """Insertions into indexes and deletions from them."""
        return sum(each.changes for each in self.brokers)

    @property
    def work(self) -> Counter[str]:
        """Counts of the engines, of all brokers."""
        total: Counter[str] = Counter()
        for each in self.brokers:
            total.update(each.work)
        return total


class Overlay:
    """Brokers, their clients, and the links between them.

    >>> from tamis.language.condition import normalise
    >>> from tamis.lab.bittner.network.topology import line
    >>> books = EventType.from_dict({"name": "book", "attributes": {"price": "int", "used": "boolean"}})
    >>> overlay = Overlay(line(3), books)
    >>> overlay.subscribe("cheap", normalise("price < 5 AND used", books), broker=2)
    >>> overlay.publish(EventBatch.of([{"price": 3, "used": True}, {"price": 9}], books), broker=0)
    [(0, 'cheap')]
    >>> overlay.report().messages["events"]
    2
    """

    def __init__(
        self,
        topology: Sequence[Sequence[int]],
        event_type: EventType,
        *,
        measure: Measure = MEMORY,
        table: Estimates | None = None,
        strategy: Strategy = "strict",
        forwarding: Forwarding = "subscriptions",
        engine: EngineName = "hits",
        conjunctive: bool = False,
        covering: bool = False,
        shortcut: bool = True,
        pre: PrePruning | None = None,
        check: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Start without clients.

        Args:
            topology: The neighbours of each broker, see `tamis.lab.bittner.network.topology`.
            event_type: Of all events.
            measure: By which entries are pruned. The default needs no selectivities and, in entries of few bytes,
                sends least in vain (`docs/benchmarks/routing.md`).
            table: Selectivities of predicates, shared by all brokers; by default they are learned.
            strategy: What pruning does about stale ranks.
            forwarding: Send subscriptions everywhere, or only where overlapping advertisements came from.
            engine: That filters events.
            conjunctive: Convert non-local entries to ANDs, each an entry of its own.
            covering: Convert, drop the ANDs that others of the same neighbour cover, and forward no subscription
                that others cover which were forwarded over the same link.
            shortcut: Skip a neighbour's other entries as soon as one of them matches; `hits` only.
            pre: Generalise subscriptions before they are forwarded over a link.
            check: Refuse events that conform to no advertisement, if forwarding uses advertisements.
            clock: Seconds, to time filtering with.
        """
        self._learned: SelectivityTable | None = None
        if table is None:
            table = self._learned = SelectivityTable(half_life=_HALF_LIFE)
        settings = NetworkSettings(
            event_type,
            table,
            None if measure.counts else SharedRanking(measure, table),
            measure,
            strategy,
            forwarding,
            engine,
            conjunctive,
            covering,
            shortcut,
            pre,
        )
        self._event_type = event_type
        self._checks = check and forwarding == "advertisements"
        self._clock = clock
        self._brokers = [Broker(neighbours, settings) for neighbours in validate(topology)]
        self._settings = settings
        self._samples: deque[Frame] = deque(maxlen=_SAMPLES)
        self._terms: dict[str, int] = {}
        self._homes: dict[str, int] = {}
        self._publishers: dict[str, int] = {}
        self.reset()

    def subscribe(self, id_: str, formula: Formula, broker: int) -> None:
        """Let a client of a broker subscribe.

        Raises:
            SubscriptionError: There is a subscription of that id.
        """
        if id_ in self._homes:
            msg = f"subscription {id_!r}: expected an id that is not taken, found it at broker {self._homes[id_]}"
            raise SubscriptionError(msg)
        self._deliver(broker, Subscribe(id_, formula, 0))
        self._homes[id_] = broker
        if self._settings.covering:
            self._terms[id_] = len(terms(formula) or (formula,))

    def unsubscribe(self, id_: str) -> None:
        """Remove a subscription, in whatever form brokers have it.

        Raises:
            SubscriptionError: There is none.
        """
        self._deliver(_pop_broker(self._homes, "subscription", id_), Retract(id_))
        self._terms.pop(id_, None)

    def advertise(self, id_: str, formula: Formula, broker: int) -> None:
        """Let a publisher at a broker advertise the events that it will publish.

        Raises:
            SubscriptionError: There is an advertisement of that id.
        """
        if id_ in self._publishers:
            home = self._publishers[id_]
            msg = f"advertisement {id_!r}: expected an id that is not taken, found it at broker {home}"
            raise SubscriptionError(msg)
        self._deliver(broker, Advertisement(id_, self._event_type.name, formula))
        self._publishers[id_] = broker

    def withdraw(self, id_: str) -> None:
        """Remove an advertisement.

        Raises:
            SubscriptionError: There is none.
        """
        self._deliver(_pop_broker(self._publishers, "advertisement", id_), Withdraw(id_))

    def hops(self, id_: str, broker: int) -> int | None:
        """The links between a subscriber and a broker that has its subscription; None if it does not."""
        try:
            return self._brokers[broker].hops(id_)
        except KeyError:
            return None

    def publish(self, batch: EventBatch, broker: int) -> list[tuple[int, str]]:
        """Let a client of a broker publish events.

        Returns:
            Pairs of a row of the batch and a subscription, in no order.

        Raises:
            EventError: An event conforms to no advertisement of the broker's publishers, or is of another type.
        """
        self._accept(batch, broker)
        frame = BatchFrame(batch)
        if self._learned is not None and batch.rows:
            rows = np.unique(np.linspace(0, batch.rows - 1, min(batch.rows, _SAMPLE_ROWS)).astype(np.int64))
            self._samples.append(frame.take(rows))
        everything = _BrokerVisit(broker, None, np.arange(batch.rows), np.zeros(batch.rows, np.bool_))
        visits = [everything] if batch.rows else []
        deliveries: list[tuple[int, str]] = []
        for visit in visits:  # grows while it is iterated over
            self._visit(visit, frame, visits, deliveries)
        for visit in reversed(visits):
            if visit.before is not None:
                self._false_forwards += len(visit.rows) - int(visit.useful.sum())
                visit.before.useful[:] |= visit.useful
        self._published += batch.rows
        self._deliveries += len(deliveries)
        return deliveries

    def prune(
        self, *, count: int | None = None, threshold: float | None = None, broker: int | None = None
    ) -> list[int]:
        """Generalise non-local entries of each broker, or of one, see `Pruner.prune`.

        Returns:
            How many generalisations each broker made.
        """
        self._learn()
        chosen = range(len(self._brokers)) if broker is None else [broker]
        made = [0] * len(self._brokers)
        for number in chosen:
            made[number] = self._brokers[number].prune(count=count, threshold=threshold)
        return made

    def prune_advertisements(self, *, count: int | None = None, threshold: float | None = None) -> list[float]:
        """Generalise the advertisements that brokers have of each neighbour, see `Advertisements.prune`.

        Returns:
            The share of leaves that each broker has removed so far.
        """
        return [broker.prune_advertisements(count=count, threshold=threshold) for broker in self._brokers]

    def undo(self, counts: Sequence[int]) -> None:
        """Revert the last generalisations: so many of each broker, as `prune` returned them."""
        for broker, count in zip(self._brokers, counts, strict=True):
            broker.undo(count)

    def rank(self) -> None:
        """Rank all entries again, by current counts."""
        self._learn()
        for broker in self._brokers:
            broker.rank()

    def _learn(self) -> None:
        """Count the sampled events, and rank all entries again if there are any."""
        if self._learned is None or not self._samples:
            return
        for frame in self._samples:
            self._learned.observe(frame)
        self._samples.clear()
        for broker in self._brokers:
            broker.rank()

    def reset(self) -> None:
        """Set the counters of messages, work and time to 0."""
        self._messages: Counter[str] = Counter()
        self._published = self._false_forwards = self._deliveries = 0
        self._filtered = [0] * len(self._brokers)
        self._seconds = [0.0] * len(self._brokers)
        self._work: list[Counter[str]] = [Counter() for _ in self._brokers]
        self._changes = [broker.changes for broker in self._brokers]
        for broker in self._brokers:
            broker.work()

    @property
    def seconds(self) -> float:
        """Time spent on filtering since `reset`, of all brokers."""
        return sum(self._seconds)

    @property
    def messages(self) -> Mapping[str, int]:
        """Messages since `reset` by kind, as in the report."""
        return Counter(self._messages)

    @property
    def work(self) -> Counter[str]:
        """Counts of the engines since `reset`, of all brokers."""
        self._count_work()
        return sum(self._work, Counter())

    def report(self) -> OverlayReport:
        """The tables now, and the work since `reset`."""
        self._count_work()
        others = len(self._brokers) - 1
        brokers = tuple(
            BrokerReport(
                broker.table(),
                self._filtered[number],
                self._seconds[number],
                dict(self._work[number]),
                broker.changes - self._changes[number],
            )
            for number, broker in enumerate(self._brokers)
        )
        return OverlayReport(
            brokers,
            self._published,
            Counter(self._messages),
            self._false_forwards,
            self._deliveries,
            None if self._settings.forwarding == "advertisements" else len(self._homes) * others,
            None if self._settings.forwarding == "advertisements" else sum(self._terms.values()) * others,
        )

    def _count_work(self) -> None:
        for total, broker in zip(self._work, self._brokers, strict=True):
            total.update(broker.work())

    def _deliver(self, broker: int, message: Message) -> None:
        """Deliver a message of a client to its broker, and all messages that follow from it."""
        queue: deque[tuple[int | None, int, Message]] = deque([(None, self._existing(broker), message)])
        while queue:
            sender, receiver, message = queue.popleft()
            if sender is not None:
                self._messages[_KINDS[type(message)]] += 1
            answers = self._brokers[receiver].receive(message, sender)
            queue.extend((receiver, neighbour, answer) for neighbour, answer in answers)

    def _existing(self, broker: int) -> int:
        if not 0 <= broker < len(self._brokers):
            msg = f"expected a broker from 0 to {len(self._brokers) - 1}, found {broker}"
            raise ValueError(msg)
        return broker

    def _accept(self, batch: EventBatch, broker: int) -> None:
        if batch.event_type.name != self._event_type.name:
            msg = f"expected events of type {self._event_type.name}, found {batch.event_type.name}"
            raise EventError(msg)
        publishers = self._brokers[self._existing(broker)].local_advertisements
        if self._checks and not (conforming := publishers.conforms(batch)).all():
            event = batch.ids[int(np.flatnonzero(~conforming)[0])].as_py()
            msg = f"event {event!r}: expected one that conforms to an advertisement of broker {broker}"
            raise EventError(msg)

    def _visit(
        self, visit: _BrokerVisit, frame: BatchFrame, visits: list[_BrokerVisit], deliveries: list[tuple[int, str]]
    ) -> None:
        """Filter events at a broker; forwarded events become further visits."""
        here = frame if len(visit.rows) == frame.rows else frame.take(visit.rows)
        start = self._clock()
        result = self._brokers[visit.broker].filter(here)
        self._seconds[visit.broker] += self._clock() - start
        self._filtered[visit.broker] += len(visit.rows)
        rows = visit.rows[result.rows]
        visit.useful[rows] = True
        deliveries.extend(zip(rows.tolist(), result.ids, strict=True))
        for neighbour, some in result.forwards.items():
            if visit.before is None or neighbour != visit.before.broker:
                self._messages["events"] += len(some)
                visits.append(_BrokerVisit(neighbour, visit, visit.rows[some], np.zeros(frame.rows, np.bool_)))


class _BrokerVisit(NamedTuple):
    """Rows of a batch at a broker, the visit they came from, and which of them match here or further on."""

    broker: int
    before: _BrokerVisit | None
    rows: I64
    useful: Mask


def _pop_broker(homes: dict[str, int], what: str, id_: str) -> int:
    """Remove an id; returns its broker."""
    if id_ not in homes:
        msg = f"{what} {id_!r}: there is none"
        raise SubscriptionError(msg)
    return homes.pop(id_)
