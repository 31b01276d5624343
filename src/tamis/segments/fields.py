"""The names of the fields of subscriptions, by one rule wherever records are given.

Files, tables, mappings and requests call a field the same. A name that no subscription has is refused, with what
was probably meant. `type`, as the event type was called once, is taken for `event_type`, and whoever reads it
warns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tamis.errors import SubscriptionError
from tamis.events.schemas import suggestion

MATCHER_FIELDS = ("id", "condition", "priority", "owner", "revision", "label", "dialect")
"""What a subscription of a matcher has."""
OLD_TYPE = "type"
"""What `event_type` was called."""
RENAME = f"{OLD_TYPE!r} is called 'event_type' now; rename it"
"""What to say where it still is."""
_OF_STORES = ("event_type", OLD_TYPE, "valid_from", "expires", "state")


def unknown_field(name: str, known: Iterable[str], what: str = "field") -> str:
    """What to say of a field that no subscription has.

    >>> unknown_field("prioriti", MATCHER_FIELDS)
    "there is no field 'prioriti'; did you mean 'priority'?"
    """
    names = [*known]
    return f"there is no {what} {name!r}" + (suggestion(name, names) or f"; expected {', '.join(names)}")


def check_matcher_fields(names: Iterable[str], what: str = "field") -> None:
    """Refuse what a subscription of a matcher does not have.

    Raises:
        SubscriptionError: There is such a name.
    """
    unknown = [name for name in names if name not in MATCHER_FIELDS]
    if not unknown:
        return
    if unknown[0] in _OF_STORES:
        about = "a matcher has one event type" if "type" in unknown[0] else "a matcher keeps no times and states"
        msg = f"the {what} {unknown[0]!r} is for stores only: {about}; leave it out, or use a store"
        raise SubscriptionError(msg)
    raise SubscriptionError(unknown_field(unknown[0], MATCHER_FIELDS, what))


def with_event_type(record: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The record with `event_type` for `type`, and whether it had the old name.

    Raises:
        SubscriptionError: It has both, and they differ.
    """
    if OLD_TYPE not in record:
        return {**record}, False
    if record.get("event_type", record[OLD_TYPE]) != record[OLD_TYPE]:
        msg = f"{OLD_TYPE!r} is the old name of 'event_type': give one of them"
        raise SubscriptionError(msg)
    renamed = {"event_type" if name == OLD_TYPE else name: value for name, value in record.items()}
    return renamed, True


def check_priority(id: str | None, value: object) -> None:
    """Refuse what is no integer of 64 bits.

    Raises:
        SubscriptionError: It is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
        msg = f"priority: expected an integer of 64 bits, found {value!r:.80}"
        raise SubscriptionError(msg, id=id)


def check_optional_text(id: str | None, name: str, value: object) -> None:
    """Refuse what is neither a text nor None.

    Raises:
        SubscriptionError: It is neither.
    """
    if value is not None and not isinstance(value, str):
        msg = f"{name}: expected a text, found {value!r:.80}"
        raise SubscriptionError(msg, id=id)
