"""Plain Spark gives the pairs of a matcher, whatever the ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tamis import Matcher
from tamis.lab.plain_spark import pairs_by_expressions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.slow
def test_expressions_give_the_pairs_of_a_matcher(spark: SparkSession) -> None:
    events = [{"an id": f"e{price}", "price": price} for price in (1, 5, 9)]
    conditions = {"cheap": "price < 6", "o'clock \\": "price > 1", "never": "price > 10", "null": "price < NULL"}
    matcher = Matcher()
    for name, condition in conditions.items():
        matcher.add(name, condition)
    expected = {(event["an id"], name) for event in events for name in matcher.match(event)}
    found = pairs_by_expressions(
        spark.createDataFrame(events), "an id", list(conditions), list(conditions.values())
    ).collect()
    assert {(row.event_id, row.subscription_id) for row in found} == expected
    assert len(found) == len(expected) == 4
