"""Bulk inserts: the same rows by statements, by COPY and through a temporary table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, Text, select

from tamis.sql.database import Database, DatabaseError
from tamis.sql.rows import KEEP, insert_rows, overwrite, rows_by_key

METADATA = MetaData()
NOTES = Table(
    "notes",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("at", Text),
    Column("value", LargeBinary),
)
COLUMNS = ("id", "at", "value")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, METADATA)
    yield database
    database.close()


def note(number: int, at: str | None = "now") -> tuple[str, str | None, bytes]:
    return f"n{number} é\t\\", at, bytes([number % 256, 0])


def notes(database: Database) -> list[tuple[object, ...]]:
    with database.reading() as connection:
        rows = connection.execute(select(NOTES.c.id, NOTES.c.at, NOTES.c.value).order_by(NOTES.c.number))
        return [(id, at, bytes(value)) for id, at, value in rows]


@pytest.mark.parametrize("count", [0, 1, 3, 500])
def test_rows_are_there_as_they_were_given(database: Database, count: int) -> None:
    rows = [note(number, None if number % 2 else "now") for number in range(count)]
    with database.writing() as connection:
        assert insert_rows(connection, NOTES, COLUMNS, iter(rows), count) == count
    assert notes(database) == rows


@pytest.mark.parametrize("count", [4, 500])
def test_what_is_there_stays_or_is_overwritten(database: Database, count: int) -> None:
    old, new = [note(number, "old") for number in range(2)], [note(number, "new") for number in range(count)]
    with database.writing() as connection:
        insert_rows(connection, NOTES, COLUMNS, old, 2)
        assert insert_rows(connection, NOTES, COLUMNS, new, count, KEEP) == count - 2
    assert sorted(notes(database)) == sorted(old + new[2:])
    newer = [note(number, "newer") for number in range(count)]
    conflict = "ON CONFLICT (id) DO UPDATE SET at = excluded.at"
    with database.writing() as connection:
        assert insert_rows(connection, NOTES, COLUMNS, newer, count, conflict) == count
    assert sorted(notes(database)) == sorted(newer)


@pytest.mark.parametrize("count", [2, 500])
def test_without_a_rule_a_key_that_is_there_is_an_error(database: Database, count: int) -> None:
    with pytest.raises(DatabaseError, match=r"(?i)unique"), database.writing() as connection:
        insert_rows(connection, NOTES, COLUMNS, [note(0)] * count, count)
    assert notes(database) == []


def test_overwriting_sets_all_other_columns() -> None:
    assert overwrite(NOTES, "number") == (
        "ON CONFLICT (number) DO UPDATE SET id = excluded.id, at = excluded.at, value = excluded.value"
    )


def test_rows_by_key_finds_those_that_are_there(database: Database) -> None:
    with database.writing() as connection:
        insert_rows(connection, NOTES, COLUMNS, [note(number) for number in range(5)], 5)
        wanted = [note(number)[0] for number in (1, 3, 7)]
        assert sorted(rows_by_key(connection, NOTES, ("id", "at"), "id", wanted)) == [
            (note(1)[0], "now"),
            (note(3)[0], "now"),
        ]
        assert list(rows_by_key(connection, NOTES, ("id",), "id", [])) == []
