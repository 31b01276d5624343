"""The sink `delta`: tables that other programs read, whose own log says what is committed."""

from __future__ import annotations

import json
import os
import pickle
import sys
import traceback
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from tamis.errors import SnapshotError
from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.sinks import (
    BatchKey,
    Committed,
    Delivery,
    DeltaSink,
    SinkError,
    delta,
    find_notifications,
    read_commits,
    read_dead_letters,
    read_notifications,
)
from tamis.sinks.base import PartFile
from tamis.sinks.delta import BATCHES, CHECKPOINT_EVERY, DeltaTables, compact, open_table
from tamis.sinks.ledger import LedgerView
from tamis.snapshot.local import sync_file
from tests.sinks.deliveries import RETENTION, at, dead_letters, delivery, notifications, rows, rows_of_files
from tests.sinks.parts import Batch, Task, batch_key, ids_of

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)


def delta_sink(folder: Path, **settings: Any) -> DeltaSink:
    return DeltaSink(folder=folder, retention=RETENTION, **settings)


def entries(folder: Path, kind: str = "notifications") -> list[list[dict[str, Any]]]:
    """The actions of each entry of a table's log."""
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in log_of(folder, kind)]


def log_of(folder: Path, kind: str) -> list[Path]:
    """The entries of a table's log."""
    return sorted((folder / kind / "_delta_log").glob("*.json"))


def added(folder: Path, kind: str = "notifications") -> list[dict[str, Any]]:
    """What the log says of the files that were added."""
    return [action["add"] for entry in entries(folder, kind) for action in entry if "add" in action]


def read_by_duckdb(folder: Path, kind: str, schema: pa.Schema) -> pa.Table:
    """What DuckDB finds in the files of the newest version of a table."""
    table = open_table(folder, kind)
    assert table is not None
    with duckdb.connect() as connection:
        found = connection.sql(
            "SELECT * FROM read_parquet($files, hive_partitioning = true)", params={"files": table.file_uris()}
        )
        return found.to_arrow_table().select([*schema.names, "day"])


