"""A batch is taken once under its key, whoever repeats it and whenever."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import BigInteger, Column, MetaData, Table, Text, func, select

from tamis.sql.commits import commit_once
from tamis.sql.database import Database
from tamis.sql.rows import KEEP, insert_rows

METADATA = MetaData()
COMMITS = Table(
    "commits",
    METADATA,
    Column("query", Text, primary_key=True),
    Column("batch", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("written", BigInteger, nullable=False),
    Column("repeated", BigInteger, nullable=False),
)
NOTES = Table("notes", METADATA, Column("id", Text, primary_key=True))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, METADATA)
    yield database
    database.close()


def commit(database: Database, batch: int, ids: list[str], *, query: str = "q") -> tuple[int, int, bool]:
    with database.writing() as connection:

        def write() -> tuple[int, int]:
            written = insert_rows(connection, NOTES, ("id",), [(id,) for id in ids], len(ids), KEEP)
            return written, len(ids) - written

        return commit_once(connection, COMMITS, {"query": query, "batch": batch}, {"at": "now"}, write)


def test_a_repeated_commit_writes_nothing_and_gives_the_first_counts(database: Database) -> None:
    assert commit(database, 0, ["a", "b"]) == (2, 0, False)
    assert commit(database, 1, ["b", "c"]) == (1, 1, False)
    assert commit(database, 1, ["d"]) == (1, 1, True)
    assert commit(database, 0, ["b", "c"], query="other") == (0, 2, False)
    with database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(NOTES)).scalar_one() == 3


def test_what_fails_leaves_no_commit(database: Database) -> None:
    def fail() -> tuple[int, int]:
        raise KeyError

    with pytest.raises(KeyError), database.writing() as connection:
        commit_once(connection, COMMITS, {"query": "q", "batch": 0}, {"at": "now"}, fail)
    assert commit(database, 0, ["a"]) == (1, 0, False)


def test_of_two_at_the_same_moment_one_finds_the_other_done(database: Database) -> None:
    results: list[tuple[int, int, bool]] = []
    ids = [f"n{number:03}" for number in range(300)]
    threads = [threading.Thread(target=lambda: results.append(commit(database, 0, ids))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == [(300, 0, False), (300, 0, True), (300, 0, True), (300, 0, True)]
