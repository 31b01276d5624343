"""What a sink is: it takes the notifications and dead letters of a batch, once.

`commit` is atomic under (query, batch): after it everything of the delivery is there, before it nothing, and a
repeated commit changes nothing and says what the first one said. A sink whose receiver cannot take part in that
(`exactly_once` is False) hands the same notifications over again, under the same ids.

On Spark there are two steps. Each task of a batch writes its own part, where nobody reads it yet (`task_writer`);
then the driver makes the parts of the tasks that succeeded part of the output, in one step (`publish`). So no
notification passes through the driver. `commit` is the same with one part, for whoever has all rows in one
process. A sink without a `task_writer` is given the rows of a batch by the driver. What only a connector of
Spark's can write are records, which tasks make and the sink lets Spark send from the workers (`RecordSink`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa

from tamis.arrays import U64
from tamis.errors import TamisError
from tamis.notifications import (
    DEAD_LETTERS,
    NOTIFICATIONS,
    Keys,
    by_priority,
    distinct,
    id_keys,
    with_added_columns,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Write: TypeAlias = Callable[["Delivery"], Any]
"""Takes what is new of a delivery."""

RECORDS = pa.schema(
    [
        ("topic", pa.string()),
        ("key", pa.string()),
        ("value", pa.string()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("priority", pa.int64()),
    ]
)
"""What connectors of Spark's take, and the priority by which it is sent."""

RETENTION = timedelta(days=7)
"""For how long a notification is remembered, by default."""


class SinkError(TamisError):
    """A sink cannot do what it should: the message names the sink, the place and what is wrong."""


@dataclass(frozen=True, slots=True)
class BatchKey:
    """A micro-batch.

    Attributes:
        query: The id of the streaming query, which its checkpoint keeps.
        batch: The number of the batch in it.
        at: The recorded time of the batch, the same in a replay; with a time zone.
        version: The version of the snapshot that the batch is matched with.
    """

    query: str
    batch: int
    at: datetime
    version: int

    def __post_init__(self) -> None:
        if not self.query or self.batch < 0:
            msg = f"a delivery has a query and a batch from 0 on, found {self.query!r} and {self.batch}"
            raise SinkError(msg)
        if self.at.tzinfo is None:
            msg = f"query {self.query}, batch {self.batch}: the time {self.at} has no time zone"
            raise SinkError(msg)


