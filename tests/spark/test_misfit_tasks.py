"""Events that do not fit their type, in `tamis.spark.match`: NULL, left out or refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis import Matcher
from tamis.routing.shards import Routing
from tamis.spark import match

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SALE = {
    "name": "sale",
    "attributes": {"key": "string", "price": "int", "brand": {"type": "string", "required": True}},
}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    matcher = Matcher(SALE)
    matcher.add_many([(f"s{number}", "price < 10 OR price IS NULL") for number in range(8)])
    folder = tmp_path_factory.mktemp("snapshot")
    matcher.publish(folder)
    return folder


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    """A number as a text is none; `e3` lacks what is required, which no condition reads."""
    rows = [("e1", "5", "b"), ("e2", None, "b"), ("e3", None, None)]
    return spark.createDataFrame(rows, "key string, price string, brand string")


def found(frame: DataFrame) -> list[str]:
    return sorted({row["event_id"] for row in frame.collect()})


@pytest.mark.parametrize("shards", [{}, {"shards": 3}, {"shards": 3, "routing": Routing()}])
def test_misfits_are_null_or_left_out(events: DataFrame, snapshot: Path, shards: dict[str, Any]) -> None:
    options: Any = {"event_id": "key", **shards}
    null: Any = match(events, str(snapshot), **options)
    assert found(null) == ["e1", "e2", "e3"]
    rows = sorted(tuple(row) for row in null.misfits.collect())
    assert rows == [("e1", "price", "int", "'5'"), ("e3", "brand", "string", None)]
    assert found(match(events, str(snapshot), on_misfit="dead letter", **options)) == ["e2"]
    grouped = match(events, str(snapshot), output="grouped", on_misfit="dead letter", **options)
    assert found(grouped) == ["e2"]


def test_misfits_are_refused_when_the_pairs_are_computed(events: DataFrame, snapshot: Path) -> None:
    refusing = match(events, str(snapshot), event_id="key", on_misfit="refuse")
    with pytest.raises(Exception, match="MisfitError"):
        refusing.collect()
    fitting = match(events.where("key = 'e2'"), str(snapshot), event_id="key", on_misfit="refuse")
    assert found(fitting) == ["e2"]
    with pytest.raises(ValueError, match="on_misfit"):
        match(events, str(snapshot), event_id="key", on_misfit="drop")  # type: ignore[arg-type]
