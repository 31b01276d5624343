"""Which engine suits some subscriptions: what `engine="auto"` goes by, and why.

Every engine's time for an event is estimated from a few features of the formulas, each with a price that was
measured (`python -m benchmarks coefficients` prints the table below). Estimates tell engines apart that differ by
much; they are no promise. An engine whose index is kept in snapshots and mapped by every process is taken unless
another one is expected to be faster by more than building it anew everywhere is worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dynamic.chances import leaf_chances, node_chances
from tamis.engines.forest import Forest, Nodes, forest_of
from tamis.engines.forest.pick import picked
from tamis.engines.postings.distinct import distinct_of
from tamis.language.formula import Formula
from tamis.statistics import Statistics

Floats: TypeAlias = npt.NDArray[np.float64]

MAPPED = "bitslice"
"""The engine whose index snapshots keep."""
_WORTH = 2.0
"""How many times as fast another engine must be expected to be."""
_FEW = 1_000
"""Fewer subscriptions are matched in microseconds by any engine."""
_SAMPLE = 20_000
"""Formulas that are looked at."""
_MOST_LEAVES = {"bitset": 2_000_000}
"""More would take gigabytes."""
BATCH = 1_024
"""Events of a batch, which is how Spark brings them."""

COSTS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "one": {
        "bitslice": {"event": 48.2, "looked": 0.00101, "matches": 0.0464, "leaves": 1.13e-05},
        "bitset": {"event": 90.0, "looked": 0.1, "matches": 0.05},
        "scan": {"event": 1720.0, "leaves": 9.14},
        "postings": {"event": 60.2, "leaves": 0.000792},
        "hits": {"event": 69.8, "hits": 0.00351, "held": 0.0287, "matches": 33.1},
        "counting": {"event": 74.5, "hits": 0.00343, "held": 0.0192},
        "cluster": {"event": 84.9, "looked": 0.0154, "held": 0.0135},
    },
    "batch": {
        "bitslice": {"event": 1.27, "walked": 0.102, "matches": 0.0552, "leaves": 2.91e-06},
        "bitset": {"event": 3.9, "looked": 0.09, "walked": 0.003, "matches": 0.0186, "leaves": 1.4e-05},
        "scan": {"leaves": 0.0179},
        "postings": {"event": 1.49, "hits": 0.000531, "held": 0.000486, "leaves": 0.000539},
        "hits": {"event": 0.91, "hits": 0.00205, "held": 0.0309, "matches": 10.9},
        "counting": {"event": 1.67, "hits": 0.00315, "held": 0.0125},
        "cluster": {"event": 1.35, "looked": 0.0318, "held": 0.0111},
    },
}
"""Microseconds an event by engine and feature, one event at a time and in batches of `BATCH`.

