"""Assignment of subscriptions to shards by similarity, so that an event has matches in few of them.

The unit is an entry: the subscriptions that were generalised to one formula. They stay together as long as their
shard has room. An entry goes to the shard where it adds the fewest visits: the sample events that satisfy it and
do not visit that shard yet, plus, for events that the sample lacks, the selectivity of those of its access
predicates that are new in the shard. So subscriptions to a title follow those to its author if the sample shows
both together. The most frequent entries are assigned first, and no shard gets much more than its share.

A share is one of subscriptions, and one of work: what the sample events that visit a shard take there, each by
itself and with each subscription whose entry it satisfies. Frequent entries would gather in few shards otherwise,
which then have about as many subscriptions as others and most of the events. Where work comes out uneven, entries
are assigned again under a limit, which divides the hottest ones.

An assignment decides how many visits are saved, never which pairs are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import F64, I64, Bools
from tamis.formulas.formula import TRUE
from tamis.formulas.predicates.base import Predicate
from tamis.routing.access_predicates import AccessPredicates

SLACK = 0.1
"""The share by which a shard may have more subscriptions than the average."""
_ESTIMATE_WEIGHT = 0.1
"""The weight of an estimated selectivity beside a counted share of the sample."""
_VISIT_WORK = 4.0
"""The work of a visit, in candidates: what reading an event takes, against verifying a subscription for it."""
_EVEN, _LIMIT = 1.2, 1.03
"""Work of the hottest shard against the mean that is accepted, and the limit that is set if it is not."""
_LEAST_ROWS = 1_000
"""In a smaller sample a shard may look hot by chance, while dividing entries costs visits for certain."""
_ATTEMPTS = 4


class EntryPortion(NamedTuple):
    """How many of the subscriptions of an entry go to a shard."""

    entry: int
    shard: int
    subscriptions: int


class ShardAssigner:
    """Assigns entries to shards, one call after the other.

    Attributes:
        loads: int64[shards], the subscriptions of each shard.
    """

    def __init__(self, shards: int, slack: float = SLACK, loads: I64 | None = None) -> None:
        """Start with empty shards.

        Args:
            shards: How many.
            slack: The share by which one may have more than the average.
            loads: The array to count in, if other assigners fill the same shards.
        """
        if shards < 1 or slack < 0:
            msg = f"expected at least one shard and a slack of 0 or more, found {shards} and {slack}"
            raise ValueError(msg)
        self.loads = np.zeros(shards, np.int64) if loads is None else loads
        self._slack = slack
        self._shards_of: dict[Predicate, Bools] = {}  # bool[shards]: where a predicate is an access predicate
        self._visited = np.zeros((shards, 0), np.bool_)  # [shards, rows of the sample]
        self._always_visited = np.zeros(shards, np.bool_)  # shards with an entry that is TRUE
        self._candidates = np.zeros(shards)  # pairs of a sample event and a subscription whose entry it satisfies

    @property
    def work(self) -> F64:
        """float64[shards]: of the sample events that visit each shard, in candidates."""
        return np.asarray(_VISIT_WORK * self._visited.sum(axis=1) + self._candidates)

    def release(self, loads: I64) -> None:
        """Subtract the subscriptions of each shard that are gone, and their share of its work."""
        self._candidates *= 1.0 - np.minimum(1.0, loads / np.maximum(1, self.loads))
        self.loads -= loads

    def split(self, shard: int, moved: int, loads: I64 | None = None) -> None:
        """Add a shard that takes so many subscriptions over from another one.

        Which of the events that visited that one visit either half is not known here: both, by assumption.

        Args:
            shard: The one that is split.
            moved: Subscriptions that leave it.
            loads: The array to count in from now on, if other assigners fill the same shards.
        """
        share = moved / max(1, int(self.loads[shard]))
        self._candidates = np.append(self._candidates, share * self._candidates[shard])
        self._candidates[shard] *= 1.0 - share
        self._visited = np.append(self._visited, self._visited[[shard]], axis=0)
        self._always_visited = np.append(self._always_visited, self._always_visited[shard])
        self._shards_of = {each: np.append(shards, shards[shard]) for each, shards in self._shards_of.items()}
        if loads is None:
            loads = np.append(self.loads, moved)
            loads[shard] -= moved
        self.loads = loads

    def assign(
        self,
        access: AccessPredicates,
        counts: I64,
        sample_rows: Sequence[I64],
        rows: int,
        total: int | None = None,
        allowed: Bools | None = None,
    ) -> list[EntryPortion]:
        """Assign the subscriptions of some entries, beginning with the entries that most events satisfy.

        Args:
            access: The access predicates of the entries.
            counts: How many subscriptions each entry has.
            sample_rows: The rows of the sample that satisfy each entry.
            rows: How many rows the sample has; the sample is the same in every call.
            total: How many subscriptions all shards will have in the end; by default those assigned so far.
            allowed: The shards that may be used, which must have room for all; by default each.
        """
        if not self._visited.shape[1]:
            self._visited = np.zeros((len(self.loads), rows), np.bool_)
        room = self.room(max(total or 0, int(self.loads.sum() + counts.sum())))
        if allowed is not None:
            room[~allowed] = 0
        order = self._order(access, sample_rows, rows)
        before, limit = self._save(), np.inf
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._restore(before)
            portions = self._place(access, counts, sample_rows, order, room.copy(), limit)
            work = self.work if allowed is None else self.work[allowed]
            if rows < _LEAST_ROWS or work.max() <= _EVEN * work.mean():
                break
            limit = _LIMIT * work.mean()
        return portions

    def _place(
        self,
        access: AccessPredicates,
        counts: I64,
        sample_rows: Sequence[I64],
        order: Sequence[int],
        room: I64,
        limit: float,
    ) -> list[EntryPortion]:
        """Assign entries in order; a shard gets no more work than `limit` while there is another with room."""
        portions: list[EntryPortion] = []
        for entry in order:
            left, access_set = int(counts[entry]), int(access.of[entry])
            rows = sample_rows[entry]
            while left:
                most = room if np.isinf(limit) or not len(rows) else self._below(limit, rows, room)
                shard = self._best_shard(access, access_set, rows, most if most.any() else room)
                count = min(left, int((most if most.any() else room)[shard]))
                self._record(access, access_set, rows, shard)
                self._candidates[shard] += count * len(rows)
                self.loads[shard] += count
                room[shard] -= count
                left -= count
                portions.append(EntryPortion(entry, shard, count))
        return portions

    def _below(self, limit: float, rows: I64, room: I64) -> I64:
        """How many subscriptions of an entry with these rows each shard may take without more work than that."""
        visiting = _VISIT_WORK * (~self._visited[:, rows]).sum(axis=1)
        most = np.floor((limit - self.work - visiting) / len(rows)).astype(np.int64)
        return np.asarray(np.clip(most, 0, room))

    def _save(self) -> tuple[Any, ...]:
        known = {predicate: shards.copy() for predicate, shards in self._shards_of.items()}
        arrays = (self.loads, self._visited, self._always_visited, self._candidates)
        return (known, *(each.copy() for each in arrays))

    def _restore(self, saved: tuple[Any, ...]) -> None:
        known, loads, visited, always, candidates = saved
        self._shards_of = {predicate: shards.copy() for predicate, shards in known.items()}
        self.loads[:] = loads  # in place: other assigners may count in it
        self._visited, self._always_visited = visited.copy(), always.copy()
        self._candidates = candidates.copy()

    def room(self, total: int) -> I64:
        """How many more subscriptions each shard may take, given the number of all shards together."""
        most = int(np.ceil(total / len(self.loads) * (1.0 + self._slack)))
        room = np.maximum(0, most - self.loads)
        return np.asarray(room, np.int64)

    def _order(self, access: AccessPredicates, sample_rows: Sequence[I64], rows: int) -> list[int]:
        estimates = np.array([access.selectivities[list(each)].sum() for each in access.sets], np.float64)
        estimates[[number for number, formula in enumerate(access.formulas) if formula is TRUE]] = np.inf
        shares = np.array([len(each) for each in sample_rows], np.float64) / max(1, rows)
        order: list[int] = np.argsort(-(shares + _ESTIMATE_WEIGHT * estimates[access.of]), kind="stable").tolist()
        return order

    def _best_shard(self, access: AccessPredicates, access_set: int, rows: I64, room: I64) -> int:
        """The shard with room where an entry adds the fewest visits; of equal ones the least loaded."""
        cost = np.zeros(len(self.loads))
        for member in access.sets[access_set]:
            shards = self._shards_of.get(access.predicates[member])
            cost += _ESTIMATE_WEIGHT * access.selectivities[member] * (1.0 if shards is None else ~shards)
        if not access.sets[access_set]:
            cost += 1.0  # the entry is a constant
        if len(rows):
            cost += (~self._visited[:, rows]).sum(axis=1) / self._visited.shape[1]
        cost[self._always_visited] = 0.0
        cost[room <= 0] = np.inf
        return int(np.lexsort((self.loads, cost))[0])

    def _record(self, access: AccessPredicates, access_set: int, rows: I64, shard: int) -> None:
        for member in access.sets[access_set]:
            predicate = access.predicates[member]
            self._shards_of.setdefault(predicate, np.zeros(len(self.loads), np.bool_))[shard] = True
        self._visited[shard, rows] = True
        if access.formulas[access_set] is TRUE:
            self._always_visited[shard] = True
