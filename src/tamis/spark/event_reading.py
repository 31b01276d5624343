"""How the events of a stream are read: from columns or JSON texts, by their types, the bad ones set aside.

What is read depends on the events and the declared types alone. So a task that routes events and one that matches
them agree on which are bad.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.json_values import read_json_values, rows_of
from tamis.events.names import event_names
from tamis.events.validation import misfits, validate
from tamis.matcher import Matcher
from tamis.matchers import Matchers
from tamis.values.column import Mask

MOST_BYTES = 1 << 20
"""Of an event that is a JSON text, unless told otherwise."""
_SHOWN_PROBLEMS = 3

Original: TypeAlias = Callable[[int], bytes]
"""The bytes of the event in a row."""
Called: TypeAlias = Callable[[int], str | None]
"""What a column calls the event in a row, if there is one."""


class Dead(NamedTuple):
    """Why an event cannot be matched."""

    kind: str
    reason: str
    original: bytes
    event_id: str | None = None


class Read(NamedTuple):
    """Events of one type, and where each of them stands in the table."""

    matcher: Matcher
    batch: EventBatch
    rows: npt.NDArray[np.int64]
    names: pa.Array | None = None
    """What events are called, if a column beside them says so."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How events are read.

    Attributes:
        event_id: The attribute that names an event.
        json: The column with events as JSON texts (`value` for Kafka, text files and sockets); None if attributes
            are columns.
        type_attribute: The attribute that names the event type; None if there is one type only.
        event_time: The attribute that tells when an event happened, for notifications.
        most_bytes: Longer JSON texts are dead letters.
        id_column: With `json`: a column beside it that names events, whatever they say themselves.
        type_column: With `json`: a column beside it that names their types.
    """

    event_id: str = "id"
    json: str | None = None
    type_attribute: str | None = None
    event_time: str | None = None
    most_bytes: int = MOST_BYTES
    id_column: str | None = None
    type_column: str | None = None

    def columns(self) -> list[str]:
        """The columns that must be there."""
        if self.json is not None:
            return [name for name in (self.json, self.id_column, self.type_column) if name is not None]
        named = (self.event_id, self.type_attribute, self.event_time)
        return [name for name in named if name is not None]

    def read(self, matchers: Matchers, table: pa.Table, dead: list[Dead]) -> Iterator[Read]:
        """The events of a table by their types; what cannot be read is added to `dead`."""
        return (self._read_columns if self.json is None else self._read_json)(matchers, table, dead)

    def originals(self, table: pa.Table) -> Original:
        """What gives the events of a table as they came, or as JSON."""
        if self.json:
            return lambda row: _bytes(table[self.json][row])
        return lambda row: json.dumps(table.slice(row, 1).to_pylist()[0], default=str, ensure_ascii=False).encode()

    def judged(self, read: Read, original: Original, dead: list[Dead]) -> tuple[pa.Array, Mask]:
        """The ids of events, and which can be matched; the others are added to `dead`."""
        batch, rows = read.batch, read.rows
        names = event_names(batch, self.event_id) if read.names is None else read.names
        nameless = names.is_null().to_numpy(zero_copy_only=False)
        strange = misfits(batch) & ~nameless
        for row in np.flatnonzero(nameless).tolist():
            dead.append(Dead("missing id", f"expected an id in {self.event_id}", original(rows[row])))
        for row, reason in _problems(batch, strange):
            dead.append(Dead("wrong type", reason, original(rows[row]), names[row].as_py()))
        return names, ~(nameless | strange)

    def _read_columns(self, matchers: Matchers, table: pa.Table, dead: list[Dead]) -> Iterator[Read]:
        if self.type_attribute is None:
            matcher = _only(matchers)
            yield Read(matcher, EventBatch.of(table, matcher.event_type), np.arange(table.num_rows))
            return
        names = table[self.type_attribute].cast(pa.string()).combine_chunks()
        for matcher, rows in self._by_type(matchers, names, self.originals(table), _nameless, dead):
            yield Read(matcher, EventBatch.of(table.take(pa.array(rows)), matcher.event_type), rows)

    def _read_json(self, matchers: Matchers, table: pa.Table, dead: list[Dead]) -> Iterator[Read]:
        values = table[self.json].combine_chunks()
        ids = None if self.id_column is None else table[self.id_column].cast(pa.string()).combine_chunks()
        called: Called = _nameless if ids is None else lambda row: ids[row].as_py()
        lots: Iterator[tuple[Matcher, npt.NDArray[np.int64]]]
        if self.type_column is not None:
            named = table[self.type_column].cast(pa.string()).combine_chunks()
            lots = self._by_type(matchers, named, lambda row: _bytes(values[row]), called, dead)
        elif self.type_attribute is None:
            lots = iter([(_only(matchers), np.arange(len(values)))])
        else:
            loose = read_json_values(values, EventType(), most_bytes=self.most_bytes)
            dead.extend(_malformed(each.reason, each.original, called(each.line_number)) for each in loose.bad)
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
            lots = ((matcher, where[rows]) for matcher, rows in found)
        for matcher, rows in lots:
            some = values if len(rows) == len(values) else values.take(pa.array(rows))
            read = read_json_values(some, matcher.event_type, most_bytes=self.most_bytes)
            dead.extend(
                _malformed(each.reason, each.original, called(int(rows[each.line_number]))) for each in read.bad
            )
            for batch in read.batches:
                here = rows[rows_of(batch)]
                yield Read(matcher, batch, here, None if ids is None else ids.take(pa.array(here)))

    def _by_type(
        self, matchers: Matchers, names: pa.Array, original: Original, called: Called, dead: list[Dead]
    ) -> Iterator[tuple[Matcher, npt.NDArray[np.int64]]]:
        """The rows of each event type; those of an unknown one are dead."""
        encoded = names.dictionary_encode()
        codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        for code, name in [(-1, None), *enumerate(encoded.dictionary.to_pylist())]:
            rows = np.flatnonzero(codes == code)
            if name in matchers:
                yield matchers[name], rows
            elif len(rows):
                source = self.type_column or self.type_attribute
                reason = f"{source} is missing" if name is None else f"there is no event type {name!r}"
                if self.type_column is None:  # what a column says, the event's author cannot mend
                    reason += f"; known are {', '.join(sorted(matchers)) or 'none'}"
                dead.extend(Dead("event type", reason, original(row), called(row)) for row in rows.tolist())


def _only(matchers: Matchers) -> Matcher:
    """The matcher of the one event type; nobody subscribes to anything if there is none."""
    return matchers.only if list(matchers) else Matcher()


def _problems(batch: EventBatch, strange: npt.NDArray[np.bool_]) -> Iterator[tuple[int, str]]:
    if not strange.any():
        return
    reasons: dict[int, list[str]] = {}
    for problem in validate(batch):
        if problem.row is not None and strange[problem.row]:
            reasons.setdefault(problem.row, []).append(f"{problem.attribute} {problem.message}")
    for row in np.flatnonzero(strange).tolist():
        yield row, "; ".join(reasons.get(row, ["not of its type"])[:_SHOWN_PROBLEMS])


def _malformed(reason: str, original: bytes, name: str | None) -> Dead:
    kind = "oversized" if reason.startswith("the line is longer") else "malformed"
    return Dead(kind, reason.replace("the line is", "the event is"), original, name)


def _nameless(_: int) -> None:
    """No column tells what the event in a row is called."""


def _bytes(value: pa.Scalar) -> bytes:
    content: bytes | None = value.cast(pa.binary()).as_py()
    return b"" if content is None else content
