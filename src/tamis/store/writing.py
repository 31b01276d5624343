"""A change set in the making: one transaction, one version."""

from __future__ import annotations

import json
from itertools import chain

from sqlalchemy import Connection

from tamis.events.event_type import EventType
from tamis.store import tables
from tamis.store.database import Database
from tamis.store.records import Kind, now_us
from tamis.store.tables import Row
from tamis.store.view import View


class Writing:
    """The state before the change set, and what it does."""

    def __init__(self, database: Database, connection: Connection) -> None:
        self.view = View(database, connection)
        self.now = now_us()
        self._database = database
        self.connection = connection
        self._changes: list[tuple[Kind, Row]] = []
        self._types: list[tuple[object, ...]] = []

    @property
    def version(self) -> int:
        """Of the store, when this is committed."""
        return self.view.version + bool(self._changes or self._types)

    def added(self) -> list[str]:
        """The ids that are new so far."""
        return [row.id for kind, row in self._changes if kind == "add"]

    def change(self, kind: Kind, row: Row) -> None:
        """Note the state of a subscription after a change; an id is changed once in a change set."""
        self._changes.append((kind, row if row.changed == self.now else row._replace(changed=self.now)))

    def declare(self, event_type: EventType) -> None:
        """Note an event type."""
        description = json.dumps(event_type.to_dict(), ensure_ascii=False)
        table, name = tables.event_types, event_type.name
        self.connection.execute(table.delete().where(table.c.name == name))
        self.connection.execute(table.insert().values(name=name, description=description))
        nothing = (None,) * 7
        self._types.append(("type", None, None, description, name, *nothing))

    def write(self) -> None:
        """Write it all down, before the transaction ends."""
        version = self.version
        if version == self.view.version:
            return
        if self._changes:
            self._database.put(self.connection, [row for _, row in self._changes])
        entries = chain(self._types, ((kind, *row.logged()) for kind, row in self._changes))
        self._database.append(
            self.connection,
            tables.changes,
            ((version, ordinal, self.now, *entry) for ordinal, entry in enumerate(entries)),
            len(self._types) + len(self._changes),
        )
        self.connection.execute(tables.meta.update().values(version=version))
