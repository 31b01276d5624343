"""Sharp conditions: an expression against values that Spark computes for it on the same rows.

A random comparison seldom notices that a function is off by one; these do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.oracle import spark_side
from tests.oracle.generate import Generator
from tests.oracle.grammar import Node, leaf
from tests.oracle.literals import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_GOALS = (
    *("number", "number", "number", "narrow", "bigint", "double", "float", "decimal", "short_decimal"),
    *("string", "string", "string", "date", "timestamp", "timestamp_ntz", "binary"),
)
_FORMS = ("{0} = {1}", "{0} IN ({1}, {2})", "{0} IN ({1}, {2}, {3})", "{0} <= {1}", "{0} > {1}", "{0} <=> {1}")
_EXACT = 0.5
"""Part of the probes that ask for the value of every row, instead of comparing with some of them."""
_EPOCH = datetime(1970, 1, 1)


def probes(frame: DataFrame, generator: Generator, count: int) -> list[Node]:
    """At most `count` conditions; an expression that has no value on any row gives none."""
    random_ = generator.random
    expressions = [
        generator.expression(random_.choice(_GOALS), random_.choice((1, 1, 2, 3))) for _ in range(count)
    ]
    values = spark_side.values(frame, [expression.spark_text() for expression in expressions])
    found = (_probe(random_, *pair) for pair in zip(expressions, values, strict=True))
    return [probe for probe in found if probe is not None]


def _probe(random_: random.Random, expression: Node, values: pa.ChunkedArray) -> Node | None:
    literals = [None if value is None else _literal(value, values.type) for value in _plain(values)]
    known = sorted({literal for literal in literals if literal is not None})
    if not known:
        return None
    form = random_.choice(_FORMS)
    chosen = random_.choices(known, k=form.count("{") - 1)
    if random_.random() < _EXACT and len(values) - values.null_count == len(literals) - literals.count(None):
        whens = [f"WHEN {row} THEN {text}" for row, text in enumerate(literals) if text is not None]
        form, chosen = "{0} <=> {1}", [f"CASE id {' '.join(whens)} END"]
    children = (expression, *(leaf("literal", text) for text in chosen))
    slots = (expression.goal, *("literal" for _ in chosen))
    return Node("predicate", form, form, ("probe",), children, slots, (False,) * len(slots), atomic=False)


def _plain(values: pa.ChunkedArray) -> Sequence[Any]:
    """Values as Python has them; moments as numbers, since their years may be none of Python's."""
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    found: list[Any] = values.to_pylist()
    return found


def _literal(value: Any, type_: pa.DataType) -> str | None:
    if pa.types.is_date32(type_):
        inside = date.min.toordinal() <= value + _EPOCH.toordinal() <= date.max.toordinal()
        return f"DATE'{date.fromordinal(value + _EPOCH.toordinal())}'" if inside else None
    if pa.types.is_timestamp(type_):
        return _timestamp(value, type_)
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, int):
        return f"{value}L"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    readable = isinstance(value, str) and all(character >= " " or character in "\n\t" for character in value)
    return quoted(value) if readable else None


def _timestamp(micros: int, type_: pa.DataType) -> str | None:
    try:
        text = (_EPOCH + timedelta(microseconds=micros)).isoformat(" ", "microseconds")
    except OverflowError:
        return None
    return f"TIMESTAMP'{text}Z'" if type_.tz else f"TIMESTAMP_NTZ'{text}'"
