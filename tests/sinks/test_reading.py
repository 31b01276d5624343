"""What readers of a folder find: the notifications that fit, the newest last, and those that are yet to come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.sinks import DeltaSink, Sink, read_notifications, reading
from tamis.sinks.delta import compact
from tamis.sinks.part_files import DEAD_LETTER_FILES, NOTIFICATION_FILES
from tamis.sinks.reading import (
    Wanted,
    find_dead_letters,
    find_notifications,
    follow_notifications,
    list_and_follow,
)
from tests.sinks.deliveries import at, delivery, file_sink, rows
from tests.sinks.parts import Batch, Task, batch_key, ids_of, run

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(params=["delta", "parquet", "jsonl"])
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Sink:
    return file_sink(request.param, tmp_path)


def fits(row: dict[str, Any], subscription: str | None, event: str | None, owner: str | None) -> bool:
    asked = {"subscription_id": subscription, "event_id": event, "owner": owner}
    return all(value is None or row[name] == value for name, value in asked.items())


@pytest.mark.slow
def test_every_condition_must_hold(sink: Sink, tmp_path: Path) -> None:
    times = [MIDNIGHT + timedelta(hours=hours) for hours in (-1, 0, 1)]
    for batch, when in enumerate(times):
        sink.commit(delivery(batch, [(10 * batch + each, each) for each in range(4)], when=when))
    folder = tmp_path / "found"
    every = rows(read_notifications(folder))
    asked = product(
        (None, "s1", "s2", "nobody"),
        (None, "event 11 é", "event 99 é"),
        (None, "yuto"),
        (None, *times, MIDNIGHT - timedelta(microseconds=1), MIDNIGHT + timedelta(days=1)),
    )
    for subscription, event, owner, since in asked:
        found = find_notifications(folder, subscription=subscription, event=event, owner=owner, since=since)
        expected = [
            row
            for row in every
            if fits(row, subscription, event, owner) and (since is None or _time(row) >= since)
        ]
        assert rows(found) == expected, (subscription, event, owner, since)


def _time(row: dict[str, Any]) -> datetime:
    time: datetime = row["matched_at"]
    return time


def test_the_newest_are_last_and_a_limit_keeps_these(sink: Sink, tmp_path: Path) -> None:
    for batch in range(4):
        sink.commit(delivery(batch, [(batch, 1), (batch, 2)]))
    folder = tmp_path / "found"
    found = find_notifications(folder)
    times = found["matched_at"].to_pylist()
    assert times == sorted(times)
    for limit in (0, 1, 3, 8, 100):
        assert find_notifications(folder, limit=limit).to_pylist() == found.to_pylist()[max(0, 8 - limit) :]


def test_a_folder_without_notifications_has_none_that_fit(sink: Sink, tmp_path: Path) -> None:
    assert find_notifications(tmp_path / "found", owner="yuto").num_rows == 0
    sink.commit(delivery(0, [], dead=[b"x"]))
    assert find_notifications(tmp_path / "found", since=at(0), limit=5).num_rows == 0


def test_who_follows_gets_what_is_committed_from_then_on(sink: Sink, tmp_path: Path) -> None:
    folder = tmp_path / "found"
    sink.commit(delivery(0, [(1, 1)]))
    slow = Batch(sink, batch_key(2, "another"))
    unpublished = slow.write(Task([[(7, 1)]]))
    steps: list[Callable[[], object]] = [
        lambda: None,
        lambda: sink.commit(delivery(1, [(1, 1), (2, 1), (2, 2)])),
        lambda: sink.commit(delivery(2, [], dead=[b"x"])),
        lambda: run(sink, batch_key(3), Task([[(3, 1)]]), Task([[(4, 1)]])),
        lambda: slow.publish([unpublished]),
    ]

    def wait() -> bool:
        if steps:
            steps.pop(0)()
            return True
        return False

    found = [id_ for table in follow_notifications(folder, Wanted("s1"), wait) for id_ in table["id"].to_pylist()]
    assert sorted(found) == ids_of((2, 1), (3, 1), (4, 1), (7, 1))


def test_dead_letters_are_found_by_event_and_time(sink: Sink, tmp_path: Path) -> None:
    for batch in range(3):
        given = delivery(batch, [], dead=[b"%d" % batch, b"always"])
        events = pa.array([f"e{batch}", None], pa.string())
        place = given.dead.schema.get_field_index("event_id")
        dead = given.dead.set_column(place, given.dead.schema.field(place), events)
        sink.commit(replace(given, dead=dead))
    folder = tmp_path / "found"
    assert find_dead_letters(folder, event="e1")["original"].to_pylist() == [b"1"]
    assert find_dead_letters(folder, event="e9").num_rows == 0
    assert find_dead_letters(folder, since=at(1))["at"].to_pylist() == [at(1)] * 2 + [at(2)] * 2
    assert find_dead_letters(folder, event="e1", since=at(2)).num_rows == 0
    assert find_dead_letters(folder, limit=1)["at"].to_pylist() == [at(2)]


@pytest.mark.parametrize("kind", [NOTIFICATION_FILES, DEAD_LETTER_FILES])
def test_who_lists_and_follows_gets_all_and_each_once(
    sink: Sink, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is committed before, while and after what is there is read."""
    batches = iter(range(9))

    def commit() -> None:
        batch = next(batches)
        sink.commit(delivery(batch, [(batch, 1)], dead=[b"%d" % batch]))

    find = reading._find

    def find_slowly(*arguments: Any) -> pa.Table:
        commit()
        rows = find(*arguments)
        commit()
        return rows

    commit()
    commit()
    monkeypatch.setattr(reading, "_find", find_slowly)
    steps = [commit, lambda: None, commit]

    def wait() -> bool:
        if steps:
            steps.pop(0)()
            return True
        return False

    following = list_and_follow(tmp_path / "found", Wanted(), wait, kind=kind, limit=1)
    time = "matched_at" if kind == NOTIFICATION_FILES else "at"
    times = [next(following)[time].to_pylist()]
    commit()
    times += [rows[time].to_pylist() for rows in following]
    assert times == [[at(2)], [at(3)], [at(4)], [at(5)], [at(6)]]


