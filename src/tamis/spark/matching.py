"""`tamis.spark.match`: the pairs of a DataFrame of events."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tamis.engines import AUTO
from tamis.errors import EventError, SubscriptionError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.misfits import OnMisfit, check_on_misfit
from tamis.operators.discovery import OperatorSettings
from tamis.routing.shards import Routing
from tamis.schedule.scheduler import Schedule, check_schedule
from tamis.segments.pairs import check_apart
from tamis.segments.published import PART_MARK, PARTS
from tamis.snapshot import Snapshots
from tamis.spark.misfit_tasks import FitTask, MisfitsTask
from tamis.spark.pairs_task import PairsTask
from tamis.spark.preparation import prepare
from tamis.spark.route_task import RouteTask
from tamis.spark.shards import Sharding, send_to_shards
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_type import StreamType
from tamis.spark.workers import map_in_workers
from tamis.urls import without_secrets
from tamis.verification.search import GREEDY, check_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger("tamis")
_COMPOSITE = (
    "a composite subscription is satisfied by several events: only a stream keeps them (tamis.spark.stream)"
)
_ROW = "tamis row"
"""The column with the row that a copy of an event is of: ids need not be different."""


def match(
    events: DataFrame,
    subscriptions: Any,
    *,
    event_id: str = "id",
    engine: str = AUTO,
    output: Literal["pairs", "grouped"] = "pairs",
    by: Literal["owner"] | None = None,
    apart: Collection[str] = (),
    keep: Sequence[str] | None = None,
    event_type: str | None = None,
    snapshot: str | os.PathLike[str] | None = None,
    shards: int = 1,
    routing: Routing | None = None,
    schedule: Schedule = "arrival",
    operators: OperatorSettings | Sequence[str] | None = None,
    call_order: str = GREEDY,
    on_misfit: OnMisfit = "null",
) -> DataFrame:
    """All pairs of an event and a subscription that it satisfies.

    Args:
        events: Any DataFrame; only the columns that conditions read are asked for.
        subscriptions: What `prepare` takes or gave. Conditions of a DataFrame or a file are about the columns of
            `events`; a snapshot and a store have their own event types.
        event_id: The column that names an event.
        engine: As for `tamis.Matcher`, as text: "auto", a name, or a name with settings.
        output: "pairs", or "grouped": one row an event, with an array of ids that may be empty.
        by: "owner": one row an event and owner, with the column `owner` and an array of the ids of its
            subscriptions, sorted; `owner` is NULL for a subscription that has none, which stands alone. In
            place of `output`.
        apart: By owner: ids of subscriptions that stand alone all the same, with their owner.
        keep: Columns of `events` to carry along.
        event_type: The name of the event type, where a snapshot or a store has several.
        snapshot: Where to publish subscriptions that are not a snapshot yet, as driver and workers reach it.
        shards: The number of parts into which subscriptions are split, when a worker cannot hold them all.
        routing: Assign them to shards by similarity, and send an event only to shards that may match it; without,
            every event visits all shards.
        schedule: In which order a worker works off the events of a batch: that of their "arrival", or
            "shortest-first", and then pairs leave it part by part.
        operators: Where the operators come from that conditions call: the names of modules that driver and workers
            can import, or settings. Those of installed packages are found without.
        call_order: Which call of an operator is made next, as for `tamis.Matcher`.
        on_misfit: What becomes of an event with a value of another kind than its event type declares, or without
            one that is required: "null", it is matched with NULL there; "dead letter", it has no pairs; "refuse",
            whoever computes the DataFrame gets Spark's error, with our `MisfitError` as its cause in words.

    Returns:
        A lazy DataFrame with columns `event_id`, `subscription_id` and those of `keep`. Its attribute `refused` is
        a DataFrame with `id` and `reason` of the subscriptions that were refused, composite ones among them, which
        only a stream can match; its attribute `misfits` is a lazy
        one of the values that do not fit: `event_id`, `attribute`, `expected` and `found`, which is NULL where a
        required value is missing. It is of the version of the
        subscriptions that was the newest when it was made, whenever it is computed.

    Raises:
        EventError: Events are no DataFrame of Spark's, or lack a column.
        OperatorError: An operator cannot be loaded, or conditions call one that is not known.
    """
    check_frame(events)
    kept = tuple(keep or ())
    check_columns(events.columns, (event_id, *kept))
    check_schedule(schedule)
    check_on_misfit(on_misfit)
    check_order(call_order)
    if output not in ("pairs", "grouped"):
        msg = f"expected output 'pairs' or 'grouped', found {output!r}"
        raise ValueError(msg)
    if by not in (None, "owner") or (by is not None and output != "pairs"):
        msg = f"expected by='owner' without an output, or None, found {by!r} and output {output!r}"
        raise ValueError(msg)
    check_apart(by, apart)
    spark = events.sparkSession
    zone = spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"
    ready = prepare(
        subscriptions,
        EventType.from_spark(events.schema, time_zone=zone, partial=True),
        snapshot=snapshot,
        segments=shards if shards > 1 and routing is None else None,
        spark=spark,
        operators=operators,
    )
    settings = OperatorSettings.of(operators)
    ref = SnapshotRef(ready.url, ready.version, engine, operators=settings, call_order=call_order)
    matchers = ref.matchers()
    name = event_type or StreamType().choose(Snapshots(ready.url).manifest(ready.version))
    if event_type is not None and event_type not in matchers:
        there = ", ".join(sorted(matchers))
        msg = f"{without_secrets(ready.url)}: there is no event type {event_type!r}; there are {there}"
        raise SubscriptionError(msg)
    matcher = matchers.only if name is None else matchers[name]
    declared = {event_id, *(each.name for each in matcher.event_type.attributes or ())}
    needed = {event_id, *kept, *matcher.attributes(), *(() if on_misfit == "null" else declared)}
    read = _select(events, needed)
    if on_misfit != "null":
        read = map_in_workers(read, FitTask(matcher.event_type, event_id, on_misfit), read.schema)
    plan = Sharding(shards, routing).plan(ref, lambda rows: _sample(read, matcher.event_type, rows))
    name, is_grouped = matcher.event_type.name, output == "grouped"
    route = None if plan.routes is None else RouteTask(plan.routes, event_type=name, keeps_all=is_grouped)
    schema = _schema(events, event_id, kept, output, by)
    owners = by == "owner", frozenset(apart)
    task = PairsTask(plan.shards, name, event_id, kept, is_grouped, schedule, route is not None, *owners)
    if (is_grouped or by is not None) and len(plan.shards) > 1:
        copies = send_to_shards(_with_row_numbers(read), len(plan.shards), event_id, route)
        numbered = replace(task, keep=(*kept, _ROW))
        found = map_in_workers(copies, numbered, schema.add(_ROW, "long"))
        found = _merge_shards(found, kept) if by is None else _merge_owners(found, kept, apart)
    else:
        sent = send_to_shards(read, len(plan.shards), event_id, route)
        found = map_in_workers(sent, task, schema)
    found.refused = _with_composites(ready.refused, ref, name)  # type: ignore[attr-defined]
    misfits = MisfitsTask(matcher.event_type, event_id)
    found.misfits = map_in_workers(  # type: ignore[attr-defined]
        _select(events, declared), misfits, _misfits_schema(events, event_id)
    )
    return found


def _with_composites(refused: DataFrame, ref: SnapshotRef, event_type: str) -> DataFrame:
    """What was refused, and the composite subscriptions to an event type, of which there is a warning, too."""
    if not Snapshots(ref.url).manifest(ref.version).extra.get(PARTS):
        return refused
    parts = replace(ref, parts=True).matchers()[event_type].part_ids().to_pylist()
    ids = sorted({id.partition(PART_MARK)[0] for id in parts})
    if not ids:
        return refused
    _log.warning("%d composite subscriptions are not matched in a batch: use tamis.spark.stream", len(ids))
    rows = [(id, _COMPOSITE) for id in ids]
    return refused.union(refused.sparkSession.createDataFrame(rows, refused.schema))


def quote_name(name: str) -> str:
    """A column's name as an expression."""
    return "`" + name.replace("`", "``") + "`"


