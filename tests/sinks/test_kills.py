"""Whatever is killed and whenever, every batch is committed whole, and once.

Real processes, killed by SIGKILL: before a chosen line of the code, so that every gap between two operations has
its turn, and at moments of the clock, which also hit the middle of a write. After each kill the next process
begins with a batch that may be committed already, as Spark does when its own commit was lost. In PostgreSQL the
processes stage what two tasks would, and then publish it.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import sqlalchemy as sa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.service.feed import message_id, with_tenant_ids
from tamis.sinks import Committed, Delivery, read_commits
from tamis.sinks.base import without_duplicates
from tamis.sinks.folder_commits import batch_name
from tamis.sinks.staging import STAGED_DEAD_LETTERS, STAGED_NOTIFICATIONS
from tests.sinks.deliveries import RETENTION, rows, rows_of_database, rows_of_files
from tests.sinks.processes import Killed, start

KINDS = ["delta", "parquet", "jsonl", "sql sqlite", "sql postgresql", "feed sqlite", "feed postgresql"]
LINES = 600
"""About as many lines as a few commits take."""
_DEADLINE_SECONDS = 60


@pytest.fixture(params=KINDS)
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Killed:
    """What is killed, and nothing is written yet."""
    kind, _, database = request.param.partition(" ")
    if database != "postgresql":
        return Killed(kind, tmp_path, f"sqlite:///{tmp_path / 'found.db'}")
    make: Callable[[], str] = request.getfixturevalue("new_schema")
    return Killed(kind, tmp_path, make().replace("postgresql:", "postgresql+psycopg:"))


def batches_of(killed: Killed) -> dict[int, Committed]:
    """What is committed, by batch."""
    if not killed.is_database:
        return {
            each.batch: Committed(each.written, each.repeated) for each in read_commits(killed.folder / "found")
        }
    table = "tamis_feed_commits" if killed.kind == "feed" else "tamis_commits"
    return {batch: Committed(*counts) for batch, *counts in _select(killed, table, "batch, written, repeated")}


def _select(killed: Killed, table: str, columns: str) -> list[tuple[Any, ...]]:
    """Columns of a table, of which there may be none yet."""
    engine = sa.create_engine(killed.url)
    with engine.connect() as connection:
        is_there = sa.inspect(connection).has_table(table)
        found = connection.execute(sa.text(f"SELECT {columns} FROM {table}")).all() if is_there else []
    engine.dispose()
    return [tuple(row) for row in found]


def check(killed: Killed) -> int:
    """What is there is exactly what the committed batches give, one after the other; how many are there?"""
    found = batches_of(killed)
    assert sorted(found) == list(range(len(found)))
    told: dict[str, datetime] = {}
    expected, dead = [NOTIFICATIONS.empty_table()], [DEAD_LETTERS.empty_table()]
    for batch in sorted(found):
        made = without_duplicates(killed.delivery(batch))
        ids = made.notifications["id"].to_pylist()
        new = [each not in told or (not killed.is_database and told[each] <= made.at - RETENTION) for each in ids]
        told |= {each: made.at for each, is_new in zip(ids, new, strict=True) if is_new}
        assert found[batch] == Committed(sum(new), len(new) - sum(new))
        expected.append(made.notifications.filter(pa.array(new, pa.bool_())))
        dead.append(made.dead)
    if found:
        whole = Delivery("any", 0, made.at, 1, pa.concat_tables(expected), pa.concat_tables(dead))
        if killed.kind == "feed":
            _check_feed(killed, whole)
        else:
            assert _content(killed) == (rows(whole.notifications), rows(whole.dead))
    return len(found)


def _content(killed: Killed) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    if not killed.is_database:
        return rows_of_files(killed.folder / "found")
    return (
        rows_of_database(killed.url, "tamis_notifications", NOTIFICATIONS),
        rows_of_database(killed.url, "tamis_dead_letters", DEAD_LETTERS),
    )


def _check_feed(killed: Killed, whole: Delivery) -> None:
    """The feed has the matches, a message for each event and subscriber, and each dead letter once."""
    ids = whole.notifications["id"].to_pylist()
    told = zip(*(whole.notifications[name].to_pylist() for name in ("event_id", "owner")), strict=True)
    messages = {message_id(event, owner) for event, owner in told if owner is not None}
    found = [id for (id,) in _select(killed, "tamis_feed", "id")]
    assert sorted(found) == sorted([*ids, *messages])
    dead = {id for (id,) in _select(killed, "tamis_feed_dead_letters", "id")}
    assert dead == set(with_tenant_ids(whole.dead)["id"].to_pylist())


def run_until_killed(killed: Killed, first: int, line: int | None, seconds: float | None) -> None:
    process = start(killed, first, line)
    process.join(seconds)
    if process.exitcode is None:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
    assert process.exitcode == -signal.SIGKILL
    if killed.url.startswith("postgresql"):
        _wait_for_the_server(killed.url)


def _wait_for_the_server(url: str) -> None:
    """Wait until PostgreSQL has ended what a killed process had begun, one way or the other."""
    working = "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid()"
    deadline = time.monotonic() + _DEADLINE_SECONDS
    with closing(psycopg.connect(url.replace("+psycopg", ""), autocommit=True)) as connection:
        while connection.execute(working).fetchone() != (0,):
            assert time.monotonic() < deadline, "a killed process has left a transaction"


def check_nothing_is_left(killed: Killed) -> None:
    """The next process sweeps what the killed ones left; files of a Delta table are left to its vacuum."""
    if killed.is_database:
        assert _select(killed, STAGED_NOTIFICATIONS, "id") == _select(killed, STAGED_DEAD_LETTERS, "id") == []
        return
    found = killed.folder / "found"
    commits = read_commits(found)
    if killed.kind != "delta":
        named = {file for each in commits for files in each.files.values() for file in files}
        for folder_name in ("notifications", "dead-letters"):
            there = {f"{folder_name}/{path.name}" for path in (found / folder_name).glob("*")}
            assert there == {file for file in named if file.startswith(folder_name)}
    owners = {f"batch.{batch_name(each.query, each.batch)}.{task}" for each in commits for task in each.tasks}
    batches = {path.name for path in (found / "ledger").iterdir() if path.name.startswith("batch.")}
    assert {name.rsplit(".", 2)[0] for name in batches} <= owners
    assert list((found / "aside").iterdir()) == []


def kill_often(killed: Killed, kills: int, chosen: Callable[[], tuple[int | None, float | None]]) -> None:
    there = 0
    for _ in range(kills):
        line, seconds = chosen()
        run_until_killed(killed, max(0, there - 1), line, seconds)
        before, there = there, check(killed)
        assert there >= before
    sink = killed.open()
    if there:
        assert killed.commit(sink, there - 1).again
    assert not killed.commit(sink, there).again
    sink.close()
    assert check(killed) == there + 1
    check_nothing_is_left(killed)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, 15])
def test_kills_between_any_two_lines(killed: Killed, kills: int) -> None:
    chance = random.Random(f"lines {killed.kind}")
    kill_often(killed, kills, lambda: (chance.randrange(1, LINES), None))


@pytest.mark.slow
@pytest.mark.parametrize("kills", [5, 25])
def test_kills_at_any_moment(killed: Killed, kills: int) -> None:
    chance = random.Random(f"moments {killed.kind}")
    kill_often(killed, kills, lambda: (None, chance.uniform(0, 0.1)))
