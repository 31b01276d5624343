"""`tamis.spark.statistics`: statistics of the events of a DataFrame.

Spark reads all events and gives back a sample of them. Whether an event is in the sample depends on its own values
and the seed, so that the statistics are the same however the events are partitioned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tamis.errors import EventTypeError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.schemas import suggestion
from tamis.formulas.expression import Path
from tamis.frames import BatchFrame
from tamis.spark.matching import quote_name
from tamis.statistics import Statistics
from tamis.values.types import Type, is_ordered

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_UNHASHABLE = ("map", "variant")


def statistics(
    events: DataFrame,
    attributes: Sequence[str] | None = None,
    *,
    event_type: Any = None,
    sample: int = 100_000,
    seed: int = 0,
) -> Statistics:
    """How often events have their attributes, and which values; `prepare` chooses predicates by them.

    Args:
        events: Any DataFrame. Events that are equal in every column are in the sample together or not at all, so
            it should have a column that names the event.
        attributes: Their names, those inside of others as `author.name`; all that have single values by default.
        event_type: Anything that `EventType.of` takes; that of the columns by default.
        sample: About how many events to look at; all if there are no more.
        seed: Another one gives another sample.

    Raises:
        EventTypeError: There are no such attributes, or they do not have single values.
    """
    zone = events.sparkSession.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"
    spark_type = EventType.from_spark(events.schema, time_zone=zone, partial=True)
    known = spark_type if event_type is None else EventType.of(event_type)
    paths = _paths(known, attributes)
    count = events.count()
    chosen = events if count <= sample else events.where(_is_chosen(events, sample / count, seed))
    roots = dict.fromkeys(path.steps[0] for path in paths)
    read = chosen.select(*(quote_name(name) for name in events.columns if name in roots))
    found = Statistics()
    found.survey(BatchFrame(EventBatch.of(read.toArrow(), known)), paths, count)
    return found


def _is_chosen(events: DataFrame, share: float, seed: int) -> Column:
    """True for that share of the events."""
    from pyspark.sql import functions as F

    columns = [
        F.col(quote_name(each.name))
        for each in events.schema.fields
        if not any(kind in each.dataType.simpleString() for kind in _UNHASHABLE)
    ]
    least = -(1 << 63)
    return F.xxhash64(F.lit(seed), *columns) < F.lit(least + int(share * (1 << 64)))


def _paths(event_type: EventType, names: Sequence[str] | None) -> list[Path]:
    if names is None:
        every = [(each.name,) for each in event_type.attributes or ()]
        found = [step for steps in every for step in _inner(steps, event_type.type_at(steps))]
        return [path for path in found if is_ordered(path.type)]
    paths, problems = [], []
    for name in names:
        steps = (name,) if event_type.type_at((name,)) is not None else tuple(name.split("."))
        type_ = event_type.type_at(steps)
        if type_ is None:
            there = [each.name for each in event_type.attributes or ()]
            problems.append(f"there is no attribute {name!r}{suggestion(name, there)}")
        elif not is_ordered(type_):
            problems.append(f"attribute {name!r}: expected one of single values, found {type_}")
        else:
            paths.append(Path(steps, type_))
    if problems:
        msg = f"event type {event_type.name}: {'; '.join(problems)}"
        raise EventTypeError(msg)
    return paths


def _inner(steps: tuple[str, ...], type_: Type | None) -> list[Path]:
    """The attribute, or those inside of it."""
    if type_ is None:
        return []
    if type_.name != "struct":
        return [Path(steps, type_)]
    return [path for name, inner in type_.fields for path in _inner((*steps, name), inner)]
