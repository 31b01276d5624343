"""Conditions are compiled by tasks into segments, called as Spark calls them, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tamis import EventType, Matcher
from tamis.snapshot import SnapshotPart, Snapshots, segment_of
from tamis.spark.preparation import CompileTask, reachable

TASK = CompileTask(EventType.of({"name": "sale", "attributes": {"price": "double"}}).to_dict(), None)


def compile_batches(*batches: dict[str, list[str | None]]) -> pa.Table:
    return pa.Table.from_batches(TASK(pa.record_batch(batch) for batch in batches))


def test_a_task_gives_the_bytes_of_a_segment_that_matches(tmp_path: Path) -> None:
    rows = compile_batches({"id": ["a"], "condition": ["price < 5"]}, {"id": ["b"], "condition": ["price > 3"]})
    assert rows["reason"].null_count == rows.num_rows
    assert set(rows["slots"].to_pylist()) == {2}
    header, *content = rows.sort_by("place")["data"].to_pylist()
    part = SnapshotPart(segment_of(header, b"".join(content)), 2, event_type="sale")
    Snapshots(tmp_path).publish([part], parent=None, event_types={"sale": dict(TASK.event_type)})
    assert Matcher.open(tmp_path).match({"price": 4.0}) == ["a", "b"]


def test_what_is_refused_is_given_with_its_reason() -> None:
    rows = compile_batches({"id": ["a", None, "c", "a"], "condition": ["price <", "true", "true", "true"]})
    refused = rows.filter(pc.is_valid(rows["reason"]))
    assert refused["id"].to_pylist() == ["a", "a", None]
    assert refused["reason"][2].as_py() == "a subscription needs an id"
    assert set(rows.filter(pc.is_valid(rows["segment"]))["slots"].to_pylist()) == {1}, "c alone"


def test_a_condition_is_compiled_in_its_dialect(tmp_path: Path) -> None:
    pattern = '{"price": [{"numeric": ["<", 5]}]}'
    given: dict[str, list[str | None]] = {
        "id": ["a", "b"],
        "condition": [pattern, "price > 3"],
        "dialect": ["eventbridge", None],
    }
    rows = compile_batches(given)
    assert rows["reason"].null_count == rows.num_rows
    header, *content = rows.sort_by("place")["data"].to_pylist()
    part = SnapshotPart(segment_of(header, b"".join(content)), 2, event_type="sale")
    Snapshots(tmp_path).publish([part], parent=None, event_types={"sale": dict(TASK.event_type)})
    matcher = Matcher.open(tmp_path)
    assert sorted(matcher.match({"price": 4.0})) == ["a", "b"]
    assert {each.id: each.dialect for each in matcher} == {"a": "eventbridge", "b": "sql"}


def test_a_task_without_conditions_gives_nothing() -> None:
    empty = pa.record_batch({"id": pa.array([], pa.string()), "condition": pa.array([], pa.string())})
    assert list(TASK(iter([empty]))) == []


def test_a_local_folder_is_reached_from_any_working_folder(tmp_path: Path) -> None:
    assert reachable(tmp_path / "x" / ".." / "y") == str(tmp_path / "y")
    assert reachable((tmp_path / "y").as_uri()) == str(tmp_path / "y")
