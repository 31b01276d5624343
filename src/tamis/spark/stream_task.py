"""What a worker does with the events of a micro-batch: one pass gives pairs, dead letters and counts.

Pairs, dead letters and numbers of events depend on the events and the version of the subscriptions alone, so a
batch that is done again gives the same, however it is partitioned. An event that cannot be matched becomes a dead
letter, with its original bytes, and never stops the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.errors import MisfitError
from tamis.events.batch import EventBatch
from tamis.events.conversion import converter
from tamis.events.dead_letters import DeadLetter
from tamis.matchers import Matchers
from tamis.notifications import json_object
from tamis.operators.reports import OperatorReport, OperatorTally
from tamis.quotas import Quota, first_per_subscription
from tamis.spark.event_reading import Reading, TypedEvents
from tamis.spark.event_tables import event_count, event_rows, misfit_count, regroup, tables_by_shard
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.statistics import Statistics
from tamis.values.types import TIMESTAMP

PAIR, DEAD, EVENTS, OVERFLOW, CALLED, LEARNED, VISITS, USEFUL, MISFITS, REFUSED = range(10)
"""Kinds of rows of a result: a match, a dead letter, a number of events, a number of matches beyond the quota, a
report of what an operator did (its name in `kind`, the report as JSON in `reason`), statistics of the values
of calls (the event type in `kind`, statistics as JSON in `reason`), how often an event visited a shard, how often
it found something there, a number of events that do not fit their type, and an event that is refused as it does
not (the attribute in `kind`, what was expected and found as JSON in `reason`)."""
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
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("original", pa.binary()),
        ("count", pa.int64()),
    ]
)
FOUND_SQL = (
    "row_kind int, event_id string, subscription_id string, revision long, event_type string, "
    "event_time timestamp, owner string, label string, attributes string, "
    "kind string, reason string, original binary, count long"
)
_CUT_ROWS = 100_000
"""Pairs that gather before they are cut to the quota once more."""


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
    """

    shards: tuple[SnapshotRef, ...]
    reading: Reading
    quota: Quota | None = None
    costs: Mapping[str, float] | None = None
    learned: Mapping[str, str] | None = None
    is_routed: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        tally = OperatorTally()
        before: dict[int, tuple[str, Statistics, int]] = {}
        events = visits = useful = misfits = 0
        overflow: dict[str, int] = {}
        waiting: list[pa.Table] = []
        for several in regroup(batches):
            for ref, given in tables_by_shard(self.shards, several):
                counted = event_count(given) if self.is_routed else given.num_rows
                table = event_rows(given) if self.is_routed else given
                try:
                    pairs, dead, found, unfit = self._match(
                        self._with_prior_statistics(ref.matchers(), before), table
                    )
                except MisfitError as error:  # as a row, since Spark would leave a text of it
                    yield from _rows(REFUSED, _refused_columns(error))
                    return
                visits, useful = visits + table.num_rows, useful + found
                if (
                    self.is_routed or ref is self.shards[0]
                ):  # without routing every shard has all events: count them once
                    events += counted
                    misfits += misfit_count(given) if self.is_routed else unfit
                    yield from _rows(DEAD, _dead_columns(dead))
                waiting.append(pairs)
                if self.quota is None or sum(map(len, waiting)) >= _CUT_ROWS:
                    waiting = [self._apply_quota(waiting, overflow)]
                    if self.quota is None:
                        yield from _rows(PAIR, waiting.pop())
        if waiting:
            yield from _rows(PAIR, self._apply_quota(waiting, overflow))
        if overflow:
            over = {"subscription_id": list(overflow), "count": list(overflow.values())}
            yield from _rows(OVERFLOW, pa.table(over))
        for kind, count in ((EVENTS, events), (VISITS, visits), (USEFUL, useful), (MISFITS, misfits)):
            yield from _rows(kind, pa.table({"count": [count]}))
        yield from _rows(CALLED, _report_columns(tally.reports()))
        yield from _rows(LEARNED, _learned_columns(before.values()))

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

    def _apply_quota(self, pairs: list[pa.Table], overflow: dict[str, int]) -> pa.Table:
        joined = pa.concat_tables(pairs)
        if self.quota is None:
            return joined
        kept, over = first_per_subscription(joined, self.quota)
        for subscription, count in over.items():
            overflow[subscription] = overflow.get(subscription, 0) + count
        return kept

    def _match(self, matchers: Matchers, table: pa.Table) -> tuple[pa.Table, list[DeadLetter], int, int]:
        """Pairs, dead letters, how many events found something, and how many do not fit their type."""
        dead: list[DeadLetter] = []
        original = self.reading.originals(table)
        found = [self._pairs(each, original, dead) for each in self.reading.read(matchers, table, dead)]
        useful, misfits = sum(count for _, count, _ in found), sum(count for *_, count in found)
        return pa.concat_tables([_NO_PAIRS, *(pairs for pairs, *_ in found)]), dead, useful, misfits

    def _pairs(self, read: TypedEvents, original: Any, dead: list[DeadLetter]) -> tuple[pa.Table, int, int]:
        """The pairs of some events, how many of these have one, and how many do not fit their type."""
        matcher, batch = read.matcher, read.batch
        names, good, misfits = self.reading.check_events(read, original, dead)
        found = matcher.match_pairs(batch)
        at, ids, revisions = found.columns()
        owners, labels = found.owners_and_labels()
        if not good.all():
            kept = good[at]
            at, revisions = at[kept], revisions[kept]
            ids, owners, labels = (each.filter(pa.array(kept)) for each in (ids, owners, labels))
        place, rows = pa.array(at), np.unique(at).tolist()
        pairs = pa.table(
            {
                "event_id": names.take(place),
                "subscription_id": ids,
                "revision": revisions.astype(np.int64),
                "event_type": pa.repeat(pa.scalar(matcher.event_type.name, pa.string()), len(at)),
                "event_time": self.times(batch, rows).take(place),
                "owner": owners,
                "label": labels,
                "attributes": self._attributes(batch, rows).take(place),
            },
            schema=_NO_PAIRS.schema,
        )
        return pairs, len(np.unique(at)), misfits

    def _attributes(self, batch: EventBatch, rows: list[int]) -> pa.Array:
        """What notifications carry along of the events in these rows; NULL for the others and for nothing."""
        texts: list[str | None] = [None] * batch.rows
        if self.reading.keep:
            columns = {name: batch.raw((name,)) for name in self.reading.keep}
            for row in rows:
                values = {
                    name: each.as_py() if isinstance(each, pa.Scalar) else each
                    for name, each in ((name, column[row]) for name, column in columns.items())
                }
                present = {name: value for name, value in values.items() if value is not None}
                texts[row] = json_object(present) if present else None
        return pa.array(texts, pa.string())

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


