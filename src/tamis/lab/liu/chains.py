"""Conjunctions of expensive predicates as chains, and good orders of the chains.

After Z. Liu et al., "Scalable Event Matching for Overlapping Subscriptions" (DEBS 2007), with corrected
formulas. A predicate is a number; it holds with a known probability, independently of the others, and a call has
a cost. A chain has the predicates of one conjunction in the order in which they are called, up to the first that
is false. Chains are evaluated one after the other; a false predicate rules out every chain that has it, and no
predicate is called twice. The order affects the cost, never the result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I64
from tamis.kernels import kernel


class Chains(NamedTuple):
    """Conjunctions, and for each predicate those that have it.

    starts: int64[chains + 1]: chain c is nodes[starts[c]:starts[c + 1]].
    nodes: The distinct predicates of each chain, in the order in which they are called.
    firsts: int64[predicates + 1]: the chains with predicate t are users[firsts[t]:firsts[t + 1]], ascending.
    users: int64[len(nodes)].
    holds: float64[predicates]: the probability that a predicate is true.
    costs: float64[predicates]: of a call, above 0.
    """

    starts: I64
    nodes: I64
    firsts: I64
    users: I64
    holds: F64
    costs: F64

    def chain(self, number: int) -> I64:
        return self.nodes[self.starts[number] : self.starts[number + 1]]

    def __repr__(self) -> str:
        return f"Chains({len(self.starts) - 1} of {len(self.nodes)} nodes, {len(self.holds)} predicates)"


def chains_of(starts: I64, members: I64, holds: F64, costs: F64 | None = None, *, sort: bool = True) -> Chains:
    """The chains of some conjunctions.

    Args:
        starts: Where each conjunction begins in `members`, and the end of the last.
        members: Predicates, different ones in each conjunction.
        holds: The probability that each predicate is true.
        costs: Of a call of each predicate; 1 by default.
        sort: Put the nodes of each chain in `node_order`; else their order is kept.
    """
    cost = np.ones(len(holds)) if costs is None else np.asarray(costs, np.float64)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    nodes = np.asarray(members, np.int64)
    if sort:
        nodes = nodes[np.lexsort((nodes, _ranks(holds, cost)[nodes], rows))]
    firsts = np.zeros(len(holds) + 1, np.int64)
    np.cumsum(np.bincount(nodes, minlength=len(holds)), out=firsts[1:])
    users = rows[np.argsort(nodes, kind="stable")]
    return Chains(np.asarray(starts, np.int64), nodes, firsts, users, np.asarray(holds, np.float64), cost)


def node_order(members: I64, holds: F64, costs: F64) -> I64:
    """The predicates of one conjunction in the cheapest order: ascending cost over probability of false.

    Ties go by number, so that two chains have shared predicates in the same order.
    """
    return members[np.lexsort((members, _ranks(holds, costs)[members]))]


@kernel
def pair_gain(first: I64, second: I64, holds: F64, costs: F64) -> float:
    """Expected cost saved if `first` is evaluated before `second`, not after it; both are in node order.

    It is the sum, over the shared nodes, of the probability of false times the difference

        (first is true above) * (cost of second above) - (second is true above) * (cost of first above)

    where "is true above" is the probability that all nodes before it are true, shared ones included, and "cost
    above" is the expected cost of the unshared nodes before it, as if shared ones were true and free.
    """
    reached, spent = _above(second, first, holds, costs)
    gain = 0.0
    all_true, own_true, own_cost = 1.0, 1.0, 0.0
    for node in first:
        place = _place_in(second, node)
        if place < 0:
            own_cost += own_true * costs[node]
            own_true *= holds[node]
        else:
            gain += (1 - holds[node]) * (all_true * spent[place] - reached[place] * own_cost)
        all_true *= holds[node]
    return gain


@kernel
def pair_gains(chains: Chains) -> F64:
    """float64[chains, chains]: the gain of row before column, the negative of column before row."""
    count = len(chains.starts) - 1
    gains = np.zeros((count, count))
    for one in range(count):
        first = chains.nodes[chains.starts[one] : chains.starts[one + 1]]
        for other in range(one):
            second = chains.nodes[chains.starts[other] : chains.starts[other + 1]]
            gains[one, other] = pair_gain(first, second, chains.holds, chains.costs)
            gains[other, one] = -gains[one, other]
    return gains


def score_order(chains: Chains) -> I64:
    """All chains by their summed gain over all others, the largest first; linear in the number of nodes.

    The gain of each shared node is computed as if it were the only one, so that sums over all chains of a
    predicate replace the pairs.
    """
    return np.argsort(-_scores(chains), kind="stable")


def directed_order(chains: Chains, gains: F64 | None = None) -> I64:
    """A path through all chains made of the pairs with the largest gains; for thousands of chains.

    A pair is taken if its first chain has no successor yet, its second no predecessor, and no cycle closes.
    Unlike in the paper, pairs are directed, the largest gains come first, and the path stays open.

    Args:
        chains: In node order.
        gains: Those of `pair_gains`, if they are computed already.
    """
    known = pair_gains(chains) if gains is None else gains
    return _path_of(len(known), np.argsort(-known, axis=None, kind="stable"))


def insertion_order(chains: Chains, gains: F64 | None = None, order: I64 | None = None) -> I64:
    """An order in which moving one chain cannot raise the gains over all pairs; for thousands of chains.

    Args:
        chains: In node order.
        gains: Those of `pair_gains`, if they are computed already.
        order: To start from; `score_order` by default.
    """
    known = pair_gains(chains) if gains is None else gains
    return _improve(known, score_order(chains) if order is None else order)


@kernel
def best_position(chains: Chains, order: I64, new: int) -> int:
    """The position of a new chain in an order of others: the one with the largest gains, the last of equal ones.

    Chains that share nothing with it gain nothing and do not matter.
    """
    nodes = chains.nodes[chains.starts[new] : chains.starts[new + 1]]
    gain, best, place = 0.0, 0.0, len(order)
    for at in range(len(order) - 1, -1, -1):
        other = chains.nodes[chains.starts[order[at]] : chains.starts[order[at] + 1]]
        gain += pair_gain(nodes, other, chains.holds, chains.costs)
        if gain > best:
            best, place = gain, at
    return place


@kernel
def placed_order(chains: Chains) -> I64:
    """The order of chains that came one after the other: each at its best position when it came, moved by none."""
    order = np.empty(len(chains.starts) - 1, np.int64)
    for new in range(len(order)):
        place = best_position(chains, order[:new], new)
        order[place + 1 : new + 1] = order[place:new].copy()
        order[place] = new
    return order


def _ranks(holds: F64, costs: F64) -> F64:
    with np.errstate(divide="ignore"):
        return np.asarray(costs / (1 - np.asarray(holds)))


@kernel
def _place_in(nodes: I64, node: int) -> int:
    for place in range(len(nodes)):
        if nodes[place] == node:
            return place
    return -1


@kernel
def _above(nodes: I64, other: I64, holds: F64, costs: F64) -> tuple[F64, F64]:
    """For each node, the probability that all before it are true, and the cost of those that `other` lacks."""
    reached, spent = np.empty(len(nodes)), np.empty(len(nodes))
    all_true, own_true, own_cost = 1.0, 1.0, 0.0
    for place, node in enumerate(nodes):
        reached[place] = all_true
        spent[place] = own_cost
        if _place_in(other, node) < 0:
            own_cost += own_true * costs[node]
            own_true *= holds[node]
        all_true *= holds[node]
    return reached, spent


@kernel
def _scores(chains: Chains) -> F64:
    """float64[chains]: over nodes, P(false) * (true above * all costs above - cost above * all true above)."""
    predicates, count = len(chains.holds), len(chains.starts) - 1
    reached, spent = np.empty(len(chains.nodes)), np.empty(len(chains.nodes))
    all_reached, all_spent = np.zeros(predicates), np.zeros(predicates)
    for chain in range(count):
        true, cost = 1.0, 0.0
        for at in range(chains.starts[chain], chains.starts[chain + 1]):
            node = chains.nodes[at]
            reached[at], spent[at] = true, cost
            all_reached[node] += true
            all_spent[node] += cost
            cost += true * chains.costs[node]
            true *= chains.holds[node]
    scores = np.zeros(count)
    for chain in range(count):
        for at in range(chains.starts[chain], chains.starts[chain + 1]):
            node = chains.nodes[at]
            difference = reached[at] * all_spent[node] - spent[at] * all_reached[node]
            scores[chain] += (1 - chains.holds[node]) * difference
    return scores


@kernel
def _path_of(count: int, pairs: I64) -> I64:
    """The path that pairs make, taken in turn; a pair is row * count + column. `groups` is a union-find."""
    after, before = np.full(count, -1), np.full(count, -1)
    groups = np.arange(count)
    missing = count - 1
    for pair in pairs:
        if missing <= 0:
            break
        one, other = pair // count, pair % count
        if after[one] >= 0 or before[other] >= 0 or _group(groups, one) == _group(groups, other):
            continue
        after[one], before[other] = other, one
        groups[_group(groups, one)] = _group(groups, other)
        missing -= 1
    order = np.empty(count, np.int64)
    at = 0
    for chain in range(count):
        if before[chain] < 0:
            at = chain
    for place in range(count):
        order[place] = at
        at = after[at]
    return order


@kernel
def _group(groups: I64, chain: int) -> int:
    while groups[chain] != chain:
        groups[chain] = groups[groups[chain]]
        chain = groups[chain]
    return chain


@kernel
def _improve(gains: F64, order: I64) -> I64:
    """Move chains to their best positions, one after the other, until none moves; each move raises the sum."""
    found = order.copy()
    moved = True
    while moved:
        moved = False
        for chain in range(len(found)):
            place = 0
            while found[place] != chain:
                place += 1
            best, target = _best_move(gains, found, place)
            if best > 1e-12:
                step = 1 if target > place else -1
                for at in range(place, target, step):
                    found[at] = found[at + step]
                found[target] = chain
                moved = True
    return found


@kernel
def _best_move(gains: F64, order: I64, place: int) -> tuple[float, int]:
    """The gain and the target of the best move of the chain at a position."""
    chain = order[place]
    best, target = 0.0, place
    gain = 0.0
    for at in range(place - 1, -1, -1):
        gain += gains[chain, order[at]]
        if gain > best:
            best, target = gain, at
    gain = 0.0
    for at in range(place + 1, len(order)):
        gain += gains[order[at], chain]
        if gain > best:
            best, target = gain, at
    return best, target
