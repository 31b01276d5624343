"""What is open of composite subscriptions, as the service reads it from the state of its stream."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from starlette.testclient import TestClient

from tamis.service.names import local_name
from tamis.service.open_matches import read_open
from tamis.service.stream import STREAM
from tamis.sinks.base import BatchKey
from tamis.snapshot import Snapshots
from tamis.spark import CompositeSettings, Reading
from tamis.spark.composite_states import CompositeStates
from tamis.spark.composite_task import StateTask
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import FOUND, REACHED, STATE, TAKEN, StreamTask
from tamis.store import Publisher
from tests.service.page.conftest import page, visit, world  # noqa: F401  (fixtures)
from tests.service.page.worlds import World

TEXT = "kind = 'a' THEN kind = 'b' AFTER INTERVAL '1' SECOND WITHIN INTERVAL '10' MINUTE BY user"


def match(
    world: World,  # noqa: F811
    folder: Path,
    batch: int,
    events: list[dict[str, Any]],
) -> None:
    """One batch of the service's stream, without Spark."""
    Publisher(world.service.store, folder / "snapshot").sync()
    manifest = Snapshots(folder / "snapshot").manifest()
    ref = SnapshotRef(str(folder / "snapshot"), manifest.version, parts=True)
    states = CompositeStates(CompositeSettings(partitions=2), world.service.settings.folder / STREAM / "composite")
    plan = states.plan("q", batch, manifest, ref)
    assert plan is not None
    reading = Reading(event_time="time", event_type="default/event", shown_type=local_name)
    found = pa.Table.from_batches(
        StreamTask((ref,), reading, composite=plan)(iter(pa.Table.from_pylist(events).to_batches())), FOUND
    )
    told: list[pa.RecordBatch] = []
    for partition in range(2):
        own = pc.is_in(found["row_kind"], pa.array([TAKEN, REACHED], pa.int32()))
        part = found.filter(pc.and_(own, pc.equal(found["priority"], partition)))
        key = BatchKey("q", batch, datetime.now(UTC), manifest.version)
        told += StateTask(plan, key)(iter(part.to_batches()))
    table = pa.Table.from_batches(told, FOUND)
    states.commit("q", batch, plan, table.filter(pc.equal(table["row_kind"], STATE)))


def event(id: str, second: int, kind: str, user: str) -> dict[str, Any]:
    return {"id": f"default/{id}", "time": f"2026-11-18T09:00:{second:02d}Z", "kind": kind, "user": user}


def test_what_is_open_is_read_from_the_newest_state(
    world: World,  # noqa: F811
    page: TestClient,  # noqa: F811
    tmp_path: Path,
) -> None:
    subscriptions = world.service.subscriptions
    subscriptions.subscribe("default", {"id": "walk", "condition": TEXT, "dialect": "composite"})
    stored = subscriptions.get("default", "walk")
    assert read_open(world.service, "default", stored) == []
    match(world, tmp_path, 0, [event("e1", 0, "a", "ann"), event("e2", 5, "a", "bob")])
    assert [
        (each["key"], each["first"], each["found"], f"{each['until']:%H:%M:%S}", each["reason"])
        for each in read_open(world.service, "default", stored)
    ] == [
        (["ann"], "e1", 1, "09:10:00", "part 2 of 2 is to come: kind = 'b'"),
        (["bob"], "e2", 1, "09:10:05", "part 2 of 2 is to come: kind = 'b'"),
    ]
    assert "part 2 of 2 is to come" in page.get("/subscriptions/walk").text
    match(world, tmp_path, 1, [event("e3", 9, "b", "ann")])
    assert [each["first"] for each in read_open(world.service, "default", stored)] == ["e2"]


def test_a_changed_condition_begins_again(world: World, tmp_path: Path) -> None:  # noqa: F811
    subscriptions = world.service.subscriptions
    subscriptions.subscribe("default", {"id": "walk", "condition": TEXT, "dialect": "composite"})
    match(world, tmp_path, 0, [event("e1", 0, "a", "ann")])
    subscriptions.change("default", "walk", {"condition": TEXT.replace("'b'", "'c'")})
    assert read_open(world.service, "default", subscriptions.get("default", "walk")) == []
    match(world, tmp_path, 1, [event("e2", 5, "c", "ann")])
    assert read_open(world.service, "default", subscriptions.get("default", "walk")) == []


def test_other_subscriptions_have_nothing_open(world: World) -> None:  # noqa: F811
    stored = world.service.subscriptions.get("default", "cheap")
    assert read_open(world.service, "default", stored) == []