_NO_PAIRS = pa.schema([FOUND.field(name) for name in FOUND.names[1:9]]).empty_table()


def _dead_columns(dead: list[DeadLetter]) -> pa.Table:
    names = ("kind", "reason", "original", "event_id")
    columns = {name: [getattr(each, name) for each in dead] for name in names}
    return pa.table(columns, schema=pa.schema([FOUND.field(name) for name in names]))


def _refused_columns(error: MisfitError) -> pa.Table:
    found = json.dumps([error.expected, error.found])
    return pa.table({"event_id": [error.event], "kind": [error.attribute], "reason": [found]})


def raise_refused(found: pa.Table) -> None:
    """Raise the error of the first event that was refused, from rows of the kind `REFUSED`.

    Raises:
        MisfitError: There is one.
    """
    for row in found.slice(0, 1).to_pylist():
        raise MisfitError(row["event_id"], row["kind"], *json.loads(row["reason"]))


def _report_columns(reports: list[OperatorReport]) -> pa.Table:
    texts = [json.dumps(each.to_dict()) for each in reports]
    return pa.table({"kind": [each.operator for each in reports], "reason": texts})


def _learned_columns(known: Iterable[tuple[str, Statistics, int]]) -> pa.Table:
    """Statistics of calls that have changed since."""
    changed = [(name, each.of_calls(_MOST_LEARNED)) for name, each, before in known if each.learned > before]
    return pa.table(
        {"kind": [name for name, _ in changed], "reason": [json.dumps(each.to_json()) for _, each in changed]}
    )


def learned_in(found: pa.Table) -> dict[str, Statistics]:
    """Statistics of the values of calls by event type, from rows of the kind `LEARNED`."""
    learned: dict[str, Statistics] = {}
    for name, text in zip(found["kind"].to_pylist(), found["reason"].to_pylist(), strict=True):
        learned.setdefault(name, Statistics()).adopt(Statistics.from_json(json.loads(text)), replace=True)
    return learned


def reports_in(found: pa.Table) -> list[OperatorReport]:
    """What operators did, from rows of the kind `CALLED`."""
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
