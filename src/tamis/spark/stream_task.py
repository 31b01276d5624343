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
import numpy.typing as npt
import pyarrow as pa

from tamis.events.batch import EventBatch
from tamis.events.conversion import converter
from tamis.matchers import Matchers
from tamis.operators.reporting import OperatorReport, Tally
from tamis.quotas import Quota, first_per_subscription
from tamis.spark.event_reading import Dead, Read, Reading
from tamis.spark.worker import Edition, by_shard, counted_in, events_in, regrouped
from tamis.statistics import Statistics
from tamis.values.types import TIMESTAMP

PAIR, DEAD, EVENTS, OVERFLOW, CALLED, LEARNED, VISITS, USEFUL = range(8)
"""Kinds of rows of a result: a match, a bad event, a number of events, a number of matches beyond the quota, a
report of what an operator did (its name in `kind`, the report as JSON in `reason`), what was learned of the values
of calls (the event type in `kind`, statistics as JSON in `reason`), how often an event visited a shard, and how
often it found something there."""
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


@dataclass(frozen=True, slots=True)
class StreamTask:
    """Matches the events of a micro-batch.

    Attributes:
        editions: The subscriptions, those of each shard.
        reading: How events are read.
        quota: How many pairs of a subscription are needed at all; None for all.
        costs: Seconds that a call of an operator took before, for a process that has not called it yet.
        learned: What calls gave before, by event type, as statistics in JSON, for the same.
        is_routed: Were events sent by a `RouteTask`? If not, every shard gets every event.
    """

    editions: tuple[Edition, ...]
    reading: Reading
    quota: Quota | None = None
    costs: Mapping[str, float] | None = None
    learned: Mapping[str, str] | None = None
    is_routed: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        tally = Tally()
        before: dict[int, tuple[str, Statistics, int]] = {}
        events = visits = useful = 0
        overflow: dict[str, int] = {}
        waiting: list[pa.Table] = []
        for several in regrouped(batches):
            for edition, given in by_shard(self.editions, several):
                counted = counted_in(given) if self.is_routed else given.num_rows
                table = events_in(given) if self.is_routed else given
                pairs, dead, found = self._match(self._informed(edition.matchers(), before), table)
                visits, useful = visits + table.num_rows, useful + found
                if self.is_routed or edition is self.editions[0]:  # without a route, one shard tells of all
                    events += counted
                    yield from _rows(DEAD, _dead_columns(dead))
                waiting.append(pairs)
                if self.quota is None or sum(map(len, waiting)) >= _CUT_ROWS:
                    waiting = [self._cut(waiting, overflow)]
                    if self.quota is None:
                        yield from _rows(PAIR, waiting.pop())
        if waiting:
            yield from _rows(PAIR, self._cut(waiting, overflow))
        if overflow:
            over = {"subscription_id": list(overflow), "count": list(overflow.values())}
            yield from _rows(OVERFLOW, pa.table(over))
        for kind, count in ((EVENTS, events), (VISITS, visits), (USEFUL, useful)):
            yield from _rows(kind, pa.table({"count": [count]}))
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
        if self.quota is None:
            return joined
        kept, over = first_per_subscription(joined, self.quota)
        for subscription, count in over.items():
            overflow[subscription] = overflow.get(subscription, 0) + count
        return kept

    def _match(self, matchers: Matchers, table: pa.Table) -> tuple[pa.Table, list[Dead], int]:
        """Pairs, dead letters, and how many events found something."""
        dead: list[Dead] = []
        original = self.reading.originals(table)
        found = [self._pairs(each, original, dead) for each in self.reading.read(matchers, table, dead)]
        useful = sum(count for _, count in found)
        return pa.concat_tables([_NO_PAIRS, *(pairs for pairs, _ in found)]), dead, useful

    def _pairs(self, read: Read, original: Any, dead: list[Dead]) -> tuple[pa.Table, int]:
        """The pairs of some events, and how many of these have one."""
        matcher, batch = read.matcher, read.batch
        names, good = self.reading.judged(read, original, dead)
        at, ids, revisions = matcher.found(batch).columns()
        if not good.all():
            kept = good[at]
            at, ids, revisions = at[kept], ids.filter(pa.array(kept)), revisions[kept]
        place = pa.array(at)
        pairs = pa.table(
            {
                "event_id": names.take(place),
                "subscription_id": ids,
                "revision": revisions.astype(np.int64),
                "event_type": pa.repeat(pa.scalar(matcher.event_type.name, pa.string()), len(at)),
                "event_time": self._times(batch, at).take(place),
            },
            schema=_NO_PAIRS.schema,
        )
        return pairs, len(np.unique(at))

    def _times(self, batch: EventBatch, matched: npt.NDArray[np.int32]) -> pa.Array:
        """When events happened, those that matched."""
        times: list[Any] = [None] * batch.rows
        if self.reading.event_time is not None:
            values = batch.raw((self.reading.event_time,))
            convert = converter(TIMESTAMP, batch.event_type.time_zone)
            for row in np.unique(matched).tolist():
                value = values[row].as_py() if isinstance(values, pa.Array) else values[row]
                times[row] = None if value is None else convert(value)
        return pa.array(times, pa.int64()).cast(_NO_PAIRS.schema.field("event_time").type)


_NO_PAIRS = pa.schema([FOUND.field(name) for name in FOUND.names[1:6]]).empty_table()


def _dead_columns(dead: list[Dead]) -> pa.Table:
    columns = {name: [getattr(each, name) for each in dead] for name in Dead._fields}
    return pa.table(columns, schema=pa.schema([FOUND.field(name) for name in Dead._fields]))


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
