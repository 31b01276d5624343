"""What a worker does for a sink that tasks write to: it matches, makes notifications and writes them.

The driver gets a few rows a task: what was written, counts, the busiest subscriptions. How many these are does not
depend on the number of notifications; of subscriptions with a quota it gets how much of it was used.

What a quota leaves must not depend on how events are spread over tasks. So pairs of subscriptions with a quota,
cut to what it allows at most, go to a second task by subscription, which decides on all of them and writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import MisfitError, WriteError
from tamis.notifications import (
    DEAD_LETTERS,
    NOTIFICATIONS,
    Keys,
    dead_letter_ids,
    distinct_order,
    ids_of,
    notification_keys,
)
from tamis.progress import busiest
from tamis.quotas import QuotaCut, QuotaState
from tamis.sinks.base import BatchKey, Part, TaskWriter
from tamis.spark.stream_task import (
    BUSY,
    CERTAIN,
    DEAD_KIND,
    FOUND,
    OVERFLOW,
    PAIR,
    PART,
    TAKEN,
    StreamTask,
    TaskCounts,
    count_rows,
    cut_rows,
    dead_columns,
    record_rows,
    refused_rows,
    result_rows,
    unwritten_rows,
)

_BUSIEST = 200
"""How many of its busiest subscriptions a task names: more than a report shows, as those of all tasks differ."""
_QUOTA_SHARD = 1 << 32
"""The first number of a shard that is not one of the subscriptions'."""


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Matches the events of a micro-batch, and writes what they give.

    Attributes:
        matching: Finds pairs.
        writer: The sink's.
        batch: Which batch this is.
        quota: Pairs of subscriptions with a quota are left to a `QuotaTask`; None without.
        matched_at: What notifications say, if a replay must say the same; None for the time when they are made.
    """

    matching: StreamTask
    writer: TaskWriter
    batch: BatchKey
    quota: QuotaState | None = None
    matched_at: datetime | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        try:
            yield from self._write(batches)
        except MisfitError as error:
            yield from refused_rows(error)
        except WriteError as error:
            yield from unwritten_rows(error)

    def _write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = self.writer.open(*attempt_of())
        counts = TaskCounts()
        cut = None if self.quota is None else QuotaCut(self.quota.quota)
        busy: Counter[str] = Counter()
        dead: Counter[str] = Counter()
        for found in self.matching.match_tables(batches, counts):
            pairs, events = found.pairs, found.events
            yield from result_rows(TAKEN, found.taken)
            if self.quota is not None and cut is not None:
                limited = self.quota.is_limited(pairs["subscription_id"])
                for left in cut.add(pairs.filter(pa.array(limited))):
                    yield from result_rows(PAIR, left)
                if limited.any():
                    pairs = pairs.filter(pa.array(~limited))
                    events = events.filter(pc.is_in(events, value_set=pairs["event_id"].combine_chunks()))
            if pairs.num_rows:
                notifications, keys = make_notifications(pairs, self.batch, self.matched_at)
                yield from record_rows(part.add(notifications, keys, events, found.shard))
                busy.update(_count_by_subscription(pairs))
            if found.dead:
                letters = make_dead_letters(dead_columns(found.dead), self.batch)
                dead.update(letters["kind"].to_pylist())
                yield from record_rows(part.add_dead(letters))
        yield from part_rows(part.finish())
        if cut is not None:
            yield from cut_rows(cut)
        yield from count_rows(BUSY, dict(busiest(busy, _BUSIEST)))
        yield from count_rows(DEAD_KIND, dead)
        yield from counts.rows()
        yield from self.matching.reached_rows(counts)


@dataclass(frozen=True, slots=True)
class QuotaTask:
    """Writes the pairs of subscriptions with a quota, as many as it allows; all pairs of a subscription come here.

    Attributes:
        writer: The sink's.
        batch: Which batch this is.
        quota: What was used before.
        matched_at: As for `WriteTask`.
    """

    writer: TaskWriter
    batch: BatchKey
    quota: QuotaState
    matched_at: datetime | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition; rows of other kinds are passed on."""
        try:
            yield from self._write(batches)
        except WriteError as error:
            yield from unwritten_rows(error)

    def _write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for given in batches:
            is_pair = pc.equal(given["row_kind"], PAIR)
            waiting.append(given.filter(is_pair))
            rest = given.filter(pc.invert(is_pair))
            if rest.num_rows:
                yield rest
        pairs = pa.Table.from_batches([each for each in waiting if each.num_rows], FOUND)
        if not pairs.num_rows:
            return
        notifications, keys = make_notifications(pairs, self.batch, self.matched_at)
        order = distinct_order(keys, notifications)
        keep, written, beyond = self.quota.decide(notifications["subscription_id"].take(pa.array(order)))
        rows = order[keep]
        if len(rows):
            partition, attempt = attempt_of()
            part = self.writer.open(-1 - partition, attempt)
            kept = notifications.take(pa.array(rows))
            # Other tasks have other subscriptions, so that an event here is not the same event there.
            events = kept["event_id"].unique()
            yield from record_rows(part.add(kept, keys[:, rows], events, shard=_QUOTA_SHARD + partition))
            yield from part_rows(part.finish())
        yield from count_rows(CERTAIN, written)
        yield from count_rows(BUSY, dict(busiest(Counter(_count_by_subscription(pairs)), _BUSIEST)))
        yield from count_rows(OVERFLOW, beyond)


