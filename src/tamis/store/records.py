"""Subscriptions as they go into a store and come out of it: plain immutable values.

Times are given as datetimes or ISO 8601 texts; without a zone they are UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import pyarrow as pa

from tamis.errors import SubscriptionError
from tamis.events.conversion import clean
from tamis.language.dialects import SQL
from tamis.segments.fields import OLD_TYPE, check_priority, unknown_field, with_event_type
from tamis.store.tables import LIVING, Row

if TYPE_CHECKING:
    from tamis.matcher import Refusal

Kind: TypeAlias = Literal[
    "add",
    "replace",
    "edit",
    "renew",
    "pause",
    "resume",
    "remove",
    "start",
    "expire",
    "refuse",
    "accept",
    "type",
    "drop",
]
State: TypeAlias = Literal["active", "waiting", "paused", "removed", "expired"]
KINDS: tuple[Kind, ...] = get_args(Kind)

DEFAULT_TYPE = "event"
"""Name of the schemaless event type that needs no declaration."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAME_CHARACTERS = 512
"""Longest id, owner and event type name: databases index them."""


@dataclass(frozen=True, slots=True)
class StoredSubscription:
    """A subscription of record.

    Attributes:
        id: Chosen by the caller.
        revision: 1 when first added, one more with each other condition, dialect or event type, even after a
            removal. Once the store has forgotten subscriptions that ended, a new id begins above their revisions.
        condition: Its text.
        event_type: Name of its event type.
        owner: Whose it is.
        label: What people call it.
        priority: Higher ones are reported first.
        valid_from: When it starts; None for at once.
        expires: When it ends; None for never.
        created: When it was added.
        changed: When it was changed last.
        state: "active", "waiting" for `valid_from`, or "paused".
        refusal: Why its event type, changed since, refuses the condition; None if it does not.
        dialect: Of the condition.
    """

    id: str
    revision: int
    condition: str
    event_type: str
    owner: str | None
    label: str | None
    priority: int
    valid_from: datetime | None
    expires: datetime | None
    created: datetime
    changed: datetime
    state: State
    refusal: str | None
    dialect: str = SQL

    @classmethod
    def of(cls, row: Row) -> StoredSubscription:
        """The subscription of a row."""
        named: dict[str, Any] = row._asdict()
        for key in ("valid_from", "expires", "created", "changed"):
            named[key] = moment(named[key])
        return cls(**named)


