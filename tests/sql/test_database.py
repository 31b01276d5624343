"""One layer under every database: transactions, tables that are created once, and errors without passwords."""

from __future__ import annotations

import pickle
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Column, Index, Integer, MetaData, Table, Text, func, insert, inspect, select

from tamis.errors import TamisError
from tamis.sql.database import EARLIER_NAME, Database, DatabaseError, copy_sqlite

METADATA = MetaData()
NOTES = Table("notes", METADATA, Column("id", Text, primary_key=True), Column("size", Integer))
Index("notes_size", NOTES.c.size)


def count(database: Database) -> int:
    with database.reading() as connection:
        return connection.execute(select(func.count()).select_from(NOTES)).scalar_one()


def test_a_transaction_is_committed_whole_or_not_at_all(database_url: str) -> None:
    with closing(Database(database_url, METADATA)) as database:
        with database.writing() as connection:
            connection.execute(insert(NOTES).values(id="a"))
        with pytest.raises(KeyError), database.writing() as connection:
            connection.execute(insert(NOTES).values(id="b"))
            raise KeyError
        assert count(database) == 1


def test_a_table_of_an_earlier_version_gets_the_columns_that_it_lacks(database_url: str) -> None:
    later = MetaData()
    notes = Table(
        "notes",
        later,
        Column("id", Text, primary_key=True),
        Column("size", Integer),
        Column("flag", Integer, nullable=False, server_default="7"),
        Column("remark", Text),
    )
    with closing(Database(database_url, METADATA)) as database, database.writing() as connection:
        connection.execute(insert(NOTES).values(id="a", size=3))
    for _ in range(2):  # the second time there is nothing to do
        with closing(Database(database_url)) as database:
            database.add_missing_columns([notes])
            with database.reading() as connection:
                assert connection.execute(select(notes)).all() == [("a", 3, 7, None)]


def test_a_table_of_an_earlier_version_gets_its_name(database_url: str) -> None:
    later = MetaData()
    remarks = Table(
        "remarks",
        later,
        Column("id", Text, primary_key=True),
        Column("size", Integer),
        Column("flag", Integer, nullable=False, server_default="7"),
        info={EARLIER_NAME: "notes"},
    )
    Index("remarks_size", remarks.c.size)
    with closing(Database(database_url, METADATA)) as database, database.writing() as connection:
        connection.execute(insert(NOTES).values(id="a", size=3))
    for _ in range(2):  # the second time there is nothing to do
        with closing(Database(database_url, later)) as database, database.reading() as connection:
            assert connection.execute(select(remarks)).all() == [("a", 3, 7)]
            assert inspect(connection).get_table_names() == ["remarks"]
            assert [index["name"] for index in inspect(connection).get_indexes("remarks")] == ["remarks_size"]


def test_a_table_that_has_its_name_is_left_alone_beside_an_earlier_one(database_url: str) -> None:
    later = MetaData()
    remarks = Table("remarks", later, Column("id", Text, primary_key=True), info={EARLIER_NAME: "notes"})
    with closing(Database(database_url, later)):
        pass
    with closing(Database(database_url, METADATA)) as earlier, earlier.writing() as connection:
        connection.execute(insert(NOTES).values(id="a", size=3))
    with closing(Database(database_url, later)) as database, database.reading() as connection:
        assert connection.execute(select(remarks)).all() == []
        assert connection.execute(select(NOTES.c.id)).all() == [("a",)]


def test_a_reader_sees_one_state_and_does_not_hold_up_a_writer(database_url: str) -> None:
    with closing(Database(database_url, METADATA)) as database:
        query = select(func.count()).select_from(NOTES)
        with database.reading() as reader:
            assert reader.execute(query).scalar_one() == 0
            with database.writing() as writer:
                writer.execute(insert(NOTES).values(id="a"))
            assert reader.execute(query).scalar_one() == 0
        assert count(database) == 1