def check_frame(events: Any) -> None:
    """Are these events a DataFrame of Spark's?

    Raises:
        EventError: They are something else.
    """
    if not hasattr(type(events), "mapInArrow"):
        found = f"{type(events).__module__.partition('.')[0]}.{type(events).__name__}"
        msg = (
            f"expected events as a DataFrame of Spark's, found {found.removeprefix('builtins.')}: make one with "
            "spark.createDataFrame(events), or match without Spark, with tamis.Matcher.match_batch(events)"
        )
        raise EventError(msg)


def check_columns(columns: Sequence[str], names: Sequence[str]) -> None:
    """Are these names among the columns of events?

    Raises:
        EventError: They are not.
    """
    missing = [name for name in names if name not in columns]
    if missing:
        msg = f"events have no column {', '.join(missing)}; there are {', '.join(columns)}"
        raise EventError(msg)


def _select(events: DataFrame, names: set[str]) -> DataFrame:
    return events.select(*(quote_name(name) for name in events.columns if name in names))


def _misfits_schema(events: DataFrame, event_id: str) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    texts = [StructField(name, StringType()) for name in ("attribute", "expected", "found")]
    return StructType([StructField("event_id", events.schema[event_id].dataType), *texts])


def _schema(events: DataFrame, event_id: str, keep: Sequence[str], output: str, by: str | None) -> Any:
    from pyspark.sql.types import ArrayType, StringType, StructField, StructType

    ids = StringType() if by is None and output == "pairs" else ArrayType(StringType())
    fields = [StructField("event_id", events.schema[event_id].dataType)]
    fields += [] if by is None else [StructField("owner", StringType())]
    fields.append(StructField("subscription_id", ids))
    return StructType(fields + [StructField(name, events.schema[name].dataType) for name in keep])


