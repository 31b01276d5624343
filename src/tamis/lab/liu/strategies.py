"""Call strategies: which predicates of many conjunctions are called for one event, whose outcomes are given.

Each strategy gets chains and the outcome of every predicate, and may read an outcome only by calling. It returns
the number of calls, their cost, and the conjunctions that hold, which are the same for all. `naive` is the
baseline, `sequential`, `pricing` and `sub_order` follow Liu et al., `greedy` is ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I64, Bools
from tamis.kernels import kernel
from tamis.lab.liu.chains import Chains

_LEAST_FALSE = 1e-6
"""The least probability of false: a predicate that is always true must be called, too."""


class CallCount(NamedTuple):
    """The calls for an event, and the conjunctions that hold."""

    calls: int
    cost: float
    matched: Bools  # [chains]


@kernel
def naive(chains: Chains, outcomes: Bools) -> CallCount:
    """Chains in order, each up to its first false node. A predicate is called once; no chain is ruled out."""
    called = np.zeros(len(outcomes), np.bool_)
    matched = np.ones(len(chains.starts) - 1, np.bool_)
    calls, cost = 0, 0.0
    for chain in range(len(matched)):
        for at in range(chains.starts[chain], chains.starts[chain + 1]):
            node = chains.nodes[at]
            if not called[node]:
                called[node] = True
                calls += 1
                cost += chains.costs[node]
            if not outcomes[node]:
                matched[chain] = False
                break
    return CallCount(calls, cost, matched)


@kernel
def sub_order(chains: Chains, order: I64, outcomes: Bools) -> CallCount:
    """Chains in a given order, each up to its first false node, which rules out every chain that has it."""
    called = np.zeros(len(outcomes), np.bool_)
    matched = np.ones(len(chains.starts) - 1, np.bool_)
    calls, cost = 0, 0.0
    for chain in order:
        if not matched[chain]:
            continue
        for at in range(chains.starts[chain], chains.starts[chain + 1]):
            node = chains.nodes[at]
            if called[node]:
                continue
            called[node] = True
            calls += 1
            cost += chains.costs[node]
            if not outcomes[node]:
                for user in range(chains.firsts[node], chains.firsts[node + 1]):
                    matched[chains.users[user]] = False
                break
    return CallCount(calls, cost, matched)


@kernel
def sequential(chains: Chains, outcomes: Bools) -> CallCount:
    """For each undecided chain, all nodes that some undecided chain still needs, even after one was false.

    It makes at most d times the calls of an optimal strategy that knows all outcomes, d being the length of the
    longest chain. Stopping at the first false node would lose this bound.
    """
    unknown, needing = _initial_counts(chains)
    called = np.zeros(len(outcomes), np.bool_)
    calls, cost = 0, 0.0
    for chain in range(len(unknown)):
        if unknown[chain] <= 0:
            continue
        for at in range(chains.starts[chain], chains.starts[chain + 1]):
            node = chains.nodes[at]
            if not called[node] and needing[node] > 0:
                called[node] = True
                calls += 1
                cost += chains.costs[node]
                _apply_outcome(chains, node, outcomes[node], unknown, needing)
    return CallCount(calls, cost, unknown == 0)


@kernel
def pricing(chains: Chains, outcomes: Bools) -> CallCount:
    """As `sequential`, for unequal costs: at most d times the least cost.

    A primal-dual scheme: while a chain is undecided, the least residual cost of its unknown nodes is subtracted
    from all of them, and nodes whose residual cost is 0 are called.
    """
    unknown, needing = _initial_counts(chains)
    called = np.zeros(len(outcomes), np.bool_)
    residuals = chains.costs.copy()
    calls, cost = 0, 0.0
    for chain in range(len(unknown)):
        nodes = chains.nodes[chains.starts[chain] : chains.starts[chain + 1]]
        while unknown[chain] > 0:
            least = np.inf
            for node in nodes:
                if not called[node]:
                    least = min(least, residuals[node])
            for node in nodes:
                if not called[node]:
                    residuals[node] -= least
            for node in nodes:
                if not called[node] and residuals[node] <= 0 and needing[node] > 0:
                    called[node] = True
                    calls += 1
                    cost += chains.costs[node]
                    _apply_outcome(chains, node, outcomes[node], unknown, needing)
    return CallCount(calls, cost, unknown == 0)


class GreedyStart(NamedTuple):
    """The state of `greedy` before the first call, the same for every event.

    rates: float64[predicates]: the probability of false, over the cost.
    shares: float64[predicates]: the square of that, over the cost: how readily a predicate decides a chain.
    weights: float64[chains]: 1 over the sum of the shares of its nodes.
    values: float64[predicates]: rate times the sum of the weights of its chains.
    heap: int64[used predicates]: a binary heap by value, the largest first.
    """

    rates: F64
    shares: F64
    weights: F64
    values: F64
    heap: I64


def greedy_start(chains: Chains) -> GreedyStart:
    false = np.maximum(1 - chains.holds, _LEAST_FALSE)
    rates, shares = false / chains.costs, false**2 / chains.costs
    rows = np.repeat(np.arange(len(chains.starts) - 1), np.diff(chains.starts))
    sums = np.bincount(rows, shares[chains.nodes], len(chains.starts) - 1)
    weights = 1 / np.where(sums > 0, sums, 1.0)
    values = rates * np.bincount(chains.nodes, weights[rows], len(rates))
    order = np.argsort(-values, kind="stable")
    return GreedyStart(rates, shares, weights, values, order[np.diff(chains.firsts)[order] > 0])


@kernel
def greedy(chains: Chains, start: GreedyStart, outcomes: Bools) -> CallCount:
    """Always the predicate with the largest expected benefit for its cost.

    The benefit is the probability of false times the weights of the undecided chains that have the predicate.
    The weight of a chain is larger if few other unknown nodes could decide it. Values fall as chains are
    decided, which is noticed lazily when a predicate reaches the top of the heap; they rise when a node of a
    chain is true, and the predicate moves up at once.
    """
    unknown, needing = _initial_counts(chains)
    called = np.zeros(len(outcomes), np.bool_)
    weights, values, keys = start.weights.copy(), start.values.copy(), start.values.copy()
    heap, places = start.heap.copy(), np.empty(len(outcomes), np.int64)
    for place, node in enumerate(heap):
        places[node] = place
    size = len(heap)
    calls, cost = 0, 0.0
    while size > 0:
        node = heap[0]
        if needing[node] > 0 and keys[node] != values[node]:
            keys[node] = values[node]
            _sift_down(heap, places, keys, size, node)
            continue
        size -= 1
        if size > 0:
            _sift_down(heap, places, keys, size, heap[size])
        if needing[node] == 0:
            continue
        called[node] = True
        calls += 1
        cost += chains.costs[node]
        for user in range(chains.firsts[node], chains.firsts[node + 1]):
            chain = chains.users[user]
            if unknown[chain] <= 0:
                continue
            nodes = chains.nodes[chains.starts[chain] : chains.starts[chain + 1]]
            unknown[chain] = unknown[chain] - 1 if outcomes[node] else -1
            if unknown[chain] <= 0:
                for other in nodes:
                    needing[other] -= 1
                    values[other] -= weights[chain] * start.rates[other]
                continue
            rise = _raise_weight(nodes, called, start.shares, weights, chain)
            for other in nodes:
                if not called[other]:
                    values[other] += rise * start.rates[other]
                    if values[other] > keys[other]:
                        keys[other] = values[other]
                        _sift_up(heap, places, keys, other)
    return CallCount(calls, cost, unknown == 0)


@kernel
def _initial_counts(chains: Chains) -> tuple[I64, I64]:
    """The unknown nodes of each chain, below 0 once it is false; the undecided chains of each predicate."""
    return chains.starts[1:] - chains.starts[:-1], chains.firsts[1:] - chains.firsts[:-1]


@kernel
def _apply_outcome(chains: Chains, node: int, holds: bool, unknown: I64, needing: I64) -> None:
    """Update the undecided chains of a predicate by its outcome."""
    for user in range(chains.firsts[node], chains.firsts[node + 1]):
        chain = chains.users[user]
        if unknown[chain] <= 0:
            continue
        unknown[chain] = unknown[chain] - 1 if holds else -1
        if unknown[chain] <= 0:
            for at in range(chains.starts[chain], chains.starts[chain + 1]):
                needing[chains.nodes[at]] -= 1


@kernel
def _raise_weight(nodes: I64, called: Bools, shares: F64, weights: F64, chain: int) -> float:
    """Compute the weight of a chain from its unknown nodes again; returns by how much it rose."""
    total = 0.0
    for node in nodes:
        if not called[node]:
            total += shares[node]
    rise: float = 1 / total - weights[chain]
    weights[chain] += rise
    return rise


@kernel
def _sift_down(heap: I64, places: I64, keys: F64, size: int, node: int) -> None:
    """Put a predicate at the top of a heap and sift it down."""
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and keys[heap[below + 1]] > keys[heap[below]]:
            below += 1
        if keys[heap[below]] <= keys[node]:
            break
        heap[place] = heap[below]
        places[heap[place]] = place
        place = below
    heap[place] = node
    places[node] = place


@kernel
def _sift_up(heap: I64, places: I64, keys: F64, node: int) -> None:
    """Sift a predicate of a heap up, whose key has risen."""
    place = places[node]
    while place > 0:
        above = (place - 1) // 2
        if keys[heap[above]] >= keys[node]:
            break
        heap[place] = heap[above]
        places[heap[place]] = place
        place = above
    heap[place] = node
    places[node] = place
