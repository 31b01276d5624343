"""Databases of others: read as they are, never made, and named without their passwords."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import bindparam, select

from tamis.sql.database import DatabaseError
from tamis.sql.read_only import ReadOnlyDatabase


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(
            "CREATE TABLE items (id INTEGER, size TEXT); CREATE VIEW all_items AS SELECT * FROM items"
        )
        connection.executemany("INSERT INTO items VALUES (?, ?)", [(id, f"size {id}") for id in range(2_000)])
    return file


@pytest.mark.parametrize("name", ["items", "all_items"])
def test_rows_are_those_of_the_keys(file: Path, name: str) -> None:
    database = ReadOnlyDatabase(f"sqlite:///{file}")
    table = database.table(name)
    assert table is not None
    statement = select(table.c.id, table.c.size).where(table.c.id.in_(bindparam("keys", expanding=True)))
    wanted = [*range(1_500, 3_000)]
    assert sorted(map(tuple, database.rows(statement, wanted))) == [
        (id, f"size {id}") for id in range(1_500, 2_000)
    ]
    assert database.rows(statement, []) == []


def test_nothing_is_written(file: Path) -> None:
    before = file.read_bytes()
    database = ReadOnlyDatabase(f"sqlite:///{file}")
    assert (database.table("nothing"), database.table_names()) == (None, ["items"])
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == [file.name], "no journal either"


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no such file"):
        ReadOnlyDatabase(f"sqlite:///{tmp_path / 'missing.db'}")
    assert not [*tmp_path.iterdir()]


def test_what_cannot_be_read_is_an_error_without_the_password(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database" * 100)
    with pytest.raises(DatabaseError, match="not a database"):
        ReadOnlyDatabase(f"sqlite:///{broken}").table("items")
    with pytest.raises(DatabaseError, match="the URL of the database cannot be read"):
        ReadOnlyDatabase("theirs")
    with pytest.raises(DatabaseError) as caught:
        ReadOnlyDatabase("mysql+pymysql://me:secret@localhost/shop")
    assert "needs the package pymysql" in str(caught.value) and "secret" not in str(caught.value)
