"""A change set writes rows, the log and the version together."""

from __future__ import annotations

from contextlib import closing

from sqlalchemy import select

from tamis.events.event_type import EventType
from tamis.store import Store, tables
from tamis.store.change_set import ChangeSet
from tamis.store.database import StoreDatabase
from tamis.store.tables import ACTIVE, Row

ROW = Row("a", 1, "x = 1", "event", None, None, 0, None, None, 1, 1, ACTIVE, None)


def test_changes_are_one_version(url: str) -> None:
    with closing(StoreDatabase(url, create=True)) as database:
        with database.writing() as connection:
            change_set = ChangeSet(connection, database.where)
            assert change_set.version == 0
            change_set.declare(EventType("event"))
            change_set.change("add", ROW)
            change_set.change("pause", ROW._replace(id="b"))
            assert (change_set.version, change_set.new_ids()) == (1, ["a"])
            change_set.write()
        with database.reading() as connection:
            log = connection.execute(select(tables.changes.c.version, tables.changes.c.kind, tables.changes.c.id))
            assert [tuple(row) for row in log] == [(1, "type", None), (1, "add", "a"), (1, "pause", "b")]
    with Store.open(url) as store:
        assert (store.version(), len(store)) == (1, 2)
        assert store.get("a").changed > store.get("a").created, "all changes have the time of the set"


def test_nothing_changed_is_no_version(url: str) -> None:
    with closing(StoreDatabase(url, create=True)) as database:
        with database.writing() as connection:
            ChangeSet(connection, database.where).write()
        with database.reading() as connection:
            assert ChangeSet(connection, database.where).view.version == 0
