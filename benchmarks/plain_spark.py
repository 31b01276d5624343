"""What a Spark user would write without tamis: a broadcast cross join, or one expression for every subscription.

Neither gets through a large contest in bearable time, so each is given as much as it finishes within a budget;
what it does is counted in products, an event looked at for a subscription being one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.spark_data import ATTRIBUTES, EVENT_ID, Data
from tamis.lab.plain_spark import pairs_by_expressions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FEWEST_EVENTS = 256
_MOST_GROWTH = 20


@dataclass(frozen=True, slots=True)
class Largest:
    """The contest that a contestant does most products a second in, of those that it finishes.

    Attributes:
        subscriptions: The first so many.
        events: The first so many.
        seconds: That it took.
    """

    subscriptions: int
    events: int
    seconds: float

    @property
    def rate(self) -> float:
        """Products a second."""
        return self.subscriptions * self.events / self.seconds


def cross_join(spark: SparkSession, data: Data, subscriptions: int, events: int, out: Path) -> None:
    """Every event with every subscription, whose bounds are columns; an attribute not asked for has wide ones."""
    from pyspark.sql import functions as F

    bounds = spark.read.parquet(str(data.bounds(subscriptions))).withColumnRenamed("id", "subscription_id")
    inside = " AND ".join(f"{name} BETWEEN low_{name} AND high_{name}" for name in ATTRIBUTES)
    joined = _events(spark, data, events).join(F.broadcast(bounds), F.expr(inside))
    _write(joined.selectExpr(f"{EVENT_ID} AS event_id", "subscription_id"), out)


def expressions(spark: SparkSession, data: Data, subscriptions: int, events: int, out: Path) -> None:
    """One select, with an expression for each subscription."""
    ids, conditions = (
        column.slice(0, subscriptions).to_pylist() for column in (data.workload.ids, data.workload.conditions)
    )
    _write(pairs_by_expressions(_events(spark, data, events), EVENT_ID, ids, conditions), out)


def largest(
    run: Callable[[int, int], None], sizes: Sequence[int], most_events: int, budget_seconds: float
) -> Largest:
    """The best of the contests that fit into the budget: more events for each size, then the next size."""
    found: list[Largest] = []
    fewest = min(_FEWEST_EVENTS, most_events)
    run(sizes[0], fewest)  # the first run of a query takes longer, and is nobody's measure
    for subscriptions in sizes:
        events = fewest
        while True:
            start = time.perf_counter()
            run(subscriptions, events)
            tried = Largest(subscriptions, events, time.perf_counter() - start)
            found.append(tried)
            growth = min(_MOST_GROWTH, 0.9 * budget_seconds / tried.seconds)
            if growth < 1.5 or events == most_events:
                break
            events = min(most_events, int(events * growth))
        if found[-1].seconds > budget_seconds:
            break
    return max(found, key=lambda each: each.rate)


def _events(spark: SparkSession, data: Data, events: int) -> DataFrame:
    return spark.read.parquet(str(data.event_files(events)))


def _write(pairs: DataFrame, out: Path) -> None:
    pairs.write.mode("overwrite").parquet(str(out))
