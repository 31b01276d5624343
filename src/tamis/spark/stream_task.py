"""What a worker does with the events of a micro-batch: one pass gives pairs, dead letters and counts.

Pairs, dead letters and numbers of events depend on the events and the version of the subscriptions alone, so a
batch that is done again gives the same, however it is partitioned. An event that cannot be matched becomes a dead
letter, with its original bytes, and never stops the others.

`StreamTask` hands pairs to the driver, for sinks that only the driver can write to; `WriteTask` (`write_task.py`)
writes them itself.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64, Mask
from tamis.errors import MisfitError, WriteError
from tamis.events.batch import EventBatch
from tamis.events.conversion import converter
from tamis.events.dead_letters import DeadLetter
from tamis.matchers import Matchers
from tamis.notifications import json_object
from tamis.operators.reports import OperatorReport, OperatorTally
from tamis.quotas import Quota, QuotaCut
from tamis.segments.published import PART_MARK
from tamis.spark.composite_events import CompositePlan, taken_table
from tamis.spark.event_reading import Reading, TypedEvents
from tamis.spark.event_tables import (
    event_count,
    event_rows,
    misfit_count,
    regroup,
    routing_ns,
    tables_by_shard,
)
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.statistics import Statistics
from tamis.values.types import TIMESTAMP

PAIR, DEAD, EVENTS, OVERFLOW, CALLED, LEARNED, VISITS, USEFUL, MISFITS, REFUSED = range(10)
"""Kinds of rows of a result: a match, a dead letter, a number of events, a number of matches beyond the quota, a
report of what an operator did (its name in `kind`, the report as JSON in `reason`), statistics of the values
of calls (the event type in `kind`, statistics as JSON in `reason`), how often an event visited a shard, how often
it found something there, a number of events that do not fit their type, and an event that is refused as it does
not (the attribute in `kind`, what was expected and found as JSON in `reason`)."""
PART, CERTAIN, BUSY, DEAD_KIND, RECORD, UNWRITTEN, OLDEST = range(10, 17)
"""Kinds of rows of a task that writes: what it wrote (JSON in `reason`, its numbers in `original`), how many
matches of a subscription with a quota it wrote, the subscriptions with most matches, dead letters by kind, a
record for Spark to send (topic in `kind`, key in `event_id`, value in `reason`, headers in `headers`), that it
could not write (the kind of problem in `kind`, path and detail as JSON in `reason`), and, in every task, when the
first of its events was accepted, in microseconds (in `count`)."""
TAKEN, REACHED, STATE, COUNTED, LATE, FILTER_NS, SAMPLED, ERRORS, ENGINE = range(17, 26)
"""Kinds of rows for composite subscriptions: an event and a subscription that it may concern (its key in `kind`,
its parts in `count`, the partition of the state in `priority`), the greatest time of a task's events (in `count`,
in microseconds, for the partition in `priority`), the state of a partition (JSON in `reason`), what is reported of
it (by name in `kind`), and how many events came too late. And nanoseconds of the processor that filtering took;
how many pairs of events and conditions in dialects with errors were tried, and how many had one; and how many
events an engine matched (its name in `kind`)."""
_MOST_LEARNED = 256
"""The most attributes with calls whose statistics a task sends, for each event type."""

FOUND = pa.schema(
    [
        ("row_kind", pa.int32()),
        ("event_id", pa.string()),
        ("subscription_id", pa.string()),
        ("revision", pa.int64()),
        ("event_type", pa.string()),
        ("event_time", pa.timestamp("us", "UTC")),
        ("owner", pa.string()),
        ("label", pa.string()),
        ("attributes", pa.string()),
        ("priority", pa.int64()),
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("original", pa.binary()),
        ("count", pa.int64()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
FOUND_SQL = (
    "row_kind int, event_id string, subscription_id string, revision long, event_type string, "
    "event_time timestamp, owner string, label string, attributes string, priority long, "
    "kind string, reason string, original binary, count long, headers array<struct<key: string, value: binary>>"
)


class TableMatches(NamedTuple):
    """What the events of a table found.

    Attributes:
        pairs: Of events and subscriptions, with the columns of `FOUND` that a match has.
        events: The ids of the events that have a pair; one that came twice is there twice.
        dead: Events that could not be matched.
        misfits: How many events do not fit their type.
        shard: Where.
        taken: Events that composite subscriptions may keep.
    """

    pairs: pa.Table
    events: pa.Array
    dead: list[DeadLetter]
    misfits: int = 0
    shard: int = 0
    taken: pa.Table = pa.table({})


@dataclass(slots=True)
class TaskCounts:
    """What a task counts, and what operators did in it."""

    events: int = 0
    visits: int = 0
    useful: int = 0
    misfits: int = 0
    filter_ns: int = 0
    sampled: int = 0
    errors: int = 0
    engines: Counter[str] = field(default_factory=Counter)
    oldest: int | None = None
    late: int = 0
    reached_us: int | None = None
    tally: OperatorTally = field(default_factory=OperatorTally)
    before: dict[int, tuple[str, Statistics, int]] = field(default_factory=dict)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The rows of the result."""
        numbers = {EVENTS: self.events, VISITS: self.visits, USEFUL: self.useful, MISFITS: self.misfits}
        numbers[FILTER_NS] = self.filter_ns
        for kind, count in numbers.items():
            yield from result_rows(kind, pa.table({"count": [count]}))
        for kind, count in {LATE: self.late, SAMPLED: self.sampled, ERRORS: self.errors}.items():
            if count:
                yield from result_rows(kind, pa.table({"count": [count]}))
        engines = {"kind": [*self.engines], "count": [*self.engines.values()]}
        yield from result_rows(ENGINE, pa.table(engines))
        if self.oldest is not None:
            yield from result_rows(OLDEST, pa.table({"count": [self.oldest]}))
        yield from result_rows(CALLED, _report_columns(self.tally.reports()))
        yield from result_rows(LEARNED, _learned_columns(self.before.values()))