def test_within_a_batch_higher_priorities_come_first_whichever_task_found_them(sink: Sink, tmp_path: Path) -> None:
    folder = tmp_path / "found"
    steps = [[Task([[(1, 42), (1, 1)], [(2, 41)]]), Task([[(3, 40), (4, 1)]])], [Task([[(5, 41)]])]]

    def wait() -> bool:
        if not steps:
            return False
        run(sink, batch_key(2 - len(steps)), *steps.pop(0))
        return True

    seen = [table["priority"].to_pylist() for table in follow_notifications(folder, Wanted(), wait)]
    assert seen == [[2**40, 5, 0, 0, -1], [5]]
    if isinstance(sink, DeltaSink):  # a table has no order, but each of its files has
        files = [pq.ParquetFile(path).read() for path in (folder / "notifications").rglob("*.parquet")]
        assert sorted(each["priority"].to_pylist() for each in files) == [[5], [5, 0, -1], [2**40, 0]]
    else:
        assert read_notifications(folder)["priority"].to_pylist() == [2**40, 5, 0, 0, -1, 5]
    assert sorted(find_notifications(folder)["priority"].to_pylist()) == sorted([5, 2**40, 5, 0, 0, -1])


def test_what_was_compacted_is_found_by_the_same_conditions(tmp_path: Path) -> None:
    sink = file_sink("delta", tmp_path)
    for batch in range(3):
        sink.commit(delivery(batch, [(batch, 1), (batch, 2)]))
    folder = tmp_path / "found"
    before = find_notifications(folder, subscription="s2", since=at(1)).to_pylist()
    assert len(before) == 2
    compact(folder, vacuum_hours=0)
    assert find_notifications(folder, subscription="s2", since=at(1)).to_pylist() == before
