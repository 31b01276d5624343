"""Databases: what goes wrong is said by name, passwords are not, and two writers get along."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tamis.notifications import ADDED
from tamis.sinks import Committed, SinkError, SqlSink, WebhookSink
from tests.sinks.conftest import World
from tests.sinks.deliveries import delivery


def test_two_sinks_of_one_database_do_not_disturb_each_other(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'found.db'}"
    table, queue = SqlSink(url=url), WebhookSink(url=url)
    for sink in (table, queue):
        assert sink.commit(delivery(0, [(1, 1)], dead=[b"bad"])) == Committed(1, 0)
        assert sink.commit(delivery(0, [(1, 1)], dead=[b"bad"])) == Committed(1, 0, again=True)
        sink.close()


@pytest.mark.slow
@pytest.mark.parametrize("world", ["sqlite", "postgresql"], indirect=True)
def test_writers_of_the_same_notifications_at_once_write_each_once(world: World) -> None:
    results: list[Committed] = []

    def write(sink: Any, query: str) -> None:
        results.extend(
            sink.commit(delivery(batch, [(n, 1) for n in range(200)], query=query)) for batch in range(5)
        )

    queries = ["a", "b", "b", "c"]  # one of them runs twice
    threads = [threading.Thread(target=write, args=(world.sink, query)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 20
    assert sum(each.written for each in results if not each.again) == 200
    assert sum(each.again for each in results) == 5
    assert len(world.notifications()) == 200


def test_tables_of_somebody_else_are_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'found.db'}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE tamis_notifications (id TEXT, event_id TEXT)"))
    engine.dispose()
    sink = SqlSink(url=url)
    with pytest.raises(SinkError, match="table tamis_notifications has no column event_time, event_type"):
        sink.check()
    with pytest.raises(SinkError, match=r"sink sql: sqlite:.*tamis_notifications has no column"):
        sink.commit(delivery(0, [(1, 1)]))
    sink.close()


@pytest.mark.parametrize(("kind", "table"), [(SqlSink, "tamis_notifications"), (WebhookSink, "tamis_deliveries")])
def test_a_table_of_before_gets_the_columns_that_were_added(
    tmp_path: Path, kind: type[SqlSink | WebhookSink], table: str
) -> None:
    url = f"sqlite:///{tmp_path / 'found.db'}"
    with closing(kind(url=url)) as sink:
        sink.commit(delivery(0, [(1, 1)]))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for name in ADDED:
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {name}")
    with closing(kind(url=url)) as sink:
        sink.check()
        assert sink.commit(delivery(1, [(3, 7)])).written == 1
    with engine.connect() as connection:
        found = connection.exec_driver_sql(f"SELECT owner, label FROM {table} ORDER BY event_id").fetchall()
    engine.dispose()
    assert [tuple(row) for row in found] == [(None, None), ("yuto", '"7" é')]


def test_checking_makes_no_file(tmp_path: Path) -> None:
    with closing(SqlSink(url=f"sqlite:///{tmp_path}/found.db")) as sink:
        sink.check()
    assert not list(tmp_path.iterdir())
    with (
        closing(SqlSink(url=f"sqlite:///{tmp_path}/nowhere/found.db")) as sink,
        pytest.raises(SinkError, match="nowhere is no folder that can be written"),
    ):
        sink.check()


def test_a_database_that_is_not_there_is_said_without_its_password(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/no/folder.db", "postgresql://me:secret@127.0.0.1:1/none"):
        sink = SqlSink(url=url)
        with pytest.raises(SinkError, match="sink sql: ") as raised:
            sink.check()
        sink.close()
        assert "secret" not in str(raised.value) + sink.describe()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (3, "url must be the URL of a database, found 3"),
        ("no url", "url must be like sqlite:///file.db"),
        ("mysql://host/database", "mysql://host/database: expected a SQLite file"),
    ],
)
def test_arguments_are_checked(url: Any, problem: str) -> None:
    with pytest.raises(SinkError, match=f"sink webhook: {problem}"):
        WebhookSink(url=url)