@dataclass(frozen=True, slots=True)
class StreamTask:
    """Matches the events of a micro-batch.

    Attributes:
        shards: The subscriptions of each shard.
        reading: How events are read.
        quota: How many pairs of a subscription are needed at all; None for all.
        costs: Seconds that a call of each operator took before, for a process that has not called it yet.
        learned: Statistics of the values of calls by event type, in JSON, for the same reason.
        is_routed: Do events come from a `RouteTask`? If not, every shard gets every event.
        expired: When subscriptions expired that meet only events which were accepted before, in microseconds.
        composite: The state of composite subscriptions, if there are any.
    """

    shards: tuple[SnapshotRef, ...]
    reading: Reading
    quota: Quota | None = None
    costs: Mapping[str, float] | None = None
    learned: Mapping[str, str] | None = None
    is_routed: bool = False
    expired: Mapping[str, int] = field(default_factory=dict)
    composite: CompositePlan | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        counts = TaskCounts()
        cut = None if self.quota is None else QuotaCut(self.quota)
        try:
            for found in self.match_tables(batches, counts):
                yield from result_rows(DEAD, dead_columns(found.dead))
                yield from result_rows(TAKEN, found.taken)
                for pairs in [found.pairs] if cut is None else cut.add(found.pairs):
                    yield from result_rows(PAIR, pairs)
        except MisfitError as error:
            yield from refused_rows(error)
            return
        if cut is not None:
            yield from cut_rows(cut)
        yield from counts.rows()
        yield from self.reached_rows(counts)

    def reached_rows(self, counts: TaskCounts) -> Iterator[pa.RecordBatch]:
        """The greatest time of the task's events, for every partition of the state, each of which has a row."""
        reached_us = None if counts.reached_us == _NO_TIME else counts.reached_us
        if self.composite is not None:
            numbers = len(self.composite.files)
            times = pa.array([reached_us] * numbers, pa.int64())
            yield from result_rows(REACHED, pa.table({"priority": pa.array(range(numbers)), "count": times}))

    def match_tables(self, batches: Iterator[pa.RecordBatch], counts: TaskCounts) -> Iterator[TableMatches]:
        """What the events of a partition find, table by table and shard by shard."""
        for several in regroup(batches):
            for ref, given in tables_by_shard(self.shards, several):
                counted = event_count(given) if self.is_routed else given.num_rows
                table = event_rows(given) if self.is_routed else given
                # Without routing every shard has all events: count them once.
                is_counted = self.is_routed or ref is self.shards[0]
                matchers = self._with_prior_statistics(ref.matchers(), counts.before)
                found = self._match(matchers, table, counts, is_counted)
                counts.visits += table.num_rows
                accepted = pc.min(self.reading.acceptance(table)).as_py() if self.reading.accepted_at else None
                if accepted is not None:
                    counts.oldest = accepted if counts.oldest is None else min(accepted, counts.oldest)
                counts.useful += len(found.events)
                if is_counted:
                    counts.events += counted
                    counts.misfits += misfit_count(given) if self.is_routed else found.misfits
                    counts.filter_ns += routing_ns(given) if self.is_routed else 0
                yield found._replace(shard=self.shards.index(ref), dead=found.dead if is_counted else [])

    def _with_prior_statistics(
        self, matchers: Matchers, before: dict[int, tuple[str, Statistics, int]]
    ) -> Matchers:
        """Add what calls cost and returned elsewhere; `before` notes how much the statistics hold by then."""
        for name in matchers:
            statistics = matchers[name].statistics
            if id(statistics) not in before:
                statistics.costs.update(self.costs or {})
                if self.learned and name in self.learned:
                    statistics.adopt(Statistics.from_json(json.loads(self.learned[name])))
                before[id(statistics)] = name, statistics, statistics.learned
        return matchers

    def _match(self, matchers: Matchers, table: pa.Table, counts: TaskCounts, is_counted: bool) -> TableMatches:
        dead: list[DeadLetter] = []
        original = self.reading.originals(table)
        accepted = self.reading.acceptance(table) if self.expired or self.composite is not None else None
        taken: list[pa.Table] = []
        own = counts if is_counted else TaskCounts()
        found = [
            self._pairs(each, original, accepted, dead, own, taken)
            for each in self.reading.read(matchers, table, dead)
        ]
        if not is_counted:
            counts.filter_ns += own.filter_ns
            counts.sampled += own.sampled
            counts.errors += own.errors
        pairs = pa.concat_tables([_NO_PAIRS, *(pairs for pairs, *_ in found)])
        events = pa.concat_arrays([pa.array([], pa.string()), *(events for _, events, _ in found)])
        joined = pa.concat_tables(taken) if taken else pa.table({})
        return TableMatches(pairs, events, dead, sum(misfits for *_, misfits in found), taken=joined)

    def _pairs(
        self,
        read: TypedEvents,
        original: Any,
        accepted: pa.Array | None,
        dead: list[DeadLetter],
        counts: TaskCounts,
        taken: list[pa.Table],
    ) -> tuple[pa.Table, pa.Array, int]:
        """The pairs of some events, the ids of those that have one, and how many events do not fit their type."""
        matcher, batch = read.matcher, read.batch
        names, good, misfits = self.reading.check_events(read, original, dead)
        began = time.process_time_ns()
        found = matcher.match_pairs(batch)
        at, ids, revisions = found.columns()
        counts.filter_ns += time.process_time_ns() - began
        counts.engines[matcher.engine] += batch.rows
        seed = crc32((names[0].as_py() or "").encode()) if len(names) else 0
        sampled, errors = matcher.sample_errors(batch, seed)
        counts.sampled += sampled
        counts.errors += errors
        owners, labels = found.owners_and_labels()
        priorities = found.priorities()
        kept = good[at]
        is_part = np.zeros(len(at), np.bool_)
        if self.composite is not None:
            is_part = pc.match_substring(ids, PART_MARK).to_numpy(zero_copy_only=False)
        if self.expired:
            own = pc.list_element(pc.split_pattern(ids, PART_MARK, max_splits=1), 0) if is_part.any() else ids
            kept &= self._was_valid(own, None if accepted is None else accepted.take(pa.array(read.rows[at])))
        if self.composite is not None:
            times = self._all_times(batch, good, None if accepted is None else accepted.take(pa.array(read.rows)))
            if good.any():
                reached = int(times.max())
                counts.reached_us = reached if counts.reached_us is None else max(reached, counts.reached_us)
            is_late = times < (
                _NO_TIME + 1 if self.composite.watermark_us is None else self.composite.watermark_us
            )
            counts.late += int(np.count_nonzero(is_late & good))
            rows = np.flatnonzero(kept & is_part & ~is_late[at])
            if len(rows):
                some = ids.take(pa.array(rows)), revisions[rows].astype(np.int64)
                partitions, keep = len(self.composite.files), self.reading.keep
                taken.append(
                    taken_table(matcher, batch, at[rows].astype(np.int64), *some, names, times, partitions, keep)
                )
            kept &= ~is_part
        if not kept.all():
            at, revisions, priorities = at[kept], revisions[kept], priorities[kept]
            ids, owners, labels = (each.filter(pa.array(kept)) for each in (ids, owners, labels))
        is_matched = np.zeros(batch.rows, np.bool_)
        is_matched[at] = True
        place, rows = pa.array(at), np.flatnonzero(is_matched)
        pairs = pa.table(
            {
                "event_id": names.take(place),
                "subscription_id": ids,
                "revision": revisions.astype(np.int64),
                "event_type": pa.repeat(pa.scalar(matcher.event_type.name, pa.string()), len(at)),
                "event_time": self._times(batch, rows, place),
                "owner": owners,
                "label": labels,
                "attributes": self._attributes(batch, rows, place),
                "priority": priorities,
            },
            schema=_NO_PAIRS.schema,
        )
        return pairs, names.take(pa.array(rows)).cast(pa.string()), misfits

    def _was_valid(self, ids: pa.Array, accepted: pa.Array | None) -> Mask:
        """Which pairs are of subscriptions that were valid when the event was accepted; none, if nobody knows."""
        expired = pa.array(self.expired.values(), pa.int64())
        ends = expired.take(pc.index_in(ids.cast(pa.string()), pa.array(self.expired.keys(), pa.string())))
        was_valid = pa.nulls(len(ids), pa.bool_()) if accepted is None else pc.less(accepted, ends)
        valid = pc.or_kleene(pc.is_null(ends), pc.fill_null(was_valid, False))
        return np.asarray(valid.to_numpy(zero_copy_only=False))

    def _attributes(self, batch: EventBatch, rows: I64, place: pa.Array) -> pa.Array:
        """What the notification of each place carries along of its event; `rows` are all that have one."""
        if not self.reading.keep:
            return pa.nulls(len(place), pa.string())
        texts: list[str | None] = [None] * batch.rows
        columns = {name: batch.raw((name,)) for name in self.reading.keep}
        for row in rows.tolist():
            values = {
                name: each.as_py() if isinstance(each, pa.Scalar) else each
                for name, each in ((name, column[row]) for name, column in columns.items())
            }
            present = {name: value for name, value in values.items() if value is not None}
            texts[row] = json_object(present) if present else None
        return pa.array(texts, pa.string()).take(place)

    def _times(self, batch: EventBatch, rows: I64, place: pa.Array) -> pa.Array:
        """When the event of each place happened, if events say so; `rows` are all that have a place."""
        kind = _NO_PAIRS.schema.field("event_time").type
        if self.reading.event_time is None:
            return pa.nulls(len(place), kind)
        return self.times(batch, rows.tolist()).take(place)

    def _all_times(self, batch: EventBatch, good: Mask, accepted: pa.Array | None) -> I64:
        """When events happened; one that does not say so, when it was accepted, and else long ago."""
        name = self.reading.event_time
        times = np.full(batch.rows, _NO_TIME) if accepted is None else np.asarray(accepted.fill_null(_NO_TIME))
        if name is None:
            return times
        if batch.event_type.type_at((name,)) == TIMESTAMP:
            column = batch.column((name,))
            return np.where(column.valid & good, column.values, times)
        found = self.times(batch, np.flatnonzero(good).tolist()).cast(pa.int64())
        return np.where(np.asarray(found.is_valid()), np.asarray(found.fill_null(0)), times)

    def times(self, batch: EventBatch, rows: Iterable[int]) -> pa.Array:
        """When the events in these rows happened; NULL for the others."""
        times: list[Any] = [None] * batch.rows
        if self.reading.event_time is not None:
            values = batch.raw((self.reading.event_time,))
            convert = converter(TIMESTAMP, batch.event_type.time_zone)
            for row in rows:
                value = values[row].as_py() if isinstance(values, pa.Array) else values[row]
                times[row] = None if value is None else convert(value)
        return pa.array(times, pa.int64()).cast(_NO_PAIRS.schema.field("event_time").type)


