"""What a task writes: files that nobody reads yet, and what the driver hears of them."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.notifications import NOTIFICATIONS, id_keys
from tamis.sinks import BatchKey, Part
from tamis.sinks import part_files as part_files_module
from tamis.sinks.base import PartFile
from tamis.sinks.ledger import LedgerView
from tamis.sinks.part_files import FolderPartWriter, FolderTaskWriter, read_file, write_files
from tamis.snapshot.local import LocalStorage
from tests.sinks.deliveries import START, dead_letters, notifications, rows

AT_US = 1_000_000
DAY_US = 86_400_000_000


def task_writer(folder: Path, suffix: str = "parquet", *, by_day: bool = False) -> FolderTaskWriter:
    view = LedgerView(str(folder), (), AT_US, 10)
    key = BatchKey("q", 3, START, 1)
    writer = FolderTaskWriter(str(folder), key, "q.000000000003", suffix, view, by_day)
    copy: FolderTaskWriter = pickle.loads(pickle.dumps(writer))
    assert copy == writer, "tasks get a copy"
    return copy


def add(writer: FolderPartWriter, pairs: list[tuple[int, int]], when: datetime = START) -> None:
    table = notifications(pairs, when)
    writer.add(table, id_keys(table["id"]), table["event_id"].unique())


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_task_writes_a_file_of_notifications_and_one_of_dead_letters(tmp_path: Path, suffix: str) -> None:
    writer = task_writer(tmp_path, suffix).open(2, 7)
    add(writer, [(1, 1), (2, 1)])
    add(writer, [(3, 1)])
    writer.add_dead(dead_letters([b"x"], START))
    part = writer.finish()
    assert (part.written, part.repeated, part.dead, part.merged) == (3, 0, 1, ())
    assert part.token.startswith("2-7-")
    found, dead = part.files
    assert found.path == f"notifications/q.000000000003.{part.token}-0.{suffix}"
    assert dead.path == f"dead-letters/q.000000000003.{part.token}-1.{suffix}"
    storage = LocalStorage(tmp_path)
    assert (found.rows, found.bytes) == (3, (tmp_path / found.path).stat().st_size)
    assert rows(read_file(storage, found)) == rows(notifications([(1, 1), (2, 1), (3, 1)], START))
    assert rows(read_file(storage, dead)) == rows(dead_letters([b"x"], START))
    assert [path.name for path in (tmp_path / "ledger").iterdir()] == [
        f"batch.q.000000000003.{part.token}.{AT_US}.seen"
    ]


def test_a_task_that_has_nothing_writes_nothing(tmp_path: Path) -> None:
    writer = task_writer(tmp_path).open(0, 0)
    writer.add(NOTIFICATIONS.empty_table(), np.empty((2, 0), np.uint64), pa.array([], pa.string()))
    writer.add_dead(dead_letters([], START))
    part = writer.finish()
    assert (part.written, part.dead, part.files, len(part.events)) == (0, 0, (), 0)
    assert [*tmp_path.iterdir()] == []


def test_every_attempt_has_names_of_its_own(tmp_path: Path) -> None:
    parts = []
    for _ in range(2):
        writer = task_writer(tmp_path).open(0, 0)
        add(writer, [(1, 1)])
        parts.append(writer.finish())
    assert parts[0].token != parts[1].token
    assert len([*(tmp_path / "notifications").iterdir()]) == len([*(tmp_path / "ledger").iterdir()]) == 2


def test_a_notification_that_comes_in_two_chunks_is_written_once(tmp_path: Path) -> None:
    writer = task_writer(tmp_path).open(0, 0)
    add(writer, [(1, 1), (2, 1)])
    add(writer, [(2, 1), (2, 2)])
    part = writer.finish()
    assert (part.written, part.repeated) == (3, 0)
    (file,) = part.files
    assert rows(read_file(LocalStorage(tmp_path), file)) == rows(notifications([(1, 1), (2, 1), (2, 2)], START))


@pytest.mark.parametrize("by_day", [False, True])
def test_a_file_is_closed_when_it_has_enough_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_day: bool
) -> None:
    monkeypatch.setattr(part_files_module, "FILE_ROWS", 3)
    writer = task_writer(tmp_path, by_day=by_day).open(0, 0)
    for event in range(8):
        add(writer, [(event, 1)])
    part = writer.finish()
    assert [file.rows for file in part.files] == [3, 3, 2]
    assert len({file.path for file in part.files}) == 3
    found = pa.concat_tables([read_file(LocalStorage(tmp_path), file) for file in part.files])
    assert rows(found) == rows(notifications([(event, 1) for event in range(8)], START))


def test_files_by_day_have_the_rows_of_their_day(tmp_path: Path) -> None:
    midnight = datetime(2026, 3, 1, tzinfo=UTC)
    times = [midnight + timedelta(microseconds=each) for each in (-DAY_US - 1, -1, 0, DAY_US - 1)]
    tables = [notifications([(event, 1)], when) for event, when in enumerate(times)]
    storage = LocalStorage(tmp_path)
    files = write_files(storage, "notifications", "name", pa.concat_tables(tables), "parquet", True)
    assert [(file.partition["day"], file.rows) for file in files] == [
        ("2026-02-27", 1),
        ("2026-02-28", 1),
        ("2026-03-01", 2),
    ]
    for file in files:
        assert file.path == f"notifications/day={file.partition['day']}/name.parquet"
        days = {each.astimezone(UTC).date() for each in read_file(storage, file)["matched_at"].to_pylist()}
        assert days == {date.fromisoformat(file.partition["day"])}


def test_days_before_1970_are_days_as_well(tmp_path: Path) -> None:
    table = notifications([(1, 1)], datetime(1969, 12, 31, 23, 59, tzinfo=UTC))
    (file,) = write_files(LocalStorage(tmp_path), "notifications", "name", table, "parquet", True)
    assert file.partition == {"day": "1969-12-31"}


characters = st.characters(codec="utf-8")
texts = st.none() | st.text(characters, max_size=20)


@pytest.mark.slow
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=12))
def test_statistics_are_those_of_the_rows(values: list[tuple[str | None, str | None]]) -> None:
    table = notifications([(event, 1) for event in range(len(values))], START)
    for place, name in enumerate(("owner", "label")):
        column = pa.array([row[place] for row in values], pa.string())
        table = table.set_column(NOTIFICATIONS.get_field_index(name), NOTIFICATIONS.field(name), column)
    stats = json.loads(part_files_module._statistics(table))
    assert stats["numRecords"] == len(values)
    for place, name in enumerate(("owner", "label")):
        present = [row[place] or "" for row in values if row[place] is not None]
        assert stats["nullCount"][name] == len(values) - len(present)
        if present:
            by_bytes = sorted(present, key=str.encode)
            assert (stats["minValues"][name], stats["maxValues"][name]) == (by_bytes[0], by_bytes[-1])
        else:
            assert name not in stats["minValues"]


def test_what_is_unique_or_large_has_no_statistics(tmp_path: Path) -> None:
    stats = json.loads(part_files_module._statistics(notifications([(1, 1)], START)))
    assert stats["minValues"].keys().isdisjoint({"id", "attributes"})
    dead = json.loads(part_files_module._statistics(dead_letters([b"x"], START)))
    assert dead["minValues"].keys().isdisjoint({"id", "original", "reason"})


numbers = st.lists(st.integers(0, 2**64 - 1), max_size=5).map(lambda each: np.array(each, np.uint64))
part_files = st.builds(
    PartFile,
    st.sampled_from(["notifications", "dead-letters"]),
    st.text(characters),
    st.integers(0, 2**60),
    st.integers(0, 2**60),
    st.dictionaries(st.just("day"), st.text(max_size=10)),
    st.text(characters),
)
parts = st.builds(
    Part,
    st.text(min_size=1),
    *([st.integers(0, 2**60)] * 3),
    st.lists(part_files, max_size=3).map(tuple),
    st.lists(st.text(), max_size=3).map(tuple),
    numbers,
    numbers,
    numbers,
)


@pytest.mark.slow
@given(parts)
def test_the_driver_hears_of_a_part_what_the_task_said(part: Part) -> None:
    copy = Part.from_json(part.to_json(), part.numbers())
    assert copy.to_json() == part.to_json()
    assert (copy.files, copy.merged) == (part.files, part.merged)
    assert copy.events.tolist() == part.events.tolist()
    assert copy.shards.tolist() == part.shards.tolist()
    assert copy.letters.tolist() == part.letters.tolist()
