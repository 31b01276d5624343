"""Expressions and events for the tests of `dag`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tamis.events import EventBatch, EventType
from tamis.lab.jewel.dag import DagIndex
from tamis.lab.jewel.dag.expressions import (
    Expression,
    LeafExpression,
)
from tamis.lab.jewel.dag.index import Filter
from tamis.language.condition import compile_condition


def leaf_of(text: str, event_type: EventType | None = None) -> LeafExpression:
    formula = compile_condition(text, event_type).formula if event_type else compile_condition(text).formula
    return LeafExpression(formula)


def index_of(*expressions: Expression) -> DagIndex:
    index = DagIndex()
    for slot, expression in enumerate(expressions):
        index.insert_expression(slot, expression)
    index.check()
    return index


def slots_of(index: DagIndex, *events: Mapping[str, Any], filter_: Filter = "auto") -> list[list[int]]:
    rows, slots = index.match(EventBatch.of(list(events)), filter=filter_)
    return [sorted(slots[rows == row].tolist()) for row in range(len(events))]
