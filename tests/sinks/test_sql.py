"""The sink `sql`: rows that other programs read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tamis.sinks.sql import SqlSink
from tests.sinks.deliveries import delivery


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
