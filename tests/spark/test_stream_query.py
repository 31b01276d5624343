"""Streams: what is recorded, dead letters, repeated events, changes of subscriptions, pins, quotas, failures."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis.errors import EventError, MisfitError, SnapshotError, TamisError
from tamis.events import EventType
from tamis.notifications import notification_ids
from tamis.quotas import Quota
from tamis.routing.shards import Routing
from tamis.sinks.base import Delivery
from tamis.sinks.callback import CallbackSink
from tamis.sinks.jsonl import JsonLinesSink
from tamis.sinks.reading import read_commits, read_notifications
from tamis.spark import Reading, stream
from tamis.spark.checkpoint_lock import CheckpointInUse
from tamis.spark.pipeline import Files
from tamis.spark.sources import open_stream
from tamis.store import Publisher, Store
from tests.spark.accounting import query_id
from tests.spark.runs import PATIENCE_SECONDS, POLL, Run, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SALE = EventType.of({"name": "sale", "attributes": {"id": "string", "price": "double", "kind": "string"}})
VISIT = EventType.of({"name": "visit", "attributes": {"id": "string", "page": "string", "kind": "string"}})


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Iterator[Run]:
    """A folder; queries that a test leaves behind are stopped."""
    yield Run(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "subscriptions.db") as opened:
        yield opened


# --- dead letters ------------------------------------------------------------------------------------------


def test_dead_letters_are_set_aside_with_their_bytes(run: Run, store: Store) -> None:
    store.set_event_type(SALE)
    store.set_event_type(VISIT)
    store.add("cheap", "price < 10", event_type="sale")
    bad = {
        b'{"id": "e1", "kind": "sale", "price": ': "malformed",
        b'["no", "object"]': "malformed",
        b'\xff\xfe{"id": "e2", "kind": "sale"}': "malformed",
        b'{"id": "e3", "kind": "sale", "price": "dear"}': "wrong type",
        b'{"kind": "sale", "price": 5}': "missing id",
        b'{"id": null, "kind": "sale", "price": 5}': "missing id",
        b'{"id": "e4", "kind": "rent", "price": 5}': "event type",
        b'{"id": "e5", "price": 5}': "event type",
        json.dumps({"id": "e6", "kind": "sale", "price": 5, "text": "é" * 300}).encode(): "oversized",
    }
    good: list[dict[str, Any]] = [
        {"id": "g1", "kind": "sale", "price": 5},
        {"id": "g2", "kind": "visit", "page": "a"},
    ]
    run.feed(*bad, *good)
    run.feed({"id": "g3", "kind": "sale", "price": 7}, *bad)
    reading = Reading(json="value", type_attribute="kind", most_bytes=300, on_misfit="dead letter")
    reports = run.finish(store, reading=reading)

    assert run.pairs() == [("g1", "cheap"), ("g3", "cheap")]
    found = run.dead()
    assert sorted(
        zip((each["original"] for each in found), (each["kind"] for each in found), strict=True)
    ) == sorted([*bad.items(), *bad.items()])
    assert all(each["reason"] for each in found)
    assert {each["event_id"] for each in found if each["kind"] == "wrong type"} == {"e3"}
    assert [(report.events, report.dead) for report in reports] == [(11, 9), (10, 9)]


def test_bytes_that_came_as_binary_are_kept_as_they_are(run: Run, store: Store) -> None:
    store.add("all", "true")
    run.feed(b'{"id": 1}', b"\x00\xff nonsense", b'{"id": 2')
    run.finish(store, events=run.events().selectExpr("cast(value AS binary) AS value"))
    assert run.pairs() == [("1", "all")]
    assert sorted(each["original"] for each in run.dead()) == [b"\x00\xff nonsense", b'{"id": 2']


def test_values_that_do_not_fit_are_null_and_counted(run: Run, store: Store) -> None:
    store.set_event_type(SALE)
    store.add("cheap", "price < 10 OR price IS NULL", event_type="sale")
    run.feed({"id": "e1", "price": 5}, {"id": "e2", "price": "dear"}, {"id": "e3", "price": 50})
    (report,) = run.finish(store)
    assert run.pairs() == [("e1", "cheap"), ("e2", "cheap")]
    assert (report.events, report.misfits, report.dead) == (3, 1, 0)


def test_errors_of_cesql_and_cel_conditions_are_counted_in_a_sample_of_pairs(run: Run, store: Store) -> None:
    store.add("hops", "INT(hop) < 3", dialect="cesql")
    store.add("small", "hop < 3", dialect="cel")
    store.add("sql", "CAST(hop AS INT) < 3")
    run.feed({"id": "e1", "hop": "2"}, {"id": "e2", "hop": "many"}, {"id": "e3", "hop": 2}, {"id": "e4"})
    (report,) = run.finish(store)
    assert run.pairs() == [("e1", "hops"), ("e1", "sql"), ("e3", "hops"), ("e3", "small"), ("e3", "sql")]
    assert (report.sampled, report.sampled_errors) == (8, 5)
    assert dict(report.engines) == {"bitslice": report.events}


def test_nothing_is_sampled_where_every_condition_is_sql(run: Run, store: Store) -> None:
    store.add("sql", "CAST(hop AS INT) < 3")
    run.feed({"id": "e1"})
    (report,) = run.finish(store)
    assert (report.sampled, report.sampled_errors) == (0, 0)


def test_the_first_misfit_ends_a_stream_that_refuses_them(run: Run, store: Store) -> None:
    store.set_event_type(SALE)
    store.add("cheap", "price < 10", event_type="sale")
    run.feed({"id": "e1", "price": 5}, {"id": "e2", "price": "dear"})
    failures: list[tuple[str, int, BaseException]] = []
    reading = Reading(json="value", on_misfit="refuse")
    with pytest.raises(Exception, match="e2"):
        run.finish(store, reading=reading, on_failure=lambda *told: failures.append(told))
    ((stage, batch, error),) = failures
    assert (stage, batch) == ("matching", 0)
    assert isinstance(error, MisfitError)
    assert (error.event, error.attribute, error.expected, error.found) == ("e2", "price", "double", "'dear'")
    # With another setting it goes on where it stopped.
    (report,) = run.finish(store, reading=replace(reading, on_misfit="dead letter"))
    assert (run.pairs(), report.dead_by_kind) == ([("e1", "cheap")], (("wrong type", 1),))


def test_columns_of_the_wrong_type_are_dead_letters_if_asked_for(run: Run, store: Store) -> None:
    store.set_event_type(SALE)
    store.add("cheap", "price < 10", event_type="sale")
    run.feed({"id": "e1", "price": 5}, {"id": None, "price": 5}, {"id": "e3", "price": "cheap"})
    events = run.spark.readStream.schema("id string, price string, kind string").json(str(run.input))
    events = events.selectExpr("id", "if(price = 'cheap', named_struct('a', 1), NULL) AS price", "kind")
    run.finish(store, events=events, reading=Reading(on_misfit="dead letter"))
    dead = {each["kind"]: each for each in run.dead()}
    assert dead.keys() == {"missing id", "wrong type"}
    assert dead["wrong type"]["event_id"] == "e3"
    assert json.loads(dead["wrong type"]["original"]) == {"id": "e3", "price": {"a": 1}, "kind": None}


def test_a_batch_of_dead_letters_only_is_committed(run: Run, store: Store) -> None:
    store.add("all", "true")
    run.feed(b"nonsense")
    run.feed(b"more of it")
    assert [(report.notifications, report.dead) for report in run.finish(store)] == [(0, 1), (0, 1)]
    assert [commit.batch for commit in read_commits(run.output)] == [0, 1]


# --- several event types, repeated events --------------------------------------------------------------------


def test_event_types_are_told_apart(run: Run, store: Store) -> None:
    store.set_event_type(SALE)
    store.set_event_type(VISIT)
    store.add("sales", "true", event_type="sale")
    store.add("visits of a", "page = 'a'", event_type="visit")
    run.feed(
        {"id": "1", "kind": "sale", "price": 1},
        {"id": "2", "kind": "visit", "page": "a"},
        {"id": "3", "kind": "visit", "page": "b"},
        {"id": "4", "kind": "sale", "page": "a"},
    )
    run.finish(store, reading=Reading(json="value", type_attribute="kind"))
    assert run.pairs() == [("1", "sales"), ("2", "visits of a"), ("4", "sales")]
    types = dict(
        zip(*(read_notifications(run.output)[n].to_pylist() for n in ("event_id", "event_type")), strict=True)
    )
    assert types == {"1": "sale", "2": "visit", "4": "sale"}


def test_an_event_that_comes_again_is_not_notified_again(run: Run, store: Store) -> None:
    store.add("all", "true")
    run.feed({"id": "e1"}, {"id": "e1"})
    run.feed({"id": "e1"}, {"id": "e2"})
    reports = run.finish(store)
    assert run.pairs() == [("e1", "all"), ("e2", "all")]
    assert [(report.notifications, report.repeated) for report in reports] == [(1, 0), (1, 1)]

    again = run.finish(store, checkpoint=run.folder / "another checkpoint")
    assert run.pairs() == [("e1", "all"), ("e2", "all")]
    assert sum(report.repeated for report in again) == 3

    store.replace("all", "1 = 1")  # another revision is another notification
    run.finish(store, checkpoint=run.folder / "a third one")
    table = read_notifications(run.output)
    assert run.pairs() == [("e1", "all"), ("e1", "all"), ("e2", "all"), ("e2", "all")]
    assert sorted(table["revision"].to_pylist()) == [1, 1, 2, 2]


# --- subscriptions that change -------------------------------------------------------------------------------


def published(run: Run, store: Store) -> bool:
    """Has the snapshot what the store has?"""
    return bool(run.snapshots().manifest().extra["store"]["version"] == store.version())


def test_a_change_is_seen_by_the_first_batch_after_its_publication(run: Run, store: Store) -> None:
    store.add("a", "x > 0")
    query = run.start(store)
    expected = []
    both = [{"id": "a", "condition": "true"}, {"id": "c", "condition": "x = 2"}]
    acts: tuple[Callable[[], object], ...] = (
        lambda: None,
        lambda: store.add("b", "x > 1"),
        lambda: store.replace("a", "x < 0"),
        lambda: store.remove("b"),
        lambda: store.add_many(both, replace=True),
    )
    for number, act in enumerate(acts):
        act()
        until(lambda: published(run, store))
        run.feed({"id": f"e{number}", "x": 2})
        report = run.reports.count(number + 1)[number]
        assert report.store_version == store.version()
        expected.append([id for event, id in run.pairs() if event == f"e{number}"])
    assert expected == [["a"], ["a", "b"], ["b"], [], ["a", "c"]]
    assert query.isActive
    assert len({report.query for report in run.reports.all}) == 1


@pytest.mark.slow
def test_a_large_import_holds_no_batch_up(run: Run, store: Store) -> None:
    store.add("all", "true")
    query = run.start(store)
    run.feed({"id": "e0"})
    run.reports.count(1)
    rows = [{"id": f"s{number}", "condition": f"x = {number}"} for number in range(50_000)]
    version = store.add_many(rows).store_version
    versions: list[int] = []
    while not versions or versions[-1] < version:
        run.feed({"id": f"e{len(versions) + 1}", "x": 7})
        report = run.reports.count(len(versions) + 2)[-1]
        assert report.store_version is not None
        versions.append(report.store_version)
    query.stop()
    assert versions[0] < version, "every batch waited for the import to be published"
    before = len([held for held in versions if held < version])
    assert run.pairs() == sorted(
        [*((f"e{number}", "all") for number in range(before + 2)), (f"e{before + 1}", "s7")]
    )


def test_batches_go_on_when_the_store_cannot_be_reached(run: Run, store: Store, tmp_path: Path) -> None:
    store.add("a", "true")
    query = run.start(store)
    run.feed({"id": "e0"})
    run.reports.count(1)

    elsewhere = sqlite3.connect(tmp_path / "subscriptions.db")
    elsewhere.execute("ALTER TABLE tamis_meta RENAME TO gone")
    lags: list[float] = []
    while len([lag for lag in lags if lag]) < 3:
        run.feed({"id": f"e{len(lags) + 1}"})
        lags.append(run.reports.count(len(lags) + 2)[-1].lag_seconds or 0)
    assert lags == sorted(lags)
    assert query.isActive

    elsewhere.execute("ALTER TABLE gone RENAME TO tamis_meta")
    elsewhere.close()
    store.add("b", "true")
    until(lambda: published(run, store))
    run.feed({"id": "the last"})
    run.reports.count(len(lags) + 2)
    assert [id for event, id in run.pairs() if event == "the last"] == ["a", "b"]
    assert run.reports.all[-1].lag_seconds == 0


def test_batches_go_on_when_the_log_of_the_store_is_cut(run: Run, store: Store) -> None:
    store.add("a", "true")
    run.feed({"id": "e0"})
    run.finish(store)
    store.add("b", "true")
    store.add("c", "true")
    store.trim(store.version())
    run.feed({"id": "e1"})
    run.finish(store)
    assert run.pairs() == [("e0", "a"), ("e1", "a"), ("e1", "b"), ("e1", "c")]


def test_the_publisher_ends_with_the_query(run: Run, tmp_path: Path) -> None:
    with Store.open(tmp_path / "subscriptions.db") as store:
        store.add("a", "true")
    before = {thread for thread in threading.enumerate() if thread.name == "tamis"}
    query = run.start(tmp_path / "subscriptions.db")
    assert {thread for thread in threading.enumerate() if thread.name == "tamis"} - before
    query.stop()
    until(lambda: not {thread for thread in threading.enumerate() if thread.name == "tamis"} - before)


def test_changes_may_come_as_files(run: Run, tmp_path: Path) -> None:
    changes = tmp_path / "changes"
    changes.mkdir()

    def write(name: str, *lines: object) -> None:
        content = [
            line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines
        ]
        (tmp_path / "aside" / name).write_bytes(b"".join(line + b"\n" for line in content))
        (tmp_path / "aside" / name).rename(changes / name)

    write("1.jsonl", {"id": "a", "condition": "x = 1"}, {"id": "b", "condition": "x = 2"})
    query = run.start(changes)
    run.feed({"id": "e0", "x": 1})
    run.reports.count(1)
    write(
        "2.jsonl",
        {"id": "a", "removed": True},
        {"id": "b", "condition": "x = 1"},
        {"id": "c", "condition": "x = 1 OR y = '\u2028'"},
        {"id": "bad", "condition": "x ="},
        {"id": "odd", "condition": "true", "colour": "red"},
        {"id": "no condition"},
        {"id": ["a", "list"], "condition": "true"},
        ["no", "object"],
        b"\xff\xfe no text",
        b"{",
    )
    write("3.jsonl", {"id": "d", "condition": "x = 1", "removed": False})
    until(lambda: run.snapshots().manifest().extra["subscriptions"] == 3)
    run.feed({"id": "e1", "x": 1})
    run.reports.count(2)
    assert query.isActive
    query.stop()
    assert run.pairs() == [("e0", "a"), ("e1", "b"), ("e1", "c"), ("e1", "d")]

    version = run.snapshots().latest()
    run.feed({"id": "e2", "x": 1})
    run.finish(changes)
    assert run.snapshots().latest() == version, "files were applied again"
    assert [id for event, id in run.pairs() if event == "e2"] == ["b", "c", "d"]


# --- pins ----------------------------------------------------------------------------------------------------


def deliveries() -> tuple[list[Delivery], CallbackSink]:
    """A sink that remembers nothing: it takes every batch, repeated ones as well."""
    taken: list[Delivery] = []
    return taken, CallbackSink(call=taken.append)


def subscribers(delivery: Delivery) -> list[str]:
    return sorted(delivery.notifications["subscription_id"].to_pylist())


def test_a_batch_that_is_done_again_has_the_version_and_time_that_it_had(run: Run, store: Store) -> None:
    store.add("old", "true")
    taken, sink = deliveries()
    run.feed({"id": "e0"})
    run.finish(store, sink=sink)
    store.add("new", "true")
    run.forget_commit(0)
    run.feed({"id": "e1"})
    reports = run.finish(store, sink=sink)

    first, again, second = taken
    assert [first.batch, again.batch, second.batch] == [0, 0, 1]
    assert (again.version, again.at, again.query) == (first.version, first.at, first.query)
    assert subscribers(again) == ["old"] and again.notifications.equals(first.notifications)
    assert second.version > first.version and subscribers(second) == ["new", "old"]
    assert reports[0].version < run.snapshots().latest()  # type: ignore[operator]


def test_a_match_has_the_time_when_it_was_made_and_a_replay_keeps_it(run: Run, store: Store) -> None:
    from pyspark.sql import functions as F

    store.add("all", "true")
    taken, sink = deliveries()
    seen = str(run.folder / "seen")
    seen_at = F.udf(lambda value: Path(seen).write_text(datetime.now(UTC).isoformat()) and value, "string")
    run.feed({"id": "e0"})
    run.finish(
        store,
        sink=sink,
        events=run.events().select(seen_at("value").alias("value")),
    )
    run.forget_commit(0)
    run.finish(store, sink=sink)

    read = Path(seen).read_text()
    first, again = taken
    [matched_at] = first.notifications["matched_at"].to_pylist()
    assert first.at <= datetime.fromisoformat(read) <= matched_at <= datetime.now(UTC)
    assert again.notifications.equals(first.notifications), "sinks that get a batch again get the same"


def test_a_second_query_on_a_checkpoint_is_refused_and_the_first_goes_on(run: Run, store: Store) -> None:
    store.add("all", "true")
    first = run.start(store)
    with pytest.raises(CheckpointInUse) as caught:
        run.start(store, views=[])
    assert caught.value.pid == os.getpid()
    with pytest.raises(CheckpointInUse):
        run.start(store, views=[], state=run.folder / "another state")
    run.reports.query = first
    run.feed({"id": "e0"})
    run.reports.count(1)
    first.stop()
    run.feed({"id": "e1"})
    run.finish(store)
    assert run.pairs() == [("e0", "all"), ("e1", "all")]


def test_a_pin_is_written_before_matching_and_goes_with_the_next_batch(run: Run, store: Store) -> None:
    from pyspark.errors import StreamingQueryException
    from pyspark.sql import functions as F

    store.add("old", "true")
    trouble = run.folder / "trouble"
    trouble.touch()
    path = str(trouble)

    checked = F.udf(lambda value: value if not os.path.exists(path) else 1 / 0, "string")
    events = run.events().select(checked("value").alias("value"))
    run.feed({"id": "e0"})
    with pytest.raises(StreamingQueryException, match="division by zero"):
        run.finish(store, events=events)
    query = query_id(run.checkpoint)
    [(holder, pin)] = run.snapshots().pins().items()
    assert holder == f"{query}/0"
    assert not read_commits(run.output)

    store.add("new", "true")
    trouble.unlink()
    run.feed({"id": "e1"})
    run.finish(store, events=events)
    assert [commit.version for commit in read_commits(run.output)] == [pin.version, pin.version + 1]
    assert run.pairs() == [("e0", "old"), ("e1", "new"), ("e1", "old")]
    assert list(run.snapshots().pins()) == [f"{query}/1"]


def test_a_pinned_version_is_never_forgotten(run: Run, store: Store) -> None:
    store.add("old", "true")
    taken, sink = deliveries()
    run.feed({"id": "e0"})
    run.finish(store, sink=sink)
    publisher = Publisher(store, run.snapshots().url)
    for number in range(4):
        store.replace("old", f"x IS NULL OR x = {number}")
        publisher.sync()
    run.snapshots().forget(keep_versions=1, older_than_seconds=0, grace_seconds=0)
    assert run.snapshots().versions() == [1, 5]

    run.forget_commit(0)
    run.finish(store, sink=sink)
    assert [(delivery.batch, delivery.version) for delivery in taken] == [(0, 1), (0, 1)]
    assert taken[1].notifications.equals(taken[0].notifications)


def test_a_pinned_version_that_is_missing_is_an_error(run: Run, store: Store) -> None:
    from pyspark.errors import StreamingQueryException

    store.add("old", "true")
    taken, sink = deliveries()
    run.feed({"id": "e0"})
    run.finish(store, sink=sink)
    store.add("new", "true")
    Publisher(store, run.snapshots().url).sync()
    [file] = [
        path for path in Path(run.snapshots().url, "versions").iterdir() if path.name.startswith("000000000001")
    ]
    file.unlink()
    run.forget_commit(0)
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="there is no version 1"):
            run.finish(store, sink=sink)
    assert len(taken) == 1


# --- priorities ----------------------------------------------------------------------------------------------


def test_within_a_batch_higher_priorities_come_first(run: Run, store: Store) -> None:
    for id, priority in (("usual", 0), ("first", 7), ("last", -1)):
        store.add(id, "true", priority=priority)
    for batch in range(2):
        run.feed(*({"id": f"{batch}-{number}"} for number in range(20)))
    taken, sink = deliveries()
    run.finish(store, sink=sink, checkpoint=run.folder / "callback")
    ordered = ["first"] * 20 + ["usual"] * 20 + ["last"] * 20
    assert [each.notifications["subscription_id"].to_pylist() for each in taken] == [ordered] * 2
    for name, quota in (("tasks", None), ("quota", Quota(matches=1_000))):
        folder = run.folder / f"{name} out"
        parts = run.events().repartition(3)
        run.finish(
            store, sink=JsonLinesSink(folder=folder), checkpoint=run.folder / name, events=parts, quota=quota
        )
        assert read_notifications(folder)["subscription_id"].to_pylist() == ordered * 2
        for path in (folder / "notifications").iterdir():
            found = [json.loads(line).get("priority", 0) for line in path.read_text().splitlines()]
            assert found == sorted(found, reverse=True)


# --- quotas --------------------------------------------------------------------------------------------------


def test_a_quota_is_the_same_however_events_are_dealt(run: Run, store: Store) -> None:
    store.add("all", "true")
    store.add("few", "x = 3")
    events = [[{"id": f"e{batch}-{number}", "x": number % 50} for number in range(200)] for batch in range(2)]
    for some in events:
        run.feed(*some, some[0])
    quota = Quota(matches=150, per=timedelta(days=10_000))
    found = []
    for parts in (1, 5):
        dealt = run.events().repartition(parts)
        folder = run.folder / f"{parts} parts"
        reports = run.finish(store, quota=quota, events=dealt, checkpoint=folder)
        assert [report.overflow for report in reports] == [50, 200]
        assert [report.events for report in reports] == [201, 201]
        found.append(read_commits(run.output))
    written = [[commit.written for commit in commits if commit.query == commits[0].query] for commits in found]
    assert written[0] == [150 + 4, 4]
    [first] = {commit.query for commit in found[0]}
    assert all(commit.written == 0 for commit in found[1] if commit.query != first), "other events were kept"
    ids = [id for _, id in run.pairs()]
    assert (ids.count("all"), ids.count("few")) == (150, 8)
    every = [f"e0-{number}" for number in range(200)]
    best = sorted(zip(notification_ids(*_columns(every)).to_pylist(), every, strict=True))[:150]
    assert {event for event, id in run.pairs() if id == "all"} == {event for _, event in best}


def _columns(events: list[str]) -> tuple[Any, Any, Any]:
    import pyarrow as pa

    return pa.array(events), pa.array(["all"] * len(events)), pa.array([1] * len(events))


def test_a_batch_that_is_done_again_uses_no_more_of_the_quota(run: Run, store: Store) -> None:
    store.add("all", "true")
    quota = Quota(matches=3, per=timedelta(days=10_000))
    taken, sink = deliveries()
    for batch in range(2):
        run.feed({"id": f"{batch}-a"}, {"id": f"{batch}-b"})
    run.finish(store, quota=quota, sink=sink)
    assert [delivery.notifications.num_rows for delivery in taken] == [2, 1]
    run.forget_commit(1)
    reports = run.finish(store, quota=quota, sink=sink)
    assert taken[2].notifications.equals(taken[1].notifications)
    assert (reports[0].notifications, reports[0].overflow) == (1, 1)


def test_a_subscription_that_cools_down_is_silent(run: Run, store: Store) -> None:
    store.add("all", "true")
    store.add("late", "x = 1")
    run.feed(*({"id": f"a{number}", "x": 0} for number in range(10)))
    run.feed(*({"id": f"b{number}", "x": 1} for number in range(10)))
    reports = run.finish(store, quota=Quota(cool_down=timedelta(days=1)))
    assert [(report.notifications, report.overflow) for report in reports] == [(1, 9), (1, 19)]
    assert sorted(id for _, id in run.pairs()) == ["all", "late"]


# --- fresh -------------------------------------------------------------------------------------------------------


def test_a_fresh_stream_publishes_what_has_changed_before_each_batch(run: Run, store: Store) -> None:
    store.add("a", "true")
    query = run.start(store, fresh=True, poll=timedelta(hours=1))
    run.feed({"id": "e0"})
    run.reports.count(1)
    store.add("b", "true")
    store.remove("a")
    run.feed({"id": "e1"})
    run.reports.count(2)
    query.stop()
    assert run.pairs() == [("e0", "a"), ("e1", "b")]


def test_a_fresh_stream_does_a_batch_again_with_the_version_of_its_first_time(run: Run, store: Store) -> None:
    store.add("a", "true")
    taken, sink = deliveries()
    run.feed({"id": "e0"})
    run.finish(store, fresh=True, sink=sink)
    store.add("b", "true")
    run.forget_commit(0)
    run.finish(store, fresh=True, sink=sink)
    assert [delivery.version for delivery in taken] == [1, 1]
    assert taken[1].notifications.equals(taken[0].notifications)


# --- shards, and what is refused -----------------------------------------------------------------------------


def test_shards_see_changes_and_tell_of_every_dead_letter_once(run: Run, store: Store) -> None:
    for number in range(6):
        store.add(f"s{number}", f"x >= {number}")
        Publisher(store, run.snapshots().url).sync()
    run.feed(*({"id": f"e{number}", "x": number} for number in range(6)), b"nonsense", {"x": 1})
    reports = run.finish(store, shards=3, quota=Quota(matches=2, per=timedelta(days=10_000)))
    assert [(report.events, report.dead, report.overflow) for report in reports] == [(8, 2, 4 + 3 + 2 + 1)]
    ids = [id for _, id in run.pairs()]
    assert {id: ids.count(id) for id in ids} == {**{f"s{number}": 2 for number in range(5)}, "s5": 1}


def test_shards_that_grow_are_split_while_the_stream_runs(run: Run, store: Store) -> None:
    """From one process that holds all subscriptions to two, and to more."""
    query = run.start(store, fresh=True, routing=Routing(shard_limit=10))
    expected: list[tuple[str, str]] = []
    for step, (first, end) in enumerate([(0, 10), (10, 17), (17, 37)]):
        store.add_many({"id": f"s{number}", "condition": f"x >= {number}"} for number in range(first, end))
        run.feed({"id": f"e{step}", "x": end - 2})
        expected += [(f"e{step}", f"s{number}") for number in range(end - 1)]
        run.reports.count(step + 1)
    query.stop()
    assert run.pairs() == sorted(expected)
    shards = [report.shards for report in run.reports.all]
    assert shards[0] == 1
    assert shards[0] < shards[1] < shards[2]


def test_what_is_no_stream_is_refused(run: Run, store: Store, tmp_path: Path) -> None:
    store.add("all", "true")
    _, sink = deliveries()
    with pytest.raises(TamisError, match="expected a streaming DataFrame"):
        stream(run.spark.range(1), store, sink, checkpoint=tmp_path / "c")
    with pytest.raises(TamisError, match="state="):
        stream(run.events(), store, sink, checkpoint="s3://bucket/checkpoint", reading=Reading(json="value"))
    (tmp_path / "a file").touch()
    for place in ("nowhere", "a file"):
        with pytest.raises(SnapshotError, match="found nothing of the kind"):
            run.start(tmp_path / place)


def test_columns_that_are_missing_are_named(run: Run, store: Store, tmp_path: Path) -> None:
    _, sink = deliveries()
    for reading, name in (
        (Reading(json="text"), "text"),
        (Reading(), "id"),
        (Reading(event_id="value", type_attribute="kind"), "kind"),
        (Reading(event_id="value", event_time="when"), "when"),
    ):
        with pytest.raises(EventError, match=f"events have no column {name}; there are value"):
            stream(run.events(), store, sink, checkpoint=tmp_path / "c", reading=reading)


def test_somebody_else_may_publish(run: Run, store: Store, tmp_path: Path) -> None:
    url = tmp_path / "published"
    publisher = Publisher(store, url)
    store.add("a", "true")
    publisher.sync()
    query = run.start(url, poll=POLL)
    run.feed({"id": "e0"})
    run.reports.count(1)
    store.add("b", "true")
    publisher.sync()
    run.feed({"id": "e1"})
    reports = run.reports.count(2)
    query.stop()
    query.awaitTermination(PATIENCE_SECONDS)
    assert run.pairs() == [("e0", "a"), ("e1", "a"), ("e1", "b")]
    assert [report.batch for report in reports] == [0, 1]


# --- validity ----------------------------------------------------------------------------------------------


def test_an_event_meets_what_was_valid_when_it_was_accepted(run: Run, store: Store) -> None:
    now, hour = datetime.now(UTC), timedelta(hours=1)
    for name, hours in (("short", 1), ("middle", 3), ("long", 5)):
        store.add(name, "price < 10", expires=now + hours * hour)
    store.add("valid", "price < 10")
    for place, (name, hours) in enumerate((("first", 2), ("second", 4), ("third", 6))):
        run.feed({"id": name, "price": 5})
        os.utime(run.input / f"{place:05d}", ((now + hours * hour).timestamp(),) * 2)
    store.expire(now + 10 * hour)  # all batches begin later
    events = open_stream(run.spark, Files("json", str(run.input), 1), [])
    run.finish(store, events=events, reading=Reading(json="value", accepted_at="accepted_at"))
    assert run.pairs() == [
        ("first", "long"),
        ("first", "middle"),
        ("first", "valid"),
        ("second", "long"),
        ("second", "valid"),
        ("third", "valid"),
    ]


@pytest.mark.parametrize(
    ("lateness", "met"), [(timedelta(hours=2), ["middle", "valid"]), (timedelta(0), ["valid"])]
)
def test_an_event_of_a_later_batch_may_have_been_accepted_earlier(
    run: Run, store: Store, lateness: timedelta, met: list[str]
) -> None:
    """Producers' times have no order: what expired stays for as long as events may be late."""
    now, hour = datetime.now(UTC), timedelta(hours=1)
    for name, hours in (("short", 1), ("middle", 3)):
        store.add(name, "price < 10", expires=now + hours * hour)
    store.add("valid", "price < 10")
    store.expire(now + 10 * hour)
    for name, accepted in (("first", 4 * hour), ("late", 2.5 * hour), ("too late", 0.5 * hour)):
        run.feed({"id": name, "price": 5, "at": f"{now + accepted:%Y-%m-%dT%H:%M:%SZ}"})
    events = run.events().selectExpr("value", "to_timestamp(get_json_object(value, '$.at')) AS at")
    reading = Reading(json="value", accepted_at="at", acceptance_lateness=lateness)
    run.finish(store, events=events, fresh=True, reading=reading)
    pairs = run.pairs()
    assert [id for event, id in pairs if event == "first"] == ["valid"]
    assert [id for event, id in pairs if event == "late"] == met
    assert [id for event, id in pairs if event == "too late"] == met, "what is in the snapshot meets it"
