"""One state of a store: all queries of a view see the same version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from sqlalchemy import Connection, Select, and_, func, or_, select

from tamis.events.event_type import EventType
from tamis.store import tables
from tamis.store.database import StoreError, rows_of_ids
from tamis.store.records import ChangeLogEntry, StoredSubscription, is_storable, moment
from tamis.store.tables import ACTIVE, EXPIRED, LIVING, ROW_COLUMNS, Row

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Result

_CHUNK_ROWS = 50_000
_TIME = pa.timestamp("us", "UTC")
CHANGES_SCHEMA = pa.schema(
    [
        ("store_version", pa.int64()),
        ("ordinal", pa.int32()),
        ("at", _TIME),
        ("kind", pa.string()),
        ("id", pa.string()),
        ("revision", pa.int32()),
        ("condition", pa.large_string()),
        ("event_type", pa.string()),
        ("owner", pa.string()),
        ("label", pa.string()),
        ("priority", pa.int64()),
        ("valid_from", _TIME),
        ("expires", _TIME),
        ("state", pa.string()),
        ("refusal", pa.string()),
        ("dialect", pa.string()),
        ("actor", pa.string()),
    ]
)
"""Columns of the change log. Changes of the kinds "type" and "drop" have no id; of "type", the condition is
the event type's description."""
MATCHABLE_SCHEMA = pa.schema(
    [
        ("id", pa.large_string()),
        ("condition", pa.large_string()),
        ("event_type", pa.string()),
        ("priority", pa.int64()),
        ("owner", pa.large_string()),
        ("revision", pa.int32()),
        ("label", pa.large_string()),
        ("dialect", pa.string()),
    ]
)
"""Columns of what a matcher needs to know."""

_subscriptions, _changes, _meta = tables.subscriptions.c, tables.changes.c, tables.meta.c


def _begins_with(prefix: str) -> list[ColumnElement[bool]]:
    """That an id begins so. Ids are in the order of their bytes, so an index ends the search, too."""
    id, last = _subscriptions.id, ord(prefix[-1])
    ends = [id < prefix[:-1] + chr(last + 1)] if last < 0xD7FF else []
    return [id >= prefix, *ends, func.substr(id, 1, len(prefix)) == prefix]


def _change_column(name: str) -> ColumnElement[Any]:
    """A column of the change log, whose table calls the version of its own store `version`."""
    return _changes.version.label(name) if name == "store_version" else _changes[name]


class ChangedSubscriptions(NamedTuple):
    """Subscriptions that changed.

    Attributes:
        ids: Of all of them, also of those that are gone.
        expired: When those of them expired that are to be matched all the same.
        matchable: What of them is to be matched, in columns.
        is_any_refused: Is one of them active, but refused by its event type?
    """

    ids: list[str]
    expired: dict[str, int]
    matchable: pa.Table
    is_any_refused: bool


