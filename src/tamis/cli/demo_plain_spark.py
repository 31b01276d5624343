"""What plain Spark would take for the work of the demo: measured on a small part, extrapolated to the whole.

The comparison favours Spark: events are parsed and in memory before its clock runs, it publishes, stores and
records nothing, its first run does not count, and the part has as many conditions as its generated code stays fast
with. Its pairs must be those that the stream has recorded for the same events and subscriptions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import TamisError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.lab.workloads import Workload

Names: TypeAlias = set[tuple[str, str]]
"""Pairs as ids of an event and a subscription."""

_SUBSCRIPTIONS = 25
"""Spark's time for a condition and an event is the least here: with 10 its overhead counts, with 50 its generated
code is slower, and with 100 it no longer compiles."""
_EVENTS = 40_000
_RUNS = 3


class PairsDiffer(TamisError):
    """Spark alone finds other pairs than the stream has recorded."""


@dataclass(frozen=True, slots=True)
class PlainSpark:
    """What Spark alone did.

    Attributes:
        subscriptions: The number of conditions.
        events: The number of events.
        pairs: The number of pairs found.
        seconds: The time of its best run.
    """

    subscriptions: int
    events: int
    pairs: int
    seconds: float

    def extrapolate(self, products: int) -> float:
        """Seconds for so many products of an event and a subscription, if each takes as long as here."""
        return self.seconds * products / (self.subscriptions * self.events)


def compare_with_plain_spark(
    spark: SparkSession, workload: Workload, lasting: range, notifications: pa.Table
) -> PlainSpark:
    """Measure Spark alone, and compare its pairs with those of the stream.

    Args:
        spark: The session.
        workload: Events and subscriptions.
        lasting: Places of the subscriptions that existed all the time.
        notifications: What the stream has recorded.

    Raises:
        PairsDiffer: The pairs are not the same.
    """
    from tamis.lab.plain_spark import pairs_by_expressions

    places = pa.array(lasting[:: max(1, len(lasting) // _SUBSCRIPTIONS)][:_SUBSCRIPTIONS])
    ids, conditions = workload.ids.take(places), workload.conditions.take(places)
    part = workload.events.slice(0, _EVENTS)
    events = spark.createDataFrame(part).repartition(spark.sparkContext.defaultParallelism).cache()
    try:
        events.count()
        seconds = []
        for _ in range(_RUNS):
            start = time.perf_counter()
            found = pairs_by_expressions(events, "id", ids.to_pylist(), conditions.to_pylist()).toArrow()
            seconds.append(time.perf_counter() - start)
    finally:
        events.unpersist()
    recorded = notifications.filter(pc.is_in(notifications["subscription_id"], ids))
    recorded = recorded.filter(pc.is_in(recorded["event_id"], part["id"].combine_chunks()))
    check_pairs(_names(recorded), _names(found))
    return PlainSpark(len(ids), part.num_rows, found.num_rows, min(seconds[1:]))


def check_pairs(recorded: Names, found: Names) -> None:
    """Compare the pairs of the stream with those of Spark alone.

    Raises:
        PairsDiffer: They are not the same; the message names one pair.
    """
    if recorded != found:
        event, subscription = min(recorded ^ found)
        is_recorded = (event, subscription) in recorded
        who = "only the stream has" if is_recorded else "only Spark alone finds"
        msg = (
            f"{len(recorded ^ found):,} pairs differ from those of Spark alone, such as event {event!r} with "
            f"subscription {subscription!r}, which {who}"
        )
        raise PairsDiffer(msg)


def _names(pairs: pa.Table) -> Names:
    return set(zip(pairs["event_id"].to_pylist(), pairs["subscription_id"].to_pylist(), strict=True))