_NO_TIME = -(1 << 62)
"""The time of an event that has none, in microseconds."""
PAIRS = _NO_PAIRS = pa.schema([FOUND.field(name) for name in FOUND.names[1:10]]).empty_table()


def dead_columns(dead: list[DeadLetter]) -> pa.Table:
    names = ("kind", "reason", "original", "event_id")
    columns = {name: [getattr(each, name) for each in dead] for name in names}
    return pa.table(columns, schema=pa.schema([FOUND.field(name) for name in names]))


def refused_rows(error: MisfitError) -> Iterator[pa.RecordBatch]:
    """An event that is refused, as a row of the result: of an exception Spark would leave a text."""
    found = json.dumps([error.expected, error.found])
    columns = {"event_id": [error.event], "kind": [error.attribute], "reason": [found]}
    yield from result_rows(REFUSED, pa.table(columns))


def raise_refused(found: pa.Table) -> None:
    """Raise the error of the first event that was refused, from rows of the kind `REFUSED`.

    Raises:
        MisfitError: There is one.
    """
    for row in found.slice(0, 1).to_pylist():
        raise MisfitError(row["event_id"], row["kind"], *json.loads(row["reason"]))


def unwritten_rows(error: WriteError) -> Iterator[pa.RecordBatch]:
    """That a task could not write, as a row of the result: of an exception Spark would leave a text."""
    columns = {"kind": [error.kind], "reason": [json.dumps([error.path, error.detail])]}
    yield from result_rows(UNWRITTEN, pa.table(columns))


