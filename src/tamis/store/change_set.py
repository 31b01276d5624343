"""A set of changes: one transaction, one version of the store."""

from __future__ import annotations

import json
from itertools import chain

from sqlalchemy import Connection

from tamis.events.event_type import EventType
from tamis.language.dialects import SQL
from tamis.sql.rows import insert_rows
from tamis.store import tables
from tamis.store.database import put_rows
from tamis.store.records import Kind, now_us
from tamis.store.tables import Row
from tamis.store.view import StoreView

_NOTHING = (*(None,) * 7, SQL)
"""The columns of the log from `owner` to `dialect`, of a change of an event type."""


class ChangeSet:
    """Collects changes, then writes them with the next version.

    Attributes:
        view: The state before the changes.
        now: The time of the changes, in microseconds.
        connection: Of the transaction.
        actor: Who makes the changes, if that is known.
    """

    def __init__(self, connection: Connection, where: str, actor: str | None = None) -> None:
        self.actor = actor
        self.view = StoreView(connection, where)
        self.now = now_us()
        self.connection = connection
        self._changes: list[tuple[Kind, Row]] = []
        self._types: list[tuple[object, ...]] = []

    @property
    def version(self) -> int:
        """The version of the store after the commit: the next one, if anything changes."""
        return self.view.version + bool(self._changes or self._types)

    def new_ids(self) -> list[str]:
        """The ids that were added so far."""
        return [row.id for kind, row in self._changes if kind == "add"]

    def change(self, kind: Kind, row: Row) -> None:
        """Note the state of a subscription after a change; an id is changed once in a change set."""
        self._changes.append((kind, row if row.changed == self.now else row._replace(changed=self.now)))

    def drop(self, name: str) -> None:
        """Forget an event type."""
        self.connection.execute(tables.event_types.delete().where(tables.event_types.c.name == name))
        self._types.append(("drop", None, None, None, name, *_NOTHING))

    def declare(self, event_type: EventType) -> None:
        """Declare an event type, or replace the one of that name."""
        description = json.dumps(event_type.to_dict(), ensure_ascii=False)
        table, name = tables.event_types, event_type.name
        self.connection.execute(table.delete().where(table.c.name == name))
        self.connection.execute(table.insert().values(name=name, description=description))
        self._types.append(("type", None, None, description, name, *_NOTHING))

    def write(self) -> None:
        """Write the rows and the log, in the same transaction."""
        version = self.version
        if version == self.view.version:
            return
        if self._changes:
            put_rows(self.connection, [row for _, row in self._changes])
        entries = chain(self._types, ((kind, *row.log_values()) for kind, row in self._changes))
        rows = ((version, ordinal, self.now, *entry, self.actor) for ordinal, entry in enumerate(entries))
        log = tables.changes
        insert_rows(self.connection, log, log.c.keys(), rows, len(self._types) + len(self._changes))
        self.connection.execute(tables.meta.update().values(version=version))
