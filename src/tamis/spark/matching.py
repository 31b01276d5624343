"""`tamis.spark.match`: the pairs of a DataFrame of events."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from tamis.errors import EventError, SubscriptionError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.operators.finding import OperatorSettings
from tamis.routing.shards import Routing
from tamis.schedule.scheduler import Schedule, check_schedule
from tamis.spark.preparing import prepare
from tamis.spark.routing import RouteTask
from tamis.spark.shards import Sharding, sent
from tamis.spark.worker import Edition, PairsTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROW = "tamis row"
"""The column that tells which row of the events a copy is of: their ids need not be different."""


def match(
    events: DataFrame,
    subscriptions: Any,
    *,
    event_id: str = "id",
    engine: str = "auto",
    output: Literal["pairs", "grouped"] = "pairs",
    keep: Sequence[str] | None = None,
    event_type: str | None = None,
    snapshot: str | os.PathLike[str] | None = None,
    shards: int = 1,
    routing: Routing | None = None,
    schedule: Schedule = "arrival",
    operators: OperatorSettings | Sequence[str] | None = None,
) -> DataFrame:
    """All pairs of an event and a subscription that it satisfies.

    Args:
        events: Any DataFrame; only the columns that conditions read are asked for.
        subscriptions: What `prepare` takes or gave. Conditions of a DataFrame or a file are about the columns of
            `events`; a snapshot and a store have their own event types.
        event_id: The column that names an event.
        engine: A name of `tamis.engines.ENGINES`, or "auto".
        output: "pairs", or "grouped": one row an event, with an array of ids that may be empty.
        keep: Columns of `events` to carry along.
        event_type: The name of the event type, where a snapshot or a store has several.
        snapshot: Where to publish subscriptions that are not a snapshot yet, as driver and workers reach it.
        shards: Over how many parts subscriptions are dealt, when a worker cannot hold them all.
        routing: Deal them by similarity, and send an event only to shards that may have something for it; every
            event visits all shards without.
        schedule: In which order a worker works off the events of a batch: that of their "arrival", or
            "shortest-first", and then pairs leave it part by part.
        operators: Where the operators come from that conditions call: the names of modules that driver and workers
            can import, or settings. Those of installed packages are found without.

    Returns:
        A lazy DataFrame with columns `event_id`, `subscription_id` and those of `keep`. Its attribute `refused` is
        a DataFrame with `id` and `reason` of the subscriptions that were refused. It is of the version of the
        subscriptions that was the newest when it was made, whenever it is computed.

    Raises:
        OperatorError: An operator cannot be loaded, or conditions call one that is not known.
    """
    kept = tuple(keep or ())
    check_columns(events, (event_id, *kept))
    check_schedule(schedule)
    if output not in ("pairs", "grouped"):
        msg = f"expected output 'pairs' or 'grouped', found {output!r}"
        raise ValueError(msg)
    spark = events.sparkSession
    zone = spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"
    ready = prepare(
        subscriptions,
        EventType.from_spark(events.schema, time_zone=zone),
        snapshot=snapshot,
        segments=shards if shards > 1 and routing is None else None,
        spark=spark,
        operators=operators,
    )
    edition = Edition(ready.url, ready.version, engine, operators=OperatorSettings.of(operators))
    matchers = edition.matchers()
    if event_type is not None and event_type not in matchers:
        msg = f"{ready.url}: there is no event type {event_type!r}; there are {', '.join(sorted(matchers))}"
        raise SubscriptionError(msg)
    matcher = matchers.only if event_type is None else matchers[event_type]
    needed = {event_id, *kept, *matcher.attributes()}
    read = events.select(*(quoted(name) for name in events.columns if name in needed))
    plan = Sharding(shards, routing).plan(edition, lambda rows: _sample(read, matcher.event_type, rows))
    name, is_grouped = matcher.event_type.name, output == "grouped"
    route = None if plan.routes is None else RouteTask(plan.routes, event_type=name, keeps_all=is_grouped)
    schema = _schema(events, event_id, kept, output)
    if is_grouped and len(plan.editions) > 1:
        task = PairsTask(plan.editions, name, event_id, (*kept, _ROW), True, schedule, route is not None)
        copies = sent(_numbered(read), len(plan.editions), event_id, route)
        found = _regrouped(copies.mapInArrow(task, schema.add(_ROW, "long")), kept)
    else:
        task = PairsTask(plan.editions, name, event_id, kept, is_grouped, schedule, route is not None)
        found = sent(read, len(plan.editions), event_id, route).mapInArrow(task, schema)
    found.refused = ready.refused  # type: ignore[attr-defined]
    return found


def quoted(name: str) -> str:
    """A column's name as an expression."""
    return "`" + name.replace("`", "``") + "`"


def check_columns(events: DataFrame, names: Sequence[str]) -> None:
    """Do events have these columns?

    Raises:
        EventError: They do not.
    """
    missing = [name for name in names if name not in events.columns]
    if missing:
        msg = f"events have no column {', '.join(missing)}; there are {', '.join(events.columns)}"
        raise EventError(msg)


def _schema(events: DataFrame, event_id: str, keep: Sequence[str], output: str) -> Any:
    from pyspark.sql.types import ArrayType, StringType, StructField, StructType

    ids = ArrayType(StringType()) if output == "grouped" else StringType()
    fields = [StructField("event_id", events.schema[event_id].dataType), StructField("subscription_id", ids)]
    return StructType(fields + [StructField(name, events.schema[name].dataType) for name in keep])


def _sample(events: DataFrame, event_type: EventType, rows: int) -> list[EventBatch]:
    """Some events, as they are read; none of a stream."""
    return [] if events.isStreaming else [EventBatch.of(events.limit(rows).toArrow(), event_type)]


def _numbered(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return events.withColumn(_ROW, F.monotonically_increasing_id())


def _regrouped(found: DataFrame, keep: Sequence[str]) -> DataFrame:
    """One row an event again, of the rows that each shard gave for it."""
    from pyspark.sql import functions as F

    merged = F.flatten(F.collect_list("subscription_id")).alias("subscription_id")
    same = [F.first(quoted(name)).alias(name) for name in ("event_id", *keep)]
    return found.groupBy(quoted(_ROW)).agg(same[0], merged, *same[1:]).drop(_ROW)