def _count_by_subscription(pairs: pa.Table) -> dict[str, int]:
    counted = pc.value_counts(pairs["subscription_id"].combine_chunks())
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))


def make_notifications(
    pairs: pa.Table, batch: BatchKey, matched_at: datetime | None = None
) -> tuple[pa.Table, Keys]:
    """The notifications of pairs that are found at this moment or at that one, and their ids as numbers."""
    now = matched_at or max(batch.at, datetime.now(UTC))
    keys = notification_keys(pairs["event_id"], pairs["subscription_id"], pairs["revision"])
    columns = {name: pairs[name] for name in pairs.column_names if name in NOTIFICATIONS.names}
    columns["id"] = ids_of(keys)
    columns["version"] = pa.repeat(pa.scalar(batch.version, pa.int64()), pairs.num_rows)
    columns["matched_at"] = pa.repeat(pa.scalar(now, pa.timestamp("us", "UTC")), pairs.num_rows)
    table = pa.table([columns[field.name].cast(field.type) for field in NOTIFICATIONS], schema=NOTIFICATIONS)
    return table, keys


def make_dead_letters(dead: pa.Table, batch: BatchKey) -> pa.Table:
    """Dead letters with their ids and the time of the batch."""
    columns = {name: dead[name] for name in dead.column_names if name in DEAD_LETTERS.names}
    columns["id"] = dead_letter_ids(dead["kind"], dead["original"])
    columns["at"] = pa.repeat(pa.scalar(batch.at, pa.timestamp("us", "UTC")), dead.num_rows)
    return pa.table([columns[field.name].cast(field.type) for field in DEAD_LETTERS], schema=DEAD_LETTERS)


def part_rows(part: Part) -> Iterator[pa.RecordBatch]:
    """What a task wrote, as a row of the result."""
    yield from result_rows(PART, pa.table({"reason": [part.to_json()], "original": [part.numbers()]}))


def parts_in(found: pa.Table) -> list[Part]:
    """What tasks wrote, from rows of the kind `PART`, by their tokens, whose order does not depend on time."""
    rows = zip(found["reason"].to_pylist(), found["original"].to_pylist(), strict=True)
    return sorted((Part.from_json(text, numbers) for text, numbers in rows), key=lambda part: part.token)


def attempt_of() -> tuple[int, int]:
    """The partition and the attempt of this task; without Spark it is the first and only one."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return (0, 0) if context is None else (context.partitionId(), context.taskAttemptId())