class StoreView:
    """One state of a store, from `Store.view`."""

    def __init__(self, connection: Connection, where: str) -> None:
        self._connection = connection
        self._where = where
        found = connection.execute(select(_meta.version, _meta.trimmed, _meta.floor)).one()
        self.version: int = found.version
        self.trimmed: int = found.trimmed
        self.floor: int = found.floor

    def event_types(self) -> dict[str, EventType]:
        """The declared event types by name."""
        table = tables.event_types
        found = self._connection.execute(select(table.c.name, table.c.description).order_by(table.c.name))
        return {name: EventType.from_dict(json.loads(description)) for name, description in found}

    def count(
        self,
        *,
        owner: str | None = None,
        prefix: str = "",
        event_type: str | None = None,
        refused: bool = False,
        states: Sequence[str] = LIVING,
    ) -> int:
        """Number of subscriptions that are neither removed nor expired.

        Args:
            owner: Only those of this owner.
            prefix: Only those whose ids begin so.
            event_type: Only those to this event type.
            states: Only those in one of these states.
            refused: Only those whose event type refuses them.
        """
        query = select(func.count()).where(_subscriptions.state.in_(states))
        if owner is not None:
            query = query.where(_subscriptions.owner == owner)
        if prefix:
            query = query.where(*_begins_with(prefix))
        if event_type is not None:
            query = query.where(_subscriptions.event_type == event_type)
        if refused:
            query = query.where(_subscriptions.refusal.is_not(None))
        return self._connection.execute(query).scalar_one()

    def count_by_type(self) -> dict[str, int]:
        """Number of living subscriptions to each event type that has any."""
        name = _subscriptions.event_type
        query = select(name, func.count()).where(_subscriptions.state.in_(LIVING)).group_by(name).order_by(name)
        return {name: count for name, count in self._connection.execute(query)}

    def rows(self, ids: Sequence[str]) -> dict[str, Row]:
        """The rows of these ids, gone ones included, as far as there are any."""
        return rows_of_ids(self._connection, [id for id in ids if is_storable(id)])

    def subscriptions(
        self,
        *,
        owner: str | None = None,
        event_type: str | None = None,
        label: str | None = None,
        prefix: str = "",
        search: str = "",
        after: str = "",
        limit: int | None = None,
    ) -> Iterator[StoredSubscription]:
        """Subscriptions by id; see `Store.list`."""
        if not all(is_storable(text) for text in (owner, event_type, label, prefix, search, after) if text):
            return
        query = select(*ROW_COLUMNS).where(_subscriptions.state.in_(LIVING)).order_by(_subscriptions.id)
        for column, value in (
            (_subscriptions.owner, owner),
            (_subscriptions.event_type, event_type),
            (_subscriptions.label, label),
        ):
            if value is not None:
                query = query.where(column == value)
        if prefix:
            query = query.where(*_begins_with(prefix))
        if search:
            wanted = search.lower()
            name = func.substr(_subscriptions.id, len(prefix) + 1)
            columns = (name, _subscriptions.label, _subscriptions.condition)
            query = query.where(or_(*(func.lower(column).contains(wanted, autoescape=True) for column in columns)))
        if after:
            query = query.where(_subscriptions.id > after)
        if limit is not None:
            query = query.limit(limit)
        for part in self._stream(query).partitions(_CHUNK_ROWS):
            yield from (StoredSubscription.of(Row._make(row)) for row in part)

    def of_type(self, name: str) -> list[Row]:
        """The rows of the living subscriptions to an event type."""
        query = select(*ROW_COLUMNS).where(_subscriptions.state.in_(LIVING), _subscriptions.event_type == name)
        return [Row(*row) for row in self._connection.execute(query.order_by(_subscriptions.id))]

    def is_due(self, now: int) -> bool:
        """Should anything have started or expired by now?"""
        query = select(_subscriptions.id).where(_subscriptions.due <= now).limit(1)
        return self._connection.execute(query).first() is not None

    def due(self, now: int) -> list[Row]:
        """The rows of what should have started or expired by now."""
        query = select(*ROW_COLUMNS).where(_subscriptions.due <= now).order_by(_subscriptions.id)
        return [Row(*row) for row in self._connection.execute(query)]

    def history(self, id: str) -> list[ChangeLogEntry]:
        """Every change of one id that the log still has, the oldest first."""
        if not is_storable(id):
            return []
        columns = [_change_column(name) for name in CHANGES_SCHEMA.names if name != "ordinal"]
        query = select(*columns).where(_changes.id == id).order_by(_changes.version, _changes.ordinal)
        found: list[ChangeLogEntry] = []
        for row in self._connection.execute(query):
            named: dict[str, Any] = dict(row._mapping)
            for key in ("at", "valid_from", "expires"):
                named[key] = moment(named[key])
            found.append(ChangeLogEntry(**named))
        return found

    def conditions_at(self, revisions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[str | None, str]]:
        """The label and the condition that revisions of subscriptions have or had, by id and revision.

        Revisions that the log does not have any more are left out.
        """
        wanted = {each for each in revisions if is_storable(each[0])}
        rows = self.rows([*{id for id, _ in wanted}])
        living = {(id, row.revision): (row.label, row.condition) for id, row in rows.items() if row.living}
        found = {each: living[each] for each in wanted & living.keys()}
        ids = [*{id for id, _ in wanted - found.keys()}]
        columns = _changes.id, _changes.revision, _changes.label, _changes.condition
        for start in range(0, len(ids), 500):
            # Of several entries of a revision the last counts; a renewal changes neither.
            which = _changes.id.in_(ids[start : start + 500]), _changes.kind != "renew", _changes.condition != ""
            query = select(*columns).where(*which).order_by(_changes.version, _changes.ordinal)
            for id, revision, label, condition in self._connection.execute(query):
                if (id, revision) in wanted and (id, revision) not in living:
                    found[id, revision] = (label, condition)
        return found

    def changed_after(self, version: int) -> datetime | None:
        """The time of the first change after a version that the log still has; None if there is none."""
        query = select(_changes.at).where(_changes.version > version).order_by(_changes.version).limit(1)
        return moment(self._connection.execute(query).scalar_one_or_none())

    def changes(self, after: int, upto: int | None = None) -> Iterator[pa.RecordBatch]:
        """All changes of later versions, in order, in columns; see `Store.changes`."""
        if after < self.trimmed:
            msg = f"{self._where}: the changes up to store version {self.trimmed} have been cut"
            raise StoreError(msg)
        query = select(*map(_change_column, CHANGES_SCHEMA.names)).where(_changes.version > after)
        if upto is not None:
            query = query.where(_changes.version <= upto)
        yield from self._batches(query.order_by(_changes.version, _changes.ordinal), CHANGES_SCHEMA)

    def matchable(self, event_type: str, valid_since: int | None = None) -> Iterator[pa.RecordBatch]:
        """Every subscription to the event type that is to be matched, in columns.

        With `valid_since`, a time in microseconds, also those that have expired since.
        """
        query = select(*(_subscriptions[name] for name in MATCHABLE_SCHEMA.names)).order_by(_subscriptions.id)
        wanted = self._is_matched(valid_since), _subscriptions.event_type == event_type
        yield from self._batches(query.where(*wanted), MATCHABLE_SCHEMA)

    def expired(self, since: int) -> dict[str, int]:
        """The subscriptions that have expired since a time, and when."""
        query = select(_subscriptions.id, _subscriptions.expires).where(
            _subscriptions.state == EXPIRED, self._is_matched(since)
        )
        return {id: expires for id, expires in self._connection.execute(query)}

    def _is_matched(self, valid_since: int | None) -> ColumnElement[bool]:
        states = _subscriptions.state == ACTIVE
        if valid_since is not None:
            states = or_(states, and_(_subscriptions.state == EXPIRED, _subscriptions.expires > valid_since))
        return and_(states, _subscriptions.refusal.is_(None))

    def changed_subscriptions(
        self, after: int, valid_since: int | None = None, also: Iterable[str] = ()
    ) -> ChangedSubscriptions:
        """The subscriptions that later versions changed, and those in `also`, as they are in this one.

        With `valid_since`, a time in microseconds, what has expired since is to be matched, too.
        """
        # When something expires is no matter of matching, until it does.
        query = select(_changes.id).where(
            _changes.version > after, _changes.id.is_not(None), _changes.kind != "renew"
        )
        ids = sorted({*self._connection.execute(query).scalars(), *also})
        everything = [*self.rows(ids).values()]
        rows = [row for row in everything if row.refusal is None]
        is_any_refused = any(row.refusal is not None and row.state == ACTIVE for row in everything)
        expired = {
            row.id: row.expires
            for row in rows
            if valid_since is not None and row.state == EXPIRED and row.expires is not None
            if row.expires > valid_since
        }
        found = [row for row in rows if row.state == ACTIVE or row.id in expired]
        arrays = [pa.array([getattr(row, field.name) for row in found], field.type) for field in MATCHABLE_SCHEMA]
        matchable = pa.Table.from_arrays(arrays, schema=MATCHABLE_SCHEMA)
        return ChangedSubscriptions(ids, expired, matchable, is_any_refused)

    def changed_event_types(self, after: int) -> list[str]:
        """The event types that later versions declared, changed or dropped."""
        query = select(_changes.event_type).where(_changes.version > after, _changes.kind.in_(("type", "drop")))
        return sorted({*self._connection.execute(query).scalars()})

    def _stream(self, query: Select[Any]) -> Result[Any]:
        options = {"stream_results": True, "max_row_buffer": _CHUNK_ROWS}
        return self._connection.execute(query, execution_options=options)

    def _batches(self, query: Select[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for part in self._stream(query).partitions(_CHUNK_ROWS):
            columns = zip(*part, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
