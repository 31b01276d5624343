"""Expressions of any type, asked of Spark in one query, and of the reference and the columns of a batch.

Spark's answers are read as events, so that both sides are values of ours; a result of a type that events cannot
have is compared as text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis import reference
from tamis.events import EventBatch, EventType
from tamis.formulas.expression import Typed
from tamis.frames import BatchFrame
from tamis.language.analysis import analyse
from tamis.syntax.parser import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Pair = str | tuple[str, str]
"""An expression; or one of tamis and what Spark says where it would raise for that, such as a `try_` function."""


def lines(text: str) -> list[Pair]:
    """One expression a line; after `=>` what Spark is asked instead."""
    found: list[Pair] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        ours, _, theirs = line.partition(" => ")
        found.append((ours.strip(), theirs.strip()) if theirs else ours)
    return found


def typed(event_type: EventType, text: str) -> Typed:
    """The typed expression; a refusal is an assertion error."""
    expression, problems = analyse(parse(text), event_type, is_whole=False)
    assert expression is not None, f"{text} is refused: {problems[0].message}"
    return expression


def values(expression: Typed, batch: EventBatch) -> list[Any]:
    """What the reference gives for each row; the columns must give the same."""
    columns: dict[tuple[str, ...], list[Any]] = {}
    value = reference.evaluator(expression, batch, columns)
    found = [value(reference.EventRow(columns, row)) for row in range(batch.rows)]
    batched = BatchFrame(batch).column(expression).to_list()
    assert list(map(repr, batched)) == list(map(repr, found)), f"columns differ from the reference: {expression}"
    return found


def check(
    spark: SparkSession,
    attributes: Mapping[str, str],
    table: pa.Table,
    pairs: Sequence[Pair],
    *,
    zone: str = "UTC",
    tolerance: int = 0,
) -> None:
    """Type and value of every expression in every row are those of Spark.

    Args:
        spark: The session.
        attributes: Names and types of the columns.
        table: The rows.
        pairs: What is asked.
        zone: Session time zone and zone of the event type.
        tolerance: By how many units in the last place a double may differ.
    """
    event_type = EventType.of({"time_zone": zone, "attributes": dict(attributes)})
    batch = EventBatch.of(table, event_type)
    both = [(pair, pair) if isinstance(pair, str) else pair for pair in pairs]
    expressions = [typed(event_type, ours) for ours, _ in both]
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        ddl = ", ".join(f"{name} {type_}" for name, type_ in attributes.items())
        numbered = table.append_column("row__", pa.array(range(len(table))))
        frame = spark.createDataFrame(numbered, f"{ddl}, row__ bigint").coalesce(1).localCheckpoint()
        types = frame.limit(1).selectExpr(*(f"typeof({theirs}) AS c{at}" for at, (_, theirs) in enumerate(both)))
        names = list(types.collect()[0])
        shown = [_shown(theirs, name) for (_, theirs), name in zip(both, names, strict=True)]
        asked = [f"{text} AS c{at}" for at, (text, _) in enumerate(shown)]
        answers = frame.selectExpr("row__", *asked).toArrow().sort_by("row__")
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    read = EventType.of(
        {"time_zone": zone, "attributes": {f"c{at}": type_ for at, (_, type_) in enumerate(shown)}}
    )
    theirs_batch = EventBatch.of(answers.drop_columns(["row__"]), read)
    wrong = []
    for at, ((ours, _), expression, name, (_, type_)) in enumerate(
        zip(both, expressions, names, shown, strict=True)
    ):
        if str(expression.type) != name:
            wrong.append(f"{ours}: {expression.type}, Spark has {name}")
            continue
        found = values(expression if name == type_ else typed(event_type, f"CAST({ours} AS STRING)"), batch)
        expected = theirs_batch.column((f"c{at}",)).to_list()
        for row, (mine, other) in enumerate(zip(found, expected, strict=True)):
            if repr(mine) != repr(other) and not _is_close(mine, other, tolerance):
                wrong.append(f"{ours} of {table.slice(row, 1).to_pylist()[0]}: {mine!r}, Spark has {other!r}")
                break
    assert not wrong, f"{len(wrong)} of {len(both)} differ\n" + "\n".join(wrong)


def _is_close(mine: Any, other: Any, tolerance: int) -> bool:
    if not (isinstance(mine, float) and isinstance(other, float)) or not tolerance:
        return False
    return abs(mine - other) <= tolerance * math.ulp(max(abs(mine), abs(other)))


def _shown(text: str, type_: str) -> tuple[str, str]:
    """What Spark is asked, and the type of its answer as an event."""
    return (f"CAST({text} AS STRING)", "string") if "interval" in type_ else (text, type_)
