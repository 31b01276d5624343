"""Pruning of a routing table: entries become more general, those with the least loss first.

A `Pruner` owns the entries that came from neighbours, never those of local subscribers, which stay exact and
discard false positives. An entry only becomes more general, keeps its id, and is deregistered by that id in
whatever form it has.

Entries wait in a priority queue by the rank of their best pruning; new entries are ranked when the queue is next
used. Ranks go stale as events and other entries are counted, if the measure depends on those. The strategy says
what is done about it: *strict* uses the old rank; *static* ranks the first entry again and accepts it if its
rank has changed little; *dynamic* does so and accepts it if it is still the first. An entry that is not accepted
goes back into the queue, up to a number of times. Efficiency and memory depend on formulas only, so strategies
affect only their ties.

This is the readable form, with strategies, thresholds and undo; `tamis.routing.pruning` has the same order as
kernels.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Literal, NamedTuple, TypeAlias

from tamis.formulas.formula import Formula
from tamis.lab.bittner.measures import Facts, Measure, Rank
from tamis.lab.bittner.ranking import Estimates, Ranked, Ranking, ReplacingRanking
from tamis.lab.bittner.replacement import Replacing
from tamis.routing.trees import TreeSize, leaf_counts, tree_size

Strategy: TypeAlias = Literal["strict", "static", "dynamic"]

RETRIES = 8
"""How often an entry goes back into the queue before it is accepted."""
_SPARE = 64
"""Stale items that queue and log may hold beside twice as many as there are entries."""


@dataclass(slots=True, eq=False)
class RoutingEntry:
    """A routing entry.

    Attributes:
        id: Of the subscription, unique.
        original: The formula as registered.
        current: The formula as pruned so far.
        neighbour: The sender.
        hops: Links to the broker of its subscriber.
        prunings: Generalisations applied so far.
    """

    id: Hashable
    original: Formula
    current: Formula
    neighbour: Hashable = None
    hops: int = 1
    prunings: int = 0
    _size: TreeSize = field(default=TreeSize(0, 0, 0), repr=False)
    _facts: Facts | None = field(default=None, repr=False)
    _next: Ranked | None = field(default=None, repr=False)
    _version: int = field(default=-1, repr=False)
    _recounts: int = field(default=-1, repr=False)
    _turn: int = field(default=0, repr=False)
    _retries: int = field(default=0, repr=False)


class TableTotals(NamedTuple):
    """The size of a routing table: leaves are associations of predicates and entries, bytes of encoded trees."""

    entries: int
    leaves: int
    original_leaves: int
    bytes: int
    prunings: int

    @property
    def removed_share(self) -> float:
        """The share of associations that pruning removed, M in the thesis."""
        return 1.0 - self.leaves / self.original_leaves if self.original_leaves else 0.0


class Pruner:
    """The entries of a routing table for events of one type, with the order in which they are pruned.

    >>> from tamis.language.condition import normalise
    >>> from tamis.lab.bittner.measures import ACCURACY
    >>> from tamis.lab.bittner.selectivity_table import SelectivityTable
    >>> pruner = Pruner(ACCURACY, SelectivityTable())
    >>> pruner.register(7, normalise("a = 1 AND b < 3"), neighbour="north")
    >>> pruner.prune(count=1)
    {7: Formula(a = 1)}
    >>> pruner.totals.removed_share
    0.5
    """

    def __init__(
        self,
        measure: Measure,
        table: Estimates,
        *,
        strategy: Strategy = "strict",
        tolerance: float = 0.0,
        proportion: float = 0.0,
        retries: int = RETRIES,
        replacing: Replacing | None = None,
        opaque_first: bool = True,
    ) -> None:
        """Start without entries.

        Args:
            measure: Ranks generalisations.
            table: Selectivities of predicates; tracks those of all entries.
            strategy: What is done about stale ranks.
            tolerance: How much the first part of a rank may have changed (static), or be beyond that of the next
                entry (dynamic).
            proportion: The same as a share of the old rank, or of the next one; the more generous of both holds.
            retries: How often an entry goes back into the queue before it is accepted.
            replacing: Gives wider predicates for entries in which nothing is left to prune; None to leave them.
            opaque_first: Prune predicates first that call operators or read computed attributes.
        """
        if strategy not in ("strict", "static", "dynamic"):
            msg = f"expected the strategy strict, static or dynamic, found {strategy!r}"
            raise ValueError(msg)
        self._ranking = (
            Ranking(measure, table, opaque_first=opaque_first)
            if replacing is None
            else ReplacingRanking(measure, table, replacing, opaque_first=opaque_first)
        )
        self._strategy = strategy
        self._tolerance, self._proportion, self._retries = tolerance, proportion, retries
        self._entries: dict[Hashable, RoutingEntry] = {}
        self._queue: list[tuple[Rank, int, RoutingEntry]] = []
        self._waiting: list[RoutingEntry] = []  # not ranked yet
        self._log: list[tuple[RoutingEntry, Formula]] = []
        self._turns = 0
        self._recounts = 0
        self._undone = 0  # in the log, of entries that are gone
        self._leaves = self._original_leaves = 0
        self._bytes = 0

    @property
    def measure(self) -> Measure:
        """What entries are ranked by."""
        return self._ranking.measure

    @property
    def totals(self) -> TableTotals:
        """The size of the table."""
        return TableTotals(
            len(self._entries),
            self._leaves,
            self._original_leaves,
            self._bytes,
            len(self._log) - self._undone,
        )

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._entries

    def __getitem__(self, id_: Hashable) -> RoutingEntry:
        return self._entries[id_]

    def __iter__(self) -> Iterator[RoutingEntry]:
        """All entries, in the order of registration."""
        return iter(self._entries.values())

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
        """Add an entry that a neighbour sent.

        Args:
            id_: Of the subscription.
            formula: As received, perhaps generalised by other brokers; it is the original here.
            neighbour: The sender.
            hops: Links to the broker of its subscriber.
            count: Prune it at once, at most so many times.
            threshold: Prune it at once as long as the loss is within this.

        Raises:
            ValueError: The id is registered.
        """
        if id_ in self._entries:
            msg = f"subscription {id_!r}: expected an id that is not registered"
            raise ValueError(msg)
        entry = self._entries[id_] = RoutingEntry(id_, formula, formula, neighbour, hops)
        self._ranking.table.track(formula.predicates())
        entry._size = tree_size(formula)
        self._resize(entry._size, 1)
        self._original_leaves += entry._size.leaves
        self._recount(formula, 1)
        if count is None and threshold is None:
            self._waiting.append(entry)
            return
        self._rank(entry)
        limit = inf if threshold is None else self.measure.limit(threshold)
        left = inf if count is None else count
        while entry.prunings < left and entry._next is not None and entry._next.is_within(limit):
            self._prune(entry)
        self._push(entry)

    def deregister(self, id_: Hashable) -> RoutingEntry:
        """Remove an entry and return it.

        Raises:
            KeyError: There is none.
        """
        entry = self._entries.pop(id_)
        self._resize(entry._size, -1)
        self._original_leaves -= tree_size(entry.original).leaves
        self._recount(entry.current, -1)
        entry._turn = -1
        self._undone += entry.prunings
        self._tidy()
        return entry

    def prune(
        self, *, count: int | None = None, threshold: float | None = None, until_bytes: int | None = None
    ) -> dict[Hashable, Formula]:
        """Generalise entries, the best first, until a bound is reached or nothing is left to generalise.

        Args:
            count: Generalisations, at most.
            threshold: No entry may lose more (or save less, by the memory measure), in the unit of the measure.
                Opaque predicates are pruned regardless, unless `opaque_first` is off.
            until_bytes: Stop when the trees of the table take no more.

        Returns:
            The entries that changed, as they are now.
        """
        limit = inf if threshold is None else self.measure.limit(threshold)
        changed: dict[Hashable, Formula] = {}
        left = inf if count is None else count
        while left > 0 and (until_bytes is None or self._bytes > until_bytes):
            entry = self._first(limit)
            if entry is None:
                break
            self._prune(entry)
            self._push(entry)
            changed[entry.id] = entry.current
            left -= 1
        return changed

    def undo(self, count: int) -> dict[Hashable, Formula]:
        """Revert the last generalisations of entries that still exist; returns the entries that changed."""
        changed: dict[Hashable, Formula] = {}
        while count > 0 and self._log:
            entry, before = self._log.pop()
            if entry._turn < 0:
                self._undone -= 1
                continue
            self._change(entry, before, tree_size(before))
            entry.prunings -= 1
            changed[entry.id] = before
            count -= 1
        for id_ in changed:
            self._rank(self._entries[id_])
            self._push(self._entries[id_])
        return changed

    def rebuild(self) -> None:
        """Rank all entries again, by what is counted now."""
        self._queue, self._waiting = [], []
        for entry in self:
            self._rank(entry)
            self._push(entry)

    # --- the queue -----------------------------------------------------------------------------------------

    def _push(self, entry: RoutingEntry) -> None:
        self._turns += 1
        entry._turn = self._turns
        if entry._next is not None:
            heapq.heappush(self._queue, (entry._next.rank, entry._turn, entry))

    def _head(self) -> Ranked | None:
        """The first valid item of the queue; stale and deregistered ones are dropped."""
        for entry in self._waiting:
            if not entry._turn:
                self._rank(entry)
                self._push(entry)
        self._waiting.clear()
        while self._queue:
            _, turn, entry = self._queue[0]
            if entry._turn == turn:
                return entry._next
            heapq.heappop(self._queue)
        return None

    def _first(self, limit: float) -> RoutingEntry | None:
        """Pop the entry to prune next; None if none is within the limit."""
        while (head := self._head()) is not None:
            if not head.is_within(limit):
                return None
            entry = heapq.heappop(self._queue)[2]
            chosen = self._accept(entry, head)
            if chosen is not None and chosen.is_within(limit):
                return entry
            self._push(entry)
        return None

    def _accept(self, entry: RoutingEntry, old: Ranked) -> Ranked | None:
        """The pruning of an entry that was first by an old rank; None if the entry has to go back."""
        if self._strategy == "strict" or self._is_fresh(entry):
            return old
        self._rank(entry)
        new = entry._next
        if new is None or entry._retries >= self._retries or self._is_good(new, old):
            return new
        entry._retries += 1
        return None

    def _is_good(self, new: Ranked, old: Ranked) -> bool:
        if self._strategy == "static":
            change = abs(new.rank[1] - old.rank[1])
            return new.rank[0] == old.rank[0] and change <= self._slack(old)
        head = self._head()
        return head is None or new.rank[:2] <= (head.rank[0], head.rank[1] + self._slack(head))

    def _slack(self, reference: Ranked) -> float:
        return max(self._tolerance, self._proportion * abs(reference.rank[1]))

    def _is_fresh(self, entry: RoutingEntry) -> bool:
        """Is its rank up to date?"""
        measure = self.measure
        has_learned = measure.learns and entry._version != self._ranking.table.version
        return not has_learned and not (measure.counts and entry._recounts != self._recounts)

    def _rank(self, entry: RoutingEntry) -> None:
        ranking = self._ranking
        version = ranking.table.version
        if entry._facts is None or entry._version != version:
            entry._facts = ranking.facts(entry.original)
        entry._next = ranking.best(entry._facts, entry.current, entry.hops)
        entry._version, entry._recounts = version, self._recounts

    def _tidy(self) -> None:
        """Drop items of deregistered entries before they outnumber the others."""
        if len(self._queue) > _SPARE + 2 * len(self._entries):
            self._queue = [each for each in self._queue if each[2]._turn == each[1]]
            heapq.heapify(self._queue)
        if len(self._waiting) > _SPARE + 2 * len(self._entries):
            self._waiting = [each for each in self._waiting if not each._turn]
        if self._undone > _SPARE + len(self._log) // 2:
            self._log = [each for each in self._log if each[0]._turn >= 0]
            self._undone = 0

    # --- changes -------------------------------------------------------------------------------------------

    def _prune(self, entry: RoutingEntry) -> None:
        """Apply the pruning that was ranked, and rank the next."""
        assert entry._next is not None, "it was ranked"
        self._log.append((entry, entry.current))
        self._change(entry, entry._next.result, entry._next.size)
        entry.prunings += 1
        entry._retries = 0
        self._rank(entry)

    def _change(self, entry: RoutingEntry, formula: Formula, sizes: TreeSize) -> None:
        self._resize(entry._size, -1)
        self._resize(sizes, 1)
        self._recount(formula, 1)
        self._recount(entry.current, -1)
        entry.current, entry._size = formula, sizes

    def _resize(self, sizes: TreeSize, sign: int) -> None:
        self._leaves += sign * sizes.leaves
        self._bytes += sign * sizes.bytes

    def _recount(self, formula: Formula, sign: int) -> None:
        if not self.measure.counts:
            return
        self._recounts += 1
        counts = self._ranking.counts
        for predicate, each in leaf_counts(formula).items():
            counts[predicate] += sign * each
            if not counts[predicate]:
                del counts[predicate]
