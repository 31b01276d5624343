"""Composite subscriptions in tasks: batches and partitions find what the reference finds, and find it again."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis.composite.parts import compile_composite
from tamis.composite.reference import TimedEvent, find_matches
from tamis.sinks.base import BatchKey
from tamis.snapshot import Snapshots
from tamis.spark import CompositeSettings, Reading
from tamis.spark.composite_states import CompositeError, CompositeStates
from tamis.spark.composite_task import StateTask
from tamis.spark.event_tables import SHARD
from tamis.spark.shards import shard_refs
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import COUNTED, FOUND, LATE, PAIR, REACHED, STATE, TAKEN, StreamTask
from tamis.store import Publisher, Store

START = datetime(2026, 11, 18, tzinfo=UTC)
SECOND = 1_000_000
TEXTS = (
    "kind = 'a' THEN kind = 'b' WITHIN INTERVAL '5' SECOND BY item",
    "kind = 'a' THEN kind = 'b' THEN kind = 'c' WITHIN INTERVAL '9' SECOND FOR ALL",
    "kind = 'a' AS x THEN price > x.price AND kind <> 'c' WITHIN INTERVAL '6' SECOND BY item FOR ALL",
    "kind = 'a' THEN NOT kind = 'b' WITHIN INTERVAL '4' SECOND BY item",
    "kind = 'a' AS x THEN kind = 'b' THEN NOT price > x.price WITHIN INTERVAL '5' SECOND",
    "ALL(kind = 'a', kind = 'b', price > 2) WITHIN INTERVAL '6' SECOND BY item",
    "AT_LEAST(3, price > 1) WITHIN INTERVAL '7' SECOND BY item",
)


class Batches:
    """A stream without Spark: what tasks give for each batch, sent to the partitions of the state."""

    def __init__(self, folder: Path, texts: tuple[str, ...] = TEXTS, **settings: Any) -> None:
        self.folder = folder
        self.store = Store.open(folder / "subscriptions.db")
        for number, text in enumerate(texts):
            self.store.add(f"s{number}", text, dialect="composite", label=f"label {number}")
        self.publisher = Publisher(self.store, folder / "snapshot")
        self.states = CompositeStates(CompositeSettings(**settings), folder / "state")
        self.late = 0
        self.shards = 1
        self.is_split = False
        self.counts: dict[str, int] = {}

    def run(self, batch: int, events: list[dict[str, Any]], tasks: int = 2) -> list[tuple[str, int, list[str]]]:
        """The matches of a batch: subscription, time and events."""
        self.publisher.sync()
        manifest = Snapshots(self.folder / "snapshot").manifest()
        ref = SnapshotRef(str(self.folder / "snapshot"), manifest.version, parts=True)
        plan = self.states.plan("q", batch, manifest, ref)
        assert plan is not None
        reading = Reading(event_time="at", keep=("kind",))
        shards = shard_refs(ref, self.shards)
        task = StreamTask(shards, reading, composite=plan)
        rows: list[pa.RecordBatch] = []
        for place in range(tasks):
            some = pa.Table.from_pylist(events[place::tasks], SCHEMA)
            for shard in range(len(shards)):
                column = pa.array([shard] * some.num_rows, pa.int32())
                sent = some if len(shards) == 1 else some.append_column(SHARD, column)
                rows += task(iter(sent.to_batches()))
        found = pa.Table.from_batches(rows, FOUND)
        found = _by_part(found) if self.is_split else found
        self.late += pc.sum(found.filter(pc.equal(found["row_kind"], LATE))["count"]).as_py() or 0
        own = pc.is_in(found["row_kind"], pa.array([TAKEN, REACHED], pa.int32()))
        assert not found.filter(pc.and_(pc.invert(own), pc.equal(found["row_kind"], PAIR))).num_rows
        given: list[pa.RecordBatch] = []
        for partition in range(len(plan.files)):
            part = found.filter(pc.and_(own, pc.equal(found["priority"], partition)))
            key = BatchKey("q", batch, START, manifest.version)
            given += StateTask(plan, key, reading.keep)(iter(part.to_batches()))
        table = pa.Table.from_batches(given, FOUND)
        self.states.commit("q", batch, plan, table.filter(pc.equal(table["row_kind"], STATE)))
        counted = table.filter(pc.equal(table["row_kind"], COUNTED))
        self.counts = {}
        for name, count in zip(counted["kind"].to_pylist(), counted["count"].to_pylist(), strict=True):
            self.counts[name] = self.counts.get(name, 0) + count
        matches = table.filter(pc.equal(table["row_kind"], PAIR)).to_pylist()
        for match in matches:
            told = json.loads(match["attributes"])["events"]
            assert match["event_id"] == told[0]["id"]
            assert match["label"] == f"label {match['subscription_id'][1:]}"
        return sorted(
            (
                match["subscription_id"],
                (match["event_time"] - START) // timedelta(microseconds=1),
                [each["id"] for each in json.loads(match["attributes"])["events"]],
            )
            for match in matches
        )

    def open(self) -> list[bytes]:
        """What the newest record names, partition by partition."""
        _, record = self.states._before("q", 1 << 30)
        state = self.folder / "state"
        return [
            pa.ipc.open_file((state / name).read_bytes()).read_all().to_pandas().to_json().encode()
            if name
            else b""
            for name in record["files"]
        ]


SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("price", pa.int64()),
        ("item", pa.string()),
    ]
)


def _by_part(found: pa.Table) -> pa.Table:
    """As if each part of a subscription were in a shard of its own."""
    taken = pc.equal(found["row_kind"], TAKEN)
    tables = [found.filter(pc.invert(taken))]
    for bit in (1, 2, 4):
        own = found.filter(pc.and_(taken, pc.not_equal(pc.bit_wise_and(found["count"].fill_null(0), bit), 0)))
        place = found.column_names.index("count")
        tables.append(own.set_column(place, FOUND.field("count"), pa.array([bit] * own.num_rows, pa.int64())))
    return pa.concat_tables(tables)


def event(id: str, second: int, kind: str = "a", item: str | None = "p", price: int | None = 1) -> dict[str, Any]:
    return {"id": id, "at": START + timedelta(seconds=second), "kind": kind, "price": price, "item": item}


def random_batches(rng: random.Random) -> list[list[dict[str, Any]]]:
    clock, events, batches = 0, [], []
    for number in range(60):
        clock += rng.choice((0, 0, 1, 1, 2))
        one = event(
            f"e{number:02d}",
            max(0, clock - rng.choice((0, 0, 0, 1, 3))),
            rng.choice("abc"),
            rng.choice(("p", "p", "q", None)),
            rng.choice((None, 0, 1, 2, 3, 4)),
        )
        events.append(one)
        if rng.random() < 0.1:
            events.append(rng.choice(events))
    while events:
        size = rng.randrange(1, 15)
        batches.append(events[:size])
        events = events[size:]
    return batches


def expected(text: str, batches: list[list[dict[str, Any]]], lateness: int) -> list[tuple[int, list[str]]]:
    ordered = [each for batch in batches for each in sorted(batch, key=lambda each: (each["at"], each["id"]))]
    timed = [
        TimedEvent((each["at"] - START) // timedelta(microseconds=1), number, each, each["id"])
        for number, each in enumerate(ordered)
    ]
    found = find_matches(compile_composite(text), timed, lateness * SECOND)
    return sorted((match.time_us, [each.event["id"] for each in match.events]) for match in found.matches)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lateness", [0, 2])
def test_batches_find_what_the_reference_finds(seed: int, lateness: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    batches = random_batches(rng)
    run = Batches(tmp_path, lateness=timedelta(seconds=lateness), partitions=rng.randrange(1, 4))
    run.is_split = seed % 2 == 1
    found: list[tuple[str, int, list[str]]] = []
    for number, events in enumerate(batches):
        first = run.run(number, events, tasks=1)
        state = run.open()
        # Done again, and spread over other tasks: the same matches, and the same state.
        assert run.run(number, rng.sample(events, len(events)), tasks=3) == first
        assert run.open() == state
        found += first
    for number, text in enumerate(TEXTS):
        own = sorted((time_us, ids) for id, time_us, ids in found if id == f"s{number}")
        assert own == expected(text, batches, lateness), text


def test_what_is_open_is_forgotten_with_another_condition_and_with_the_subscription(tmp_path: Path) -> None:
    run = Batches(tmp_path, TEXTS[:1])
    run.run(0, [event("e1", 0), event("e2", 0, item="q")])
    assert run.counts["open"] == 2
    run.store.replace("s0", TEXTS[0].replace("'b'", "'c'"))
    assert run.run(1, [event("e3", 1, "c")]) == []
    assert "open" not in run.counts
    assert run.run(2, [event("e4", 2), event("e5", 3, "c")]) == [("s0", 3 * SECOND, ["e4", "e5"])]
    run.run(3, [event("e6", 4)])
    run.store.pause("s0")
    assert run.run(4, [event("e7", 5, "c")]) == []
    run.store.pause("s0", paused=False)
    assert run.run(5, [event("e8", 6, "c")]) == []


def test_events_of_other_changes_keep_what_is_open(tmp_path: Path) -> None:
    run = Batches(tmp_path, TEXTS[:1])
    run.run(0, [event("e1", 0)])
    run.store.add("more", TEXTS[1], dialect="composite")
    run.store.replace("s0", label="label 0")
    assert run.run(1, [event("e2", 1, "b")]) == [("s0", SECOND, ["e1", "e2"])]


def test_parts_in_several_shards_are_joined(tmp_path: Path) -> None:
    both = "kind = 'a' AS x THEN price > 0 AND price >= x.price WITHIN INTERVAL '5' SECOND BY item"
    run = Batches(tmp_path, (both,))
    run.publisher.sync()
    run.store.replace("s0", both.replace("'a'", "'b'"))
    publisher = Publisher(run.store, tmp_path / "snapshot")  # what changed is another segment
    run.publisher = publisher
    run.store.add(
        "s1",
        "AT_LEAST(2, kind = 'b' OR kind = 'c') WITHIN INTERVAL '5' SECOND",
        dialect="composite",
        label="label 1",
    )
    run.shards = 2
    first = [event("e1", 0, "b"), event("e1", 0, "b"), event("e2", 1, "b", price=2)]
    assert run.run(0, first) == [("s0", SECOND, ["e1", "e2"]), ("s1", SECOND, ["e1", "e2"])]


def test_late_events_are_counted_and_set_aside(tmp_path: Path) -> None:
    run = Batches(tmp_path, TEXTS[:1], lateness=timedelta(seconds=2))
    run.run(0, [event("e1", 10)])
    assert run.run(1, [event("e2", 7, "a", "q"), event("e3", 8, "a", "q"), event("e4", 12, "b", "q")]) == []
    assert run.late == 1
    assert run.run(2, [event("e5", 20, "c")]) == [("s0", 12 * SECOND, ["e3", "e4"])]


def test_bounds_drop_and_count(tmp_path: Path) -> None:
    run = Batches(tmp_path, TEXTS[:1], partitions=1, most_per_key=2, most_per_subscription=3)
    run.run(0, [event(f"e{number}", number, item="pppqq"[number]) for number in range(5)])
    assert (run.counts["open"], run.counts["dropped"]) == (3, 2)


def test_a_state_that_is_gone_is_an_error_and_old_ones_are_removed(tmp_path: Path) -> None:
    run = Batches(tmp_path, TEXTS[:1], partitions=2)
    for number in range(9):
        run.run(number, [event(f"e{number}", number)])
    names = sorted(each.name for each in (tmp_path / "state").iterdir() if each.is_file())
    assert len([name for name in names if name.endswith(".json")]) == 5
    assert len([name for name in names if name.endswith(".arrow")]) <= 10
    with pytest.raises(CompositeError, match="no state from before batch 2"):
        run.run(2, [event("e2", 2)])


def test_settings_are_checked() -> None:
    with pytest.raises(CompositeError, match="partitions must be 1 or more, found 0"):
        CompositeSettings(partitions=0)
    with pytest.raises(CompositeError, match="lateness"):
        CompositeSettings(lateness=timedelta(seconds=-1))
