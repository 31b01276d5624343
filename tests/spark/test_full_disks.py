"""Every write of a pipeline on a full or read-only disk: an error that names the path, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest

from tamis import SequenceMatcher
from tamis.cli.output import open_output
from tamis.composite.open_matches import Bounds
from tamis.errors import WriteError
from tamis.events import EventType
from tamis.matcher import Matcher
from tamis.matchers import Matchers
from tamis.notifications import NOTIFICATIONS
from tamis.operators.reports import OperatorLedger, OperatorReport
from tamis.progress import History
from tamis.quotas import Quota, Quotas
from tamis.sinks import (
    CallbackSink,
    DeltaSink,
    JsonLinesSink,
    ParquetSink,
    SinkError,
    SqlSink,
    read_commits,
    read_notifications,
)
from tamis.sinks.delta import append_batches, compact
from tamis.snapshot import Snapshots
from tamis.spark.change_folder import ChangeFolder
from tamis.spark.checkpoint_lock import hold_checkpoint
from tamis.spark.composite_events import CompositePlan
from tamis.spark.composite_states import CompositeSettings, CompositeStates, newest_files
from tamis.spark.match_time import MatchTime
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_type import StreamType
from tamis.store import Store
from tamis.store.database import StoreError
from tests.filesystems import SmallDisk, small_disk
from tests.reports import report
from tests.sinks.deliveries import at, delivery, notifications, rows_of_database

PAIRS = [(event, subscription) for event in range(40) for subscription in range(3)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


def to_files(kind: type[JsonLinesSink | ParquetSink | DeltaSink]) -> Callable[[Path], Any]:
    def write(folder: Path) -> Any:
        kind(folder=folder / "out", retention=timedelta(days=1)).commit(delivery(0, PAIRS))
        return sorted(read_notifications(folder / "out")["id"].to_pylist())

    return write


def to_callback(folder: Path) -> Any:
    return CallbackSink(call=lambda _: None, state=folder / "state").commit(delivery(0, PAIRS)).written


def to_history(folder: Path) -> Any:
    history = History(folder / "progress.jsonl")
    if len(history.read()) < 2:
        history.append(report(len(history.read())))
    return len(history.read())


def to_snapshot(folder: Path) -> Any:
    matcher = Matcher()
    matcher.add_many([{"id": f"s{number}", "condition": f"x > {number}"} for number in range(200)])
    return matcher.publish(folder / "snapshot")


def to_pin(folder: Path) -> Any:
    snapshots = Snapshots(folder / "snapshot")
    return snapshots.pin("me", snapshots.latest() or to_snapshot(folder))


def to_quotas(folder: Path) -> Any:
    kept, _ = Quotas(Quota(matches=5), folder / "quotas").apply("q", 0, at(0), notifications(PAIRS, at(0)))
    return kept.num_rows


def to_match_time(folder: Path) -> Any:
    return MatchTime(folder).record("q", 0, at(0))


def to_lock(folder: Path) -> Any:
    hold_checkpoint(folder / "state").release()


def to_event_type(folder: Path) -> Any:
    with TemporaryDirectory() as elsewhere:
        matchers = Matchers()
        matchers.declare(EventType.from_dict({"name": "sale", "attributes": {"price": "bigint"}}))
        matchers["sale"].add("cheap", "price < 5")
        matchers.publish(elsewhere)
        return StreamType(folder / "event_type").choose(Snapshots(elsewhere).manifest())


def to_change_mark(folder: Path) -> Any:
    """The file that says which changes are applied; the store is not on this disk."""
    with TemporaryDirectory() as elsewhere:
        (Path(elsewhere) / "1.jsonl").write_text('{"id": "a", "condition": "x > 1"}\n')
        changes = ChangeFolder(elsewhere, Path(elsewhere) / "state")
        changes._mark = folder / ChangeFolder.MARK
        with closing(changes.store):
            return changes.apply()


def to_change_folder(folder: Path) -> Any:
    with TemporaryDirectory() as elsewhere, closing(ChangeFolder(elsewhere, folder / "state").store) as store:
        return len(store)


def to_composite_state(folder: Path) -> Any:
    states = CompositeStates(CompositeSettings(partitions=1), folder / "composite")
    plan = CompositePlan(states.url, SnapshotRef("", 1, ""), Bounds(1, 1, 1, 1), 0, None, ("",), "q")
    told = pa.table({"reason": [json.dumps({"partition": 0, "file": "a file", "watermark_us": 7})]})
    states.commit("q", 0, plan, told)
    return newest_files(folder / "composite")


def to_output(folder: Path) -> Any:
    with open_output(str(folder / "out.jsonl")) as lines:
        lines.write_bytes(b"[1]\n")
    return (folder / "out.jsonl").read_bytes()


def to_saved_sequences(folder: Path) -> Any:
    matcher = SequenceMatcher()
    matcher.add("a", "x = 1 THEN x = 2 WITHIN INTERVAL '1' HOUR")
    matcher.save(folder / "saved")
    return len(SequenceMatcher.open(folder / "saved"))


def to_ledger(folder: Path) -> Any:
    ledger = OperatorLedger(folder / "operators.json")
    ledger.add([OperatorReport("slow", calls=3, seconds=1.0)])
    return len(ledger.reports())


WRITERS: dict[str, Callable[[Path], Any]] = {
    "delta": to_files(DeltaSink),
    "jsonl": to_files(JsonLinesSink),
    "parquet": to_files(ParquetSink),
    "callback": to_callback,
    "history": to_history,
    "snapshot": to_snapshot,
    "quotas": to_quotas,
    "match time": to_match_time,
    "operators": to_ledger,
    "event type": to_event_type,
    "change mark": to_change_mark,
    "composite state": to_composite_state,
    "composite matcher": to_saved_sequences,
    "output": to_output,
}
"""What writes; all but the lock and folders need space."""
FOLDERS: dict[str, Callable[[Path], Any]] = {"lock": to_lock, "change folder": to_change_folder}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_an_error_with_the_path_and_the_next_attempt_works(
    disk: SmallDisk, tmp_path: Path, name: str
) -> None:
    write = WRITERS[name]
    disk.fill()
    for _ in range(2):
        with pytest.raises(WriteError) as caught:
            write(disk.folder)
        assert caught.value.kind == "full"
        assert caught.value.path.startswith(f"{disk.folder}/")
    disk.clear()
    (tmp_path / "elsewhere").mkdir()
    assert write(disk.folder) == write(tmp_path / "elsewhere")


@pytest.mark.parametrize("name", [*WRITERS, *FOLDERS])
def test_a_read_only_disk_is_an_error_with_the_path_and_the_next_attempt_works(
    disk: SmallDisk, tmp_path: Path, name: str
) -> None:
    write = {**WRITERS, **FOLDERS}[name]
    with disk.read_only(), pytest.raises(WriteError) as caught:
        write(disk.folder)
    assert caught.value.kind == "read-only"
    assert caught.value.path.startswith(f"{disk.folder}/")
    (tmp_path / "elsewhere").mkdir()
    assert write(disk.folder) == write(tmp_path / "elsewhere")


def test_a_batch_is_in_a_delta_table_or_not_wherever_space_ends(disk: SmallDisk) -> None:
    """With one page more each time, it ends at another file: of the batch, its commit or the log of the table."""
    with closing(DeltaSink(folder=disk.folder / "out")) as sink:
        sink.commit(delivery(0, PAIRS[:1]))
        failed = []
        for pages in range(40):
            disk.fill(leave_pages=pages)
            try:
                found = sink.commit(delivery(1, PAIRS[1:]))
            except WriteError as error:
                failed.append((error.path, error.kind))
            else:
                break
            finally:
                disk.clear()
            assert read_notifications(disk.folder / "out").num_rows == 1
    assert (found.written, found.again) == (len(PAIRS) - 1, False)
    assert read_notifications(disk.folder / "out").num_rows == len(PAIRS)
    assert {kind for _, kind in failed} == {"full"}
    assert (f"{disk.folder}/out/notifications", "full") in failed, "the log of the table"


@pytest.mark.parametrize("write", [compact, lambda folder: append_batches(str(folder), read_commits(folder))])
def test_a_table_on_a_read_only_disk_is_an_error_with_its_path(
    disk: SmallDisk, write: Callable[[Path], object]
) -> None:
    folder = disk.folder / "out"
    for batch in range(2):
        DeltaSink(folder=folder).commit(delivery(batch, [(batch, 1)]))
    with disk.read_only(), pytest.raises(WriteError) as caught:
        write(folder)
    assert caught.value.kind == "read-only"
    assert caught.value.path.startswith(f"{folder}/")
    assert "\x1b" not in str(caught.value)
    assert read_notifications(folder).num_rows == 2


def test_a_pin_and_a_second_version_need_space_and_the_first_version_stays(disk: SmallDisk) -> None:
    version = to_snapshot(disk.folder)
    disk.fill()
    with pytest.raises(WriteError):
        to_pin(disk.folder)
    matcher = Matcher.open(disk.folder / "snapshot")
    matcher.add_many([{"id": f"t{number}", "condition": f"y > {number}"} for number in range(200)])
    with pytest.raises(WriteError):
        matcher.publish(disk.folder / "snapshot")
    assert Snapshots(disk.folder / "snapshot").versions() == [version]
    assert Snapshots(disk.folder / "snapshot").verify() == []
    disk.clear()
    assert to_pin(disk.folder) == version
    assert matcher.publish(disk.folder / "snapshot") == version + 1


def test_a_half_written_report_is_removed_by_the_next_one(disk: SmallDisk) -> None:
    history = History(disk.folder / "progress.jsonl")
    history.append(report(0))
    disk.fill()
    with pytest.raises(WriteError):
        for batch in range(1, 100):
            history.append(report(batch, busiest=tuple((f"s{number}", 1) for number in range(500))))
    before = len(history.read())
    disk.clear()
    history.append(report(before))
    assert [each.batch for each in history.read()] == [*range(before + 1)]


def test_a_database_on_a_full_or_read_only_disk_is_an_error_with_its_name(disk: SmallDisk) -> None:
    url = f"sqlite:///{disk.folder}/found.db"
    many = [(event, subscription) for event in range(500) for subscription in range(3)]

    def write(batch: int, pairs: list[tuple[int, int]]) -> int:
        with closing(SqlSink(url=url)) as sink:
            return sink.commit(delivery(batch, pairs)).written

    write(0, many[:3])
    disk.fill()
    with pytest.raises(SinkError, match=r"found\.db"):
        write(1, many)
    disk.clear()
    with disk.read_only(), pytest.raises(SinkError, match=r"found\.db"):
        write(1, many)
    assert write(1, many) == len(many) - 3
    assert len(rows_of_database(url, "tamis_notifications", NOTIFICATIONS)) == len(many)


def test_a_store_on_a_full_disk_is_an_error_with_its_name_and_keeps_what_it_has(disk: SmallDisk) -> None:
    rows = [{"id": f"s{number}", "condition": f"x > {number}"} for number in range(3000)]
    with Store.open(disk.folder / "subs.db") as store:
        store.add("first", "true")
        disk.fill()
        with pytest.raises(StoreError, match=r"subs\.db"):
            store.add_many(rows)
        assert len(store) == 1
        disk.clear()
        assert store.add_many(rows[:10]).added == 10
