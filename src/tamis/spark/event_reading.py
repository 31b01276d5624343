"""How the events of a stream are read: from columns or JSON texts, by their types, dead letters apart.

What is read depends on the events and the declared types alone. So a task that routes events and one that matches
them agree on which are dead letters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64, Mask
from tamis.errors import EventError
from tamis.events.batch import EventBatch
from tamis.events.dead_letters import DeadLetter, DeadLetterKind
from tamis.events.event_type import EventType
from tamis.events.json_values import read_json_values, rows_of
from tamis.events.misfits import OnMisfit, check_on_misfit, misfit_rows, reasons_of, refuse_misfits
from tamis.events.names import event_names
from tamis.matcher import Matcher
from tamis.matchers import Matchers

MOST_BYTES = 1 << 20
"""The most bytes of an event that is a JSON text, by default."""

OriginalOf: TypeAlias = Callable[[int], bytes]
"""The bytes of the event in a row."""
NameOf: TypeAlias = Callable[[int], str | None]
"""The name of the event in a row, if a column has it."""


class TypedEvents(NamedTuple):
    """Events of one type, and where each of them stands in the table."""

    matcher: Matcher
    batch: EventBatch
    rows: I64
    names: pa.Array | None = None
    """The names of the events, if a column beside them has these."""


class CheckedEvents(NamedTuple):
    """What was found out about events before they are matched."""

    names: pa.Array
    """Their names."""
    good: Mask
    """Which can be matched."""
    misfits: int
    """How many of these have a value that does not fit their type, and is NULL."""


ACCEPTED_AT = "accepted_at"
ACCEPTANCE_LATENESS = timedelta(hours=1)
"""The column of our own sources that says when an event came: the time of its record in Kafka, or of its file."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How events are read.

    Attributes:
        event_id: The attribute that names an event.
        json: The column with events as JSON texts (`value` for Kafka, text files and sockets); None if attributes
            are columns.
        type_attribute: The attribute that names the event type; None if there is one type only.
        event_time: The attribute with the time of an event, for notifications.
        most_bytes: Longer JSON texts are dead letters.
        id_column: With `json`: a column beside it that names events, whatever they say themselves.
        type_column: With `json`: a column beside it that names their types.
        event_type: The name of the event type, if nothing in an event or beside it names it.
        shown_type: What a dead letter calls an event type that is not known; it must pickle.
        keep: Attributes of an event that its notifications carry along.
        accepted_at: A column with the time at which an event was accepted: it meets the subscriptions that were
            valid then, even if its batch begins after they expired.
        acceptance_lateness: How much earlier than all events of a batch one of a later batch may have been
            accepted, and still meets all that was valid then. The clocks of Kafka's producers differ, and a
            partition may lag behind the others. Subscriptions that have expired stay in the snapshot for so long.
        on_misfit: What becomes of an event with a value of another kind than declared, or without one that is
            required: "null", it is matched, with NULL there, and counted; "dead letter"; or "refuse", an error.
    """

    event_id: str = "id"
    json: str | None = None
    type_attribute: str | None = None
    event_time: str | None = None
    most_bytes: int = MOST_BYTES
    id_column: str | None = None
    type_column: str | None = None
    shown_type: Callable[[str], str] = str
    keep: tuple[str, ...] = ()
    event_type: str | None = None
    on_misfit: OnMisfit = "null"
    accepted_at: str | None = None
    acceptance_lateness: timedelta = ACCEPTANCE_LATENESS

    def __post_init__(self) -> None:
        check_on_misfit(self.on_misfit)
        if self.acceptance_lateness < timedelta(0):
            msg = f"acceptance_lateness must not be negative, found {self.acceptance_lateness}"
            raise EventError(msg)

    @property
    def names_types(self) -> bool:
        """Does each event come with the name of its type?"""
        return self.type_attribute is not None or self.type_column is not None

    def columns(self) -> list[str]:
        """The columns that must be there."""
        if self.json is not None:
            beside = (self.json, self.id_column, self.type_column, self.accepted_at)
            return [name for name in beside if name is not None]
        named = (self.event_id, self.type_attribute, self.event_time, self.accepted_at, *self.keep)
        return [name for name in named if name is not None]

    def read(self, matchers: Matchers, table: pa.Table, dead: list[DeadLetter]) -> Iterator[TypedEvents]:
        """The events of a table by their types; what cannot be read is added to `dead`."""
        return (self._read_columns if self.json is None else self._read_json)(matchers, table, dead)

    def acceptance(self, table: pa.Table) -> pa.Array | None:
        """When each event of a table was accepted, in microseconds; None if nothing says so."""
        if self.accepted_at is None:
            return None
        return table[self.accepted_at].combine_chunks().cast(pa.timestamp("us", "UTC")).cast(pa.int64())

    def originals(self, table: pa.Table) -> OriginalOf:
        """What gives the events of a table as they came, or as JSON."""
        if self.json:
            return lambda row: _bytes(table[self.json][row])
        return lambda row: json.dumps(table.slice(row, 1).to_pylist()[0], default=str, ensure_ascii=False).encode()

    def check_events(self, read: TypedEvents, original: OriginalOf, dead: list[DeadLetter]) -> CheckedEvents:
        """The ids of events, and which can be matched; the others are added to `dead`.

        Raises:
            MisfitError: An event does not fit its type, and such events are refused.
        """
        batch, rows = read.batch, read.rows
        names = event_names(batch, self.event_id) if read.names is None else read.names
        nameless = names.is_null().to_numpy(zero_copy_only=False)
        misfits = misfit_rows(batch) & ~nameless
        for row in np.flatnonzero(nameless).tolist():
            reason = f"expected an id in {self.event_id}"
            dead.append(DeadLetter(DeadLetterKind.MISSING_ID, reason, original(rows[row])))
        if self.on_misfit == "null":
            return CheckedEvents(names, ~nameless, int(np.count_nonzero(misfits)))
        if self.on_misfit == "refuse":
            refuse_misfits(batch, names, misfits)
        for row, reason in reasons_of(batch, misfits):
            dead.append(DeadLetter(DeadLetterKind.WRONG_TYPE, reason, original(rows[row]), names[row].as_py()))
        return CheckedEvents(names, ~(nameless | misfits), 0)

    def _read_columns(self, matchers: Matchers, table: pa.Table, dead: list[DeadLetter]) -> Iterator[TypedEvents]:
        if self.type_attribute is None:
            matcher = self._only(matchers)
            yield TypedEvents(matcher, EventBatch.of(table, matcher.event_type), np.arange(table.num_rows))
            return
        names = table[self.type_attribute].cast(pa.string()).combine_chunks()
        for matcher, rows in self._by_type(matchers, names, self.originals(table), _no_name, dead):
            yield TypedEvents(matcher, EventBatch.of(table.take(pa.array(rows)), matcher.event_type), rows)

    def _read_json(self, matchers: Matchers, table: pa.Table, dead: list[DeadLetter]) -> Iterator[TypedEvents]:
        values = table[self.json]
        ids = None if self.id_column is None else table[self.id_column].cast(pa.string()).combine_chunks()
        called: NameOf = _no_name if ids is None else lambda row: ids[row].as_py()
        groups: Iterator[tuple[Matcher, I64]]
        if self.type_column is not None:
            named = table[self.type_column].cast(pa.string()).combine_chunks()
            groups = self._by_type(matchers, named, lambda row: _bytes(values[row]), called, dead)
        elif self.type_attribute is None:
            groups = iter([(self._only(matchers), np.arange(len(values)))])
        else:
            loose = read_json_values(values, EventType(), most_bytes=self.most_bytes)
            dead.extend(replace(each, event_id=called(row)) for row, each in loose.dead_letters)
            names: list[str | None] = [None] * len(values)
            present = np.zeros(len(values), np.bool_)
            for batch in loose.batches:
                rows = rows_of(batch)
                present[rows] = True
                for row, name in zip(
                    rows.tolist(), event_names(batch, self.type_attribute).to_pylist(), strict=True
                ):
                    names[row] = name
            where = np.flatnonzero(present)
            typed = pa.array(names, pa.string()).take(pa.array(where))
            raw = values.take(pa.array(where))
            found = self._by_type(
                matchers, typed, lambda row: _bytes(raw[row]), lambda row: called(int(where[row])), dead
            )
            groups = ((matcher, where[rows]) for matcher, rows in found)
        for matcher, rows in groups:
            some = values if len(rows) == len(values) else values.take(pa.array(rows))
            read = read_json_values(some, matcher.event_type, most_bytes=self.most_bytes)
            dead.extend(replace(each, event_id=called(int(rows[row]))) for row, each in read.dead_letters)
            for batch in read.batches:
                here = rows[rows_of(batch)]
                yield TypedEvents(matcher, batch, here, None if ids is None else ids.take(pa.array(here)))

    def _only(self, matchers: Matchers) -> Matcher:
        """The matcher of all events; an empty one if there is none for them, and so no subscription."""
        if self.event_type is not None:
            return matchers[self.event_type] if self.event_type in matchers else Matcher()
        return matchers.only if len(matchers) or len([*matchers]) == 1 else Matcher()

    def _by_type(
        self, matchers: Matchers, names: pa.Array, original: OriginalOf, called: NameOf, dead: list[DeadLetter]
    ) -> Iterator[tuple[Matcher, I64]]:
        """The rows of each event type; those of an unknown one are dead."""
        encoded = names.dictionary_encode()
        codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        for code, name in [(-1, None), *enumerate(encoded.dictionary.to_pylist())]:
            rows = np.flatnonzero(codes == code)
            if name in matchers:
                yield matchers[name], rows
            elif len(rows):
                source = self.type_column or self.type_attribute
                reason = (
                    f"{source} is missing" if name is None else f"there is no event type {self.shown_type(name)!r}"
                )
                if self.type_column is None:  # the author of an event cannot change what a column says
                    reason += f"; known are {', '.join(sorted(matchers)) or 'none'}"
                kind = DeadLetterKind.UNKNOWN_EVENT_TYPE
                dead.extend(DeadLetter(kind, reason, original(row), called(row)) for row in rows.tolist())


def _no_name(_: int) -> None:
    """The event in a row has no name from a column."""


def _bytes(value: pa.Scalar) -> bytes:
    content: bytes | None = value.cast(pa.binary()).as_py()
    return b"" if content is None else content
