"""Answers to the events of a batch, part by part: one version of the subscriptions under a schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import pyarrow as pa

from tamis.events.batch import EventBatch
from tamis.events.compute import BatchFrame
from tamis.operators.settling import USUAL, Manner
from tamis.schedule.rows import Places, rows_of
from tamis.schedule.scheduler import Done, Schedule, Scheduler
from tamis.segments.collection import State
from tamis.segments.pairs import Pairs

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ready:
    """The answer to some events of a batch.

    Attributes:
        event_ids: The events that are answered, those without a pair included.
        pairs: A table with columns `event_id` and `subscription_id`: all their pairs, in the order of `event_ids`.
        seconds: How long it took, from the beginning of the batch, without what was done between two answers.
    """

    event_ids: pa.Array
    pairs: pa.Table
    seconds: float


Answer: TypeAlias = tuple[Pairs, pa.Array, pa.Table]
"""The pairs of some rows as they were found, and events and table as `Ready` has them."""


def handed_out(batch: EventBatch) -> Callable[[Places, Pairs], Answer]:
    """Makes an answer of the pairs of some rows of a batch."""

    def finish(rows: Places, pairs: Pairs) -> Answer:
        ids = batch.ids.take(pa.array(rows))
        return pairs, ids, pairs.table(ids, "event")

    return finish


def scheduled(
    scheduler: Scheduler,
    state: State,
    frame: BatchFrame,
    finish: Callable[[Places, Pairs], T],
    *,
    schedule: Schedule,
    width: int | None,
    pool: Executor | None,
    manner: Manner = USUAL,
) -> Iterator[Done[T]]:
    """What `finish` makes of the rows and the pairs of each part of a batch."""

    def work(rows: Places) -> T:
        part = frame if len(rows) == frame.rows else rows_of(frame, rows)
        return finish(rows, state.match(part, manner))

    def estimate() -> Places:
        return state.estimate(frame)

    return scheduler.run(frame.rows, work, schedule=schedule, width=width, estimate=estimate, pool=pool)
