"""The sink `sql`: rows that other programs read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.sinks.base import SinkError
from tamis.sinks.sql import SqlSink
from tests.sinks.deliveries import START, delivery, rows_of_database


def test_a_notification_is_a_row_and_a_batch_is_one(tmp_path: Path) -> None:
    with closing(SqlSink(url=f"sqlite:///{tmp_path}/found.db")) as sink:
        sink.commit(delivery(7, [(1, 1), (2, 1)], dead=[b"x"], query="q"))
    with closing(sqlite3.connect(tmp_path / "found.db")) as connection:
        assert connection.execute("SELECT count(*), min(version) FROM tamis_notifications").fetchall() == [(2, 1)]
        assert connection.execute("SELECT query, batch, original FROM tamis_dead_letters").fetchall() == [
            ("q", 7, b"x")
        ]
        assert connection.execute("SELECT sink, query, batch, written, dead FROM tamis_commits").fetchall() == [
            ("sql", "q", 7, 2, 1)
        ]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",), "the file's journal stays"


def test_old_rows_go_after_every_hundredth_batch_but_never_the_newest_commit(database_url: str) -> None:
    days, url = timedelta(days=1), database_url.replace("postgresql:", "postgresql+psycopg:")
    with closing(SqlSink(url=database_url, output_retention=3 * days)) as sink:
        sink.commit(delivery(5, [(9, 9)], query="another", when=START))
        for batch, day in ((97, 0), (98, 4), (99, 5)):
            sink.commit(delivery(batch, [(batch, 1)], dead=[b"%d" % batch], when=START + day * days))
        assert sink.commit(delivery(99, [(99, 1)], when=START + 5 * days)).again
    events = {row["event_id"] for row in rows_of_database(url, "tamis_notifications", NOTIFICATIONS)}
    assert events == {"event 98 é", "event 99 é"}
    letters = {row["original"] for row in rows_of_database(url, "tamis_dead_letters", DEAD_LETTERS)}
    assert letters == {b"98", b"99"}
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        commits = connection.execute(sa.text("SELECT query, batch FROM tamis_commits ORDER BY batch")).all()
    engine.dispose()
    assert [tuple(row) for row in commits] == [("another", 5), ("a query", 98), ("a query", 99)]


def test_old_rows_that_cannot_be_deleted_do_not_stop_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        msg = "the disk is full"
        raise SinkError(msg)

    monkeypatch.setattr(SqlSink, "delete_before", fail)
    with closing(SqlSink(url=f"sqlite:///{tmp_path}/found.db", output_retention=timedelta(days=1))) as sink:
        assert sink.commit(delivery(99, [(1, 1)])).written == 1
    assert "old rows were not deleted: the disk is full" in caplog.text
