"""Whatever is killed and whenever, every batch is committed whole, and once.

Real processes, killed by SIGKILL: before a chosen line of the code, so that every gap between two operations has
its turn, and at moments of the clock, which also hit the middle of a write. After each kill the next process
begins with a batch that may be committed already, as Spark does when its own commit was lost.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.sinks import Committed, read_commits
from tamis.sinks.base import without_duplicates
from tamis.sinks.folder_commits import batch_name
from tests.sinks.deliveries import RETENTION, file_sink, rows, rows_of_database, rows_of_files
from tests.sinks.processes import delivery_of, start

KINDS = ["delta", "parquet", "jsonl", "sqlite"]
LINES = 600
"""About as many lines as a few commits take."""


def batches_of(kind: str, folder: Path) -> dict[int, Committed]:
    """What is committed, by batch."""
    if kind != "sqlite":
        return {each.batch: Committed(each.written, each.repeated) for each in read_commits(folder / "found")}
    engine = sa.create_engine(f"sqlite:///{folder / 'found.db'}")
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table("tamis_commits"):
            return {}
        found = connection.execute(sa.text("SELECT batch, written, repeated FROM tamis_commits")).all()
    engine.dispose()
    return {batch: Committed(written, repeated) for batch, written, repeated in found}


def check(kind: str, folder: Path) -> int:
    """What is there is exactly what the committed batches give, one after the other; how many are there?"""
    found = batches_of(kind, folder)
    assert sorted(found) == list(range(len(found)))
    told: dict[str, datetime] = {}
    expected, dead = [NOTIFICATIONS.empty_table()], [DEAD_LETTERS.empty_table()]
    for batch in sorted(found):
        made = without_duplicates(delivery_of(batch))
        ids = made.notifications["id"].to_pylist()
        new = [each not in told or (kind != "sqlite" and told[each] <= made.at - RETENTION) for each in ids]
        told |= {each: made.at for each, is_new in zip(ids, new, strict=True) if is_new}
        assert found[batch] == Committed(sum(new), len(new) - sum(new))
        expected.append(made.notifications.filter(pa.array(new, pa.bool_())))
        dead.append(made.dead)
    if found:
        assert _content(kind, folder) == (rows(pa.concat_tables(expected)), rows(pa.concat_tables(dead)))
    return len(found)


def _content(kind: str, folder: Path) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    if kind != "sqlite":
        return rows_of_files(folder / "found")
    url = f"sqlite:///{folder / 'found.db'}"
    return (
        rows_of_database(url, "tamis_notifications", NOTIFICATIONS),
        rows_of_database(url, "tamis_dead_letters", DEAD_LETTERS),
    )


def run_until_killed(kind: str, folder: Path, first: int, line: int | None, seconds: float | None) -> None:
    process = start(kind, folder, first, line)
    process.join(seconds)
    if process.exitcode is None:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
    assert process.exitcode == -signal.SIGKILL


def check_nothing_is_left(kind: str, folder: Path) -> None:
    """The next process sweeps what the killed ones left; files of a Delta table are left to its vacuum."""
    found = folder / "found"
    commits = read_commits(found)
    if kind != "delta":
        named = {file for each in commits for files in each.files.values() for file in files}
        for folder_name in ("notifications", "dead-letters"):
            there = {f"{folder_name}/{path.name}" for path in (found / folder_name).glob("*")}
            assert there == {file for file in named if file.startswith(folder_name)}
    owners = {f"batch.{batch_name(each.query, each.batch)}.{task}" for each in commits for task in each.tasks}
    batches = {path.name for path in (found / "ledger").iterdir() if path.name.startswith("batch.")}
    assert {name.rsplit(".", 2)[0] for name in batches} <= owners
    assert list((found / "aside").iterdir()) == []


def kill_often(kind: str, folder: Path, kills: int, chosen: Callable[[], tuple[int | None, float | None]]) -> None:
    there = 0
    for _ in range(kills):
        line, seconds = chosen()
        run_until_killed(kind, folder, max(0, there - 1), line, seconds)
        before, there = there, check(kind, folder)
        assert there >= before
    sink = file_sink(kind, folder)
    if there:
        assert sink.commit(delivery_of(there - 1)).again
    assert not sink.commit(delivery_of(there)).again
    sink.close()
    assert check(kind, folder) == there + 1
    if kind != "sqlite":
        check_nothing_is_left(kind, folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, 15])
def test_kills_between_any_two_lines(kind: str, kills: int, tmp_path: Path) -> None:
    chance = random.Random(f"lines {kind}")
    kill_often(kind, tmp_path, kills, lambda: (chance.randrange(1, LINES), None))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
@pytest.mark.parametrize("kills", [5, 25])
def test_kills_at_any_moment(kind: str, kills: int, tmp_path: Path) -> None:
    chance = random.Random(f"moments {kind}")
    kill_often(kind, tmp_path, kills, lambda: (None, chance.uniform(0, 0.1)))
