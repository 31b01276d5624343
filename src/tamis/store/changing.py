"""What a change makes of a subscription: checked, compiled, with the right revision.

Plain functions of rows; nothing here reads or writes a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tamis.errors import ConditionError, SubscriptionError, TamisError
from tamis.events.event_type import EventType
from tamis.limits import Limits
from tamis.store.records import DEFAULT_TYPE, FIELDS, Given, Kind, check_times, given, moment
from tamis.store.tables import ACTIVE, PAUSED, WAITING, Row

_WORTH_BULK = 100
"""Number of conditions from which the bulk compiler repays loading its kernels."""
_KEPT = ("owner", "label", "priority", "valid_from", "expires")
"""Fields that an import need not have."""


class Outcome(NamedTuple):
    """A change, and the subscription after it."""

    kind: Kind
    row: Row


@dataclass(slots=True)
class Compiled:
    """The records of an import, checked and compiled.

    Attributes:
        good: By place, what can be taken.
        errors: By place, why the others cannot.
        types: The event types that were asked for, as declared; None for one that is not.
    """

    good: dict[int, Given] = field(default_factory=dict)
    errors: dict[int, TamisError] = field(default_factory=dict)
    types: dict[str, EventType | None] = field(default_factory=dict)


def compiled(
    records: Sequence[Mapping[str, Any]], declared: Mapping[str, EventType], limits: Limits, now: int
) -> Compiled:
    """Check all records, and compile their conditions by event type."""
    done = Compiled()
    by_type: dict[str, list[int]] = {}
    seen: set[str] = set()
    for place, record in enumerate(records):
        try:
            subscription = given(record, now)
            if subscription.id in seen:
                msg = f"subscription {subscription.id!r} is given twice"
                raise SubscriptionError(msg)
        except SubscriptionError as error:
            done.errors[place] = error
            continue
        seen.add(subscription.id)
        done.good[place] = subscription
        by_type.setdefault(subscription.event_type, []).append(place)
    for name, places in by_type.items():
        done.types[name] = declared.get(name)
        event_type = _declared(name, declared)
        if isinstance(event_type, SubscriptionError):
            done.errors.update(dict.fromkeys(places, event_type))
        else:
            found = condition_errors([done.good[place].condition for place in places], event_type, limits)
            done.errors.update({places[at]: error for at, error in found.items()})
    for place in done.errors:
        done.good.pop(place, None)
    return done


def condition_errors(
    conditions: Sequence[str], event_type: EventType, limits: Limits
) -> dict[int, ConditionError]:
    """By place, why conditions are refused."""
    from tamis.language.bulk import compile_conditions
    from tamis.language.condition import compile_condition

    errors: dict[int, ConditionError] = {}
    if len(conditions) >= _WORTH_BULK:
        column = compile_conditions(conditions, event_type, limits)
        for place in column.refused:
            error = column[place]
            assert isinstance(error, ConditionError), "refused ones are errors"
            errors[place] = error
        return errors
    for place, text in enumerate(conditions):
        try:
            compile_condition(text, event_type, limits)
        except ConditionError as error:
            errors[place] = error
    return errors


def after_import(
    before: Row | None, subscription: Given, present: frozenset[str], now: int, *, replace: bool
) -> Outcome | None:
    """What giving a subscription makes of what is there; None for no change.

    Raises:
        SubscriptionError: The id is taken, and nothing is to be replaced.
    """
    if before is None or not before.living:
        revision = 1 if before is None else before.revision + 1
        state = state_at(subscription.valid_from, now)
        return Outcome("add", Row(subscription.id, revision, *subscription[1:], now, now, state, None))
    if not replace:
        msg = f"there is already a subscription {before.id!r}; use replace to change it"
        raise SubscriptionError(msg)
    kept = {name: getattr(before, name) for name in _KEPT if name not in present}
    if kept:
        subscription = subscription._replace(**kept)
        check_times(before.id, subscription.valid_from, subscription.expires, now)
    return _changed(before, subscription, now)


def after_replacement(
    before: Row, fields: Mapping[str, Any], declared: Mapping[str, EventType], limits: Limits, now: int
) -> Outcome | None:
    """What other fields make of a subscription; None for no change.

    Raises:
        ConditionError: The condition is refused.
        SubscriptionError: A field is not what it should be.
    """
    known = [name for name in FIELDS if name != "id"]
    for name in fields:
        if name not in known:
            msg = f"subscription {before.id!r}: there is no field {name!r}; expected {', '.join(known)}"
            raise SubscriptionError(msg)
    record = {name: getattr(before, name) for name in FIELDS}
    record |= {name: moment(record[name]) for name in ("valid_from", "expires")}
    subscription = given({**record, **fields}, now)
    outcome = _changed(before, subscription, now)
    if outcome is not None and outcome.kind == "replace":
        event_type = _declared(subscription.event_type, declared)
        if isinstance(event_type, SubscriptionError):
            raise event_type
        for error in condition_errors([subscription.condition], event_type, limits).values():
            raise error
    return outcome


def _changed(before: Row, wanted: Given, now: int) -> Outcome | None:
    state = PAUSED if before.state == PAUSED else state_at(wanted.valid_from, now)
    after = before._replace(**wanted._asdict(), state=state)
    if (after.condition, after.event_type) != (before.condition, before.event_type):
        return Outcome("replace", after._replace(revision=before.revision + 1, refusal=None))
    if after._replace(state=before.state) == before:
        return None
    return Outcome("edit", after)


def state_at(valid_from: int | None, now: int) -> str:
    """Has its time come?"""
    return WAITING if valid_from is not None and valid_from > now else ACTIVE


def _declared(name: str, declared: Mapping[str, EventType]) -> EventType | SubscriptionError:
    if name in declared:
        return declared[name]
    if name == DEFAULT_TYPE:
        return EventType()
    known = ", ".join(sorted({*declared, DEFAULT_TYPE}))
    return SubscriptionError(f"there is no event type {name!r}; declared are {known}")
