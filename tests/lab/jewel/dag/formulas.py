"""Formulas and batches for the tests of `dag`."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.events import EventBatch
from tamis.lab.jewel.dag import DagIndex
from tamis.lab.jewel.dag.index import Filter
from tamis.language.condition import Condition, compile_condition

BOOLEAN: list[Filter] = ["true-value-path", "zero-suppression", "general"]


def conditions_of(texts: Sequence[str]) -> list[Condition]:
    return [compile_condition(text) for text in texts]


def pairs(index: DagIndex, batch: EventBatch, filter_: Filter) -> list[tuple[int, int]]:
    rows, slots = index.match(batch, filter=filter_)
    return sorted(zip(rows.tolist(), slots.tolist(), strict=True))
