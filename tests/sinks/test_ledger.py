"""The ledger knows what a plain dictionary of ids and times knows, however many tasks wrote and merged files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.notifications import NOTIFICATIONS, Keys
from tamis.sinks import SinkError
from tamis.sinks import ledger as ledger_module
from tamis.sinks.ledger import (
    FOLDER,
    MERGED_AT_ONCE,
    LedgerView,
    NotificationLedger,
    Seen,
    TaskLedger,
    merge,
)
from tamis.snapshot.local import LocalStorage

RETENTION_US = 20
# Few different first halves, so that ids share one.
HALVES = (0, 1, 2**63, 2**64 - 1)

Pair = tuple[int, int]
Chunk = Sequence[Pair]
"""Pairs of an event and a subscription; a pair may be there twice, as its event was."""


def key_of(pair: Pair) -> tuple[int, int]:
    event, subscription = pair
    return HALVES[(3 * event + subscription) % len(HALVES)], 8 * event + subscription


def keys_of(pairs: Iterable[Pair]) -> Keys:
    return np.array([key_of(pair) for pair in pairs], dtype=np.uint64).reshape(-1, 2).T.copy()


def table_of(chunk: Chunk) -> pa.Table:
    """What a ledger looks at of notifications; of those with one id the first is the earliest."""
    start = datetime(2026, 2, 28, tzinfo=UTC)
    times = [start + timedelta(seconds=place) for place in range(len(chunk))]
    return pa.table(
        {
            "event_id": pa.array([f"e{event}" for event, _ in chunk], pa.string()),
            "event_time": pa.array(times, NOTIFICATIONS.field("event_time").type),
        }
    )


def events_of(chunk: Chunk) -> pa.Array:
    """The events of a chunk, each as often as the most frequent of its pairs."""
    counts = {event: max(chunk.count(pair) for pair in chunk if pair[0] == event) for event, _ in chunk}
    return pa.array([f"e{event}" for event, count in counts.items() for _ in range(count)], pa.string())


@dataclass
class Written:
    """What an attempt of a task did."""

    token: str
    new: list[Pair]
    merged: tuple[str, ...]


class World:
    """A ledger, which batches are committed with which tasks, and the plain twin of both."""

    def __init__(self, folder: Path) -> None:
        self.url = str(folder)
        self.storage = LocalStorage(folder)
        self.committed: dict[str, set[str]] = {}
        self.times: dict[Pair, int] = {}
        self.attempts = count()
        self.ledger = self.opened()

    def opened(self) -> NotificationLedger:
        def are_committed(names: Sequence[tuple[str, str | None]]) -> list[bool]:
            return [
                batch in self.committed and (task is None or task in self.committed[batch])
                for batch, task in names
            ]

        return NotificationLedger(self.storage, self.url, RETENTION_US, are_committed)

    def reopen(self) -> None:
        """Go on as another process would, which has nothing in memory."""
        ledger_module._open.cache_clear()
        self.ledger = self.opened()

    def write(self, view: LedgerView, batch: str, task: int, chunks: Sequence[Chunk]) -> Written:
        """A task, whose answers are those of a dictionary."""
        ledger, own, repeated = TaskLedger(view), set[Pair](), set[Pair]()
        for chunk in chunks:
            new = ledger.is_new(table_of(chunk), keys_of(chunk), events_of(chunk))
            found = [pair for pair, is_new in zip(chunk, new, strict=True) if is_new]
            known = {pair for pair in chunk if self.times.get(pair, -RETENTION_US) > view.at_us - RETENTION_US}
            assert sorted(found) == sorted({*chunk} - known - own)
            assert all(bool(new[chunk.index(pair)]) for pair in found), "the earliest of those with one id is left"
            own |= {*found}
            repeated |= known
        assert ledger.repeated == len(repeated)
        token = f"{task}-{next(self.attempts)}"
        events, shards = ledger.finish(f"{batch}.{token}")
        assert len(events) == len(shards)
        assert len({*events.tolist()}) == len({event for event, _ in own})
        return Written(token, sorted(own), ledger.merge(task))

    def commit(self, batch: str, at_us: int, tasks: Sequence[Sequence[Chunk]], lost: Iterable[int] = ()) -> None:
        """A batch; of lost tasks there are files, and the commit does not name them."""
        view, lost = self.ledger.view(at_us), {*lost}
        written = [self.write(view, batch, task, chunks) for task, chunks in enumerate(tasks)]
        kept = {task: each for task, each in enumerate(written) if task not in lost}
        self.committed[batch] = {each.token for each in kept.values()}
        for each in kept.values():
            self.times |= dict.fromkeys(each.new, at_us)
            self.ledger.drop(each.merged)

    def kill(self, batch: str, at_us: int, tasks: Sequence[Sequence[Chunk]]) -> None:
        """A batch whose tasks write everything, and whose driver ends then."""
        view = self.ledger.view(at_us)
        for task, chunks in enumerate(tasks):
            self.write(view, batch, task, chunks)

    def files(self) -> list[str]:
        return [each.name for each in self.storage.listing(FOLDER)]


chunks = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=8)
tasks = st.lists(st.lists(chunks, max_size=3), min_size=1, max_size=4)
steps = st.lists(
    st.tuples(
        st.integers(0, 4),
        tasks,
        st.sampled_from(["commit", "commit", "kill", "kill and replay", "kill and lose"]),
        st.booleans(),
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=30)
@given(steps)
def test_it_knows_what_a_dictionary_knows(steps: list[tuple[int, list[list[Chunk]], str, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world, at_us = World(Path(folder)), 0
        for number, (later, tasks, end, is_reopened) in enumerate(steps):
            at_us += later
            if end != "commit":
                world.kill(f"q.{number}", at_us, tasks)
            if end != "kill":
                world.commit(f"q.{number}", at_us, tasks, lost=[0] if end == "kill and lose" else [])
            if is_reopened:
                world.reopen()


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 1), tasks), min_size=20, max_size=40), st.booleans())
def test_merging_changes_nothing_that_it_knows(
    steps: list[tuple[int, list[list[Chunk]]]], is_reopened: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world, at_us = World(Path(folder)), 0
        for number, (later, tasks) in enumerate(steps):
            at_us += later
            different = [
                [[(100 * number + task, 0), *chunk] for chunk in chunks] for task, chunks in enumerate(tasks)
            ]
            world.commit(f"q.{number}", at_us, different)
            if is_reopened:
                world.reopen()
        assert len(world.files()) < 6 * MERGED_AT_ONCE


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [1, 4])
def test_files_stay_few_and_old_ones_go(tmp_path: Path, tasks: int) -> None:
    world = World(tmp_path)
    for number in range(100):
        world.commit(f"q.{number}", number, [[[(100 * number + task, 1)]] for task in range(tasks)])
        assert len(world.files()) <= 3 * MERGED_AT_ONCE + tasks
    world.commit("q.last", 10_000, [[[(1, 1)]]])
    assert [name.rpartition("-")[0] for name in world.files()] == ["batch.q.last.0"]


def test_a_file_of_a_task_that_notified_nothing_is_not_written(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.commit("q.0", 0, [[], [[]], [[(1, 1)]]])
    world.commit("q.1", 1, [[[(1, 1)]]])
    assert world.files() == ["batch.q.0.2-2.0.seen"]


def test_what_was_never_committed_counts_for_nothing_and_is_swept(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.commit("q.1", 1, [[[(1, 1)]], [[(5, 1)]]], lost=[1])
    world.kill("q.2", 2, [[[(2, 2)]]])
    world.kill("other.2", 2, [[[(3, 3)]]])
    assert world.ledger.batches() == {"q.1", "q.2", "other.2"}
    world.kill("q.3", 3, [[[(4, 4)]], [[(5, 5)]]])
    assert world.ledger.view(3).files == ("batch.q.1.0-0.1.seen",)
    world.ledger.sweep(lambda batch, task: batch.startswith("q.") and (batch, task) != ("q.3", "1-5"))
    assert world.files() == ["batch.other.2.0-3.2.seen", "batch.q.1.0-0.1.seen", "batch.q.3.1-5.3.seen"]


def test_a_view_has_what_others_commit_only_in_the_next_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    view = world.ledger.view(1)
    other = World(tmp_path)
    other.commit("other.0", 1, [[[(1, 1)]]])
    world.committed = other.committed
    assert view.files == ()
    assert TaskLedger(view).is_new(table_of([(1, 1)]), keys_of([(1, 1)]), events_of([(1, 1)])).tolist() == [True]
    next_ = TaskLedger(world.ledger.view(2))
    assert next_.is_new(table_of([(1, 1)]), keys_of([(1, 1)]), events_of([(1, 1)])).tolist() == [False]


@pytest.mark.parametrize("is_reopened", [False, True])
def test_a_view_of_files_that_another_query_has_merged_still_knows_them(tmp_path: Path, is_reopened: bool) -> None:
    world = World(tmp_path)
    for number in range(MERGED_AT_ONCE):
        world.commit(f"q.{number}", number, [[[(number, 1)]]])
    stale = world.ledger.view(9)
    assert len(stale.files) == MERGED_AT_ONCE
    assert len(stale.merges) == 1
    world.commit("other.0", 9, [[[(50, 1)]]])
    assert set(world.files()).isdisjoint(stale.files), "their task merged them"
    if is_reopened:
        world.reopen()
    asked = [(number, 1) for number in range(MERGED_AT_ONCE)]
    ledger = TaskLedger(stale)
    assert not ledger.is_new(table_of(asked), keys_of(asked), events_of(asked)).any()
    assert ledger.merge(0) == (), "another query was quicker"


def test_a_merge_by_a_task_that_is_lost_changes_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(MERGED_AT_ONCE):
        world.commit(f"q.{number}", number, [[[(number, 1)]]])
    world.kill("q.8", 8, [[[(70, 1)]]])
    assert len([name for name in world.files() if name.startswith("merged.")]) == 1
    world.commit("q.8", 8, [[[(number, 1) for number in range(MERGED_AT_ONCE)]]])
    world.commit("q.9", 9, [[[(70, 1)]]])


@pytest.mark.parametrize("is_newer_first", [False, True])
def test_a_merged_file_has_the_latest_time_of_each_id_and_event(is_newer_first: bool) -> None:
    files = [
        Seen(np.array([[1, 2], [at_us, at_us]], np.uint64), np.array([[1, 1], [1, 2], [at_us] * 2], np.uint64))
        for at_us in ((9, 5) if is_newer_first else (5, 9))
    ]
    old = Seen(np.array([[1, 3], [2, 2]], np.uint64), np.array([[1, 3], [1, 3], [2, 2]], np.uint64))
    merged = merge([*files, old], after_us=2)
    assert merged.events is not None
    assert merged.events.tolist() == [[1, 2], [9, 9]]
    assert merged.ids.tolist() == [[1, 1], [1, 2], [9, 9]]


def test_different_shards_of_an_event_are_told_apart(tmp_path: Path) -> None:
    world = World(tmp_path)
    ledger = TaskLedger(world.ledger.view(0))
    for shard, pair in enumerate([(1, 1), (1, 2)]):
        assert ledger.is_new(table_of([pair]), keys_of([pair]), events_of([pair]), shard).all()
    events, shards = ledger.finish("q.0.0")
    assert len({*events.tolist()}) == 1
    assert shards.tolist() == [0, 1]


def old_file(world: World, name: str, pairs: Sequence[Pair], at_us: int) -> None:
    """A file as earlier versions wrote it: both halves of ids, and times."""
    ids = np.array(sorted(key_of(pair) for pair in pairs), dtype=np.uint64).reshape(-1, 2).T
    times = np.full((1, len(pairs)), at_us, np.uint64)
    world.storage.write(f"{FOLDER}/{name}.ids", [np.concatenate([ids, times]).tobytes()])
    world.times |= dict.fromkeys(pairs, at_us)


def test_files_of_earlier_versions_are_read_merged_and_dropped_by_their_times(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.committed["q.000000000001"] = set()
    old_file(world, "batch.q.000000000001", [(1, 1), (2, 1)], 1)
    old_file(world, "merged.0123", [(3, 1)], 5)
    world.storage.write(f"{FOLDER}/batch.q.000000000002.ids", [b"never committed"])
    world.commit("q.3", 6, [[[(1, 1), (2, 2), (3, 1)]]])
    for number in range(4, 4 + MERGED_AT_ONCE):
        world.commit(f"q.{number}", 7, [[[(number, 1), (1, 1), (3, 1)]]])
        world.reopen()
    assert "batch.q.000000000001.ids" not in world.files(), "merged, as it is about as large as the others"
    world.commit("q.20", 20, [[[(1, 1), (2, 1), (3, 1)]]])
    world.commit("q.21", 21, [[[(1, 1), (2, 1), (3, 1)]]])
    world.commit("q.22", 25, [[[(1, 1), (2, 1), (3, 1)]]])


def test_an_old_file_all_of_whose_ids_no_longer_count_is_removed(tmp_path: Path) -> None:
    world = World(tmp_path)
    old_file(world, "merged.0123", [(3, 1)], 5)
    world.ledger.view(5 + RETENTION_US - 1)
    assert world.files() == ["merged.0123.ids"]
    world.ledger.view(5 + RETENTION_US)
    assert world.files() == []


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("5.seen", b""),
        ("5.seen", b"not ids"),
        ("5.seen", bytes(8)),
        ("5.seen", bytes(19)),
        ("5.seen", np.array([1, 1, 5], np.uint64).tobytes()),
        ("ids", b""),
        ("ids", b"not ids"),
        ("ids", bytes(16)),
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, content: bytes, suffix: str) -> None:
    world = World(tmp_path)
    world.storage.write(f"{FOLDER}/merged.x.{suffix}", [content])
    with pytest.raises(SinkError, match=rf"merged\.x\.{suffix}: damaged: {len(content)} bytes"):
        TaskLedger(world.ledger.view(1))
