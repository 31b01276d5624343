"""The state of a subscription after a change: checked, compiled, with the right revision.

Plain functions of rows; nothing here reads or writes a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tamis.composite.parts import compile_composite
from tamis.errors import ConditionError, SubscriptionError, TamisError
from tamis.events.event_type import EventType
from tamis.language.dialects import has_state
from tamis.limits import Limits
from tamis.segments.fields import unknown_field
from tamis.store.records import (
    DEFAULT_TYPE,
    FIELDS,
    Kind,
    SubscriptionFields,
    check_times,
    moment,
    parse_record,
)
from tamis.store.tables import ACTIVE, PAUSED, WAITING, Row
from tamis.store.view import StoreView

_KEPT = ("owner", "label", "priority", "valid_from", "expires")
"""Fields that an import need not have."""


class RowChange(NamedTuple):
    """A change, and the subscription after it."""

    kind: Kind
    row: Row


@dataclass(slots=True)
class CompiledImport:
    """The records of an import, checked and compiled.

    Attributes:
        good: The valid subscriptions, by their place among the records.
        errors: Why the others are refused, by place.
        types: The event types that records name, as declared; None for one that is not.
    """

    good: dict[int, SubscriptionFields] = field(default_factory=dict)
    errors: dict[int, TamisError] = field(default_factory=dict)
    types: dict[str, EventType | None] = field(default_factory=dict)


def compile_import(
    records: Sequence[Mapping[str, Any]], declared: Mapping[str, EventType], limits: Limits, now: int
) -> CompiledImport:
    """Check all records, and compile their conditions by event type."""
    compiled = CompiledImport()
    by_type: dict[str, list[int]] = {}
    seen: set[str] = set()
    for place, record in enumerate(records):
        try:
            subscription = parse_record(record, now)
            if subscription.id in seen:
                msg = "it is given twice"
                raise SubscriptionError(msg, id=subscription.id)
        except SubscriptionError as error:
            compiled.errors[place] = error
            continue
        seen.add(subscription.id)
        compiled.good[place] = subscription
        by_type.setdefault(subscription.event_type, []).append(place)
    for name, places in by_type.items():
        compiled.types[name] = declared.get(name)
        event_type = _event_type_of(name, declared)
        if isinstance(event_type, SubscriptionError):
            compiled.errors.update(dict.fromkeys(places, event_type))
        else:
            given = [compiled.good[place] for place in places]
            found = condition_errors(given, event_type, limits)
            compiled.errors.update({places[at]: error for at, error in found.items()})
    for place in compiled.errors:
        compiled.good.pop(place, None)
    return compiled


def with_types(
    records: Sequence[Mapping[str, Any]], view: StoreView, *, replace: bool
) -> Sequence[Mapping[str, Any]]:
    """The records, those without an event type with the one that they get.

    It is that of the subscription to be replaced, if there is one, else the default of the store.
    """
    typeless = [place for place, record in enumerate(records) if not record.get("event_type")]
    if not typeless:
        return records
    ids = [id for place in typeless if isinstance(id := records[place].get("id"), str)] if replace else []
    before = {id: row.event_type for id, row in view.rows(ids).items() if row.living}
    default = default_type(view.event_types())
    found = [*records]
    for place in typeless:
        id = records[place].get("id")
        found[place] = {
            **records[place],
            "event_type": before.get(id, default) if isinstance(id, str) else default,
        }
    return found


def default_type(declared: Mapping[str, EventType]) -> str:
    """The event type of subscriptions that name none: the only one that is declared, else the schemaless one.

    >>> default_type({"event": EventType("event"), "camera": EventType("camera")})
    'camera'
    """
    names = [name for name, each in declared.items() if name != DEFAULT_TYPE or each.attributes is not None]
    return names[0] if len(names) == 1 else DEFAULT_TYPE


def condition_errors(
    subscriptions: Sequence[SubscriptionFields | Row], event_type: EventType, limits: Limits
) -> dict[int, ConditionError]:
    """Why the conditions of subscriptions are refused, by their place."""
    from tamis.language.bulk import compile_many, refusals

    dialects = [each.dialect for each in subscriptions]
    found = refusals(compile_many([each.condition for each in subscriptions], event_type, limits, dialects))
    for place in [place for place, dialect in enumerate(dialects) if has_state(dialect) and place not in found]:
        try:
            compile_composite(subscriptions[place].condition, event_type, limits)
        except ConditionError as error:
            found[place] = error
    return found


def after_import(
    before: Row | None,
    subscription: SubscriptionFields,
    present: frozenset[str],
    now: int,
    *,
    replace: bool,
    floor: int = 0,
) -> RowChange | None:
    """The outcome of importing a subscription; None for no change. An id without a row begins above the floor.

    Raises:
        SubscriptionError: The id is taken, and nothing is to be replaced.
    """
    if before is None or not before.living:
        revision = 1 + (floor if before is None else before.revision)
        state = _state_after(subscription.state, subscription.valid_from, now)
        given = *subscription[1:8], now, now, state, None, subscription.dialect
        return RowChange("add", Row(subscription.id, revision, *given))
    if not replace:
        msg = "use replace to change it"
        raise SubscriptionError(msg, "exists", before.id)
    kept = {name: getattr(before, name) for name in _KEPT if name not in present}
    if kept:
        subscription = subscription._replace(**kept)
        check_times(before.id, subscription.valid_from, subscription.expires, now)
    return _change(before, subscription, now)


def after_replacement(
    before: Row, fields: Mapping[str, Any], declared: Mapping[str, EventType], limits: Limits, now: int
) -> RowChange | None:
    """The outcome of replacing fields of a subscription; None for no change.

    Raises:
        ConditionError: The condition is refused.
        SubscriptionError: A field is not what it should be.
    """
    known = [name for name in FIELDS if name != "id"]
    for name in fields:
        if name not in known:
            raise SubscriptionError(unknown_field(name, known), id=before.id)
    record = {name: getattr(before, name) for name in FIELDS}
    record |= {name: moment(record[name]) for name in ("valid_from", "expires")}
    subscription = parse_record({**record, **fields}, now)
    outcome = _change(before, subscription, now)
    if outcome is not None and outcome.kind == "replace":
        event_type = _event_type_of(subscription.event_type, declared)
        if isinstance(event_type, SubscriptionError):
            raise event_type
        for error in condition_errors([subscription], event_type, limits).values():
            raise error
    return outcome


def _change(before: Row, wanted: SubscriptionFields, now: int) -> RowChange | None:
    state = _state_after(wanted.state or before.state, wanted.valid_from, now)
    after = before._replace(**{**wanted._asdict(), "state": state})
    decides = ("condition", "dialect", "event_type")
    if any(getattr(after, name) != getattr(before, name) for name in decides):
        return RowChange("replace", after._replace(revision=before.revision + 1, refusal=None))
    if after._replace(state=before.state) != before:
        return RowChange("edit", after)
    if (before.state == PAUSED) != (state == PAUSED):
        return RowChange("pause" if state == PAUSED else "resume", after)
    return None


def _state_after(wanted: str | None, valid_from: int | None, now: int) -> str:
    """Paused if that is wanted, else as the time says."""
    return PAUSED if wanted == PAUSED else state_at(valid_from, now)


def state_at(valid_from: int | None, now: int) -> str:
    """Active, or waiting for its time."""
    return WAITING if valid_from is not None and valid_from > now else ACTIVE


def _event_type_of(name: str, declared: Mapping[str, EventType]) -> EventType | SubscriptionError:
    if name in declared:
        return declared[name]
    if name == DEFAULT_TYPE:
        return EventType()
    return SubscriptionError(kind="unknown event type", event_type=name, known=sorted({*declared, DEFAULT_TYPE}))
