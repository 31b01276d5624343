"""Statistics by Spark: close to the truth, the same for any partitioning, and used when conditions are filed."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tamis import Matcher, Statistics
from tamis.engines.auto import AutoIndex
from tamis.errors import EventTypeError
from tamis.formulas.expression import Path
from tamis.spark import prepare, statistics
from tamis.statistics import SAMPLE
from tamis.values.types import BIGINT, DATE, DOUBLE, INT, STRING
from tests.matchers import segments_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 20_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Skewed events: a Zipf distribution, a log-normal one, and a date that few have, inside another attribute."""
    random = np.random.Generator(np.random.PCG64(5))
    ranks = np.minimum(random.zipf(1.6, ROWS), 5_000)
    absent = random.random(ROWS) > 0.03
    days = pa.array(random.integers(0, 1_000, ROWS).astype(np.int32), mask=absent).cast(pa.date32())
    return pa.table(
        {
            "id": np.arange(ROWS),
            "word": pa.array([f"w{rank}" for rank in ranks]),
            "size": random.lognormal(3.0, 2.0, ROWS),
            "seen": pa.StructArray.from_arrays([days], ["on"]),
            "tags": pa.array([["a"]] * ROWS),
            "few": pa.array((np.arange(ROWS) % 50).astype(np.int32)),
        }
    )


@pytest.fixture(scope="module")
def events(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table)


def known(found: Statistics, path: tuple[str, ...], type_: Any) -> Any:
    facts = found.of(Path(path, type_))
    assert facts is not None
    return facts


@pytest.mark.spark
@pytest.mark.parametrize("sample", [ROWS, 5_000])
def test_close_to_the_truth(events: DataFrame, table: pa.Table, sample: int) -> None:
    found = statistics(events, sample=sample)
    assert {each["attribute"] for each in found.describe()} == {"id", "word", "size", "seen.on", "few"}
    error = 2 / SAMPLE if sample == ROWS else 2 / SAMPLE + 3 * 0.5 / sample**0.5
    size, day = known(found, ("size",), DOUBLE), known(found, ("seen", "on"), DATE)
    assert size.events == pytest.approx(sample, rel=0.1)
    assert size.non_null_fraction > 0.999
    assert day.non_null_fraction == pytest.approx(0.03, abs=0.01)
    values = np.sort(table["size"].to_numpy())
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        assert np.searchsorted(values, np.quantile(size.sample, share)) / ROWS == pytest.approx(share, abs=error)
    words = table["word"].to_pylist()
    sampled = known(found, ("word",), STRING).sample
    for word in ("w1", "w2", "w3", "w7"):
        assert sampled.count(word) / len(sampled) == pytest.approx(words.count(word) / ROWS, abs=error)
    assert known(found, ("few",), INT).distinct == 50
    assert known(found, ("id",), BIGINT).distinct == pytest.approx(ROWS, rel=0.6)
    assert known(found, ("word",), STRING).distinct == pytest.approx(len(set(words)), rel=0.5)


@pytest.mark.spark
def test_the_same_for_any_partitioning(events: DataFrame) -> None:
    first = statistics(events, sample=3_000)
    again = statistics(events.repartition(7, "few"), sample=3_000)
    assert first.to_json() == again.to_json()
    assert statistics(events, sample=3_000, seed=1).to_json() != first.to_json()


@pytest.mark.spark
def test_attributes_are_chosen_by_name(events: DataFrame) -> None:
    assert len(statistics(events, ["word", "seen.on"], sample=100)) == 2
    with pytest.raises(EventTypeError) as refused:
        statistics(events, ["sizes", "tags", "word"])
    assert str(refused.value) == (
        "event type event: there is no attribute 'sizes'; did you mean 'size'?;"
        " attribute 'tags': expected one of single values, found array<string>"
    )


@pytest.mark.spark
@pytest.mark.parametrize(("rare", "common"), [("a", "b"), ("b", "a")])
def test_conditions_are_filed_under_what_is_rarer(
    spark: SparkSession, tmp_path: pathlib.Path, rare: str, common: str
) -> None:
    rows = [(number, number % 300 if number % 20 == 0 else None, number % 300) for number in range(3_000)]
    events = spark.createDataFrame(rows, f"id long, {rare} int, {common} int")
    conditions = [(f"s{number}", f"a = {number} AND b = {(7 * number) % 300}") for number in range(300)]
    subscriptions = spark.createDataFrame(conditions, "id string, condition string")
    ready = prepare(subscriptions, events.schema, snapshot=tmp_path, statistics=statistics(events), segments=1)
    assert filed_under(Matcher.open(ready.url)) == {rare}


def filed_under(matcher: Matcher) -> set[str]:
    """The attributes whose values lead to conditions."""
    (segment,) = segments_of(matcher)
    assert isinstance(segment.index, AutoIndex)
    built = segment.index.mapped
    cells, groups = built.index.cells, built.index.groups
    found = set()
    for axis, each in enumerate(built.forest.axes):
        assert isinstance(each.attribute, Path)
        first = int(cells.bases[axis])
        by_cell = groups.cell_firsts[first + cells.counts[axis] + 1] > groups.cell_firsts[first]
        if by_cell or groups.point_firsts[axis + 1] > groups.point_firsts[axis]:
            found.add(each.attribute.steps[0])
    return found