def raise_unwritten(found: pa.Table) -> None:
    """Raise the error of the first task that could not write, from rows of the kind `UNWRITTEN`.

    Raises:
        WriteError: There is one.
    """
    for row in found.slice(0, 1).to_pylist():
        path, detail = json.loads(row["reason"])
        raise WriteError(path, row["kind"], detail)


def _report_columns(reports: list[OperatorReport]) -> pa.Table:
    texts = [json.dumps(each.to_dict()) for each in reports]
    return pa.table({"kind": [each.operator for each in reports], "reason": texts})


def _learned_columns(known: Iterable[tuple[str, Statistics, int]]) -> pa.Table:
    """Statistics of calls that have changed since."""
    changed = [(name, each.of_calls(_MOST_LEARNED)) for name, each, before in known if each.learned > before]
    return pa.table(
        {"kind": [name for name, _ in changed], "reason": [json.dumps(each.to_json()) for _, each in changed]}
    )


def statistics_in(found: pa.Table) -> dict[str, Statistics]:
    """Statistics of the values of calls by event type, from rows of the kind `LEARNED`."""
    learned: dict[str, Statistics] = {}
    for name, text in zip(found["kind"].to_pylist(), found["reason"].to_pylist(), strict=True):
        learned.setdefault(name, Statistics()).adopt(Statistics.from_json(json.loads(text)), replace=True)
    return learned


