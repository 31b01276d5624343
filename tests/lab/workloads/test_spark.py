"""The auction workload made by Spark is the one that is made in process, however Spark divides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tamis.lab.workloads import WorkloadError, generate
from tamis.lab.workloads.spark import auction_events, auction_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS, SUBSCRIPTIONS = 2_500, 17_000
"""Some blocks, the last one cut."""


def rows(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.to_pylist(), key=lambda row: int(row["id"][1:]))


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [None, 1, 5])
def test_rows_are_those_of_the_generator_in_process(spark: SparkSession, partitions: int | None) -> None:
    made = generate("auction", subscriptions=SUBSCRIPTIONS, events=EVENTS, seed=7, names="contain")
    events = auction_events(spark, EVENTS, seed=7, partitions=partitions, names="contain")
    subscriptions = auction_subscriptions(spark, SUBSCRIPTIONS, seed=7, partitions=partitions, names="contain")
    assert rows(events.toArrow()) == rows(made.events)
    assert rows(subscriptions.toArrow()) == rows(pa.table({"id": made.ids, "condition": made.conditions}))


@pytest.mark.spark
def test_columns_have_the_types_of_the_event_type(spark: SparkSession) -> None:
    events = auction_events(spark, 0)
    attributes = generate("auction", subscriptions=0, events=0).event_type.attributes
    assert attributes is not None
    assert dict(events.dtypes) == {each.name: str(each.type) for each in attributes}
    assert events.count() == 0


@pytest.mark.spark
def test_mistakes_are_told_before_anything_runs(spark: SparkSession) -> None:
    with pytest.raises(WorkloadError, match="workload auction: events: expected a whole number"):
        auction_events(spark, -1)
    with pytest.raises(WorkloadError, match="speed"):
        auction_subscriptions(spark, 10, speed=3)
