"""Spark's answers: many conditions as Boolean columns of one select.

A small DataFrame made from Arrow is a local relation, which Spark's optimiser evaluates by itself before all of
its other rules have had their turn (`lower(upper(x))` differs!). That rule is left out here, so that conditions
are planned and compiled as over any table or stream.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.oracle.rows import DDL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EXCLUDED = "spark.sql.optimizer.excludedRules"
_LOCAL = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"


@contextmanager
def settings(spark: SparkSession, *, zone: str) -> Iterator[None]:
    """The session in a time zone, without the special rule for local relations; as it was afterwards."""
    from pyspark.logger import PySparkLogger

    before = spark.conf.get("spark.sql.session.timeZone")
    # PySpark writes each refusal to stderr, with the whole Java stack.
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")  # the first to ask decides what kind it is
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set(_EXCLUDED, _LOCAL)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
        spark.conf.unset(_EXCLUDED)
        logger.setLevel(level)


def data_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """`table` for Spark."""
    return spark.createDataFrame(table, schema=DDL)


def values(frame: DataFrame, expressions: Sequence[str]) -> list[pa.ChunkedArray]:
    """What each expression is in each row."""
    columns = [f"({expression}) AS c{place}" for place, expression in enumerate(expressions)]
    return list(frame.selectExpr("id", *columns).toArrow().sort_by("id").columns[1:])


def outcomes(frame: DataFrame, conditions: Sequence[str]) -> list[list[bool | None] | Exception]:
    """TRUE, FALSE or NULL of each condition for each row, or why Spark refuses the condition."""
    if not conditions:
        return []
    try:
        columns = [f"({condition}) AS c{place}" for place, condition in enumerate(conditions)]
        answer = frame.selectExpr("id", *columns).toArrow().sort_by("id")
    except (PySparkException, Py4JJavaError) as error:
        if len(conditions) == 1:
            return [error]
        middle = len(conditions) // 2
        return [*outcomes(frame, conditions[:middle]), *outcomes(frame, conditions[middle:])]
    return [answer.column(place + 1).to_pylist() for place in range(len(conditions))]


def kept(frame: DataFrame, condition: str) -> list[int]:
    """The rows that `filter` keeps, in order."""
    return sorted(frame.filter(condition).select("id").toArrow().column("id").to_pylist())


def refusal(frame: DataFrame, condition: str) -> str | None:
    """Why Spark's analyser refuses the condition; None if it does not."""
    try:
        frame.filter(condition)
    except PySparkException as error:
        return str(error).strip()
    return None
