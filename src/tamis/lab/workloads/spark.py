"""The auction workload as DataFrames of any size: the rows that `generate` gives, made by Spark.

Workers make blocks of rows from the number of the block, so that no partitioning changes a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from tamis.lab.workloads.registry import Generator, generator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FAMILY = "auction"


def auction_events(
    spark: SparkSession, count: int, *, seed: int = 0, partitions: int | None = None, **parameters: Any
) -> DataFrame:
    """Events of the auction workload: `id` ("e0", "e1", ...) and the attributes of an auction.

    Args:
        spark: The session.
        count: How many; fewer are the first of more.
        seed: Any whole number that is not negative.
        partitions: Of the DataFrame; Spark decides by default. They change no row.
        parameters: Of the workload, as for `tamis.lab.workloads.generate`.

    Raises:
        WorkloadError: With everything that is wrong with the arguments.
    """
    made = generator(_FAMILY, subscriptions=0, events=count, seed=seed, **parameters)
    schema = ", ".join(f"`{each.name}` {each.type}" for each in made.plan.event_type.attributes or ())
    task = BlocksTask(0, count, seed, tuple(parameters.items()), "events")
    return spark.range(0, made.event_blocks, 1, partitions).mapInArrow(task, schema)


def auction_subscriptions(
    spark: SparkSession, count: int, *, seed: int = 0, partitions: int | None = None, **parameters: Any
) -> DataFrame:
    """Subscriptions of the auction workload: `id` ("s0", "s1", ...) and `condition`.

    The arguments are those of `auction_events`.

    Raises:
        WorkloadError: With everything that is wrong with the arguments.
    """
    made = generator(_FAMILY, subscriptions=count, events=0, seed=seed, **parameters)
    task = BlocksTask(count, 0, seed, tuple(parameters.items()), "conditions")
    return spark.range(0, made.condition_blocks, 1, partitions).mapInArrow(task, "id string, condition string")


@dataclass(frozen=True, slots=True)
class BlocksTask:
    """Makes the blocks whose numbers come, in a column `id`.

    Attributes:
        subscriptions: Of the workload.
        events: Of the workload.
        seed: Of the workload.
        parameters: Of the workload.
        part: What to make.
    """

    subscriptions: int
    events: int
    seed: int
    parameters: tuple[tuple[str, Any], ...]
    part: Literal["events", "conditions"]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Called by Spark for a partition."""
        made = self._generator()
        for batch in batches:
            for block in batch["id"].to_pylist():
                rows = made.events(block) if self.part == "events" else made.conditions(block)
                yield from _as_spark_has_it(rows).to_batches()

    def _generator(self) -> Generator:
        sizes = {"subscriptions": self.subscriptions, "events": self.events}
        return generator(_FAMILY, **sizes, seed=self.seed, **dict(self.parameters))


def _as_spark_has_it(rows: pa.Table) -> pa.Table:
    """With strings of the Arrow type that Spark expects."""
    large = {name for name in rows.column_names if pa.types.is_large_string(rows[name].type)}
    fields = [pa.field(each.name, pa.string()) if each.name in large else each for each in rows.schema]
    return rows.cast(pa.schema(fields)).combine_chunks()
