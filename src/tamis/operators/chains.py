"""Conjunctions of costly predicates as chains, and good orders of them.

After Z. Liu et al., "Scalable Event Matching for Overlapping Subscriptions" (DEBS 2007), with formulas corrected.
A predicate is a number; it holds with a known probability, independently of the others, and costs something to
call. A chain has the predicates of one conjunction in the order in which they are called, which stops at the first
that is false. Chains are walked one after the other; a false predicate settles every chain that has it, and no
predicate is called twice. No order changes what is found, only what it costs.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Doubles: TypeAlias = npt.NDArray[np.float64]


class Chains(NamedTuple):
    """Conjunctions, and for each predicate those that have it.

    starts: int64[chains + 1]; chain c is nodes[starts[c]:starts[c + 1]].
    nodes: Different predicates, in the order in which the chain calls them.
    firsts: int64[predicates + 1]; the chains with predicate t are users[firsts[t]:firsts[t + 1]], ascending.
    users: As many as nodes.
    holds: float64[predicates]; the probability that a predicate is true.
    costs: float64[predicates]; of a call, above 0.
    """

    starts: Ints
    nodes: Ints
    firsts: Ints
    users: Ints
    holds: Doubles
    costs: Doubles

    def chain(self, number: int) -> Ints:
        """The nodes of one chain."""
        return self.nodes[self.starts[number] : self.starts[number + 1]]

    def __repr__(self) -> str:
        return f"Chains({len(self.starts) - 1} of {len(self.nodes)} nodes, {len(self.holds)} predicates)"


def chains_of(
    starts: Ints, members: Ints, holds: Doubles, costs: Doubles | None = None, *, sort: bool = True
) -> Chains:
    """Chains of conjunctions.

    Args:
        starts: Where each conjunction begins in `members`, and the end of the last.
        members: Predicates, different ones in each conjunction.
        holds: The probability that each predicate is true.
        costs: Of a call of each predicate; 1 by default.
        sort: Put the nodes of each chain in `node_order`; else they stay as they are.
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


def node_order(members: Ints, holds: Doubles, costs: Doubles) -> Ints:
    """The predicates of one conjunction in the order that costs least: cost over probability of false, ascending.

    Ties go by number, so that two chains have what they share in the same order.
    """
    return members[np.lexsort((members, _ranks(holds, costs)[members]))]


@numba.njit(cache=True, nogil=True)
def chain_cost(nodes: Ints, holds: Doubles, costs: Doubles) -> float:
    """Expected cost of one chain alone: each node costs what it does if all nodes before it are true."""
    cost, reached = 0.0, 1.0
    for node in nodes:
        cost += reached * costs[node]
        reached *= holds[node]
    return cost


@numba.njit(cache=True, nogil=True)
def pair_gain(first: Ints, second: Ints, holds: Doubles, costs: Doubles) -> float:
    """Expected cost that two chains save, both in node order, if `first` is walked before `second`, not after.

    It is the sum over the nodes that they share of the probability that it is false, times the difference

        (first is true above) * (cost of second above) - (second is true above) * (cost of first above)

    where "is true above" is the probability that all nodes before it are true, those shared among them, and "cost
    above" is the expected cost of the nodes before it that are not shared, as if those shared were true and free.
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


@numba.njit(cache=True, nogil=True)
def pair_gains(chains: Chains) -> Doubles:
    """float64[chains, chains]: the gain of row before column; the negative of column before row."""
    count = len(chains.starts) - 1
    gains = np.zeros((count, count))
    for one in range(count):
        first = chains.nodes[chains.starts[one] : chains.starts[one + 1]]
        for other in range(one):
            second = chains.nodes[chains.starts[other] : chains.starts[other + 1]]
            gains[one, other] = pair_gain(first, second, chains.holds, chains.costs)
            gains[other, one] = -gains[one, other]
    return gains


def score_order(chains: Chains) -> Ints:
    """All chains by what each gains before all others, the most first; takes time in the number of nodes.

    Gains of the nodes that two chains share are added up as if each were the only one, so that sums over all
    chains of a predicate take the place of pairs.
    """
    return np.argsort(-_scores(chains), kind="stable")


def directed_order(chains: Chains, gains: Doubles | None = None) -> Ints:
    """The chains strung together by pairs, those first that gain most; for thousands, as it looks at all pairs.

    A pair is taken if neither the successor of its first nor the predecessor of its second is known, and no circle
    closes. Unlike in the paper, pairs have a direction, the greatest gains come first, and the string stays open.

    Args:
        chains: In node order.
        gains: Those of `pair_gains`, if they are known.
    """
    known = pair_gains(chains) if gains is None else gains
    return _strung(len(known), np.argsort(-known, axis=None, kind="stable"))


def insertion_order(chains: Chains, gains: Doubles | None = None, order: Ints | None = None) -> Ints:
    """An order from which no chain can be moved so that the gains over all pairs rise; for thousands.

    Args:
        chains: In node order.
        gains: Those of `pair_gains`, if they are known.
        order: To begin with; `score_order` by default.
    """
    known = pair_gains(chains) if gains is None else gains
    return _improved(known, score_order(chains) if order is None else order)


@numba.njit(cache=True, nogil=True)
def placed(chains: Chains, order: Ints, new: int) -> int:
    """Where a chain goes in an order of others: the place with the greatest sum of gains, the last of several.

    Chains that share nothing with it gain nothing and are passed over.
    """
    nodes = chains.nodes[chains.starts[new] : chains.starts[new + 1]]
    gain, best, place = 0.0, 0.0, len(order)
    for at in range(len(order) - 1, -1, -1):
        other = chains.nodes[chains.starts[order[at]] : chains.starts[order[at] + 1]]
        gain += pair_gain(nodes, other, chains.holds, chains.costs)
        if gain > best:
            best, place = gain, at
    return place


def _ranks(holds: Doubles, costs: Doubles) -> Doubles:
    with np.errstate(divide="ignore"):
        return np.asarray(costs / (1 - np.asarray(holds)))


@numba.njit(cache=True, nogil=True)
def _place_in(nodes: Ints, node: int) -> int:
    for place in range(len(nodes)):
        if nodes[place] == node:
            return place
    return -1


@numba.njit(cache=True, nogil=True)
def _above(nodes: Ints, other: Ints, holds: Doubles, costs: Doubles) -> tuple[Doubles, Doubles]:
    """For each node: are all before it true, with which chance, and what do those cost that `other` has not?"""
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


@numba.njit(cache=True, nogil=True)
def _scores(chains: Chains) -> Doubles:
    """float64[chains]: over nodes, (false) * (true above * all costs above - cost above * all true above)."""
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


@numba.njit(cache=True, nogil=True)
def _strung(count: int, pairs: Ints) -> Ints:
    """Pairs, as row * count + column, taken in turn; gives the string that they make."""
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


@numba.njit(cache=True, nogil=True)
def _group(groups: Ints, chain: int) -> int:
    while groups[chain] != chain:
        groups[chain] = groups[groups[chain]]
        chain = groups[chain]
    return chain


@numba.njit(cache=True, nogil=True)
def _improved(gains: Doubles, order: Ints) -> Ints:
    """Move chains to their best places, one after the other, until none moves; each move raises the sum."""
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


@numba.njit(cache=True, nogil=True)
def _best_move(gains: Doubles, order: Ints, place: int) -> tuple[float, int]:
    """What the best move of the chain at a place gains, and where it goes."""
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
