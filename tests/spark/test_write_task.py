"""Tasks that write, called as Spark calls them, without Spark: what they write, and what the driver gets of it."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis import Matcher
from tamis.errors import WriteError
from tamis.quotas import Quota, Quotas
from tamis.sinks import BatchKey, DeltaSink, JsonLinesSink, KafkaSink, read_dead_letters, read_notifications
from tamis.spark.event_reading import Reading
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import (
    BUSY,
    CERTAIN,
    DEAD_KIND,
    FOUND,
    OVERFLOW,
    PAIR,
    PART,
    RECORD,
    UNWRITTEN,
    StreamTask,
    raise_unwritten,
)
from tamis.spark.write_task import QuotaTask, WriteTask, parts_in

KEY = BatchKey("q", 0, datetime(2026, 2, 28, tzinfo=UTC), 1)
EVENTS = pa.table({"value": [f'{{"id": "e{number}", "n": {number}}}' for number in range(6)] + ["no event"]})


@pytest.fixture
def matching(tmp_path: Path) -> StreamTask:
    matcher = Matcher()
    matcher.add_many([("all", "true"), ("few", "n < 2"), ("none", "n > 99")])
    ref = SnapshotRef(str(tmp_path / "snapshot"), matcher.publish(tmp_path / "snapshot"))
    return StreamTask((ref,), Reading(json="value"))


def rows(found: pa.Table, kind: int) -> pa.Table:
    return found.filter(pc.equal(found["row_kind"], kind))


def counts(found: pa.Table, kind: int) -> dict[str, int]:
    some = rows(found, kind)
    return dict(zip(some["subscription_id"].to_pylist(), some["count"].to_pylist(), strict=True))


def run(task: WriteTask | QuotaTask, given: pa.Table) -> pa.Table:
    shipped = pickle.loads(pickle.dumps(task))
    return pa.Table.from_batches(shipped(iter(given.to_batches(max_chunksize=4))), FOUND)


def test_a_task_writes_and_the_driver_gets_what_it_wrote(matching: StreamTask, tmp_path: Path) -> None:
    sink = DeltaSink(folder=tmp_path / "out")
    found = run(WriteTask(matching, sink.task_writer(KEY), KEY), EVENTS)
    assert rows(found, PAIR).num_rows == 0, "no pair goes to the driver"
    assert counts(found, BUSY) == {"all": 6, "few": 2}
    assert counts(found, DEAD_KIND) == {"malformed": 1}
    assert not (tmp_path / "out" / "notifications" / "_delta_log").exists()
    (part,) = parts_in(rows(found, PART))
    assert (part.written, part.repeated, part.dead, len(part.events)) == (8, 0, 1, 6)

    assert sink.publish(KEY, [part]).written == 8
    made = read_notifications(tmp_path / "out")
    pairs = set(zip(made["event_id"].to_pylist(), made["subscription_id"].to_pylist(), strict=True))
    assert pairs == {(f"e{number}", "all") for number in range(6)} | {("e0", "few"), ("e1", "few")}
    assert min(made["matched_at"].to_pylist()) >= KEY.at
    assert read_dead_letters(tmp_path / "out")["original"].to_pylist() == [b"no event"]


def test_a_file_has_higher_priorities_first(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add("later", "true", priority=-1)
    matcher.add("usual", "true")
    version = matcher.publish(tmp_path / "snapshot")
    matcher.add("first", "n > 1", priority=3)
    ref = SnapshotRef(str(tmp_path / "snapshot"), matcher.publish(tmp_path / "snapshot"))
    assert ref.version > version
    sink = JsonLinesSink(folder=tmp_path / "out")
    found = run(WriteTask(StreamTask((ref,), Reading(json="value")), sink.task_writer(KEY), KEY), EVENTS)
    sink.publish(KEY, parts_in(rows(found, PART)))
    (file,) = (tmp_path / "out" / "notifications").iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line.get("priority", 0) for line in lines] == [3] * 4 + [0] * 6 + [-1] * 6
    assert {line["subscription_id"] for line in lines[:4]} == {"first"}


def test_a_task_that_cannot_write_says_so_to_the_driver(matching: StreamTask, tmp_path: Path) -> None:
    sink = DeltaSink(folder=tmp_path / "out")
    task = WriteTask(matching, sink.task_writer(KEY), KEY)
    (tmp_path / "out" / "notifications").write_text("in the way")
    found = run(task, EVENTS)
    assert rows(found, PART).num_rows == 0
    with pytest.raises(WriteError, match=r"notifications.* cannot be written") as raised:
        raise_unwritten(rows(found, UNWRITTEN))
    assert raised.value.kind == "failed"


def test_quotas_are_applied_by_subscription_however_pairs_come(matching: StreamTask, tmp_path: Path) -> None:
    quota = Quota(matches=3, per=timedelta(days=1))
    state = Quotas(quota, tmp_path / "quotas").state(KEY.query, KEY.batch, KEY.at)
    kept = []
    for name in ("whole", "parts"):
        sink = DeltaSink(folder=tmp_path / name)
        writer = sink.task_writer(KEY)
        task = WriteTask(matching, writer, KEY, state)
        given = [EVENTS] if name == "whole" else [EVENTS.slice(0, 2), EVENTS.slice(2, 5)]
        first = pa.concat_tables(run(task, each) for each in given)
        second = run(QuotaTask(writer, KEY, state), first)
        assert rows(second, PAIR).num_rows == 0
        assert counts(second, CERTAIN) == {"all": 3, "few": 2}
        overflow = rows(second, OVERFLOW)
        assert sum(overflow["count"].to_pylist()) == 3
        sink.publish(KEY, parts_in(rows(second, PART)))
        kept.append(sorted(read_notifications(tmp_path / name)["id"].to_pylist()))
    assert kept[0] == kept[1]
    assert len(kept[0]) == 5


def test_records_for_kafka_are_rows_that_spark_sends(matching: StreamTask, tmp_path: Path) -> None:
    sink = KafkaSink(bootstrap_servers="broker:9092", topic="found", dead_topic="bad", state=tmp_path / "state")
    at = KEY.at + timedelta(hours=1)
    found = run(WriteTask(matching, sink.task_writer(KEY), KEY, matched_at=at), EVENTS)
    records = rows(found, RECORD)
    assert sorted(records["kind"].to_pylist()) == ["bad", *["found"] * 8]
    assert all('"matched_at":"2026-02-28T01:00:00.000000Z"' in row["reason"] for row in records.to_pylist()[:8])
    headers = {each["key"]: each["value"] for each in records["headers"][0].as_py()}
    assert headers.keys() == {"id", "subscription", "type"}
    assert headers["id"].decode() == records["event_id"][0].as_py()
    assert sink.publish(KEY, parts_in(rows(found, PART))).written == 8
    again = run(WriteTask(matching, sink.task_writer(BatchKey("q", 1, KEY.at, 1)), KEY), EVENTS)
    assert rows(again, RECORD)["kind"].to_pylist() == ["bad"], "what was sent is not sent again"
    assert parts_in(rows(again, PART))[0].repeated == 8
