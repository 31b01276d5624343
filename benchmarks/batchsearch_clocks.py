"""Parts of `batchsearch` by the clock: engines against each other, schedules of a matcher, and rates of change."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import pyarrow as pa

from benchmarks.batchsearch_data import SEED, SKEWS, Bench, boxes_of, check_pairs, inserted, packed
from benchmarks.claim_tools import times
from benchmarks.engine_cases import EFFORTS
from benchmarks.engine_points import Lab
from benchmarks.families import Case
from benchmarks.report import Figures, number, spread
from benchmarks.timing import Times, rates
from tamis import Matcher
from tamis.lab.wang.rtree.kernels.tree import tree_stats
from tamis.lab.wang.rtree.kernels.updates import delete_box
from tamis.lab.workloads import generate
from tamis.schedule.response import Response

_ENGINES = ("rtree", "counting", "siena", "postings")
_BATCHES = (128, 1_024)
_ROUNDS = 3


def engines(bench: Bench) -> Figures:
    """`rtree` against counting by time, on boxes and on sparse conditions; pairs are those of `bitslice`."""
    lab = Lab(replace(EFFORTS[bench.size], batch=128 if bench.size != "smallest" else 16))
    cases = [Case(f"boxes, {name}", "boxes", {"skew": skew}) for name, skew in SKEWS.items()]
    figures: Figures = {}
    for case in (*cases, Case("sparse", "sparse")):
        for count in bench.scale.engines:
            title = f"{case.label}, {count} subscriptions"
            points = lab.points(case, count, _ENGINES)
            for name, point in points.items():
                figures[f"{title}: {name}, us/event"] = spread(point.microseconds)
                figures[f"{title}: {name}, bytes/subscription"] = number(point.bytes)
                if point.inserted:
                    figures[f"{title}: {name}, inserted a second"] = spread(point.inserted)
                    figures[f"{title}: {name}, deleted a second"] = spread(point.deleted)
                for what, done in point.work.items():
                    figures[f"{title}: {name}, {what} an event"] = number(done)
            for slow in _ENGINES[1:]:
                figures[f"{title}: rtree, times as fast as {slow}"] = times(points, slow, "rtree")
    return figures | {f"left out, {what}": why for what, why in lab.left_out.items()}


def schedule(bench: Bench) -> Figures:
    """Mean response of a matcher with `bitslice`, cheap events first in parts whose width adapts, or not."""
    figures: Figures = {}
    subscriptions, batches = bench.scale.scheduled
    for workload, skew in SKEWS.items():
        for events in _BATCHES if bench.size != "smallest" else _BATCHES[:1]:
            title = f"bitslice, {workload}, {subscriptions} subscriptions, batches of {events}"
            bench.progress(f"{title}: building")
            lots = min(batches, 16)
            made = generate("boxes", subscriptions=subscriptions, events=lots * events, seed=SEED, skew=skew)
            matcher = Matcher(made.event_type, engine="bitslice")
            matcher.add_many(pa.table({"id": made.ids, "condition": made.conditions}))
            parts = [made.events.slice(lot * events, events) for lot in range(lots)]
            figures |= _scheduled(title, matcher, parts, batches)
    return figures


def _scheduled(title: str, matcher: Matcher, parts: list[pa.Table], batches: int) -> Figures:
    """Schedules take turns with the same batches; what they did while they adapted does not count."""
    contestants: dict[str, Any] = {
        "arrival, all at once": partial(matcher.match_parts, schedule="arrival", width=len(parts[0])),
        "arrival, in parts": partial(matcher.match_parts, schedule="arrival"),
        "shortest-first": partial(matcher.match_parts, schedule="shortest-first"),
    }
    _check(title, contestants, parts[0])
    means: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(batches):
        for name, run in contestants.items():
            answers = list(run(parts[turn % len(parts)]))
            found = Response.of([each.seconds for each in answers], [len(each.event_ids) for each in answers])
            means[name].append(found.mean * 1e6)
    kept = {name: each[-max(1, batches // 3) :] for name, each in means.items()}
    arrival = kept["arrival, all at once"]
    figures: Figures = {f"{title}: {name}, us of mean response": spread(each) for name, each in kept.items()}
    for name, each in kept.items():
        if name != "arrival, all at once":
            figures[f"{title}: {name}, of arrival"] = number(
                median(one / other for one, other in zip(each, arrival, strict=True))
            )
    widths = matcher.stats()["response_seconds"]["widths"]
    figures[f"{title}: widths"] = {name: dict(each) for name, each in widths.items()}
    return figures


def _check(title: str, contestants: dict[str, Any], part: pa.Table) -> None:
    found = {
        name: sorted(
            (pair["event_id"], pair["subscription_id"]) for each in run(part) for pair in each.pairs.to_pylist()
        )
        for name, run in contestants.items()
    }
    first = next(iter(found.values()))
    for name, pairs in found.items():
        if pairs != first:
            msg = f"{title}: {name} finds {len(pairs)} pairs, others {len(first)}"
            raise SystemExit(msg)


def changes(bench: Bench) -> Figures:
    """Boxes packed, inserted and deleted a second, one by one but for packing, and bytes of a box."""
    figures: Figures = {}
    boxes, moved = bench.scale.changed
    for workload in SKEWS:
        title = f"{workload}, {boxes} boxes"
        bench.progress(f"{title}: changing")
        given = boxes_of(workload, boxes + moved, 8)
        packing, inserting, deleting = Times(), Times(), Times()
        with packing.taken():
            tree = packed(given, boxes)
        figures |= _weighed(f"{title}, packed", tree, boxes)
        for _ in range(_ROUNDS):
            with inserting.taken():
                inserted(tree, given, boxes, boxes + moved)
            check_pairs(tree, given, f"{title}, after insertion")
            with deleting.taken():
                for payload in range(boxes, boxes + moved):
                    delete_box(tree, payload)
            check_pairs(tree, given, f"{title}, after deletion", boxes)
        figures[f"{title}: packed a second"] = rates(packing, boxes)
        figures[f"{title}: inserted a second"] = rates(inserting, moved)
        figures[f"{title}: deleted a second"] = rates(deleting, moved)
        figures |= _weighed(f"{title}, after changes", tree, boxes)
        # Half of a tree's boxes inserted into nodes that were full: what growth leaves behind.
        grown = packed(given, max(1, boxes // 2))
        inserted(grown, given, boxes // 2, boxes)
        figures |= _weighed(f"{title}, half of them inserted", grown, boxes)
    return figures


def _weighed(title: str, tree: Any, boxes: int) -> Figures:
    stats = tree_stats(tree)
    shares = ", ".join(f"{name} {number(size / boxes)}" for name, size in stats.bytes.items())
    return {
        f"{title}: bytes of a box": f"{number(sum(stats.bytes.values()) / boxes)}: {shares}",
        f"{title}: entries of a leaf": number(boxes / stats.counts["leaves"]),
    }
