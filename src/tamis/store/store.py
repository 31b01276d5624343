"""The store: subscriptions of record, changed in versions.

Every change set is one transaction and one version; versions are dense, become visible in order, and say in the
change log what they did. Only conditions that compile are taken. All methods may be called from several threads
and processes.
"""

from __future__ import annotations

import builtins
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace as replaced
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlalchemy import select

from tamis.errors import SubscriptionError
from tamis.events.event_type import EventType
from tamis.language.dialects import SQL
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.segments.fields import RENAME
from tamis.store import tables
from tamis.store.change_set import ChangeSet
from tamis.store.database import StoreDatabase, forget_ended
from tamis.store.records import (
    DEFAULT_TYPE,
    ChangeLogEntry,
    ImportResult,
    Kind,
    StoredSubscription,
    check_times,
    microseconds,
    moment,
    now_us,
    parse_time,
    read_records,
)
from tamis.store.tables import ACTIVE, EXPIRED, PAUSED, REMOVED, Row
from tamis.store.transitions import (
    CompiledImport,
    after_import,
    after_replacement,
    compile_import,
    condition_errors,
    state_at,
    with_types,
)
from tamis.store.view import CHANGES_SCHEMA, StoreView

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tamis.matcher import Refusal


class Store:
    """Subscriptions of record in a database.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Store.open(f"{folder}/subs.db") as store:
        ...     store.add("cheap", "price < 300"), store.replace("cheap", "price < 200")
        ...     [(change.store_version, change.kind, change.revision) for change in store.history("cheap")]
        (1, 2)
        [(1, 'add', 1), (2, 'replace', 2)]
    """

    def __init__(self, database: StoreDatabase, limits: Limits = DEFAULT_LIMITS, actor: str | None = None) -> None:
        self._database = database
        self.limits = limits
        self._actor = actor

    @classmethod
    def open(cls, url: str | os.PathLike[str], *, create: bool = True, limits: Limits = DEFAULT_LIMITS) -> Store:
        """The store in a database.

        Args:
            url: Path of a SQLite file, `sqlite:///...` or `postgresql://...`.
            create: Make the tables if there are none?
            limits: What a condition may ask for.

        Raises:
            StoreError: There is no store, it is foreign or newer, or cannot be reached.
        """
        return cls(StoreDatabase(url, create=create), limits)

    @property
    def url(self) -> str:
        """The path or URL, without the password."""
        return self._database.where

    @property
    def identity(self) -> str:
        """An id that is different for every store."""
        return self._database.identity

    def with_limits(self, limits: Limits) -> Store:
        """The same store, for conditions with other limits."""
        return self if limits == self.limits else Store(self._database, limits, self._actor)

    def acting_as(self, actor: str | None) -> Store:
        """The same store, whose changes say in the log who made them."""
        return Store(self._database, self.limits, actor)

    # --- reading -----------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[StoreView]:
        """The store as it is now, whatever is changed meanwhile."""
        with self._database.reading() as connection:
            yield StoreView(connection, self._database.where)

    def version(self) -> int:
        """0 of an empty store, one more with every change set."""
        with self.view() as view:
            return view.version

    def trimmed(self) -> int:
        """The changes up to this version have been cut; 0 if none have."""
        with self.view() as view:
            return view.trimmed

    def event_types(self) -> dict[str, EventType]:
        """The declared event types by name; the schemaless one once it is used."""
        with self.view() as view:
            return view.event_types()

    def get(self, id: str) -> StoredSubscription:
        """One subscription.

        Raises:
            SubscriptionError: There is none of that id.
        """
        with self.view() as view:
            return StoredSubscription.of(_living(view, id))

    def list(
        self,
        *,
        owner: str | None = None,
        event_type: str | None = None,
        label: str | None = None,
        prefix: str = "",
        search: str = "",
        after: str = "",
        limit: int | None = None,
    ) -> builtins.list[StoredSubscription]:
        """Subscriptions in the order of their ids.

        Args:
            owner: Of this one only.
            event_type: To this one only.
            label: With this one only.
            prefix: Whose ids start so.
            search: Whose id after the prefix, label or condition contains this, case of ASCII letters aside.
            after: Whose ids come after this one: the last of the page before.
            limit: At most so many.
        """
        with self.view() as view:
            options = {"owner": owner, "event_type": event_type, "label": label}
            return [*view.subscriptions(**options, prefix=prefix, search=search, after=after, limit=limit)]

    def __len__(self) -> int:
        """The number of subscriptions."""
        with self.view() as view:
            return view.count()

    def __contains__(self, id: object) -> bool:
        """Is there a subscription of that id?"""
        with self.view() as view:
            row = view.rows([id]).get(id) if isinstance(id, str) else None
            return row is not None and row.living

    def history(self, id: str) -> builtins.list[ChangeLogEntry]:
        """Every change of one id, the oldest first; those up to version `trimmed()` are not there any more."""
        with self.view() as view:
            return view.history(id)

    def changes(self, after: int, upto: int | None = None) -> pa.Table:
        """All changes of versions after one and up to another, in order.

        Raises:
            StoreError: Some of them have been cut.
        """
        with self.view() as view:
            return pa.Table.from_batches(view.changes(after, upto), CHANGES_SCHEMA)

    # --- changing ----------------------------------------------------------------------------------------

    def set_event_type(self, event_type: EventType) -> builtins.list[Refusal]:
        """Declare an event type, or change the one of that name.

        The conditions of its subscriptions are compiled again. Those that are now refused stay, with the reason,
        and are not matched; they come back when they compile again.

        Returns:
            What is refused.
        """
        from tamis.matcher import Refusal

        wanted = event_type if event_type.name else replaced(event_type, name=DEFAULT_TYPE)
        refusals: builtins.list[Refusal] = []
        with self._change_set() as change_set:
            if change_set.view.event_types().get(wanted.name) == wanted:
                return []
            change_set.declare(wanted)
            rows = change_set.view.of_type(wanted.name)
            errors = condition_errors(rows, wanted, self.limits)
            for place, row in enumerate(rows):
                error = errors.get(place)
                if error is not None:
                    refusals.append(Refusal(row.id, error))
                if (error is None) != (row.refusal is None):
                    reason = None if error is None else str(error)
                    change_set.change("refuse" if error else "accept", row._replace(refusal=reason))
        return refusals

    def drop_event_type(self, name: str) -> int:
        """Forget an event type that no living subscription needs; gives the version.

        Raises:
            SubscriptionError: There is no such event type, or it has subscriptions.
        """
        with self._change_set() as change_set:
            known = change_set.view.event_types()
            if name not in known:
                raise SubscriptionError(kind="unknown event type", event_type=name, known=sorted(known))
            count = change_set.view.count_by_type().get(name, 0)
            if count:
                msg = f"has {count:,} living subscription{'' if count == 1 else 's'}; remove them first"
                raise SubscriptionError(msg, "event type in use", event_type=name)
            change_set.drop(name)
        return change_set.version

    def add(
        self,
        id: str,
        condition: str,
        *,
        event_type: str | None = None,
        owner: str | None = None,
        label: str | None = None,
        priority: int = 0,
        valid_from: datetime | None = None,
        expires: datetime | None = None,
        dialect: str = SQL,
    ) -> int:
        """Add a subscription under a new id; gives the version.

        Without an event type, the subscription is to the one that is declared; if there are several or none, to
        the schemaless one.

        Raises:
            ConditionError: The condition is refused.
            SubscriptionError: The id is taken, there is no such event type, or a field is not what it should be.
        """
        record = {"id": id, "condition": condition, "event_type": event_type, "owner": owner}
        record |= {"label": label, "dialect": dialect}
        times = {"valid_from": valid_from, "expires": expires}
        imported = self.add_many([{**record, "priority": priority, **times}])
        if imported.refusals:
            raise imported.refusals[0].error
        return imported.store_version

    def add_many(
        self,
        rows: Iterable[Mapping[str, Any]] | pa.Table,
        *,
        replace: bool = False,
        alongside: Callable[[Connection, builtins.list[str]], None] | None = None,
    ) -> ImportResult:
        """Add many subscriptions in one version; those that are refused come back, the others are added.

        Args:
            rows: Mappings or an Arrow table with the fields of `add`, of which `id` and `condition` must be there,
                and `state`: one that is "paused" is left out of matching. An `event_type` that is called `type`
                is taken, with a warning.
            replace: Change subscriptions that are there already? Fields that no row has stay as they are.
            alongside: Called within the transaction, with its connection and the new ids, to write more
                about these subscriptions into the same database.
        """
        from tamis.matcher import Refusal

        records, present, has_old_name = read_records(rows)
        if has_old_name:
            warnings.warn(RENAME, stacklevel=2)
        # Compiling takes longest, so it is done before other writers are locked out.
        with self.view() as view:
            typed, types = with_types(records, view, replace=replace), view.event_types()
        done = compile_import(typed, types, self.limits, now_us())
        with self._change_set() as change_set:
            types = change_set.view.event_types()
            now_typed = with_types(records, change_set.view, replace=replace)
            if now_typed != typed or any(types.get(name) != each for name, each in done.types.items()):
                done = compile_import(now_typed, types, self.limits, change_set.now)
            counts = self._import(change_set, done, present, replace=replace)
            if alongside is not None:
                alongside(change_set.connection, change_set.new_ids())
        refusals = [
            Refusal(str(records[place].get("id") or ""), error) for place, error in sorted(done.errors.items())
        ]
        edited = counts["edit"] + counts["pause"] + counts["resume"]
        changed = (counts["add"], counts["replace"], edited)
        accepted = [each.event_type for place, each in done.good.items() if place not in done.errors]
        by_type = dict(sorted(Counter(accepted).items()))
        return ImportResult(change_set.version, *changed, counts[None], by_type, refusals)

    def replace(self, id: str, condition: str | None = None, **fields: Any) -> int:
        """Change a subscription: its condition, or any field of `add`; what is not given stays. Gives the version.

        Another condition, dialect or event type makes another revision.

        Raises:
            ConditionError: The condition is refused.
            SubscriptionError: There is none of that id, or a field is not what it should be.
        """
        if condition is not None:
            fields["condition"] = condition
        with self._change_set() as change_set:
            before = _living(change_set.view, id)
            types = change_set.view.event_types()
            outcome = after_replacement(before, fields, types, self.limits, change_set.now)
            if outcome is not None:
                if outcome.row.event_type not in types:
                    change_set.declare(EventType())
                change_set.change(*outcome)
        return change_set.version

    def renew(self, id: str, expires: datetime | None) -> int:
        """Set when a subscription expires, None for never; no other revision. Gives the version.

        Raises:
            SubscriptionError: There is none of that id, or the time is over.
        """
        with self._change_set() as change_set:
            before = _living(change_set.view, id)
            until = parse_time(id, "expires", expires)
            check_times(id, before.valid_from, until, change_set.now)
            if until != before.expires:
                change_set.change("renew", before._replace(expires=until))
        return change_set.version

    def pause(self, id: str, *, paused: bool = True) -> int:
        """Leave a subscription out of matching, or take it in again; gives the version.

        It expires all the same. One that is paused already stays as it is.

        Raises:
            SubscriptionError: There is none of that id.
        """
        with self._change_set() as change_set:
            before = _living(change_set.view, id)
            if paused != (before.state == PAUSED):
                state = PAUSED if paused else state_at(before.valid_from, change_set.now)
                change_set.change("pause" if paused else "resume", before._replace(state=state))
        return change_set.version

    def remove(self, id: str) -> int:
        """Remove a subscription; gives the version.

        Raises:
            SubscriptionError: There is none of that id.
        """
        with self._change_set() as change_set:
            change_set.change("remove", _living(change_set.view, id)._replace(state=REMOVED))
        return change_set.version

    def remove_many(self, ids: Iterable[str]) -> builtins.list[str]:
        """Remove many in one version; gives the ids that were not there."""
        wanted = list(dict.fromkeys(ids))
        unknown: builtins.list[str] = []
        with self._change_set() as change_set:
            rows = change_set.view.rows(wanted)
            for id in wanted:
                row = rows.get(id)
                if row is None or not row.living:
                    unknown.append(id)
                else:
                    change_set.change("remove", row._replace(state=REMOVED))
        return unknown

    def expire(self, now: datetime | None = None) -> int:
        """Start and expire whatever is due, in one version; gives the version of the store."""
        time = now_us() if now is None else microseconds(now)
        with self.view() as view:
            if not view.is_due(time):
                return view.version
        with self._change_set() as change_set:
            for row in change_set.view.due(time):
                if row.expires is not None and row.expires <= time:
                    # Without its time, one that was paused is not matched with earlier events.
                    expires = None if row.state == PAUSED else row.expires
                    change_set.change("expire", row._replace(state=EXPIRED, expires=expires))
                else:
                    change_set.change("start", row._replace(state=ACTIVE))
        return change_set.version

    def trim(self, before: int) -> int:
        """Cut the change log: the changes of versions before this one; gives how many.

        Subscriptions whose end is cut are forgotten. A snapshot that holds an older version is rebuilt when it is
        published next.
        """
        table, meta = tables.changes, tables.meta
        with self._database.writing() as connection:
            view = StoreView(connection, self._database.where)
            last = min(before - 1, view.version)
            if last <= view.trimmed:
                return 0
            forget_ended(connection, last, view.floor)
            connection.execute(meta.update().values(trimmed=last))
            return connection.execute(table.delete().where(table.c.version <= last)).rowcount

    def trim_older(self, than: datetime) -> int:
        """Cut the changes from before a time; gives how many."""
        table = tables.changes
        kept = select(table.c.version).where(table.c.at >= microseconds(than)).order_by(table.c.version).limit(1)
        with self._database.reading() as connection:
            first = connection.execute(kept).scalar()
        return self.trim(self.version() + 1 if first is None else first)

    # --- the rest ----------------------------------------------------------------------------------------

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _change_set(self) -> Iterator[ChangeSet]:
        with self._database.writing() as connection:
            change_set = ChangeSet(connection, self._database.where, self._actor)
            yield change_set
            change_set.write()

    def _import(
        self, change_set: ChangeSet, done: CompiledImport, present: frozenset[str], *, replace: bool
    ) -> Counter[Kind | None]:
        """Add compiled records to the change set; counts changes by kind. What is refused joins the errors."""
        counts: Counter[Kind | None] = Counter()
        there = change_set.view.rows([subscription.id for subscription in done.good.values()])
        uses_default = False
        for place, subscription in done.good.items():
            try:
                outcome = after_import(
                    there.get(subscription.id),
                    subscription,
                    present,
                    change_set.now,
                    replace=replace,
                    floor=change_set.view.floor,
                )
            except SubscriptionError as error:
                done.errors[place] = error
                continue
            counts[None if outcome is None else outcome.kind] += 1
            if outcome is not None:
                change_set.change(*outcome)
                uses_default = uses_default or outcome.row.event_type == DEFAULT_TYPE
        if uses_default and done.types[DEFAULT_TYPE] is None:
            change_set.declare(EventType())
        return counts


def _living(view: StoreView, id: str) -> Row:
    row = view.rows([id]).get(id)
    if row is None or not row.living:
        ended = "expired" if row is not None and row.state == EXPIRED else "was removed"
        detail = "" if row is None else f"it {ended} at {moment(row.changed)}"
        raise SubscriptionError(detail, "unknown", id)
    return row