def reports_in(found: pa.Table) -> list[OperatorReport]:
    """What operators did, from rows of the kind `CALLED`."""
    return [OperatorReport.from_dict(json.loads(text)) for text in found["reason"].to_pylist()]


def count_rows(kind: int, counts: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    """Numbers by subscription as rows of the result."""
    yield from result_rows(kind, pa.table({"subscription_id": [*counts], "count": [*counts.values()]}))


def cut_rows(cut: QuotaCut) -> Iterator[pa.RecordBatch]:
    """The pairs that a quota leaves at the end of a task, and how many it does not, as rows of the result."""
    for pairs in cut.finish():
        yield from result_rows(PAIR, pairs)
    yield from count_rows(OVERFLOW, cut.overflow)


RECORD_COLUMNS = ("kind AS topic", "event_id AS key", "reason AS value", "headers", "priority")
"""The columns of records, in rows of the kind `RECORD`."""


def record_rows(records: pa.Table | None) -> Iterator[pa.RecordBatch]:
    """Records for Spark to send as rows of the result."""
    if records is not None:
        yield from result_rows(
            RECORD, records.rename_columns(["kind", "event_id", "reason", "headers", "priority"])
        )


def result_rows(kind: int, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table as rows of the result."""
    if not table.num_rows:
        return
    columns = {"row_kind": pa.array(np.full(table.num_rows, kind, np.int32))}
    for each in FOUND:
        if each.name in table.column_names:
            columns[each.name] = table[each.name].cast(each.type)
        elif each.name not in columns:
            columns[each.name] = pa.nulls(table.num_rows, each.type)
    yield from pa.table([columns[name] for name in FOUND.names], schema=FOUND).combine_chunks().to_batches()
