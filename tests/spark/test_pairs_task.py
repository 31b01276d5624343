"""What runs in workers, called as Spark calls it, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tamis import Matcher
from tamis.schedule.scheduler import SCHEDULES, Schedule
from tamis.spark.pairs_task import PairsTask
from tamis.spark.snapshot_ref import SnapshotRef

EVENTS = pa.table({"name": [f"e{row}" for row in range(40)], "a": [(row * 37) % 101 for row in range(40)]})


@pytest.fixture
def ref(tmp_path: Path) -> SnapshotRef:
    matcher = Matcher({"name": "event", "attributes": {"name": "string", "a": "int"}})
    matcher.add_many([(f"s{number}", f"a > {number}") for number in range(100)])
    return SnapshotRef(str(tmp_path), matcher.publish(tmp_path))


def run(ref: SnapshotRef, schedule: Schedule, *, grouped: bool) -> list[pa.RecordBatch]:
    task = PairsTask((ref,), "event", "name", ("a",), grouped, schedule)
    return list(task(iter(EVENTS.to_batches(max_chunksize=16))))


@pytest.mark.parametrize("grouped", [False, True], ids=["pairs", "grouped"])
def test_a_schedule_changes_the_order_only(ref: SnapshotRef, grouped: bool) -> None:
    arrival, shortest = (run(ref, schedule, grouped=grouped) for schedule in SCHEDULES)
    tables = [pa.Table.from_batches(each) for each in (arrival, shortest)]
    assert tables[0].schema == tables[1].schema
    rows = [sorted(str(row) for row in table.to_pylist()) for table in tables]
    if grouped:
        rows = [
            sorted(f"{row['event_id']} {row['a']} {sorted(row['subscription_id'])}" for row in table.to_pylist())
            for table in tables
        ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == (40 if grouped else sum(min(value, 100) for value in EVENTS["a"].to_pylist()))
    assert len(arrival) == 1
    assert len(shortest) > 1, "pairs leave part by part"


def test_cheap_events_leave_first(ref: SnapshotRef) -> None:
    first, *_, last = run(ref, "shortest-first", grouped=True)
    assert max(first["a"].to_pylist()) <= min(last["a"].to_pylist())
