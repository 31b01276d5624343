"""Arithmetic reads the values of every numeric type."""

from __future__ import annotations

import pyarrow as pa

from tamis.events import EventBatch, EventType
from tamis.lab.jewel.dag.expressions import (
    CallExpression,
    ConstantExpression,
)
from tests.lab.jewel.dag.expression_events import index_of, leaf_of


def test_values_of_every_numeric_type() -> None:
    event_type = EventType.from_dict(
        {"name": "t", "attributes": {"i": "int", "d": "decimal(10,2)", "f": "double"}}
    )
    leaves = [leaf_of(f"{name} IS NOT NULL", event_type) for name in "idf"]
    total = CallExpression("+", (CallExpression("+", (leaves[0], leaves[1])), leaves[2]))
    index = index_of(CallExpression("=", (total, ConstantExpression(4.75))))
    table = pa.table(
        {
            "i": pa.array([1, 1, None], pa.int32()),
            "d": pa.array(["3.25", "3.26", "3.25"]).cast(pa.decimal128(10, 2)),
            "f": pa.array([0.5, 0.5, 1.5]),
        }
    )
    assert index.match(EventBatch.of(table, event_type)).rows.tolist() == [0]