@dataclass(frozen=True, slots=True)
class PartFile:
    """A file that a task wrote.

    Attributes:
        kind: What is in it: notifications or dead letters.
        path: Relative to the folder of the sink.
        rows: How many.
        bytes: Its size.
        partition: The values of partition columns, by name.
        stats: Statistics of its columns, in the form that the table's format asks for.
    """

    kind: str
    path: str
    rows: int
    bytes: int
    partition: dict[str, str] = field(default_factory=dict)
    stats: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What one task wrote of a batch; the driver gets this instead of the rows.

    Attributes:
        token: Names the attempt; no other has it.
        written: Notifications.
        repeated: Notifications that were left out, since they were there before.
        dead: Dead letters.
        files: What it wrote.
        merged: Files of the ledger that it merged into others, which say the same.
        events: A number for each different event with a notification.
        shards: The shard in which each of them was matched.
        letters: A number for each different dead letter.
    """

    token: str
    written: int = 0
    repeated: int = 0
    dead: int = 0
    files: tuple[PartFile, ...] = ()
    merged: tuple[str, ...] = ()
    events: U64 = field(default_factory=lambda: np.empty(0, np.uint64))
    shards: U64 = field(default_factory=lambda: np.empty(0, np.uint64))
    letters: U64 = field(default_factory=lambda: np.empty(0, np.uint64))

    def to_json(self) -> str:
        """All but the numbers, and how many these are."""
        names = ("token", "written", "repeated", "dead", "merged")
        facts = {name: getattr(self, name) for name in names}
        ends = [len(self.events), len(self.events) + len(self.shards)]
        return json.dumps(facts | {"files": [asdict(each) for each in self.files], "ends": ends})

    def numbers(self) -> bytes:
        """The numbers of events, shards and dead letters, one after the other."""
        return np.concatenate([self.events, self.shards, self.letters]).tobytes()

    @classmethod
    def from_json(cls, text: str, numbers: bytes) -> Part:
        """A part from its JSON and its numbers."""
        facts: dict[str, Any] = json.loads(text)
        files = tuple(PartFile(**each) for each in facts.pop("files"))
        merged = tuple(facts.pop("merged"))
        events, shards, letters = np.split(np.frombuffer(numbers, np.uint64), facts.pop("ends"))
        return cls(**facts, files=files, merged=merged, events=events, shards=shards, letters=letters)


class DistinctLetters:
    """The dead letters of a task, each once: events that cannot be read may be equal."""

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def new(self, dead: pa.Table) -> pa.Table:
        """The dead letters that were not there before."""
        ids = dead["id"].to_pylist()
        first = {id: place for place, id in reversed([*enumerate(ids)]) if id not in self._ids}
        self._ids.update(ids)
        return dead.take(pa.array(sorted(first.values()), pa.int64()))

    @property
    def numbers(self) -> U64:
        """A number for each, the same in every task."""
        numbers: U64 = id_keys(pa.array(sorted(self._ids), pa.string()))[0]
        return numbers


def count_letters(parts: Sequence[Part]) -> int:
    """How many different dead letters some tasks have."""
    return len(np.unique(np.concatenate([np.empty(0, np.uint64), *(part.letters for part in parts)])))


class PartWriter(Protocol):
    """Writes what one attempt of a task gives."""

    def add(self, notifications: pa.Table, keys: Keys, events: pa.Array, shard: int = 0) -> pa.Table | None:
        """Take some notifications.

        Args:
            notifications: With the columns of `NOTIFICATIONS`.
            keys: Their ids as numbers.
            events: The id of each event that they are of, as often as it was matched.
            shard: Where it was matched.

        Returns:
            With the columns of `RECORDS` what a `RecordSink` has to send of it; None if this writes by itself.
        """

    def add_dead(self, dead: pa.Table) -> pa.Table | None:
        """Take some dead letters, with the columns of `DEAD_LETTERS`; gives what `add` gives."""

    def finish(self) -> Part:
        """Write what is left; afterwards everything is where `publish` finds it."""


class TaskWriter(Protocol):
    """What tasks of a batch write with; it pickles."""

    def open(self, partition: int, attempt: int) -> PartWriter:
        """A writer for one attempt of a task."""


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
        BatchKey(self.query, self.batch, self.at, self.version)  # checks
        object.__setattr__(self, "notifications", with_added_columns(self.notifications))
        for what, schema in (("notifications", NOTIFICATIONS), ("dead", DEAD_LETTERS)):
            found = getattr(self, what).schema
            if found.names != schema.names or found.types != schema.types:
                place = f"query {self.query}, batch {self.batch}: {what}"
                expected, got = (", ".join(f"{each.name} {each.type}" for each in s) for s in (schema, found))
                msg = f"{place}: expected the columns {expected}; found {got}"
                raise SinkError(msg)

    @property
    def key(self) -> BatchKey:
        """The batch that it is of."""
        return BatchKey(self.query, self.batch, self.at, self.version)


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

    def task_writer(self, batch: BatchKey) -> TaskWriter | None:
        """What tasks write a batch with; None if the driver must have all rows, for `commit`."""

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        """Make what tasks wrote part of the output, unless the batch was taken before; after `task_writer`."""

    def check(self) -> None:
        """Check that a commit would work; nothing is written.

        Raises:
            SinkError: It would not, and why.
        """

    def describe(self) -> str:
        """What it is and where, in one line for people."""

    def close(self) -> None:
        """Close what it holds open."""


@runtime_checkable
class RecordSink(Sink, Protocol):
    """A sink whose part writers give records, for a connector of Spark's to send from the workers."""

    def send_records(self, records: DataFrame) -> None:
        """Send the records of all tasks, with the columns of `RECORDS`; after `task_writer`, before `publish`."""


class DriverSink:
    """The part of a sink whose receiver is in the driver: tasks hand their rows over."""

    def task_writer(self, batch: BatchKey) -> TaskWriter | None:
        """Tasks do not write."""
        return None

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> NoReturn:
        """There are no parts."""
        msg = f"query {batch.query}, batch {batch.batch}: this sink takes no parts, found {len(parts)}"
        raise SinkError(msg)


def without_duplicates(delivery: Delivery) -> Delivery:
    """The delivery with every id once, by priority and then by id, which does not depend on any partitioning."""
    notifications = by_priority(distinct(delivery.notifications))
    return replace(delivery, notifications=notifications, dead=distinct(delivery.dead))


def commit_as_one_part(sink: Sink, delivery: Delivery) -> Committed:
    """Let a sink take a delivery as tasks would write it, in this process."""
    rest = without_duplicates(delivery)
    tasks = sink.task_writer(delivery.key)
    assert tasks is not None, "for sinks that tasks write to"
    writer = tasks.open(0, 0)
    writer.add(rest.notifications, id_keys(rest.notifications["id"]), rest.notifications["event_id"].unique())
    writer.add_dead(rest.dead)
    return sink.publish(delivery.key, [writer.finish()])


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
