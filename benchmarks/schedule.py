"""Mean response of a matcher, cheap events first or in arrival order: of `bitslice`, and with a slow operator."""

from __future__ import annotations

import random
import time
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.report import Bar, Figures, Report, Size, number, print_bars, spread
from tamis import Matcher
from tamis.lab.measuring.cases import SEED
from tamis.lab.workloads import generate
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import reset_meters
from tamis.schedule.response import Response
from tamis.schedule.scheduler import SCHEDULES
from tamis.values.types import INT

_SKEWS = {"uniform": 0.0, "skewed": 0.3}
_SLOW_SECONDS = 0.01


class Scale(NamedTuple):
    """Subscriptions and batches of boxes, sizes of batches; events of a batch and batches with a slow operator."""

    subscriptions: int
    batches: int
    events: tuple[int, ...]
    slow_events: int
    slow_batches: int


_SCALES: dict[Size, Scale] = {
    "smallest": Scale(200, 8, (128,), 16, 2),
    "quick": Scale(20_000, 300, (128, 1_024), 64, 6),
    "full": Scale(200_000, 600, (128, 1_024), 128, 18),
}


def run(size: Size) -> Report:
    """Measure; the bar is judged at full size only."""
    scale = _SCALES[size]
    figures: Figures = {}
    for workload, skew in _SKEWS.items():
        for events in scale.events:
            title = f"bitslice, {workload}, {scale.subscriptions} subscriptions, batches of {events}"
            lots = min(scale.batches, 16)
            made = generate("boxes", subscriptions=scale.subscriptions, events=lots * events, seed=SEED, skew=skew)
            matcher = Matcher(made.event_type, engine="bitslice")
            matcher.add_many(pa.table({"id": made.ids, "condition": made.conditions}))
            parts = [made.events.slice(lot * events, events) for lot in range(lots)]
            figures |= _scheduled(title, matcher, parts, scale.batches)
    kept = _slow_operator(scale)
    figures |= {f"slow operator: {name}, ms of mean response": number(value * 1e3) for name, value in kept.items()}
    share = kept["shortest-first"] / kept["arrival"]
    bars = {"mean response with an expensive operator, of arrival order": Bar(share, 0.6, at_most=True)}
    figures["bars"] = "judged" if size == "full" else "not judged: this is not the size that they are set for"
    for name, value in figures.items():
        print(f"{name}: {value}")
    report = Report("schedule", figures, bars, size == "full")
    print_bars(report)
    return report


def _scheduled(title: str, matcher: Matcher, parts: list[pa.Table], batches: int) -> Figures:
    """Schedules take turns with the same batches; what they did while they adapted does not count."""
    contestants: dict[str, Any] = {
        "arrival, all at once": partial(matcher.match_parts, schedule="arrival", width=len(parts[0])),
        "arrival, in parts": partial(matcher.match_parts, schedule="arrival"),
        "shortest-first": partial(matcher.match_parts, schedule="shortest-first"),
    }
    _check(title, [_pairs(run(parts[0])) for run in contestants.values()])
    means: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(batches):
        for name, run in contestants.items():
            means[name].append(_response(list(run(parts[turn % len(parts)]))))
    kept = {name: each[-max(1, batches // 3) :] for name, each in means.items()}
    arrival = kept["arrival, all at once"]
    figures: Figures = {}
    for name, each in kept.items():
        figures[f"{title}: {name}, us of mean response"] = spread([1e6 * seconds for seconds in each])
        figures[f"{title}: {name}, of arrival"] = number(
            median(one / other for one, other in zip(each, arrival, strict=True))
        )
    widths = matcher.stats()["response_seconds"]["widths"]
    figures[f"{title}: widths"] = {name: dict(each) for name, each in widths.items()}
    return figures


def _slow_operator(scale: Scale) -> dict[str, float]:
    """Seconds of mean response, by schedule, where a tenth of the events needs a call of 10 ms."""
    install(Operator("slow", (INT,), INT, _sleep, cost=_SLOW_SECONDS))
    try:
        matcher = Matcher({"name": "e", "attributes": {"id": "int", "x": "int", "kind": "string"}})
        matcher.add_many([(f"s{n}", f"x > {n}") for n in range(2_000)])
        matcher.add_many([(f"c{n}", f"kind = 'image' AND slow(x) = {n}") for n in range(4)])
        matcher.merge()
        chance = random.Random(SEED)
        means: dict[str, list[float]] = {schedule: [] for schedule in SCHEDULES}
        for _ in range(scale.slow_batches):
            kinds = ["image" if chance.random() < 0.1 else "text" for _ in range(scale.slow_events)]
            events = [{"id": n, "x": chance.randrange(2_000), "kind": kind} for n, kind in enumerate(kinds)]
            found = {name: list(matcher.match_parts(events, event_id="id", schedule=name)) for name in SCHEDULES}
            _check("slow operator", [_pairs(parts) for parts in found.values()])
            for name, parts in found.items():
                means[name].append(_response(parts))
    finally:
        uninstall("slow")
        reset_meters("slow")
    return {schedule: median(each[scale.slow_batches // 3 :]) for schedule, each in means.items()}


def _sleep(values: pa.Array) -> pa.Array:
    time.sleep(_SLOW_SECONDS * len(values))
    return pc.bit_wise_and(values, 3)


def _response(parts: Any) -> float:
    return Response.of([each.seconds for each in parts], [len(each.event_ids) for each in parts]).mean


def _pairs(parts: Any) -> list[tuple[object, object]]:
    return sorted((pair["event_id"], pair["subscription_id"]) for each in parts for pair in each.pairs.to_pylist())


def _check(title: str, found: list[list[tuple[object, object]]]) -> None:
    """Compare the pairs of schedules.

    Raises:
        SystemExit: They differ.
    """
    if any(pairs != found[0] for pairs in found):
        msg = f"{title}: schedules find {[len(pairs) for pairs in found]} pairs, and not the same"
        raise SystemExit(msg)
