"""Dealing subscriptions to shards by similarity, so that an event finds what it satisfies in few of them.

What is dealt are entries: subscriptions that were generalised to the same stay together as long as there is room.
An entry goes where it adds the fewest visits: the events of a sample that satisfy it and had no business in that
shard before, and, for what no event of the sample tells, the chances of the predicates of its gate that are new
there. So subscriptions to a title follow those to its author, if events say that both come together. The most
frequent entries are dealt first, and no shard gets much more than its share.

The deal decides how many visits are saved, never what is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.language.formula import TRUE
from tamis.predicates.base import Predicate
from tamis.routing.gates import Gates

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

SLACK = 0.1
"""The share by which a shard may have more subscriptions than the average."""
_UNSEEN = 0.1
"""What a chance weighs against a share of the sample."""


class Portion(NamedTuple):
    """So many of the subscriptions of an entry go to a shard."""

    entry: int
    shard: int
    subscriptions: int


class Dealer:
    """Deals entries to shards, one lot after the other.

    Attributes:
        loads: How many subscriptions each shard has.
    """

    def __init__(self, shards: int, slack: float = SLACK, loads: Ints | None = None) -> None:
        """Empty shards, which may have `slack` more than the average.

        Args:
            shards: How many.
            slack: The share by which one may have more than the average.
            loads: Counted here, if other dealers fill the same shards.
        """
        if shards < 1 or slack < 0:
            msg = f"expected at least one shard and a slack of 0 or more, found {shards} and {slack}"
            raise ValueError(msg)
        self.loads = np.zeros(shards, np.int64) if loads is None else loads
        self._slack = slack
        self._known: dict[Predicate, npt.NDArray[np.bool_]] = {}
        self._visited = np.zeros((shards, 0), np.bool_)
        self._open = np.zeros(shards, np.bool_)

    def release(self, loads: Ints) -> None:
        """So many subscriptions of each shard are gone."""
        self.loads -= loads

    def deal(
        self,
        gates: Gates,
        counts: Ints,
        sampled: Sequence[Ints],
        rows: int,
        total: int | None = None,
        allowed: npt.NDArray[np.bool_] | None = None,
    ) -> list[Portion]:
        """Deal the subscriptions of some entries, those first that most events satisfy.

        Args:
            gates: Of the entries.
            counts: How many subscriptions each entry has.
            sampled: The rows of a sample that satisfy each entry.
            rows: How many rows the sample has; always the same one.
            total: How many subscriptions all shards are going to have; by default what they have then.
            allowed: The shards that may have them, with room for all; by default each.
        """
        if not self._visited.shape[1]:
            self._visited = np.zeros((len(self.loads), rows), np.bool_)
        room = self.room(max(total or 0, int(self.loads.sum() + counts.sum())))
        if allowed is not None:
            room[~allowed] = 0
        portions: list[Portion] = []
        for entry in self._order(gates, sampled, rows):
            left, gate = int(counts[entry]), int(gates.of[entry])
            while left:
                shard = self._best(gates, gate, sampled[entry], room)
                some = min(left, int(room[shard]))
                self._put(gates, gate, sampled[entry], shard)
                self.loads[shard] += some
                room[shard] -= some
                left -= some
                portions.append(Portion(entry, shard, some))
        return portions

    def room(self, total: int) -> Ints:
        """How many more each shard may have, if there are so many in all."""
        most = int(np.ceil(total / len(self.loads) * (1.0 + self._slack)))
        room = np.maximum(0, most - self.loads)
        return np.asarray(room, np.int64)

    def _order(self, gates: Gates, sampled: Sequence[Ints], rows: int) -> list[int]:
        chances = np.array([gates.chances[list(members)].sum() for members in gates.members], np.float64)
        chances[[place for place, gate in enumerate(gates.formulas) if gate is TRUE]] = np.inf
        shares = np.array([len(each) for each in sampled], np.float64) / max(1, rows)
        order: list[int] = np.argsort(-(shares + _UNSEEN * chances[gates.of]), kind="stable").tolist()
        return order

    def _best(self, gates: Gates, gate: int, rows: Ints, room: Ints) -> int:
        """The shard with room where an entry adds the fewest visits; of equal ones the emptiest."""
        cost = np.zeros(len(self.loads))
        for member in gates.members[gate]:
            known = self._known.get(gates.predicates[member])
            cost += _UNSEEN * gates.chances[member] * (1.0 if known is None else ~known)
        if not gates.members[gate]:
            cost += 1.0  # it always holds, or never
        if len(rows):
            cost += (~self._visited[:, rows]).sum(axis=1) / self._visited.shape[1]
        cost[self._open] = 0.0
        cost[room <= 0] = np.inf
        return int(np.lexsort((self.loads, cost))[0])

    def _put(self, gates: Gates, gate: int, rows: Ints, shard: int) -> None:
        for member in gates.members[gate]:
            predicate = gates.predicates[member]
            self._known.setdefault(predicate, np.zeros(len(self.loads), np.bool_))[shard] = True
        self._visited[shard, rows] = True
        if gates.formulas[gate] is TRUE:
            self._open[shard] = True
