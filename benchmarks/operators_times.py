"""Time that strategies take with operators of known cost, called through a matcher (L17).

Operators sleep: what they cost is then the same for all strategies, and what is left is what choosing costs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.operators_counts import SEED, Bench
from benchmarks.report import Bar, Figures
from tamis import EventBatch, Matcher
from tamis.lab.workloads import generate
from tamis.lab.workloads.overlap import arrays, probe_operator
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import meter, reset_meters
from tamis.schedule.response import Response
from tamis.schedule.scheduler import SCHEDULES
from tamis.values.types import INT
from tamis.verification.search import GREEDY, known_orders

_COSTS = {"smallest": (0.0,), "quick": (0.0, 1e-4, 1e-3), "full": (0.0, 1e-4, 1e-3, 1e-2)}
_SIZES = {"smallest": (40, 20, 2), "quick": (500, 100, 16), "full": (500, 100, 32)}
"""Subscriptions, predicates, events."""
_RESPONSE_SIZES = {"smallest": (16, 2), "quick": (64, 6), "full": (128, 18)}
"""Events of a batch, batches of each schedule; a third of them are for adapting."""
_SLOW_SECONDS = 0.01


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


def response(bench: Bench) -> Figures:
    """Mean response of a batch where a tenth of the events needs a call of 10 ms, by schedule; pairs compared."""
    rows, rounds = _RESPONSE_SIZES[bench.size]
    install(Operator("slow", (INT,), INT, _sleep, cost=_SLOW_SECONDS))
    try:
        matcher = Matcher({"name": "e", "attributes": {"id": "int", "x": "int", "kind": "string"}})
        matcher.add_many([(f"s{n}", f"x > {n}") for n in range(2_000)])
        matcher.add_many([(f"c{n}", f"kind = 'image' AND slow(x) = {n}") for n in range(4)])
        matcher.merge()
        chance = random.Random(SEED)
        means: dict[str, list[float]] = {"arrival": [], "shortest-first": []}
        for _ in range(rounds):
            kinds = ["image" if chance.random() < 0.1 else "text" for _ in range(rows)]
            events = [{"id": n, "x": chance.randrange(2_000), "kind": kind} for n, kind in enumerate(kinds)]
            found = {}
            for schedule in SCHEDULES:
                parts = [*matcher.match_parts(events, event_id="id", schedule=schedule)]
                found[schedule] = _sorted(pa.concat_tables(part.pairs for part in parts))
                times = Response.of([part.seconds for part in parts], [len(part.event_ids) for part in parts])
                means[schedule].append(times.mean)
            if not found["arrival"].equals(found["shortest-first"]):
                msg = "schedules find different pairs"
                raise SystemExit(msg)
    finally:
        uninstall("slow")
        reset_meters("slow")
    kept = {schedule: median(each[rounds // 3 :]) for schedule, each in means.items()}
    share = kept["shortest-first"] / kept["arrival"]
    bench.bars["mean response with an expensive operator, of arrival order"] = Bar(share, 0.6, at_most=True)
    return {f"ms of mean response, {schedule}": f"{value * 1000:.1f}" for schedule, value in kept.items()}


def _sleep(values: pa.Array) -> pa.Array:
    time.sleep(_SLOW_SECONDS * len(values))
    return pc.bit_wise_and(values, 3)


def _slowed(probe: Operator, cost: float) -> Operator:
    function: Callable[..., object] = probe.function

    def slowed(seeds: pa.Array, numbers: pa.Array) -> object:
        if cost:
            time.sleep(cost * len(seeds))
        return function(seeds, numbers)

    return Operator(probe.name, probe.parameters, probe.returns, slowed, cost=cost or 1e-7, check=probe.check)


def _sorted(pairs: pa.Table) -> pa.Table:
    return pairs.sort_by([("event_id", "ascending"), ("subscription_id", "ascending")])
