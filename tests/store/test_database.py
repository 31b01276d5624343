"""Where a store can be, and where not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.store import Store, StoreError


def test_a_path_and_a_url_of_sqlite_are_the_same(tmp_path: Path) -> None:
    with Store.open(tmp_path / "subs.db") as store:
        store.add("a", "x = 1")
    with Store.open(f"sqlite:///{tmp_path}/subs.db") as store:
        assert "a" in store
        with store.view() as view:
            assert view._connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert view._connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "subs.db").write_text("something else altogether, and long enough to be looked at\n" * 10)
    with pytest.raises(StoreError, match=r"subs.db: file is not a database"):
        Store.open(tmp_path / "subs.db")


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open database file"):
        Store.open(tmp_path / "nowhere" / "subs.db")


def test_a_server_that_is_not_there_is_an_error_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"postgresql.*ines:.*@.*nowhere") as caught:
        Store.open(f"postgresql://ines:secret@/db?host={tmp_path}/nowhere")
    assert "secret" not in str(caught.value)


def test_a_newer_store_is_refused_by_name(url: str) -> None:
    with Store.open(url) as store, store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE tamis_meta SET layout = 99")
    with pytest.raises(StoreError, match="newer: its layout is 99"):
        Store.open(url)


def test_a_store_of_an_earlier_version_gets_the_column_that_it_lacks(url: str) -> None:
    with Store.open(url) as store:
        store.add("a", "x = 1")
        with store._database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE tamis_changes DROP COLUMN actor")
            connection.exec_driver_sql("ALTER TABLE tamis_changes DROP COLUMN dialect")
            connection.exec_driver_sql("ALTER TABLE tamis_subscriptions DROP COLUMN dialect")
    with Store.open(url, create=False) as store:
        store.acting_as("ines").remove("a")
        assert [(each.kind, each.actor) for each in store.history("a")] == [("add", None), ("remove", "ines")]
        assert {each.dialect for each in store.history("a")} == {"sql"}


def test_a_store_of_an_earlier_version_forgets_what_ended_before(url: str) -> None:
    with Store.open(url) as store:
        for condition in ("x = 1", "x = 2"):
            store.add("a", condition)
            store.remove("a")
        store.add("b", "x = 1")
        with store._database.writing() as connection:  # that version cut the log, and kept the rows
            connection.exec_driver_sql("DELETE FROM tamis_changes WHERE version < 5")
            connection.exec_driver_sql("UPDATE tamis_meta SET layout = 1, trimmed = 4")
            connection.exec_driver_sql("ALTER TABLE tamis_meta DROP COLUMN floor")
    with Store.open(url, create=False) as store:
        store.trim(store.version() + 1)
        with store._database.reading() as connection:
            assert connection.exec_driver_sql("SELECT id FROM tamis_subscriptions").scalars().all() == ["b"]
            assert connection.exec_driver_sql("SELECT layout, floor FROM tamis_meta").one() == (2, 2)
        store.add("a", "x = 3")
        assert store.get("a").revision == 3


def test_tables_of_others_are_refused_by_name(url: str) -> None:
    with Store.open(url) as store, store._database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE tamis_meta RENAME COLUMN store TO colour")
    with pytest.raises(StoreError, match=r"foreign: its tables tamis_\.\.\. are not those of a store"):
        Store.open(url)


def test_a_store_that_is_not_there_is_an_error_if_asked_for(url: str) -> None:
    with pytest.raises(StoreError, match="there is no store here"):
        Store.open(url, create=False)