def test_what_was_written_is_read_by_deltalake_and_by_duckdb(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    deliveries = [
        delivery(batch, [(10 * batch + each, each % 5) for each in range(8)], dead=[b"\xff%d" % batch])
        for batch in range(3)
    ]
    for each in deliveries:
        sink.commit(each)
    for kind, schema, expected in (
        ("notifications", NOTIFICATIONS, pa.concat_tables([each.notifications for each in deliveries])),
        ("dead-letters", DEAD_LETTERS, pa.concat_tables([each.dead for each in deliveries])),
    ):
        table = DeltaTable(str(tmp_path / kind)).to_pyarrow_table()
        assert rows(table.select(schema.names).cast(schema)) == rows(expected)
        assert set(table["day"].to_pylist()) == {date(2026, 2, 28)}
        found = read_by_duckdb(tmp_path, kind, schema)
        assert rows(found.select(schema.names).cast(schema)) == rows(expected)
        assert set(found["day"].to_pylist()) == {date(2026, 2, 28)}


def test_the_tables_have_the_columns_of_notifications_and_dead_letters_and_the_day(tmp_path: Path) -> None:
    delta_sink(tmp_path).commit(delivery(0, [(1, 1)], dead=[b"x"]))
    for kind, schema in (("notifications", NOTIFICATIONS), ("dead-letters", DEAD_LETTERS)):
        table = DeltaTable(str(tmp_path / kind))
        fields = {each.name: each.nullable for each in table.schema().fields}
        assert fields == {each.name: each.nullable for each in schema} | {"day": True}
        assert table.metadata().partition_columns == ["day"]


def test_a_table_of_an_earlier_version_gets_the_column_that_it_lacks(tmp_path: Path) -> None:
    url = str(tmp_path / "notifications")
    before = notifications([(1, 41)], at(0)).drop_columns("priority")
    write_deltalake(url, before.append_column("day", pa.array([at(0).date()])), partition_by=["day"])
    assert read_notifications(tmp_path)["priority"].to_pylist() == [0]
    delta_sink(tmp_path).commit(delivery(0, [(2, 41)]))
    found = {each["event_id"]: each["priority"] for each in find_notifications(tmp_path).to_pylist()}
    assert found == {"event 1 é": 0, "event 2 é": 5}
    assert DeltaTable(url).schema().fields[-1].name == "priority"


def test_statistics_in_the_log_are_those_of_the_rows_of_each_file(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    sink.commit(delivery(0, [(event, event % 4) for event in range(30)], dead=[b"", b"bad"]))
    sink.commit(delivery(1, [(33, 0), (36, 0)]))  # no event time, no owner, no label: columns of NULLs only
    for kind in ("notifications", "dead-letters"):
        for add in added(tmp_path, kind):
            file = pq.ParquetFile(tmp_path / kind / unquote(add["path"])).read()
            stats = json.loads(add["stats"])
            columns = {name: file[name].to_pylist() for name in file.column_names}
            assert stats["numRecords"] == file.num_rows
            assert stats["nullCount"] == {name: values.count(None) for name, values in columns.items()}
            assert stats["minValues"].keys() == stats["maxValues"].keys()
            for name in stats["minValues"]:
                present = [_as_statistic(value) for value in columns[name] if value is not None]
                assert (stats["minValues"][name], stats["maxValues"][name]) == (min(present), max(present))
    first, second = added(tmp_path)
    assert {"event_id", "subscription_id", "revision", "event_time", "matched_at", "owner", "label"} <= set(
        json.loads(first["stats"])["minValues"]
    )
    assert set(json.loads(second["stats"])["minValues"]).isdisjoint({"event_time", "owner", "label"})


def _as_statistic(value: Any) -> Any:
    return f"{value:%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(value, datetime) else value


def test_a_reader_that_goes_by_statistics_finds_every_row(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    pairs = [(event, event % 4) for event in range(12)]
    for batch in range(4):
        sink.commit(delivery(batch, pairs[3 * batch : 3 * batch + 3]))
    table = DeltaTable(str(tmp_path / "notifications"))
    for row in rows(read_notifications(tmp_path)):
        for name in ("event_id", "subscription_id", "event_time", "owner", "label"):
            if row[name] is not None:
                found = table.to_pyarrow_table(filters=[(name, "=", row[name])], columns=["id"])
                assert row["id"] in found["id"].to_pylist(), name


def test_long_texts_have_no_statistics(tmp_path: Path) -> None:
    made = delivery(0, [(1, 1)])
    long = made.notifications.set_column(
        NOTIFICATIONS.get_field_index("label"), NOTIFICATIONS.field("label"), pa.array(["x" * 1_000])
    )
    delta_sink(tmp_path).commit(Delivery(made.query, 0, made.at, 1, long, made.dead))
    (add,) = added(tmp_path)
    assert "label" not in json.loads(add["stats"])["minValues"]
    assert len(add["stats"]) < 2_000


def test_a_batch_across_midnight_is_in_two_days(tmp_path: Path) -> None:
    before, after = MIDNIGHT - timedelta(microseconds=1), MIDNIGHT
    both = pa.concat_tables([notifications([(1, 1), (2, 1)], before), notifications([(3, 1)], after)])
    dead = pa.concat_tables([dead_letters([b"x"], before), dead_letters([b"y"], after)])
    sink = delta_sink(tmp_path)
    assert sink.commit(Delivery("q", 0, before, 1, both, dead)) == Committed(3, 0)
    assert sorted(add["partitionValues"]["day"] for add in added(tmp_path)) == ["2026-02-28", "2026-03-01"]
    table = read_by_duckdb(tmp_path, "notifications", NOTIFICATIONS)
    found = zip(table["event_id"].to_pylist(), table["day"].to_pylist(), strict=True)
    assert dict(found) == {
        "event 1 é": date(2026, 2, 28),
        "event 2 é": date(2026, 2, 28),
        "event 3 é": date(2026, 3, 1),
    }
    late = DeltaTable(str(tmp_path / "notifications")).to_pyarrow_table(filters=[("day", "=", date(2026, 3, 1))])
    assert late["event_id"].to_pylist() == ["event 3 é"]
    assert rows_of_files(tmp_path) == (rows(both), rows(dead))


def test_the_day_is_that_of_utc(tmp_path: Path) -> None:
    local = MIDNIGHT.astimezone(None) + timedelta(hours=1)
    delta_sink(tmp_path).commit(delivery(0, [(1, 1)], when=local))
    assert [add["partitionValues"] for add in added(tmp_path)] == [{"day": "2026-03-01"}]


def test_the_log_says_which_batches_of_which_query_it_has(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    for query, batch in (("q", 0), ("q", 1), ("another", 7)):
        sink.commit(delivery(batch, [(len(query), batch)], query=query))
    table = DeltaTable(str(tmp_path / "notifications"))
    assert (table.transaction_version("q"), table.transaction_version("another")) == (1, 7)
    assert table.transaction_version("unknown") is None
    _, *writes = entries(tmp_path)
    transactions = [action["txn"] for entry in writes for action in entry if "txn" in action]
    assert [(each["appId"], each["version"]) for each in transactions] == [("q", 0), ("q", 1), ("another", 7)]


def test_a_batch_is_one_entry_of_the_log_however_many_tasks_and_days(tmp_path: Path) -> None:
    batch = Batch(delta_sink(tmp_path), batch_key(0))
    batch.publish(batch.write(Task([[(event, 1)]]), event) for event in range(5))
    _, entry = entries(tmp_path)
    assert len([action for action in entry if "add" in action]) == 5


def test_a_repeated_commit_leaves_the_log_as_it_is(tmp_path: Path) -> None:
    delta_sink(tmp_path).commit(delivery(0, [(1, 1)], dead=[b"x"]))
    before = entries(tmp_path), entries(tmp_path, "dead-letters")
    again = delta_sink(tmp_path).commit(delivery(0, [(1, 1)], dead=[b"x"]))
    assert again == Committed(1, 0, again=True)
    assert (entries(tmp_path), entries(tmp_path, "dead-letters")) == before


def test_every_entry_of_the_log_is_on_the_disk_when_its_batch_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []

    def sync(path: Path) -> None:
        synced.append(path)
        sync_file(path)

    monkeypatch.setattr(delta, "sync_file", sync)
    sink = delta_sink(tmp_path)
    for batch in range(3):
        sink.commit(delivery(batch, [(batch, 1)], dead=[b"%d" % batch]))
        written = {path for kind in ("notifications", "dead-letters") for path in log_of(tmp_path, kind)}
        assert {*synced} == written


def test_the_log_has_a_checkpoint_after_every_twenty_entries(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    for batch in range(CHECKPOINT_EVERY + 1):
        sink.commit(delivery(batch, [(batch, 1)]))
    log = tmp_path / "notifications" / "_delta_log"
    assert json.loads((log / "_last_checkpoint").read_text())["version"] in (
        CHECKPOINT_EVERY - 1,
        CHECKPOINT_EVERY,
    )
    assert len(rows(read_notifications(tmp_path))) == CHECKPOINT_EVERY + 1


def test_an_empty_batch_makes_no_entry(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    sink.commit(delivery(0, [(1, 1)]))
    before = entries(tmp_path)
    assert sink.commit(delivery(1, [])) == Committed(0, 0)
    assert sink.commit(delivery(2, [(1, 1)])) == Committed(0, 1)
    assert sink.commit(delivery(1, [])) == Committed(0, 0, again=True)
    assert entries(tmp_path) == before
    assert [each.batch for each in read_commits(tmp_path)] == [0, 1, 2]


def test_only_empty_batches_make_no_table(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    assert sink.commit(delivery(0, [])) == Committed(0, 0)
    assert open_table(tmp_path) is None
    assert read_notifications(tmp_path).num_rows == 0
    assert [each.batch for each in read_commits(tmp_path)] == [0]


def test_a_batch_of_dead_letters_only_is_committed_as_well(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    assert sink.commit(delivery(0, [], dead=[b"x", b"y"])) == Committed(0, 0)
    assert sink.commit(delivery(0, [], dead=[b"x", b"y"])) == Committed(0, 0, again=True)
    assert read_dead_letters(tmp_path).num_rows == 2
    assert read_notifications(tmp_path).num_rows == 0
    (commit,) = read_commits(tmp_path)
    assert (commit.batch, commit.written, commit.dead) == (0, 0, 2)


class KilledError(Exception):
    """Stands for the end of a process."""


@pytest.mark.parametrize("earlier", [0, 2], ids=["in the first batch", "in a later batch"])
@pytest.mark.parametrize("place", ["before any entry", "between dead letters and notifications"])
def test_a_batch_that_is_prepared_and_not_in_the_log_is_not_read_and_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: int, place: str
) -> None:
    first = delta_sink(tmp_path)
    for batch in range(earlier):
        first.commit(delivery(batch, [(batch, 1)]))
    with monkeypatch.context() as patch:
        _die(patch, place)
        with pytest.raises(KilledError):
            first.commit(delivery(earlier, [(8, 1), (9, 1)], dead=[b"x"]))
    assert (tmp_path / "commits" / f"a%20query.{earlier:012d}.json").exists()
    assert [each.batch for each in read_commits(tmp_path)] == [*range(earlier)]
    assert read_notifications(tmp_path).num_rows == earlier
    # Another query may notify of the same before the replay does.
    other = delta_sink(tmp_path)
    assert other.commit(delivery(0, [(9, 1)], query="another", when=at(earlier))) == Committed(1, 0)
    replayed = delta_sink(tmp_path).commit(delivery(earlier, [(8, 1), (9, 1)], dead=[b"x"]))
    assert replayed == Committed(1, 1)
    assert read_notifications(tmp_path)["id"].to_pylist().count(ids_of((9, 1))[0]) == 1
    assert read_notifications(tmp_path).num_rows == earlier + 2
    assert read_dead_letters(tmp_path)["original"].to_pylist() == [b"x"]
    again = delta_sink(tmp_path).commit(delivery(earlier, [(8, 1), (9, 1)], dead=[b"x"]))
    assert again == Committed(1, 1, again=True)


def _die(patch: pytest.MonkeyPatch, place: str) -> None:
    add = DeltaTables._add

    def die_at_once(self: DeltaTables, batch: BatchKey, files: Any) -> None:
        raise KilledError

    def die_at_notifications(self: DeltaTables, table: Any, kind: str, batch: BatchKey, files: Any) -> None:
        if kind == "notifications":
            raise KilledError
        add(self, table, kind, batch, files)

    if place == "before any entry":
        patch.setattr(DeltaTables, "commit", die_at_once)
    else:
        patch.setattr(DeltaTables, "_add", die_at_notifications)


def test_a_prepared_batch_whose_replay_has_nothing_new_is_committed_without_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _die(patch, "before any entry")
        with pytest.raises(KilledError):
            delta_sink(tmp_path).commit(delivery(0, [(1, 1)]))
    delta_sink(tmp_path).commit(delivery(0, [(1, 1)], query="another"))
    assert delta_sink(tmp_path).commit(delivery(0, [(1, 1)])) == Committed(0, 1)
    assert {each.query: (each.written, each.repeated) for each in read_commits(tmp_path)} == {
        "a query": (0, 1),
        "another": (1, 0),
    }
    assert read_notifications(tmp_path)["id"].to_pylist() == ids_of((1, 1))


def test_two_queries_write_one_table(tmp_path: Path) -> None:
    one, two = delta_sink(tmp_path), delta_sink(tmp_path)
    for batch in range(4):
        assert one.commit(delivery(batch, [(batch, 1)], query="one")) == Committed(1, 0)
        assert two.commit(delivery(batch, [(batch, 1), (batch, 2)], query="two")) == Committed(1, 1)
    expected = [(batch, subscription) for batch in range(4) for subscription in (1, 2)]
    assert sorted(read_notifications(tmp_path)["id"].to_pylist()) == ids_of(*expected)
    assert [(each.query, each.batch) for each in read_commits(tmp_path)] == [
        (query, batch) for query in ("one", "two") for batch in range(4)
    ]


def test_compaction_and_vacuum_keep_all_rows_and_commits(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    for batch in range(6):
        sink.commit(delivery(batch, [(batch, each) for each in range(3)], dead=[b"%d" % batch]))
    before, commits = rows_of_files(tmp_path), read_commits(tmp_path)
    assert compact(tmp_path, vacuum_hours=0) == {"dead-letters": (6, 1, 6), "notifications": (6, 1, 6)}
    assert rows_of_files(tmp_path) == before
    assert read_commits(tmp_path) == commits
    assert len([*tmp_path.glob("notifications/day=*/*.parquet")]) == 1
    found = read_by_duckdb(tmp_path, "notifications", NOTIFICATIONS).select(NOTIFICATIONS.names)
    assert rows(found.cast(NOTIFICATIONS)) == before[0]
    for each in (sink, delta_sink(tmp_path)):
        assert each.commit(delivery(5, [(5, 0)])) == Committed(3, 0, again=True)
    assert sink.commit(delivery(6, [(5, 0), (6, 0)])) == Committed(1, 1)
    assert read_notifications(tmp_path).num_rows == 19


def test_young_files_that_are_no_longer_needed_are_kept_for_readers(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    for batch in range(3):
        sink.commit(delivery(batch, [(batch, 1)]))
    version = DeltaTable(str(tmp_path / "notifications")).version()
    assert compact(tmp_path) == {"notifications": (3, 1, 0)}
    assert DeltaTable(str(tmp_path / "notifications"), version=version).to_pyarrow_table().num_rows == 3


def test_a_sink_compacts_after_as_many_batches_as_it_is_told(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path, compact_every=3)
    for batch, files in enumerate([1, 2, 1, 2]):
        sink.commit(delivery(batch, [(batch, 1)]))
        table = open_table(tmp_path)
        assert table is not None
        assert len(table.file_uris()) == files
    assert read_notifications(tmp_path).num_rows == 4


def test_what_an_attempt_wrote_that_is_never_published_is_never_read_and_is_vacuumed(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    batch = Batch(sink, batch_key(0))
    lost, won = batch.write(Task([[(1, 1)]], dead=[b"x"])), batch.write(Task([[(1, 1)]], dead=[b"x"]), attempt=1)
    assert batch.publish([won]) == Committed(1, 0)
    assert [read_notifications(tmp_path).num_rows, read_dead_letters(tmp_path).num_rows] == [1, 1]
    there = [tmp_path / file.path for file in lost.files]
    assert all(path.exists() for path in there)
    for path in there:
        os.utime(path, (0, 0))  # years ago
    compact(tmp_path)
    assert not any(path.exists() for path in there)
    assert [read_notifications(tmp_path).num_rows, read_dead_letters(tmp_path).num_rows] == [1, 1]


def test_a_vacuum_leaves_what_tasks_have_written_and_nobody_has_published_yet(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    sink.commit(delivery(0, [(1, 1)]))
    batch = Batch(sink, batch_key(1))
    part = batch.write(Task([[(2, 1)]]))
    compact(tmp_path, vacuum_hours=0)
    compact(tmp_path)
    assert batch.publish([part]) == Committed(1, 0)
    assert sorted(read_notifications(tmp_path)["id"].to_pylist()) == ids_of((1, 1), (2, 1))


def test_there_is_a_table_of_batches(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    sink.commit(delivery(0, [(1, 1), (2, 1)], query="q"))
    sink.commit(delivery(1, [(2, 1)], dead=[b"x"], query="q"))
    sink.close()
    sink.commit(delivery(2, [], query="q"))
    delta_sink(tmp_path).commit(delivery(5, [(7, 1)], query="another"))
    for _ in range(2):
        sink.close()
    found = DeltaTable(str(tmp_path / "batches")).to_pyarrow_table().cast(BATCHES)
    expected = [
        ("another", 5, at(5), 1, 1, 0, 0),
        ("q", 0, at(0), 1, 2, 0, 0),
        ("q", 1, at(1), 1, 0, 1, 1),
        ("q", 2, at(2), 1, 0, 0, 0),
    ]
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == expected


@pytest.mark.slow
def test_the_table_of_batches_follows_every_hundred_batches(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path)
    for batch in range(95, 100):
        sink.commit(delivery(batch, [(batch, 1)]))
    assert DeltaTable(str(tmp_path / "batches")).to_pyarrow_table().num_rows == 5


def test_a_sink_that_is_closed_unused_leaves_nothing(tmp_path: Path) -> None:
    sink = delta_sink(tmp_path / "found")
    sink.check()
    sink.close()
    assert not (tmp_path / "found").exists()


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_path_and_its_url_are_the_same_folder(tmp_path: Path, form: str) -> None:
    place = form.format(tmp_path / "found")
    sink = DeltaSink(folder=place, retention=RETENTION)
    assert sink.commit(delivery(0, [(1, 1)], dead=[b"x"])) == Committed(1, 0)
    for reader in (place, tmp_path / "found"):
        assert read_notifications(reader)["id"].to_pylist() == ids_of((1, 1))
        assert read_dead_letters(reader).num_rows == 1
        assert [each.batch for each in read_commits(reader)] == [0]
    compact(place, vacuum_hours=0)
    assert read_notifications(place).num_rows == 1


def test_without_deltalake_the_sink_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(SinkError, match=r"sink delta: needs deltalake; .*: pip install '\.\[delta\]'"):
        delta_sink(tmp_path)


def test_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="sink delta: storage_options must be a table of texts, found str"):
        delta_sink(tmp_path, storage_options="AWS_SECRET_ACCESS_KEY=s")
    with pytest.raises(SinkError, match=r"sink delta: storage_options\.AWS_REGION must be a text, found bytes"):
        delta_sink(tmp_path, storage_options={"AWS_REGION": b"s"})


def test_a_file_of_a_part_says_what_is_in_it(tmp_path: Path) -> None:
    part = Batch(delta_sink(tmp_path), batch_key(0)).write(Task([[(1, 1), (2, 1)]], dead=[b"x"]))
    first, second = part.files
    assert (first.kind, first.rows, first.partition) == ("notifications", 2, {"day": "2026-02-28"})
    assert (second.kind, second.rows) == ("dead-letters", 1)
    assert isinstance(first, PartFile)
    assert first.bytes == (tmp_path / first.path).stat().st_size


def test_days_go_after_their_retention(tmp_path: Path) -> None:
    folder = tmp_path / "found"
    sink = DeltaSink(folder=folder, output_retention=timedelta(days=2))
    first = delivery(0, [(1, 1)], dead=[b"bad"])
    sink.commit(first)
    for batch in (98, 99):  # what is too old is looked for after every hundredth batch
        sink.commit(delivery(batch, [(batch, 1)], when=first.at + timedelta(days=3)))
        sink.close()
    assert sorted(read_notifications(folder)["event_id"].to_pylist()) == ["event 98 é", "event 99 é"]
    assert read_dead_letters(folder).num_rows == 0
    again = sink.commit(delivery(100, [(1, 1)], when=first.at + timedelta(days=3)))
    assert (again.written, again.repeated) == (0, 1), "what is remembered does not depend on the output"


def test_keys_are_in_nothing_that_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"AWS_ACCESS_KEY_ID": "mykey", "AWS_SECRET_ACCESS_KEY": "my/secret", "AWS_REGION": "us-east-1"}
    sink = DeltaSink(folder="s3://bucket/out", storage_options=options)
    view = LedgerView("s3://mykey:my%2Fsecret@bucket/out", (), 0, 1)
    monkeypatch.setattr(sink._commits, "view", lambda _: view)
    task = sink.task_writer(BatchKey("q", 0, at(0), 1))
    assert "my%2Fsecret" in task.url, "tasks need it"
    assert pickle.loads(pickle.dumps(task)) == task
    printed = [repr(task), str(task), repr(view), sink.describe(), repr(sink)]
    mistaken = f"s3://{':'.join([*options.values()][:2])}@b ucket/out"
    with pytest.raises(SnapshotError, match="pyarrow cannot open it") as raised:
        DeltaSink(folder=mistaken)
    printed += traceback.format_exception(raised.value)
    assert not [text for text in printed if "mykey" in text or "secret" in text]