def _sample(events: DataFrame, event_type: EventType, rows: int) -> list[EventBatch]:
    """Some events, as they are read; none of a stream."""
    return [] if events.isStreaming else [EventBatch.of(events.limit(rows).toArrow(), event_type)]


def _with_row_numbers(events: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return events.withColumn(_ROW, F.monotonically_increasing_id())


def _merge_shards(found: DataFrame, keep: Sequence[str]) -> DataFrame:
    """One row an event again, of the rows that each shard gave for it."""
    from pyspark.sql import functions as F

    merged = F.flatten(F.collect_list("subscription_id")).alias("subscription_id")
    same = [F.first(quote_name(name)).alias(name) for name in ("event_id", *keep)]
    return found.groupBy(quote_name(_ROW)).agg(same[0], merged, *same[1:]).drop(_ROW)


def _merge_owners(found: DataFrame, keep: Sequence[str], apart: Collection[str]) -> DataFrame:
    """One row an event and owner again, of those that each shard gave; what stands alone stays as it is."""
    from pyspark.sql import functions as F

    ids = F.col("subscription_id")
    alone = F.when(F.col("owner").isNull() | ids[0].isin([*apart]), ids[0]).alias("alone")
    same = [F.first(quote_name(name)).alias(name) for name in ("event_id", *keep)]
    merged = F.array_sort(F.flatten(F.collect_list(ids))).alias("subscription_id")
    grouped = found.groupBy(quote_name(_ROW), "owner", alone).agg(same[0], merged, *same[1:])
    return grouped.select("event_id", "owner", "subscription_id", *(quote_name(name) for name in keep))
