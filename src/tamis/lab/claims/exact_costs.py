"""What is best: expected costs over all outcomes, least costs, and a bound where nobody can know the least.

For a few predicates everything is enumerated; outcomes are a number whose bit t is set if predicate t is true.
Nothing here is shared with the strategies that are held against it.
"""

from __future__ import annotations

import itertools

import numba
import numpy as np

from tamis.arrays import F64, I64, Bools
from tamis.lab.liu.chains import Chains, chains_of


def some_chains(
    draws: np.random.Generator,
    count: int,
    predicates: int,
    lengths: tuple[int, int],
    *,
    exponent: float = 0.0,
    costs: tuple[float, float] = (1.0, 1.0),
    sort: bool = True,
) -> Chains:
    """Random chains: Zipf popularity, lengths and costs uniform between two, any probabilities."""
    weights = np.arange(1, predicates + 1) ** -exponent
    sizes = draws.integers(lengths[0], lengths[1] + 1, count)
    members = [draws.choice(predicates, size, replace=False, p=weights / weights.sum()) for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    holds, prices = draws.random(predicates), draws.uniform(*costs, predicates)
    return chains_of(starts, np.concatenate(members), holds, prices, sort=sort)


@numba.njit(cache=True, nogil=True)
def outcomes_of(bits: int, predicates: int) -> Bools:
    """bool[predicates] of a number."""
    found = np.empty(predicates, np.bool_)
    for predicate in range(predicates):
        found[predicate] = (bits >> predicate) & 1 == 1
    return found


@numba.njit(cache=True, nogil=True)
def expected_cost(chains: Chains, order: I64) -> float:
    """Of walking chains in an order, each up to its first false node, without those that are false already."""
    predicates = len(chains.holds)
    masks = _masks(chains)
    total = 0.0
    for bits in range(1 << predicates):
        chance = 1.0
        for predicate in range(predicates):
            holds = chains.holds[predicate]
            chance *= holds if (bits >> predicate) & 1 else 1 - holds
        called, cost = 0, 0.0
        for chain in order:
            if masks[chain] & called & ~bits:
                continue
            for at in range(chains.starts[chain], chains.starts[chain + 1]):
                node = chains.nodes[at]
                if not (called >> node) & 1:
                    called |= 1 << node
                    cost += chains.costs[node]
                if not (bits >> node) & 1:
                    break
        total += chance * cost
    return total


@numba.njit(cache=True, nogil=True)
def expected_costs(chains: Chains, orders: I64) -> F64:
    """Of several orders, a row each."""
    found = np.empty(len(orders))
    for row in range(len(orders)):
        found[row] = expected_cost(chains, orders[row])
    return found


def all_orders(count: int) -> I64:
    """int64[count!, count]."""
    return np.array(list(itertools.permutations(range(count))), np.int64)


@numba.njit(cache=True, nogil=True)
def least_cost(chains: Chains, bits: int) -> float:
    """The least for one who knows all outcomes: all nodes of chains that are true, a false node of the others."""
    predicates = len(chains.holds)
    masks = _masks(chains)
    must = 0
    for mask in masks:
        if mask & ~bits == 0:
            must |= mask
    least = np.inf
    for called in range(1 << predicates):
        if called & must != must:
            continue
        cost = 0.0
        for predicate in range(predicates):
            if (called >> predicate) & 1:
                cost += chains.costs[predicate]
        if cost < least:
            decided = True
            for mask in masks:
                if mask & ~bits != 0 and mask & called & ~bits == 0:
                    decided = False
                    break
            if decided:
                least = cost
    return least


def relaxed_bound(chains: Chains, outcomes: Bools, rounds: int = 100) -> float:
    """A cost below which no strategy can decide an event, even if it knows all outcomes.

    The least cost with parts of calls allowed, bounded from below by its dual: any prices of the chains that are
    not true give a bound, their sum less what the chains of a predicate pay for it above its cost. Prices come
    from primal and dual steps by turns, each as long as the neighbours allow (Pock and Chambolle, 2011).
    """
    rows = np.repeat(np.arange(len(chains.starts) - 1), np.diff(chains.starts))
    false = ~outcomes[chains.nodes]
    is_false = np.bincount(rows[false], minlength=len(chains.starts) - 1) > 0
    must = np.zeros(len(outcomes), np.bool_)
    must[chains.nodes[~is_false[rows]]] = True
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[false], minlength=len(is_false))[is_false])])
    return float(chains.costs[must].sum() + _dual(starts, chains.nodes[false], chains.costs, rounds))


def printed_order(gains: F64, draws: np.random.Generator) -> I64:
    """As the paper prints it: pairs without direction into a path, no chain in three of them; either end first.

    The greatest differences come first, without which the order would be of no use at all.
    """
    count = len(gains)
    one, other = np.triu_indices(count, 1)
    neighbours: list[list[int]] = [[] for _ in range(count)]
    group = np.arange(count)
    for pair in np.argsort(-np.abs(gains[one, other]), kind="stable"):
        first, second = int(one[pair]), int(other[pair])
        if max(len(neighbours[first]), len(neighbours[second])) < 2 and group[first] != group[second]:
            neighbours[first].append(second)
            neighbours[second].append(first)
            group[group == group[second]] = group[first]
    path = [next(chain for chain in range(count) if len(neighbours[chain]) < 2)]
    while len(path) < count:
        path.append(next(chain for chain in neighbours[path[-1]] if path[-2:-1] != [chain]))
    return np.array(path if draws.random() < 0.5 else path[::-1], np.int64)


@numba.njit(cache=True, nogil=True)
def _masks(chains: Chains) -> I64:
    """int64[chains]: the predicates of each as bits."""
    masks = np.zeros(len(chains.starts) - 1, np.int64)
    for chain in range(len(masks)):
        for at in range(chains.starts[chain], chains.starts[chain + 1]):
            masks[chain] |= 1 << chains.nodes[at]
    return masks


@numba.njit(cache=True, nogil=True)
def _dual(starts: I64, nodes: I64, costs: F64, rounds: int) -> float:
    """The greatest bound of some rounds; row r has the false predicates nodes[starts[r]:starts[r + 1]]."""
    users, paid = np.zeros(len(costs)), np.zeros(len(costs))
    for node in nodes:
        users[node] += 1
    part, ahead = np.zeros(len(costs)), np.zeros(len(costs))
    prices = np.empty(len(starts) - 1)
    for row in range(len(prices)):
        prices[row] = np.inf
        for at in range(starts[row], starts[row + 1]):
            prices[row] = min(prices[row], costs[nodes[at]] / users[nodes[at]])
    scale = costs.mean()
    best = 0.0
    for _ in range(rounds):
        paid[:] = 0
        bound = prices.sum()
        for row in range(len(prices)):
            for at in range(starts[row], starts[row + 1]):
                paid[nodes[at]] += prices[row]
        for node in range(len(costs)):
            bound -= max(0.0, paid[node] - costs[node])
            if users[node] > 0:
                moved = part[node] + (paid[node] - costs[node]) / (users[node] * scale)
                moved = min(1.0, max(0.0, moved))
                ahead[node] = 2 * moved - part[node]
                part[node] = moved
        best = max(best, bound)
        for row in range(len(prices)):
            missing = 1.0
            for at in range(starts[row], starts[row + 1]):
                missing -= ahead[nodes[at]]
            prices[row] = max(0.0, prices[row] + missing * scale / (starts[row + 1] - starts[row]))
    return best
