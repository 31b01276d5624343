"""Shards and the events that visit them: parts of `routing`.

Subscriptions are the auction's three classes, mixed. `assignment` counts visits without Spark: by similarity and
by id, with the least number of visits that either allows. `spark` runs the same on Spark, and measures what is
shuffled and how long it takes. Every contestant must find the pairs of a matcher that holds all subscriptions.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.report import Bar, Figures, Size
from benchmarks.routing_network import Found
from tamis import EventBatch, Matcher
from tamis.lab.claims.networks import progress
from tamis.lab.workloads import Workload, generate
from tamis.matchers import Matchers
from tamis.report import charts
from tamis.routing.entries import shards_of
from tamis.routing.shards import SAMPLE_ROWS, Routing, ShardAssignments, summarise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHARDS = 16
LEAST_SAVED = 0.5
_SUBSCRIPTIONS: dict[Size, int] = {"smallest": 400, "quick": 10_000, "full": 100_000}
_EVENTS: dict[Size, int] = {"smallest": 300, "quick": 4_096, "full": 16_384}
_SPARK_EVENTS: dict[Size, int] = {"smallest": 300, "quick": 5_000, "full": 100_000}
_BUDGETS = (0, 1 << 16, 1 << 18, 1 << 20, 1 << 24)
_ROUNDS = 3


def parts() -> dict[str, Callable[[Size], Found]]:
    """The parts by name; each gives figures, bars and drawings."""
    return {"assignment": assignment_visits, "spark": spark}


@dataclass(frozen=True, slots=True)
class Visits:
    """The result of an assignment: visits and the least number of them, for each event, and what it took."""

    each: float
    least: float
    entries: int
    entry_bytes: int
    assign_seconds: float
    route_seconds: float


def assignment_visits(size: Size) -> Found:
    """Visits of events to 16 shards, by similarity and by id, under several budgets of entries."""
    workload = _workload(size, SAMPLE_ROWS + _EVENTS[size])
    batch = EventBatch.of(workload.events.slice(SAMPLE_ROWS), workload.event_type)
    sample = EventBatch.of(workload.events.slice(0, SAMPLE_ROWS), workload.event_type)
    matcher = _matcher(workload)
    matcher.match_pairs(sample)
    figures: Figures = {"subscriptions": len(matcher), "events": batch.rows, "shards": SHARDS}
    points: dict[str, list[tuple[float, float]]] = {"by similarity": [], "by id": []}
    saved = 0.0
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder) / "subscriptions")
        version = matcher.publish(url)
        pairs = _pairs_of(matcher, batch)
        for number, budget in enumerate(_BUDGETS):
            found = {}
            for label, line in points.items():
                routing = Routing(budget, by_similarity=label == "by similarity")
                place = str(Path(folder) / f"{number} {label}")
                progress(f"assignment: {budget} bytes, {label}")
                found[label] = _visits(url, version, routing, place, sample, batch, pairs)
                line.append((max(1, found[label].entry_bytes), found[label].each))
                figures[f"budget {budget}, {label}"] = _told(found[label])
            if budget == Routing().budget:
                saved = 1.0 - found["by similarity"].each / found["by id"].each
                figures["saved against assignment by id, both routed"] = round(saved, 3)
                figures["saved against every event in every shard"] = round(
                    1.0 - found["by similarity"].each / SHARDS, 4
                )
    bars = {"visits saved by similarity": Bar(saved, LEAST_SAVED)}
    return figures, bars, [charts.lines("visits by bytes of entries", "an event", points)]


def _told(found: Visits) -> str:
    return (
        f"{found.each:.3f} visits an event (at least {found.least:.3f}), {found.entries} entries, "
        f"{found.entry_bytes} bytes; assigned in {found.assign_seconds:.1f} s, routed in "
        f"{found.route_seconds * 1e6:.1f} us an event"
    )


def _workload(size: Size, events: int) -> Workload:
    return generate("auction", subscriptions=_SUBSCRIPTIONS[size], events=events, seed=8)


def _matcher(workload: Workload) -> Matcher:
    matcher = Matcher(workload.event_type)
    refused = matcher.add_many(pa.table({"id": workload.ids, "condition": workload.conditions}))
    assert not refused, refused[0]
    return matcher


def _pairs_of(matcher: Matcher, batch: EventBatch) -> set[tuple[int, str]]:
    rows, ids, _ = matcher.match_pairs(batch).columns()
    return set(zip(rows.tolist(), ids.to_pylist(), strict=True))


def _visits(
    url: str,
    version: int,
    routing: Routing,
    place: str,
    sample: EventBatch,
    batch: EventBatch,
    pairs: set[tuple[int, str]],
) -> Visits:
    """Assign, route and match: all pairs must be found in the shards that were visited."""
    began = time.perf_counter()
    assignments = ShardAssignments(url, SHARDS, routing, place)
    assignments.observe([sample])
    assignment = assignments.assign(version)
    took = time.perf_counter() - began
    routes = Matchers.open(assignment.url, assignment.version, segments=assignment.routes).only
    routes.match_pairs(batch)
    began = time.perf_counter()
    rows, ids, _ = routes.match_pairs(batch).columns()
    routed = time.perf_counter() - began
    visits = np.unique(rows.astype(np.int64) << 32 | shards_of(ids))
    found: set[tuple[int, str]] = set()
    least = 0
    for shard, names in enumerate(assignment.shards):
        at, subscriptions, _ = (
            Matchers.open(assignment.url, assignment.version, segments=names).only.match_pairs(batch).columns()
        )
        least += len(np.unique(at))
        is_here = np.isin(at.astype(np.int64) << 32 | shard, visits)
        found |= set(zip(at[is_here].tolist(), subscriptions.filter(pa.array(is_here)).to_pylist(), strict=True))
    assert found == pairs, f"{len(pairs - found)} pairs are lost, {len(found - pairs)} made up"
    told = summarise(assignment)
    return Visits(
        len(visits) / batch.rows, least / batch.rows, told.entries, told.entry_bytes, took, routed / batch.rows
    )


def spark(size: Size) -> Found:
    """Shuffled bytes and time on Spark: one shard, 16 without routing, and 16 with it."""
    from benchmarks.spark import session

    workload = _workload(size, _SPARK_EVENTS[size])
    ids = pa.array([f"e{number}" for number in range(workload.events.num_rows)])
    expected = _matcher(workload).match_batch(workload.events.append_column("key", ids), event_id="key").num_rows
    ways: dict[str, dict[str, Any]] = {
        "one shard": {},
        "16 shards": {"shards": SHARDS},
        "16 shards, routed": {"shards": SHARDS, "routing": Routing()},
    }
    figures: Figures = {"subscriptions": len(workload.ids), "events": len(ids), "pairs": expected}
    measured: dict[str, tuple[float, int]] = {}
    with ExitStack() as stack:
        run = stack.enter_context(session(progress))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        events = run.createDataFrame(workload.events.append_column("key", ids)).repartition(4).cache()
        events.count()
        ready = _prepared(run, workload, folder)
        for label, options in ways.items():
            progress(f"spark: {label}")
            measured[label] = _timed(run, events, ready, options, expected)
            seconds, shuffled = measured[label]
            figures[label] = f"{seconds:.2f} s, {shuffled / 1e6:.3f} MB shuffled"
    routed, plain = measured["16 shards, routed"], measured["16 shards"]
    figures["time of routed against plain shards"] = round(routed[0] / plain[0], 3)
    figures["bytes of routed against plain shards"] = round(routed[1] / max(1, plain[1]), 4)
    return figures, {}, []


def _prepared(run: SparkSession, workload: Workload, folder: str) -> Any:
    from tamis.spark import prepare

    given = run.createDataFrame(pa.table({"id": workload.ids, "condition": workload.conditions}))
    return prepare(given, workload.event_type, snapshot=Path(folder) / "snapshot", segments=SHARDS, spark=run)


def _timed(
    run: SparkSession, events: DataFrame, ready: Any, options: dict[str, Any], expected: int
) -> tuple[float, int]:
    """Seconds, the least of some rounds, and bytes that were shuffled in one."""
    from tamis.spark import match

    seconds = []
    shuffled = 0
    for _ in range(_ROUNDS):
        found = match(events, ready, event_id="key", **options)  # anew: Spark keeps what was shuffled before
        before = _shuffled(run)
        began = time.perf_counter()
        count = found.toArrow().num_rows
        seconds.append(time.perf_counter() - began)
        shuffled = _shuffled(run) - before
        assert count == expected, f"expected {expected} pairs, found {count}"
    return min(seconds), shuffled


def _shuffled(run: SparkSession) -> int:
    """Bytes that all stages so far have written for others."""
    context = run.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    nothing = context._gateway.new_array(context._gateway.jvm.double, 0)  # type: ignore[union-attr]
    stages = context._jsc.sc().statusStore().stageList(None, False, False, nothing, None)
    return sum(int(stages.apply(place).shuffleWriteBytes()) for place in range(stages.size()))
