"""Validation of events against their type, on request only.

It reports what matching ignores: matching treats a value of another kind as NULL, knows no domains and skips
attributes that are not declared. Nothing here changes a batch or its matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays import Mask
from tamis.events.arrow import python_values
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute
from tamis.events.schemas import show_value, suggestion
from tamis.events.sources import Path
from tamis.values.column import Value
from tamis.values.types import Type, is_fractional


@dataclass(frozen=True, slots=True)
class EventProblem:
    """One thing that an event type does not expect.

    Attributes:
        row: Of the batch, counted from 0; None if it is about a column as a whole.
        attribute: The name, or the path within a struct: `author.born`.
        message: What was found and what was expected.
    """

    row: int | None
    attribute: str
    message: str


def validate(batch: EventBatch) -> list[EventProblem]:
    """Everything in the events that their type does not expect; nothing if it is schemaless."""
    attributes = batch.event_type.attributes
    if attributes is None:
        return []
    problems = list(_unknown_attributes(batch, [attribute.name for attribute in attributes]))
    for attribute in attributes:
        problems += _attribute_problems(batch, attribute)
    return sorted(problems, key=lambda problem: -1 if problem.row is None else problem.row)


def invalid_rows(batch: EventBatch) -> Mask:
    """The events with a value of another type than declared, or without one that is required.

    Quick, for streams: it compares whole columns. `validate` reports what is wrong with the few rows that it
    finds.
    """
    found = np.zeros(batch.rows, np.bool_)
    for attribute in batch.event_type.attributes or ():
        path = (attribute.name,)
        if attribute.required:
            found |= ~batch.source.present(path)
        found |= _invalid_rows(batch, path, attribute.type)
    return found


def _invalid_rows(batch: EventBatch, path: Path, type_: Type) -> Mask:
    found = batch.source.present(path) & ~batch.column(path).valid
    for name, inner in type_.fields:
        found |= _invalid_rows(batch, (*path, name), inner)
    return found


def _unknown_attributes(batch: EventBatch, known: list[str]) -> Iterator[EventProblem]:
    declared = set(known)
    for row, name in batch.names():
        if name not in declared:
            yield EventProblem(row, str(name), f"is no attribute of the type{suggestion(str(name), known)}")


def _attribute_problems(batch: EventBatch, attribute: Attribute) -> Iterator[EventProblem]:
    path = (attribute.name,)
    found = _values(batch, path)
    if attribute.required:
        for row, value in enumerate(found):
            if value is None:
                yield EventProblem(row, attribute.name, "is required")
    yield from _kind_problems(batch, path, attribute.type, found)
    expected = _domain(attribute)
    if expected is not None:
        for row, value in enumerate(batch.column(path).to_list()):
            message = None if value is None else expected(value)
            if message is not None:
                yield EventProblem(row, attribute.name, f"{message}, found {show_value(found[row])}")


def _values(batch: EventBatch, path: Path) -> list[Any]:
    values = batch.raw(path)
    return python_values(values) if isinstance(values, pa.Array) else list(values)


def _kind_problems(batch: EventBatch, path: Path, type_: Type, found: list[Any]) -> Iterator[EventProblem]:
    valid = batch.column(path).valid.tolist()
    for row, (value, ok) in enumerate(zip(found, valid, strict=True)):
        if value is not None and not ok:
            yield EventProblem(row, ".".join(path), f"expected {type_}, found {show_value(value)}")
    for name, inner in type_.fields:
        yield from _kind_problems(batch, (*path, name), inner, _values(batch, (*path, name)))


def _domain(attribute: Attribute) -> Callable[[Value], str | None] | None:
    """The function from a value to what was expected instead, None if it is in the domain."""
    if attribute.values is None and attribute.min is None and attribute.max is None:
        return None
    listed = None if attribute.values is None else frozenset(attribute.values)
    fractional = is_fractional(attribute.type)

    def message(value: Value) -> str | None:
        if listed is not None and value not in listed:
            return "expected one of the values declared"
        if attribute.min is not None and value < attribute.min:
            return "expected at least the min declared"
        # NaN is greater than all numbers, as Spark orders them.
        if attribute.max is not None and (value > attribute.max or (fractional and value != value)):  # noqa: PLR0124
            return "expected at most the max declared"
        return None

    return message
