"""The way of a micro-batch to its sink: tasks match and write, and the driver publishes what they wrote.

The driver gets a few rows a task, so its work does not grow with the number of notifications. A sink that only the
driver can write to is given the pairs themselves. Both ways give the same notifications, those that the quota
leaves, and both write the state of the quota before the sink commits.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.notifications import NOTIFICATIONS
from tamis.progress import busiest
from tamis.quotas import Quota, Quotas, by_group
from tamis.sinks.base import BatchKey, Committed, Delivery, RecordSink, Sink, TaskWriter
from tamis.spark.composite_states import CompositeStates, by_partition
from tamis.spark.composite_task import StateTask
from tamis.spark.match_time import MatchTime
from tamis.spark.stream_task import (
    BUSY,
    CERTAIN,
    DEAD,
    DEAD_KIND,
    FOUND_SQL,
    OVERFLOW,
    PAIR,
    PART,
    RECORD,
    RECORD_COLUMNS,
    REFUSED,
    STATE,
    UNWRITTEN,
    USEFUL,
    StreamTask,
    raise_refused,
    raise_unwritten,
)
from tamis.spark.workers import map_in_workers
from tamis.spark.write_task import QuotaTask, WriteTask, make_dead_letters, make_notifications, parts_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BUSIEST = 20
_NO_EVENTS = np.empty(0, np.uint64)


class TaskRows:
    """The rows that tasks gave the driver; most kinds of them are rare."""

    __slots__ = ("_found", "_kinds", "_rows")

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._kinds = rows["row_kind"].to_numpy()
        self._found = frozenset(np.unique(self._kinds).tolist())  # a batch asks for twenty kinds, and has a few

    def of(self, kind: int) -> pa.Table:
        """Those of a kind."""
        return self._rows.filter(pa.array(self._kinds == kind)) if kind in self._found else self._rows.slice(0, 0)

    def total(self, kind: int) -> int:
        """The sum of the numbers in those of a kind."""
        return int(pc.sum(self.of(kind)["count"]).as_py() or 0) if kind in self._found else 0

    def counts(self, kind: int) -> Counter[str]:
        """The sums by subscription of the numbers in those of a kind."""
        counts: Counter[str] = Counter()
        rows = self.of(kind)
        for name, count in zip(rows["subscription_id"].to_pylist(), rows["count"].to_pylist(), strict=True):
            counts[name] += count
        return counts


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a batch, for its report.

    Attributes:
        found: The rows that tasks gave.
        committed: What the sink said.
        matched: When matching had ended, by the process's clock.
        decided: When it was known what the sink gets.
        overflow: Matches beyond the quota, by subscription.
        matched_events: Events with a match.
        busiest: Subscriptions with most matches.
        dead_by_kind: Dead letters by kind.
        overflow_by_group: Matches beyond the quota, by group.
    """

    found: TaskRows
    committed: Committed
    matched: float
    decided: float
    overflow: Counter[str]
    matched_events: int
    busiest: tuple[tuple[str, int], ...]
    dead_by_kind: tuple[tuple[str, int], ...]
    overflow_by_group: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class BatchDelivery:
    """Runs the tasks of batches, and brings what they give to the sink.

    Attributes:
        sink: Where notifications go.
        quotas: What subscriptions have used of their quota, if there is one.
        match_time: Keeps when the matches of a batch were made.
        composite: The state of composite subscriptions.
    """

    sink: Sink
    quotas: Quotas | None
    match_time: MatchTime
    composite: CompositeStates | None = None

    def deliver(
        self, events: DataFrame, task: StreamTask, key: BatchKey, begin_delivery: Callable[[], None]
    ) -> BatchResult:
        """Match a batch, and commit what it gives.

        Args:
            events: As tasks get them.
            task: Matches them.
            key: Which batch this is.
            begin_delivery: Called once matching has ended, before the sink gets anything.
        """
        quota = None if self.quotas is None else self.quotas.quota(key.query, key.batch)
        limit = quota if quota is not None and quota.is_limit else None
        writer = self.sink.task_writer(key)
        if writer is None:
            result = self._hand_over(events, replace(task, quota=limit), key, begin_delivery)
        else:
            result = self._publish(events, task, limit, key, writer, begin_delivery)
        if quota is None:
            return result
        return replace(result, overflow_by_group=tuple(sorted(by_group(result.overflow, quota).items())))

    def _hand_over(
        self, events: DataFrame, task: StreamTask, key: BatchKey, begin_delivery: Callable[[], None]
    ) -> BatchResult:
        """Match a batch, and give its rows to a sink that only the driver can write to."""
        rows = map_in_workers(events, task, FOUND_SQL)
        if task.composite is not None:
            rows = _with_state(
                rows, StateTask(task.composite, key, task.reading.keep, shown=task.reading.shown_type)
            )
        found = TaskRows(rows.toArrow())
        raise_refused(found.of(REFUSED))
        raise_unwritten(found.of(UNWRITTEN))
        matched = time.perf_counter()
        pairs = found.of(PAIR)
        if pairs.num_rows:
            pairs, _ = make_notifications(pairs, key, self._recorded_time(key))
        else:
            pairs = NOTIFICATIONS.empty_table()
        dead = make_dead_letters(found.of(DEAD), key)
        overflow, kept = found.counts(OVERFLOW), pairs
        if self.quotas is not None:
            kept, more = self.quotas.apply(key.query, key.batch, key.at, pairs)
            overflow.update(more)
        self._commit_state(key, task, found)
        begin_delivery()
        decided = time.perf_counter()
        committed = self.sink.commit(Delivery(key.query, key.batch, key.at, key.version, kept, dead))
        return BatchResult(
            found,
            committed,
            matched,
            decided,
            overflow,
            pc.count_distinct(pairs["event_id"]).as_py(),
            _value_counts(pairs, "subscription_id", _BUSIEST),
            _value_counts(dead, "kind"),
        )

    def _publish(
        self,
        events: DataFrame,
        task: StreamTask,
        limit: Quota | None,
        key: BatchKey,
        writer: TaskWriter,
        begin_delivery: Callable[[], None],
    ) -> BatchResult:
        """Let tasks match a batch and write what it gives, and publish what they wrote."""
        state = None
        if self.quotas is not None and limit is not None:
            state = self.quotas.state(key.query, key.batch, key.at)
        matched_at = None if self.sink.exactly_once else self._recorded_time(key)
        rows = map_in_workers(events, WriteTask(task, writer, key, state, matched_at), FOUND_SQL)
        if task.composite is not None:
            keep = task.reading.keep
            shown = task.reading.shown_type
            rows = _with_state(rows, StateTask(task.composite, key, keep, writer, state, matched_at, shown))
        if state is not None:
            tasks = events.sparkSession.sparkContext.defaultParallelism
            by_subscription = rows.repartition(tasks, "subscription_id")
            rows = map_in_workers(by_subscription, QuotaTask(writer, key, state, matched_at), FOUND_SQL)
        sender = self.sink if isinstance(self.sink, RecordSink) else None
        if sender is not None:
            rows = rows.persist()  # or tasks would run twice
        try:
            found = TaskRows((rows if sender is None else rows.where(f"row_kind <> {RECORD}")).toArrow())
            matched = time.perf_counter()
            raise_refused(found.of(REFUSED))
            begin_delivery()
            raise_unwritten(found.of(UNWRITTEN))
            parts = parts_in(found.of(PART))
            self._commit_state(key, task, found)
            if self.quotas is not None:
                written = found.counts(CERTAIN)
                self.quotas.apply(key.query, key.batch, key.at, NOTIFICATIONS.empty_table(), written)
            decided = time.perf_counter()
            if sender is not None and any(each.written or each.dead for each in parts):
                sender.send_records(rows.where(f"row_kind = {RECORD}").selectExpr(*RECORD_COLUMNS))
            committed = self.sink.publish(key, parts)
        finally:
            if sender is not None:
                rows.unpersist()
        matched_events = found.total(USEFUL)
        if len(task.shards) > 1:  # an event finds something in several; what was notified before is not counted
            matched_events = len(np.unique(np.concatenate([_NO_EVENTS, *(each.events for each in parts)])))
        dead = found.counts(DEAD_KIND)
        return BatchResult(
            found,
            committed,
            matched,
            decided,
            found.counts(OVERFLOW),
            matched_events,
            busiest(found.counts(BUSY), _BUSIEST),
            busiest(dead, len(dead)),
        )

    def _commit_state(self, key: BatchKey, task: StreamTask, found: TaskRows) -> None:
        if self.composite is not None and task.composite is not None:
            self.composite.commit(key.query, key.batch, task.composite, found.of(STATE))

    def _recorded_time(self, key: BatchKey) -> datetime:
        return self.match_time.record(key.query, key.batch, max(key.at, datetime.now(UTC)))


def _with_state(rows: DataFrame, task: StateTask) -> DataFrame:
    """What tasks gave, with what is open of composite subscriptions taken from it and added to it."""
    return map_in_workers(by_partition(rows, len(task.plan.files)), task, FOUND_SQL)


def _value_counts(rows: pa.Table, column: str, most: int | None = None) -> tuple[tuple[str, int], ...]:
    """How often each value stands in a column, the most frequent first."""
    counted = rows.group_by(column).aggregate([([], "count_all")])
    counts = dict(zip(counted[column].to_pylist(), counted["count_all"].to_pylist(), strict=True))
    return busiest(counts, len(counts) if most is None else most)