@dataclass(frozen=True, slots=True)
class ChangeLogEntry:
    """One change of one subscription, and the state after it.

    Attributes:
        store_version: The version of the store that the change belongs to.
        at: When it was made.
        kind: "add"; "replace": another condition, dialect or event type, so another revision; "edit": anything
            else; "renew": when it expires; "pause", "resume"; "remove"; "start", "expire": its time has come;
            "refuse", "accept": its event type was changed.
        id: Of the subscription.
        revision: After the change, as everything below.
        condition: Its text.
        event_type: Name of its event type.
        owner: Whose it is.
        label: What people call it.
        priority: Higher ones are reported first.
        valid_from: When it starts.
        expires: When it ends.
        state: "active", "waiting", "paused", "removed" or "expired".
        refusal: Why its event type refuses the condition, if it does.
        dialect: Of the condition.
        actor: Who made the change, if the store was told (`Store.acting_as`).
    """

    store_version: int
    at: datetime
    kind: Kind
    id: str
    revision: int
    condition: str
    event_type: str
    owner: str | None
    label: str | None
    priority: int
    valid_from: datetime | None
    expires: datetime | None
    state: State
    refusal: str | None
    dialect: str
    actor: str | None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of an import of many subscriptions.

    Attributes:
        store_version: The version of the store after it.
        added: Ids that were new.
        replaced: Ids with another condition, dialect or event type.
        edited: Ids of which something else has changed.
        unchanged: Ids that were there as given.
        by_type: How many of all these there are of each event type.
        refusals: The subscriptions that were refused, and why.
    """

    store_version: int
    added: int
    replaced: int
    edited: int
    unchanged: int
    by_type: dict[str, int]
    refusals: list[Refusal]


class SubscriptionFields(NamedTuple):
    """The fields of a subscription that a caller sets; times in microseconds. Without a state, that stays."""

    id: str
    condition: str
    event_type: str
    owner: str | None = None
    label: str | None = None
    priority: int = 0
    valid_from: int | None = None
    expires: int | None = None
    state: str | None = None
    dialect: str = SQL


FIELDS = SubscriptionFields._fields
_NAMES = ("id", "event_type", "owner")


class GivenRecords(NamedTuple):
    """The records of an import.

    Attributes:
        records: Under the names of today.
        present: The fields that any of them has.
        has_old_name: Is the event type of one of them called `type`?
    """

    records: list[Mapping[str, Any]]
    present: frozenset[str]
    has_old_name: bool


def read_records(rows: Iterable[Mapping[str, Any]] | pa.Table) -> GivenRecords:
    """The records of an import.

    Raises:
        SubscriptionError: There is a field that no subscription has, or no id or condition anywhere.
    """
    is_table = hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__")
    table = pa.table(rows) if is_table else None
    records: list[Mapping[str, Any]] = [*rows] if table is None else table.to_pylist()
    present = frozenset().union(*records) if table is None else frozenset(table.column_names)
    has_old_name = OLD_TYPE in present
    if has_old_name:
        records = [with_event_type(each)[0] for each in records]
        present = present - {OLD_TYPE} | {"event_type"}
    if records or table is not None:
        _check_fields(present)
    return GivenRecords(records, present, has_old_name)


def _check_fields(present: frozenset[str]) -> None:
    unknown = sorted(present - {*FIELDS})
    missing = [name for name in ("id", "condition") if name not in present]
    if unknown or missing:
        msg = (
            unknown_field(unknown[0], FIELDS)
            if unknown
            else f"the field {missing[0]!r} is missing; a subscription has {', '.join(FIELDS)}"
        )
        raise SubscriptionError(msg)


def parse_record(record: Mapping[str, Any], now: int) -> SubscriptionFields:
    """Check the fields of a record.

    Raises:
        SubscriptionError: A field is not what it should be, or its time is over.
    """
    id = record.get("id")
    if not isinstance(id, str) or not id:
        msg = f"id: expected a text, found {id!r}"
        raise SubscriptionError(msg)
    found: dict[str, Any] = {"id": id, "condition": record.get("condition")}
    found["event_type"] = record.get("event_type") or DEFAULT_TYPE
    found["dialect"] = record.get("dialect") or SQL
    found["owner"], found["label"] = record.get("owner"), record.get("label")
    priority = record.get("priority")
    found["priority"] = 0 if priority is None else priority
    for key in ("condition", "event_type", "owner", "label", "dialect"):
        check_text(id, key, found[key], optional=key in ("owner", "label"))
    check_text(id, "id", id)
    check_priority(id, found["priority"])
    for key in ("valid_from", "expires"):
        found[key] = parse_time(id, key, record.get(key))
    found["state"] = record.get("state")
    if found["state"] is not None and found["state"] not in LIVING:
        msg = f"state: expected {', '.join(LIVING[:-1])} or {LIVING[-1]}, found {found['state']!r}"
        raise SubscriptionError(msg, id=id)
    subscription = SubscriptionFields(**found)
    check_times(id, subscription.valid_from, subscription.expires, now)
    return subscription


def check_text(id: str, key: str, value: object, *, optional: bool = False) -> None:
    """Refuse what is no text, or none that every database holds."""
    if value is None and optional:
        return
    problem = ""
    if not isinstance(value, str):
        problem = f"expected a text, found {value!r}"
    elif key in _NAMES and len(value) > _NAME_CHARACTERS:
        problem = f"expected at most {_NAME_CHARACTERS} characters, found {len(value)}"
    elif "\0" in value:
        problem = f"a text may not have the character U+0000, found at offset {value.index(chr(0))}"
    elif not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            problem = f"not a text in UTF-8: {error.reason} at offset {error.start}"
    if problem:
        msg = f"{key}: {problem}"
        raise SubscriptionError(msg, id=id[:_NAME_CHARACTERS])


def is_storable(text: str) -> bool:
    """Can every database store this text?"""
    return "\0" not in text and (text.isascii() or text == clean(text))


def check_times(id: str, valid_from: int | None, expires: int | None, now: int) -> None:
    """Refuse what would never be active."""
    if expires is not None and expires <= max(now, now if valid_from is None else valid_from):
        later = "now" if valid_from is None or valid_from <= now else f"valid_from, {moment(valid_from)}"
        msg = f"expires: expected a time after {later}, found {moment(expires)}"
        raise SubscriptionError(msg, id=id)


def parse_time(id: str, key: str, value: object) -> int | None:
    """The microseconds since 1970, UTC, of a time as a caller gives it."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            msg = f"{key}: expected a time, such as 2026-07-01T12:00:00Z, found {value!r}"
            raise SubscriptionError(msg, id=id) from error
    if not isinstance(value, datetime):
        msg = f"{key}: expected a time, found {value!r}"
        raise SubscriptionError(msg, id=id)
    return microseconds(value)


def microseconds(time: datetime) -> int:
    """Microseconds since 1970; a time without a zone is UTC."""
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def moment(us: int | None) -> datetime | None:
    """The time of so many microseconds since 1970."""
    return None if us is None else _EPOCH + timedelta(microseconds=us)


def now_us() -> int:
    """The time, in microseconds since 1970."""
    return microseconds(datetime.now(UTC))