`walked`, and all prices of `bitset`, are fitted to figures of `python -m benchmarks engines` at 10,000 and 100,000
subscriptions. No feature tells what `bitset` takes: it is priced by the worst case seen, so that it is taken
only where it is surely faster. Engines whose time can be thousands of times what features tell have no price.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine, and why.

    Attributes:
        engine: Its name.
        reason: One sentence.
        subscriptions: How many it is for.
        estimates: Microseconds an event that each engine is expected to take, the quickest first.
    """

    engine: str
    reason: str
    subscriptions: int
    estimates: Mapping[str, float]


def features(forest: Forest, statistics: Statistics | None = None) -> dict[str, float]:
    """What the time of an event depends on; of many formulas estimated from `_SAMPLE` of them.

    Returns:
        `event`: 1. `leaves`: of all formulas. `held`: different predicates that an event is expected to satisfy.
        `hits`: leaves that it satisfies. `looked`: subscriptions left when of each the predicate that is most
        likely to fail was asked. `matches`: subscriptions that it satisfies, as if predicates were independent.
        `walked`: leaves of those among them that are more than one AND or OR.
    """
    if len(forest) <= _SAMPLE:
        return _features(forest, statistics)
    places = np.random.default_rng(0).choice(len(forest), _SAMPLE, replace=False)
    some = _features(picked(forest, np.sort(places)), statistics)
    half = _features(picked(forest, np.sort(places[: _SAMPLE // 2])), statistics)
    times = len(forest) / _SAMPLE
    found = {name: value * times for name, value in some.items()}
    # Predicates that are shared are met again: their number grows more slowly, by a power of that of formulas.
    power = min(1.0, max(0.0, math.log2(max(some["held"], 1e-9) / max(half["held"], 1e-9))))
    return found | {"event": 1.0, "held": some["held"] * times**power}


def _features(forest: Forest, statistics: Statistics | None) -> dict[str, float]:
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    chances = leaf_chances(forest, statistics)
    everyone = np.arange(len(chances), dtype=np.int32)
    examples = distinct_of(forest.leaves, forest.pieces, everyone).examples
    by_node, gates = node_chances(nodes, chances), _gates(nodes, chances)
    roots = np.asarray(forest.roots)
    is_leaf = roots < 0
    alone = chances[~roots[is_leaf]].sum()
    found = {
        "event": 1.0,
        "leaves": len(chances),
        "held": chances[examples].sum(),
        "hits": chances.sum(),
        "looked": alone + gates[roots[~is_leaf]].sum(),
        "walked": (by_node * _nested(nodes))[roots[~is_leaf]].sum(),
        "matches": alone + by_node[roots[~is_leaf]].sum(),
    }
    return {name: float(value) for name, value in found.items()}


@numba.njit(cache=True, nogil=True)
def _gates(nodes: Nodes, chances: Floats) -> Floats:
    """The chance that a node passes a look at the part of it that is most likely to fail."""
    found = np.empty(len(nodes.least), np.float64)
    for node in range(len(found)):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        least, total = 1.0, 0.0
        for at in range(first, last):
            child = nodes.children[at]
            chance = found[child] if child >= 0 else chances[~child]
            least = min(least, chance)
            total += chance
        if nodes.least[node] == last - first:
            found[node] = least
        else:
            found[node] = min(1.0, total / max(1, nodes.least[node])) if first < last else 0.0
    return found


@numba.njit(cache=True, nogil=True)
def _nested(nodes: Nodes) -> Floats:
    """Per node the leaves below it, 0 if it has leaves only."""
    below = np.zeros(len(nodes.least), np.float64)
    found = np.zeros(len(nodes.least), np.float64)
    for node in range(len(below)):
        for at in range(nodes.firsts[node], nodes.firsts[node + 1]):
            child = nodes.children[at]
            below[node] += below[child] if child >= 0 else 1.0
        if below[node] > nodes.firsts[node + 1] - nodes.firsts[node]:
            found[node] = below[node]
    return found


def estimates(found: Mapping[str, float], *, events: int = BATCH) -> dict[str, float]:
    """Microseconds an event by engine, the quickest first; `events` come together."""
    costs = COSTS["batch" if events > 1 else "one"]
    times = {
        engine: sum(price * found[name] for name, price in prices.items())
        for engine, prices in costs.items()
        if found["leaves"] <= _MOST_LEAVES.get(engine, math.inf)
    }
    return dict(sorted(times.items(), key=lambda each: each[1]))


def choose(formulas: Sequence[Formula], statistics: Statistics | None = None, *, events: int = BATCH) -> Choice:
    """The engine that suits some formulas.

    Args:
        formulas: Of the subscriptions.
        statistics: What is known of events.
        events: How many come together.
    """
    forest = forest_of(formulas)
    times = estimates(features(forest, statistics), events=events)
    quickest = next(iter(times))
    mapped, best = times[MAPPED], times[quickest]
    engine = quickest if len(forest) >= _FEW and mapped > _WORTH * best else MAPPED
    if engine != MAPPED:
        reason = f"{engine} is expected to take {best:.3g} us an event, {MAPPED} {mapped:.3g}"
    elif quickest == MAPPED:
        name, second = [*times.items()][1]
        reason = f"{MAPPED} is expected to take {mapped:.3g} us an event, the next best, {name}, {second:.3g}"
    else:
        why = f"is not {_WORTH:g} times as fast" if len(forest) >= _FEW else "is worth nothing for so few"
        reason = (
            f"{MAPPED} is expected to take {mapped:.3g} us an event; {quickest}, at {best:.3g}, {why}, and every "
            "process would build its own index"
        )
    return Choice(engine, reason, len(forest), times)
