"""What a worker does with the events of a micro-batch: one pass gives pairs, dead letters and counts.

Pairs, dead letters and numbers of events depend on the events and the version of the subscriptions alone, so a
batch that is done again gives the same, however it is partitioned. An event that cannot be matched becomes a dead
letter, with its original bytes, and never stops the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.events.batch import EventBatch
from tamis.events.conversion import converter
from tamis.events.event_type import EventType
from tamis.events.json_values import read_json_values, rows_of
from tamis.events.names import event_names
from tamis.events.validation import misfits, validate
from tamis.matcher import Matcher
from tamis.matchers import Matchers
from tamis.operators.reporting import OperatorReport, Tally
from tamis.quotas import first_per_subscription
from tamis.spark.worker import Edition, by_shard, regrouped
from tamis.statistics import Statistics
from tamis.values.types import TIMESTAMP

PAIR, DEAD, EVENTS, OVERFLOW, CALLED, LEARNED = range(6)
"""Kinds of rows of a result: a match, a bad event, a number of events, a number of matches beyond the quota, a
report of what an operator did (its name in `kind`, the report as JSON in `reason`), and what was learned of the
values of calls (the event type in `kind`, statistics as JSON in `reason`)."""
_MOST_LEARNED = 256
"""Attributes with calls that a task tells of, for each event type."""

FOUND = pa.schema(
    [
        ("row_kind", pa.int32()),
        ("event_id", pa.string()),
        ("subscription_id", pa.string()),
        ("revision", pa.int64()),
        ("event_type", pa.string()),
        ("event_time", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("original", pa.binary()),
        ("count", pa.int64()),
    ]
)
FOUND_SQL = (
    "row_kind int, event_id string, subscription_id string, revision long, event_type string, "
    "event_time timestamp, kind string, reason string, original binary, count long"
)
_CUT_ROWS = 100_000
"""Pairs that gather before they are cut to the quota once more."""
_SHOWN_PROBLEMS = 3


class _Dead(NamedTuple):
    """Why an event cannot be matched."""

    kind: str
    reason: str
    original: bytes
    event_id: str | None = None


class _Read(NamedTuple):
    """Events of one type, and where each of them stands in the table."""

    matcher: Matcher
    batch: EventBatch
    rows: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StreamTask:
    """Matches the events of a micro-batch.

    Attributes:
        editions: The subscriptions, those of each shard.
        event_id: The attribute that names an event.
        json: The column with events as JSON texts; None if attributes are columns.
        type_attribute: The attribute that names the event type; None if there is one type only.
        event_time: The attribute that tells when an event happened.
        most_bytes: Longer JSON texts are dead letters.
        most_matches: Of one subscription in a batch, if there is a quota.
        costs: Seconds that a call of an operator took before, for a process that has not called it yet.
        learned: What calls gave before, by event type, as statistics in JSON, for the same.
    """

    editions: tuple[Edition, ...]
    event_id: str
    json: str | None = None
    type_attribute: str | None = None
    event_time: str | None = None
    most_bytes: int = 1 << 20
    most_matches: int | None = None
    costs: Mapping[str, float] | None = None
    learned: Mapping[str, str] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        tally = Tally()
        before: dict[int, tuple[str, Statistics, int]] = {}
        events = 0
        overflow: dict[str, int] = {}
        waiting: list[pa.Table] = []
        for several in regrouped(batches):
            for edition, table in by_shard(self.editions, several):
                pairs, dead = self._match(self._informed(edition.matchers(), before), table)
                if edition is self.editions[0]:  # every shard gets every event: one of them tells
                    events += table.num_rows
                    yield from _rows(DEAD, _dead_columns(dead))
                waiting.append(pairs)
                if self.most_matches is None or sum(map(len, waiting)) >= _CUT_ROWS:
                    waiting = [self._cut(waiting, overflow)]
                    if self.most_matches is None:
                        yield from _rows(PAIR, waiting.pop())
        if waiting:
            yield from _rows(PAIR, self._cut(waiting, overflow))
        if overflow:
            over = {"subscription_id": list(overflow), "count": list(overflow.values())}
            yield from _rows(OVERFLOW, pa.table(over))
        yield from _rows(EVENTS, pa.table({"count": [events]}))
        yield from _rows(CALLED, _report_columns(tally.reports()))
        yield from _rows(LEARNED, _learned_columns(before.values()))

    def _informed(self, matchers: Matchers, before: dict[int, tuple[str, Statistics, int]]) -> Matchers:
        """The matchers, with what calls cost and gave elsewhere; `before` tells how much they learned till now."""
        for name in matchers:
            statistics = matchers[name].statistics
            if id(statistics) not in before:
                statistics.costs.update(self.costs or {})
                if self.learned and name in self.learned:
                    statistics.adopt(Statistics.from_json(json.loads(self.learned[name])))
                before[id(statistics)] = name, statistics, statistics.learned
        return matchers

    def _cut(self, pairs: list[pa.Table], overflow: dict[str, int]) -> pa.Table:
        joined = pa.concat_tables(pairs)
        if self.most_matches is None:
            return joined
        kept, over = first_per_subscription(joined, self.most_matches)
        for subscription, count in over.items():
            overflow[subscription] = overflow.get(subscription, 0) + count
        return kept

    def _match(self, matchers: Matchers, table: pa.Table) -> tuple[pa.Table, list[_Dead]]:
        dead: list[_Dead] = []
        read = self._read_columns if self.json is None else self._read_json
        found = [self._pairs(each, self._originals(table), dead) for each in read(matchers, table, dead)]
        return pa.concat_tables([_NO_PAIRS, *found]), dead

    # --- reading -----------------------------------------------------------------------------------------

    def _read_columns(self, matchers: Matchers, table: pa.Table, dead: list[_Dead]) -> Iterator[_Read]:
        if self.type_attribute is None:
            matcher = _only(matchers)
            yield _Read(matcher, EventBatch.of(table, matcher.event_type), np.arange(table.num_rows))
            return
        names = table[self.type_attribute].cast(pa.string()).combine_chunks()
        for matcher, rows in self._by_type(matchers, names, self._originals(table), dead):
            yield _Read(matcher, EventBatch.of(table.take(pa.array(rows)), matcher.event_type), rows)

    def _read_json(self, matchers: Matchers, table: pa.Table, dead: list[_Dead]) -> Iterator[_Read]:
        values = table[self.json].combine_chunks()
        lots: Iterator[tuple[Matcher, npt.NDArray[np.int64]]]
        if self.type_attribute is None:
            lots = iter([(_only(matchers), np.arange(len(values)))])
        else:
            loose = read_json_values(values, EventType(), most_bytes=self.most_bytes)
            dead.extend(_malformed(each.reason, each.original) for each in loose.bad)
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
            found = self._by_type(matchers, typed, lambda row: _bytes(raw[row]), dead)
            lots = ((matcher, where[rows]) for matcher, rows in found)
        for matcher, rows in lots:
            some = values if len(rows) == len(values) else values.take(pa.array(rows))
            read = read_json_values(some, matcher.event_type, most_bytes=self.most_bytes)
            dead.extend(_malformed(each.reason, each.original) for each in read.bad)
            for batch in read.batches:
                yield _Read(matcher, batch, rows[rows_of(batch)])

    def _by_type(
        self, matchers: Matchers, names: pa.Array, original: Any, dead: list[_Dead]
    ) -> Iterator[tuple[Matcher, npt.NDArray[np.int64]]]:
        """The rows of each event type; those of an unknown one are dead."""
        encoded = names.dictionary_encode()
        codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        for code, name in [(-1, None), *enumerate(encoded.dictionary.to_pylist())]:
            rows = np.flatnonzero(codes == code)
            if name in matchers:
                yield matchers[name], rows
            elif len(rows):
                known = ", ".join(sorted(matchers)) or "none"
                what = f"{self.type_attribute} is missing" if name is None else f"there is no event type {name!r}"
                dead.extend(
                    _Dead("event type", f"{what}; known are {known}", original(row)) for row in rows.tolist()
                )

    def _originals(self, table: pa.Table) -> Any:
        if self.json:
            return lambda row: _bytes(table[self.json][row])
        return lambda row: json.dumps(table.slice(row, 1).to_pylist()[0], default=str, ensure_ascii=False).encode()

    # --- matching ----------------------------------------------------------------------------------------

    def _pairs(self, read: _Read, original: Any, dead: list[_Dead]) -> pa.Table:
        matcher, batch, rows = read
        names = event_names(batch, self.event_id)
        nameless = names.is_null().to_numpy(zero_copy_only=False)
        strange = misfits(batch) & ~nameless
        for row in np.flatnonzero(nameless).tolist():
            dead.append(_Dead("missing id", f"expected an id in {self.event_id}", original(rows[row])))
        for row, reason in _problems(batch, strange):
            dead.append(_Dead("wrong type", reason, original(rows[row]), names[row].as_py()))
        at, ids, revisions = matcher.found(batch).columns()
        good = ~(nameless | strange)
        if not good.all():
            kept = good[at]
            at, ids, revisions = at[kept], ids.filter(pa.array(kept)), revisions[kept]
        place = pa.array(at)
        return pa.table(
            {
                "event_id": names.take(place),
                "subscription_id": ids,
                "revision": revisions.astype(np.int64),
                "event_type": pa.repeat(pa.scalar(matcher.event_type.name, pa.string()), len(at)),
                "event_time": self._times(batch, at).take(place),
            },
            schema=_NO_PAIRS.schema,
        )

    def _times(self, batch: EventBatch, matched: npt.NDArray[np.int32]) -> pa.Array:
        """When events happened, those that matched."""
        times: list[Any] = [None] * batch.rows
        if self.event_time is not None:
            values = batch.raw((self.event_time,))
            convert = converter(TIMESTAMP, batch.event_type.time_zone)
            for row in np.unique(matched).tolist():
                value = values[row].as_py() if isinstance(values, pa.Array) else values[row]
                times[row] = None if value is None else convert(value)
        return pa.array(times, pa.int64()).cast(_NO_PAIRS.schema.field("event_time").type)


_NO_PAIRS = pa.schema([FOUND.field(name) for name in FOUND.names[1:6]]).empty_table()


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


def _malformed(reason: str, original: bytes) -> _Dead:
    kind = "oversized" if reason.startswith("the line is longer") else "malformed"
    return _Dead(kind, reason.replace("the line is", "the event is"), original)


def _bytes(value: pa.Scalar) -> bytes:
    content: bytes | None = value.cast(pa.binary()).as_py()
    return b"" if content is None else content


def _dead_columns(dead: list[_Dead]) -> pa.Table:
    columns = {name: [getattr(each, name) for each in dead] for name in _Dead._fields}
    return pa.table(columns, schema=pa.schema([FOUND.field(name) for name in _Dead._fields]))


def _report_columns(reports: list[OperatorReport]) -> pa.Table:
    texts = [json.dumps(each.to_dict()) for each in reports]
    return pa.table({"kind": [each.operator for each in reports], "reason": texts})


def _learned_columns(known: Iterable[tuple[str, Statistics, int]]) -> pa.Table:
    """What was learned since, of those that learned something."""
    told = [(name, each.of_calls(_MOST_LEARNED)) for name, each, before in known if each.learned > before]
    return pa.table(
        {"kind": [name for name, _ in told], "reason": [json.dumps(each.to_json()) for _, each in told]}
    )


def learned_in(found: pa.Table) -> dict[str, Statistics]:
    """What was learned of the values of calls, by event type, of rows of that kind."""
    learned: dict[str, Statistics] = {}
    for name, text in zip(found["kind"].to_pylist(), found["reason"].to_pylist(), strict=True):
        learned.setdefault(name, Statistics()).adopt(Statistics.from_json(json.loads(text)), replace=True)
    return learned


def reports_in(found: pa.Table) -> list[OperatorReport]:
    """What operators did, of rows of that kind."""
    return [OperatorReport.from_dict(json.loads(text)) for text in found["reason"].to_pylist()]


def _rows(kind: int, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table as rows of the result."""
    if not table.num_rows:
        return
    columns = {"row_kind": pa.array(np.full(table.num_rows, kind, np.int32))}
    for field in FOUND:
        if field.name in table.column_names:
            columns[field.name] = table[field.name].cast(field.type)
        elif field.name not in columns:
            columns[field.name] = pa.nulls(table.num_rows, field.type)
    yield from pa.table([columns[name] for name in FOUND.names], schema=FOUND).combine_chunks().to_batches()