def test_writers_under_one_lock_go_one_after_the_other(database_url: str) -> None:
    with closing(Database(database_url, METADATA)) as database:

        def add_ten() -> None:
            for _ in range(10):
                with database.writing() as connection:
                    database.lock(connection, 17)
                    number = connection.execute(select(func.count()).select_from(NOTES)).scalar_one()
                    connection.execute(insert(NOTES).values(id=str(number)))

        threads = [threading.Thread(target=add_ten) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert count(database) == 40


def test_tables_are_created_by_whoever_comes_first(database_url: str) -> None:
    opened: list[Database] = []
    threads = [threading.Thread(target=lambda: opened.append(Database(database_url, METADATA))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [count(database) for database in opened] == [0, 0, 0, 0]
    for database in opened:
        database.close()


def test_times_without_a_zone_are_in_utc_whatever_else_the_url_sets(database_url: str) -> None:
    with closing(Database(database_url, METADATA)) as database, database.reading() as connection:
        if not database.is_sqlite:
            assert connection.exec_driver_sql("SHOW timezone").scalar_one() == "UTC"
            assert connection.exec_driver_sql("SHOW search_path").scalar_one().startswith("test_")


@pytest.mark.parametrize(("wal", "journal"), [(True, "wal"), (False, "delete")])
def test_a_sqlite_file_is_durable_and_has_the_journal_that_was_asked_for(
    tmp_path: Path, wal: bool, journal: str
) -> None:
    with closing(Database(tmp_path / "notes.db", METADATA, wal=wal)) as database, database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == journal
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://host/db", "s3://bucket/subs"])
def test_other_databases_are_refused_by_name(url: str) -> None:
    with pytest.raises(DatabaseError, match=r"expected a SQLite file"):
        Database(url)


def test_nothing_is_touched_before_the_first_transaction(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "notes.db")) as database:
        assert database.path == str(tmp_path / "notes.db")
    assert not list(tmp_path.iterdir())


def test_errors_are_of_the_kind_asked_for_and_name_the_place_without_the_password(tmp_path: Path) -> None:
    class NotesError(TamisError):
        pass

    for url in (f"sqlite:///{tmp_path}/no/folder.db", "postgresql://me:secret@127.0.0.1:1/none"):
        database = Database(url, error=NotesError)
        with pytest.raises(NotesError, match=r"folder\.db|127\.0\.0\.1") as raised, database.reading():
            pass
        database.close()
        assert "secret" not in str(raised.value) + database.where


def provoke(database: Database, kind: str) -> None:
    """Let the database itself say that its disk is full, or that nothing may be written."""
    with database.writing() as connection:
        if kind == "full" and not database.is_sqlite:
            connection.exec_driver_sql("DO $$ BEGIN RAISE disk_full; END $$")
        if kind == "full":
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        if kind == "read-only":
            reading = "PRAGMA query_only=ON" if database.is_sqlite else "SET TRANSACTION READ ONLY"
            connection.exec_driver_sql(reading)
        if kind == "failed":
            connection.exec_driver_sql("SELECT * FROM nowhere")
        connection.execute(insert(NOTES), [{"id": f"{number}" * 50, "size": 1} for number in range(1_000)])


@pytest.mark.parametrize("kind", ["full", "read-only", "failed"])
def test_an_error_tells_a_full_disk_from_one_that_is_read_only_and_from_others(
    database_url: str, kind: str
) -> None:
    with closing(Database(database_url, METADATA)) as database:
        with pytest.raises(DatabaseError) as caught:
            provoke(database, kind)
        assert caught.value.kind == kind
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (copy.kind, str(copy)) == (kind, str(caught.value))
        assert count(database) == 0


def test_a_file_is_copied_in_one_state_while_it_is_written(tmp_path: Path) -> None:
    file, copy = tmp_path / "notes.db", tmp_path / "copy.db"
    with closing(Database(f"sqlite:///{file}", METADATA)) as database:
        with database.writing() as connection:
            connection.execute(insert(NOTES).values(id="a"))
        with database.writing() as connection:
            connection.execute(insert(NOTES).values(id="b"))
            copy_sqlite(file, copy)
    with closing(Database(f"sqlite:///{copy}")) as database:
        assert count(database) == 1, "what is not committed yet is not in it"


def test_what_cannot_be_copied_is_an_error_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "broken.db"
    file.write_bytes(b"this is no database" * 100)
    with pytest.raises(DatabaseError, match=r"broken\.db: file is not a database"):
        copy_sqlite(file, tmp_path / "copy.db")
