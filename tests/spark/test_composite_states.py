"""Composite subscriptions in streams of Spark: a batch that is done again gives the same, from the same state."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis.quotas import Quota
from tamis.sinks.base import Delivery
from tamis.sinks.callback import CallbackSink
from tamis.sinks.reading import read_notifications
from tamis.spark import CompositeSettings, Reading
from tamis.store import Store
from tests.spark.runs import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

READING = Reading(json="value", event_time="time")
SETTINGS = CompositeSettings(lateness=timedelta(seconds=1), partitions=3)


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Iterator[Run]:
    yield Run(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "subscriptions.db") as opened:
        opened.add("plain", "kind = 'b'")
        opened.add("walk", "kind = 'a' THEN kind = 'b' WITHIN INTERVAL '20' SECOND BY user", dialect="composite")
        opened.add(
            "quiet", "kind = 'a' THEN NOT kind = 'b' WITHIN INTERVAL '20' SECOND BY user", dialect="composite"
        )
        yield opened


def event(id: str, second: int, kind: str, user: str) -> dict[str, Any]:
    return {"id": id, "time": f"2026-11-18T09:00:{second:02d}Z", "kind": kind, "user": user}


def feed(run: Run) -> None:
    run.feed(event("e1", 0, "a", "ann"), event("e2", 1, "a", "bob"), event("e3", 2, "a", "eve"))
    run.feed(event("e4", 9, "b", "ann"), event("e5", 7, "c", "ann"))
    run.feed(event("e6", 12, "b", "eve"), event("e7", 3, "b", "bob"))
    run.feed(event("e8", 40, "c", "ann"))
    in_order(run)


def in_order(run: Run) -> None:
    """Let Spark read the files in the order of their names: those of the same millisecond have none."""
    for number, path in enumerate(sorted(run.input.iterdir())):
        os.utime(path, (number, path.stat().st_mtime - 100 + number))


EXPECTED = [
    ("e1", "walk", ["e1", "e4"]),
    ("e2", "quiet", ["e2"]),
    ("e3", "walk", ["e3", "e6"]),
]


def composite(rows: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    return sorted(
        (row["event_id"], row["subscription_id"], [each["id"] for each in json.loads(row["attributes"])["events"]])
        for row in rows
        if row["subscription_id"] != "plain"
    )


def test_a_stream_finds_composite_subscriptions_and_finds_them_again_after_a_crash(run: Run, store: Store) -> None:
    feed(run)
    reports = run.finish(store, reading=READING, composite=SETTINGS)
    assert composite(read_notifications(run.output).to_pylist()) == EXPECTED
    assert [report.late for report in reports] == [0, 0, 1, 0]
    assert [dict(report.composite).get("open", 0) for report in reports] == [4, 6, 4, 0]
    # Spark was killed before it wrote down that the last batch is done: it is matched again from the state before.
    run.forget_commit(3)
    (again,) = run.finish(store, reading=READING, composite=SETTINGS)
    assert (again.batch, again.repeated + again.notifications) == (3, 2)
    assert composite(read_notifications(run.output).to_pylist()) == EXPECTED
    run.feed(event("e9", 50, "a", "ann"))
    run.feed(event("f1", 51, "b", "ann"))
    run.feed(event("f2", 59, "c", "ann"))
    in_order(run)
    run.finish(store, reading=READING, composite=SETTINGS)
    assert ("e9", "walk", ["e9", "f1"]) in composite(read_notifications(run.output).to_pylist())


def test_sinks_of_the_driver_and_quotas_get_them_too(run: Run, store: Store, tmp_path: Path) -> None:
    feed(run)
    taken: list[dict[str, Any]] = []

    def take(delivery: Delivery) -> None:
        taken.extend(delivery.notifications.to_pylist())

    sink = CallbackSink(call=take, state=tmp_path / "sink")
    run.finish(store, sink=sink, reading=READING, composite=SETTINGS)
    assert composite(taken) == EXPECTED
    quota = Quota(matches=1, per=timedelta(days=1000))
    run.checkpoint = tmp_path / "another checkpoint"
    reports = run.finish(store, reading=READING, composite=SETTINGS, quota=quota)
    assert composite(read_notifications(run.output).to_pylist()) == EXPECTED[:2]
    assert sum(report.overflow for report in reports) == 2 + 1  # of plain, and of walk
