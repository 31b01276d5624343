"""The engine that `engine="auto"` chooses for some subscriptions, and the reason.

The time that an engine takes for an event is estimated from a few features of the formulas, each with a measured
cost (`python -m benchmarks coefficients` prints the table below). The estimates separate engines that differ by
much; they do not predict times. The engine whose index snapshots keep, so that every process maps it, is chosen
unless another one is expected to be so much faster that building its index in every process pays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tamis.arrays import F64
from tamis.engines.forest import Forest, Nodes, forest_of
from tamis.engines.forest.distinct import distinct_predicates
from tamis.engines.forest.selection import select_formulas
from tamis.engines.selectivity import leaf_selectivities, most_selective_parts, node_selectivities
from tamis.formulas.formula import Formula
from tamis.kernels import kernel
from tamis.statistics import Statistics

MAPPED_ENGINE = "bitslice"
"""The engine whose index snapshots keep."""
_MIN_SPEEDUP = 2.0
"""How many times as fast another engine must be expected to be."""
_MIN_SUBSCRIPTIONS = 1_000
"""Any engine matches fewer subscriptions in microseconds."""
_SAMPLE_FORMULAS = 20_000
"""Formulas that features are computed from, at most."""
_MOST_LEAVES = {"bitset": 2_000_000}
"""Leaves above which an index would take gigabytes."""
BATCH_EVENTS = 1_024
"""Events of a batch as Spark brings them."""

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
"""Microseconds an event by engine and feature, one event at a time and in batches of `BATCH_EVENTS`.

`walked`, and all costs of `bitset`, are fitted to results of `python -m benchmarks engines` at 10,000 and 100,000
subscriptions. No feature predicts the time of `bitset`: its costs are those of the worst case that was measured,
so that it is chosen only where it is certainly faster. Engines whose time can be thousands of times what features
predict are not in the table.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine chosen for some subscriptions.

    Attributes:
        engine: Its name.
        reason: One sentence.
        subscriptions: How many there are.
        estimates: Expected microseconds an event by engine, the fastest first.
    """

    engine: str
    reason: str
    subscriptions: int
    estimates: Mapping[str, float]


def features(forest: Forest, statistics: Statistics | None = None) -> dict[str, float]:
    """The features that the time of an event depends on, estimated from at most `_SAMPLE_FORMULAS` formulas.

    Returns:
        `event`: 1. `leaves`: of all formulas. `held`: distinct predicates that an event is expected to satisfy.
        `hits`: leaves that it satisfies. `looked`: subscriptions that remain when the most selective predicate of
        each has been evaluated. `matches`: subscriptions that it satisfies, as if predicates were independent.
        `walked`: leaves of those matches that are more than one AND or OR.
    """
    if len(forest) <= _SAMPLE_FORMULAS:
        return _features(forest, statistics)
    places = np.random.default_rng(0).choice(len(forest), _SAMPLE_FORMULAS, replace=False)
    some = _features(select_formulas(forest, np.sort(places)), statistics)
    half = _features(select_formulas(forest, np.sort(places[: _SAMPLE_FORMULAS // 2])), statistics)
    times = len(forest) / _SAMPLE_FORMULAS
    found = {name: value * times for name, value in some.items()}
    # Formulas share predicates, so distinct predicates grow with a power of the number of formulas, at most 1.
    power = min(1.0, max(0.0, math.log2(max(some["held"], 1e-9) / max(half["held"], 1e-9))))
    return found | {"event": 1.0, "held": some["held"] * times**power}


def _features(forest: Forest, statistics: Statistics | None) -> dict[str, float]:
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    # COSTS were measured with features of attributes that all events have.
    selectivities = leaf_selectivities(forest, statistics, always_present=True)
    everyone = np.arange(len(selectivities), dtype=np.int32)
    examples = distinct_predicates(forest.leaves, forest.pieces, everyone).examples
    by_node, gates = node_selectivities(nodes, selectivities), most_selective_parts(nodes, selectivities)
    roots = np.asarray(forest.roots)
    is_leaf = roots < 0
    alone = selectivities[~roots[is_leaf]].sum()
    found = {
        "event": 1.0,
        "leaves": len(selectivities),
        "held": selectivities[examples].sum(),
        "hits": selectivities.sum(),
        "looked": alone + gates[roots[~is_leaf]].sum(),
        "walked": (by_node * _nested_leaf_counts(nodes))[roots[~is_leaf]].sum(),
        "matches": alone + by_node[roots[~is_leaf]].sum(),
    }
    return {name: float(value) for name, value in found.items()}


@kernel
def _nested_leaf_counts(nodes: Nodes) -> F64:
    """Per node the number of leaves below it; 0 if all of its children are leaves."""
    below = np.zeros(len(nodes.least), np.float64)
    found = np.zeros(len(nodes.least), np.float64)
    for node in range(len(below)):
        for at in range(nodes.firsts[node], nodes.firsts[node + 1]):
            child = nodes.children[at]
            below[node] += below[child] if child >= 0 else 1.0
        if below[node] > nodes.firsts[node + 1] - nodes.firsts[node]:
            found[node] = below[node]
    return found


def estimates(found: Mapping[str, float], *, events: int = BATCH_EVENTS) -> dict[str, float]:
    """Microseconds an event by engine, the fastest first, for batches of so many events."""
    costs = COSTS["batch" if events > 1 else "one"]
    times = {
        engine: sum(price * found[name] for name, price in prices.items())
        for engine, prices in costs.items()
        if found["leaves"] <= _MOST_LEAVES.get(engine, math.inf)
    }
    return dict(sorted(times.items(), key=lambda each: each[1]))


def choose(
    formulas: Sequence[Formula], statistics: Statistics | None = None, *, events: int = BATCH_EVENTS
) -> Choice:
    """Choose the engine for some formulas.

    Args:
        formulas: Of the subscriptions.
        statistics: Of events.
        events: How many come together.
    """
    forest = forest_of(formulas)
    times = estimates(features(forest, statistics), events=events)
    fastest = next(iter(times))
    mapped, best = times[MAPPED_ENGINE], times[fastest]
    engine = fastest if len(forest) >= _MIN_SUBSCRIPTIONS and mapped > _MIN_SPEEDUP * best else MAPPED_ENGINE
    if engine != MAPPED_ENGINE:
        reason = f"{engine} is expected to take {best:.3g} us an event, {MAPPED_ENGINE} {mapped:.3g}"
    elif fastest == MAPPED_ENGINE:
        name, second = [*times.items()][1]
        reason = (
            f"{MAPPED_ENGINE} is expected to take {mapped:.3g} us an event, the next best, {name}, {second:.3g}"
        )
    else:
        why = (
            f"is not {_MIN_SPEEDUP:g} times as fast"
            if len(forest) >= _MIN_SUBSCRIPTIONS
            else "is worth nothing for so few"
        )
        reason = (
            f"{MAPPED_ENGINE} is expected to take {mapped:.3g} us an event; {fastest}, at {best:.3g}, {why}, "
            "and every process would build its own index"
        )
    return Choice(engine, reason, len(forest), times)
