"""What strategies call of the predicates of many conjunctions, for one event whose outcomes are given.

Each strategy gets chains and the outcome of every predicate, and may look at an outcome only by calling: it tells
the calls, what they cost, and which conjunctions hold. All find the same; `naive` is what the others are measured
against, `sequential`, `pricing` and `sub_order` are those of Liu et al., `greedy` is ours.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.operators.chains import Chains, Doubles, Ints

Flags: TypeAlias = npt.NDArray[np.bool_]

_LEAST_FALSE = 1e-6
"""A predicate that is always true must be called, too, before a conjunction with it holds."""


class Count(NamedTuple):
    """What was called for an event, and what was found."""

    calls: int
    cost: float
    matched: Flags  # [chains]


@numba.njit(cache=True, nogil=True)
def naive(chains: Chains, outcomes: Flags) -> Count:
    """Chains in their order, each up to its first false node; a predicate is called once, nothing is ruled out."""
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
    return Count(calls, cost, matched)


@numba.njit(cache=True, nogil=True)
def sub_order(chains: Chains, order: Ints, outcomes: Flags) -> Count:
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
    return Count(calls, cost, matched)


@numba.njit(cache=True, nogil=True)
def sequential(chains: Chains, outcomes: Flags) -> Count:
    """All nodes of an undecided chain that some undecided chain still needs, false ones among them or not.

    With d the length of the longest chain, that is at most d times as many calls as are needed by whoever knows
    all outcomes. Stopping at the first false node would lose this bound.
    """
    unknown, needing = _beginning(chains)
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
                _settle(chains, node, outcomes[node], unknown, needing)
    return Count(calls, cost, unknown == 0)


@numba.njit(cache=True, nogil=True)
def pricing(chains: Chains, outcomes: Flags) -> Count:
    """As `sequential`, for costs that differ: at most d times the least cost, whatever the costs are.

    While a chain is undecided, the least of what its unknown nodes have left to pay is paid for each of them;
    those that are paid for are called.
    """
    unknown, needing = _beginning(chains)
    called = np.zeros(len(outcomes), np.bool_)
    left = chains.costs.copy()
    calls, cost = 0, 0.0
    for chain in range(len(unknown)):
        nodes = chains.nodes[chains.starts[chain] : chains.starts[chain + 1]]
        while unknown[chain] > 0:
            least = np.inf
            for node in nodes:
                if not called[node]:
                    least = min(least, left[node])
            for node in nodes:
                if not called[node]:
                    left[node] -= least
            for node in nodes:
                if not called[node] and left[node] <= 0 and needing[node] > 0:
                    called[node] = True
                    calls += 1
                    cost += chains.costs[node]
                    _settle(chains, node, outcomes[node], unknown, needing)
    return Count(calls, cost, unknown == 0)


class Start(NamedTuple):
    """What `greedy` begins every event with.

    rates: float64[predicates]; the probability of false, over the cost.
    shares: float64[predicates]; its square, over the cost: how readily a predicate decides a chain.
    weights: float64[chains]; 1 over the sum of the shares of its nodes.
    values: float64[predicates]; rate times the sum of the weights of its chains.
    heap: int64[predicates in use]; by value, the greatest first.
    """

    rates: Doubles
    shares: Doubles
    weights: Doubles
    values: Doubles
    heap: Ints


def greedy_start(chains: Chains) -> Start:
    """Work out what depends on the chains only."""
    false = np.maximum(1 - chains.holds, _LEAST_FALSE)
    rates, shares = false / chains.costs, false**2 / chains.costs
    rows = np.repeat(np.arange(len(chains.starts) - 1), np.diff(chains.starts))
    sums = np.bincount(rows, shares[chains.nodes], len(chains.starts) - 1)
    weights = 1 / np.where(sums > 0, sums, 1.0)
    values = rates * np.bincount(chains.nodes, weights[rows], len(rates))
    order = np.argsort(-values, kind="stable")
    return Start(rates, shares, weights, values, order[np.diff(chains.firsts)[order] > 0])


@numba.njit(cache=True, nogil=True)
def greedy(chains: Chains, start: Start, outcomes: Flags) -> Count:
    """Always the predicate that promises to decide most for its cost.

    It promises its probability of false, for each undecided chain that has it, times the weight of the chain,
    which is the greater the fewer and the worse the other unknown nodes are that could decide it. Values fall as
    chains are decided, which is noticed when a predicate comes to the top of the heap; they rise when a node of a
    chain turns out true, and then it moves up at once.
    """
    unknown, needing = _beginning(chains)
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
            _sink(heap, places, keys, size, node)
            continue
        size -= 1
        if size > 0:
            _sink(heap, places, keys, size, heap[size])
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
                        _rise(heap, places, keys, other)
    return Count(calls, cost, unknown == 0)


@numba.njit(cache=True, nogil=True)
def _beginning(chains: Chains) -> tuple[Ints, Ints]:
    """For each chain its unknown nodes, below 0 once it is false; for each predicate its undecided chains."""
    return chains.starts[1:] - chains.starts[:-1], chains.firsts[1:] - chains.firsts[:-1]


@numba.njit(cache=True, nogil=True)
def _settle(chains: Chains, node: int, holds: bool, unknown: Ints, needing: Ints) -> None:
    """Tell the undecided chains of a predicate how it turned out."""
    for user in range(chains.firsts[node], chains.firsts[node + 1]):
        chain = chains.users[user]
        if unknown[chain] <= 0:
            continue
        unknown[chain] = unknown[chain] - 1 if holds else -1
        if unknown[chain] <= 0:
            for at in range(chains.starts[chain], chains.starts[chain + 1]):
                needing[chains.nodes[at]] -= 1


@numba.njit(cache=True, nogil=True)
def _raise_weight(nodes: Ints, called: Flags, shares: Doubles, weights: Doubles, chain: int) -> float:
    """Weigh a chain by the nodes that are still unknown; gives by how much its weight rose."""
    total = 0.0
    for node in nodes:
        if not called[node]:
            total += shares[node]
    rise: float = 1 / total - weights[chain]
    weights[chain] += rise
    return rise


@numba.njit(cache=True, nogil=True)
def _sink(heap: Ints, places: Ints, keys: Doubles, size: int, node: int) -> None:
    """Put a predicate at the top of a heap and let it sink to where it belongs."""
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


@numba.njit(cache=True, nogil=True)
def _rise(heap: Ints, places: Ints, keys: Doubles, node: int) -> None:
    """Move a predicate of a heap, whose key has risen, up to where it belongs."""
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
