"""Orders of calls: what `greedy` and `naive` take with calls of a microsecond and of ten milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple

import pyarrow as pa

from benchmarks.report import Bar, Figures, Report, Size, number, print_bars, spread
from tamis import EventBatch, Matcher
from tamis.lab.measuring.cases import SEED
from tamis.lab.workloads import generate
from tamis.lab.workloads.base import Workload
from tamis.lab.workloads.overlap import arrays, probe_operator
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import meter, reset_meters

ORDERS = ("greedy", "naive")
COSTS = {"1 us": 1e-6, "10 ms": 1e-2}


class Scale(NamedTuple):
    """Subscriptions, predicates, events of a batch for each cost, and rounds."""

    subscriptions: int
    predicates: int
    events: Mapping[str, tuple[int, ...]]
    rounds: int


_SCALES: dict[Size, Scale] = {
    "smallest": Scale(60, 30, {"1 us": (1, 8), "10 ms": (1,)}, 1),
    "quick": Scale(400, 150, {"1 us": (1, 256), "10 ms": (1,)}, 3),
    "full": Scale(2_000, 500, {"1 us": (1, 64, 1_024), "10 ms": (1, 4)}, 5),
}


class Effort(NamedTuple):
    """What matching a batch took: seconds on the wall, because operators wait, and calls."""

    seconds: float
    calls: int


def run(size: Size) -> Report:
    """Measure; the bars are judged at full size only."""
    scale = _SCALES[size]
    figures: Figures = {"subscriptions": scale.subscriptions, "predicates": scale.predicates}
    bars: dict[str, Bar] = {}
    print(f"{'call':8}{'events':>8}  {'order':8}{'ms an event':24}{'calls an event':>16}")
    for label, cost in COSTS.items():
        for events in scale.events[label]:
            title = f"calls of {label}, {events} event{'s' if events > 1 else ''} at a time"
            efforts = _efforts(scale, cost, events)
            for order, each in efforts.items():
                shown = spread([1e3 * effort.seconds / events for effort in each])
                calls = median(effort.calls for effort in each) / events
                figures[f"{title}: {order}, wall ms/event"] = shown
                figures[f"{title}: {order}, calls an event"] = number(calls)
                print(f"{label:8}{events:8}  {order:8}{shown:24}{number(calls):>16}")
            pairs = zip(efforts["greedy"], efforts["naive"], strict=True)
            bars[f"{title}: greedy against naive, time"] = Bar(
                round(median(ours.seconds / theirs.seconds for ours, theirs in pairs), 3), 1.0, at_most=True
            )
    figures["bars"] = "judged" if size == "full" else "not judged: this is not the size that they are set for"
    report = Report("operators", figures, bars, size == "full")
    print_bars(report)
    return report


def _efforts(scale: Scale, cost: float, events: int) -> dict[str, list[Effort]]:
    """Rounds of each order, in turns; one round before learns what calls cost and how often they hold."""
    sizes = {"subscriptions": scale.subscriptions, "events": events, "seed": SEED, "predicates": scale.predicates}
    data = generate("overlap", **sizes, matched=0.01)
    probe = probe_operator(arrays(**sizes, matched=0.01).selectivities)
    found: dict[str, list[Effort]] = {order: [] for order in ORDERS}
    install(waiting(probe, cost))
    try:
        matchers = {order: _matcher(data, order) for order in ORDERS}
        for turn in range(scale.rounds + 1):
            pairs: list[pa.Table] = []
            for order, matcher in matchers.items():
                effort, table = _matched(matcher, EventBatch.of(data.events, data.event_type, event_id="id"))
                pairs.append(table)
                if turn:
                    found[order].append(effort)
            if not pairs[0].equals(pairs[1]):
                msg = f"greedy finds {len(pairs[0])} pairs and naive {len(pairs[1])}, and not the same"
                raise SystemExit(msg)
    finally:
        uninstall(probe.name)
        reset_meters(probe.name)
    return found


def _matcher(data: Workload, order: str) -> Matcher:
    matcher = Matcher(data.event_type, engine="bitslice", call_order=order)
    matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    matcher.merge()
    return matcher


def _matched(matcher: Matcher, batch: EventBatch) -> tuple[Effort, pa.Table]:
    calls, began = meter("probe").calls, time.perf_counter()
    table = matcher.match_batch(batch)
    effort = Effort(time.perf_counter() - began, meter("probe").calls - calls)
    return effort, table.sort_by([("event_id", "ascending"), ("subscription_id", "ascending")])


def waiting(probe: Operator, cost: float) -> Operator:
    """The operator, with calls that take so many seconds of waiting."""
    function: Callable[..., object] = probe.function

    def slow(seeds: pa.Array, numbers: pa.Array) -> object:
        until = time.perf_counter() + cost * len(seeds)
        found = function(seeds, numbers)
        # A sleep takes at least some 60 us, so short waits are spent here.
        while (left := until - time.perf_counter()) > 0:
            if left > 1e-3:
                time.sleep(left)
        return found

    return Operator(probe.name, probe.parameters, probe.returns, slow, cost=cost, check=probe.check)
