"""What a sink is: it takes the notifications and dead letters of a batch, once.

`commit` is atomic under (query, batch): after it everything of the delivery is there, before it nothing, and a
repeated commit changes nothing and says what the first one said. A sink whose receiver cannot take part in that
(`exactly_once` is False) hands the same notifications over again, under the same ids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol, TypeAlias

import pyarrow as pa

from tamis.errors import TamisError
from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, distinct, with_added_columns

Write: TypeAlias = Callable[["Delivery"], dict[str, str]]
"""Writes what is new of a delivery; gives the files that it made, by what is in them."""

RETENTION = timedelta(days=7)
"""For how long a notification is remembered, by default."""


class SinkError(TamisError):
    """A sink cannot do what it should: the message names the sink, the place and what is wrong."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The notifications and dead letters of a batch.

    Attributes:
        query: The id of the streaming query, which its checkpoint keeps.
        batch: The number of the batch in it.
        at: The recorded time of the batch, the same in a replay; with a time zone.
        version: The version of the snapshot that the batch was matched with.
        notifications: With the columns of `NOTIFICATIONS`; those that were added since may be missing.
        dead: With the columns of `DEAD_LETTERS`.
    """

    query: str
    batch: int
    at: datetime
    version: int
    notifications: pa.Table
    dead: pa.Table

    def __post_init__(self) -> None:
        if not self.query or self.batch < 0:
            msg = f"a delivery has a query and a batch from 0 on, found {self.query!r} and {self.batch}"
            raise SinkError(msg)
        if self.at.tzinfo is None:
            msg = f"query {self.query}, batch {self.batch}: the time {self.at} has no time zone"
            raise SinkError(msg)
        object.__setattr__(self, "notifications", with_added_columns(self.notifications))
        for what, schema in (("notifications", NOTIFICATIONS), ("dead", DEAD_LETTERS)):
            found = getattr(self, what).schema
            if found.names != schema.names or found.types != schema.types:
                place = f"query {self.query}, batch {self.batch}: {what}"
                expected, got = (", ".join(f"{each.name} {each.type}" for each in s) for s in (schema, found))
                msg = f"{place}: expected the columns {expected}; found {got}"
                raise SinkError(msg)


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of a delivery.

    Attributes:
        written: Notifications that are there since this commit.
        repeated: Notifications that were left out, since they were there before.
        again: This (query, batch) had been committed before, and nothing was done.
    """

    written: int
    repeated: int
    again: bool = False


class Sink(Protocol):
    """Where notifications and dead letters go."""

    name: ClassVar[str]
    """Its name in settings."""

    exactly_once: ClassVar[bool]
    """Otherwise at least once, with ids that stay the same."""

    def commit(self, delivery: Delivery) -> Committed:
        """Take a delivery, unless it was taken before."""

    def check(self) -> None:
        """Check that a commit would work; nothing is written.

        Raises:
            SinkError: It would not, and why.
        """

    def describe(self) -> str:
        """What it is and where, in one line for people."""

    def close(self) -> None:
        """Close what it holds open."""


def without_duplicates(delivery: Delivery) -> Delivery:
    """The delivery with every id once, in the order of the ids, which does not depend on any partitioning."""
    return replace(delivery, notifications=distinct(delivery.notifications), dead=distinct(delivery.dead))


def require(sink: str, argument: str, value: Any, kinds: type | tuple[type, ...], expected: str) -> None:
    """Refuse an argument of the wrong type.

    Raises:
        SinkError: It is of none of `kinds`; the message says what was `expected`.
    """
    if not isinstance(value, kinds) or (isinstance(value, str) and not value):
        msg = f"sink {sink}: {argument} must be {expected}, found {value!r}"
        raise SinkError(msg)


def require_duration(sink: str, argument: str, value: Any) -> None:
    """Refuse what is not a positive duration.

    Raises:
        SinkError: It is not.
    """
    require(sink, argument, value, timedelta, "a duration (timedelta)")
    if value <= timedelta(0):
        msg = f"sink {sink}: {argument} must be longer than nothing, found {value}"
        raise SinkError(msg)
