"""Time that strategies take with operators of known cost, called through a matcher (L17).

Operators sleep: what they cost is then the same for all strategies, and what is left is what choosing costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from benchmarks.operators_counts import SEED, Bench
from benchmarks.report import Figures
from tamis import EventBatch, Matcher
from tamis.lab.workloads import generate
from tamis.lab.workloads.overlap import arrays, probe_operator
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import meter, reset_meters
from tamis.verification.search import GREEDY, known_orders

_COSTS = {"smallest": (0.0,), "quick": (0.0, 1e-4, 1e-3), "full": (0.0, 1e-4, 1e-3, 1e-2)}
_SIZES = {"smallest": (40, 20, 2), "quick": (500, 100, 16), "full": (500, 100, 32)}
"""Subscriptions, predicates, events."""


def times(bench: Bench) -> Figures:
    """Milliseconds an event of every strategy, by the cost of a call; the pairs are compared first."""
    subscriptions, predicates, events = _SIZES[bench.size]
    sizes = {"subscriptions": subscriptions, "events": events, "seed": SEED, "predicates": predicates}
    data = generate("overlap", **sizes, matched=0.01)
    probe = probe_operator(arrays(**sizes, matched=0.01).selectivities)
    batch = EventBatch.of(data.events, data.event_type, event_id="id")
    figures: Figures = {}
    spent: list[tuple[float, float]] = []
    for cost in _COSTS[bench.size]:
        bench.progress(f"times: calls of {cost * 1000:g} ms")
        install(_slowed(probe, cost))
        expected: pa.Table | None = None
        for strategy in known_orders():
            matcher = Matcher(data.event_type, call_order=strategy)
            matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True))
            found = _sorted(matcher.match_batch(batch))  # also learns what calls cost and how likely they hold
            if expected is not None and not found.equals(expected):
                msg = f"{strategy} finds other pairs than {GREEDY}"
                raise SystemExit(msg)
            expected = found
            before = meter("probe").calls
            began = time.perf_counter()
            matcher.match_batch(batch)
            seconds = time.perf_counter() - began
            calls = meter("probe").calls - before
            spent.append((calls * cost, seconds))
            figures[f"{cost * 1000:g} ms a call, {strategy}"] = (
                f"{calls / events:.0f} calls, {seconds / events * 1000:.1f} ms an event, "
                f"{(seconds / calls - cost) * 1e6:.0f} us a call besides"
            )
        uninstall("probe")
        reset_meters("probe")
    if len(_COSTS[bench.size]) > 1:
        asked, taken = np.array(spent).T
        figures["correlation of time with calls times cost"] = f"{np.corrcoef(asked, taken)[0, 1]:.4f}"
    return figures


def _slowed(probe: Operator, cost: float) -> Operator:
    function: Callable[..., object] = probe.function

    def slowed(seeds: pa.Array, numbers: pa.Array) -> object:
        if cost:
            time.sleep(cost * len(seeds))
        return function(seeds, numbers)

    return Operator(probe.name, probe.parameters, probe.returns, slowed, cost=cost or 1e-7, check=probe.check)


def _sorted(pairs: pa.Table) -> pa.Table:
    return pairs.sort_by([("event_id", "ascending"), ("subscription_id", "ascending")])
