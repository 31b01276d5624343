"""Validation of events against their type, on request only.

It reports what matching passes over: a value of another kind is NULL to it (see `misfits`), it knows no domains,
and it skips attributes that are not declared. Nothing here changes a batch or its matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from tamis.events.arrow import python_values
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute
from tamis.events.misfits import misfits_of
from tamis.events.schemas import show_value, suggestion
from tamis.values.casts import to_text
from tamis.values.column import Value
from tamis.values.types import is_fractional


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


def _unknown_attributes(batch: EventBatch, known: list[str]) -> Iterator[EventProblem]:
    declared = set(known)
    for row, name in batch.names():
        if name not in declared:
            yield EventProblem(row, str(name), f"is not an attribute of the type{suggestion(str(name), known)}")


def _attribute_problems(batch: EventBatch, attribute: Attribute) -> Iterator[EventProblem]:
    for misfit in misfits_of(batch, attribute):
        yield EventProblem(misfit.row, misfit.attribute, misfit.message)
    expected = _domain(attribute, batch.event_type.time_zone)
    if expected is not None:
        path = (attribute.name,)
        values = batch.raw(path)
        found = python_values(values) if isinstance(values, pa.Array) else list(values)
        for row, value in enumerate(batch.column(path).to_list()):
            message = None if value is None else expected(value)
            if message is not None:
                yield EventProblem(row, attribute.name, f"{message}, found {show_value(found[row])}")


def _domain(attribute: Attribute, zone: str) -> Callable[[Value], str | None] | None:
    """The function from a value to what was expected instead, None if it is in the domain."""
    if attribute.values is None and attribute.min is None and attribute.max is None:
        return None
    listed = None if attribute.values is None else frozenset(attribute.values)
    fractional = is_fractional(attribute.type)
    least, most = (
        None if bound is None else to_text(bound, attribute.type, zone) for bound in (attribute.min, attribute.max)
    )

    def message(value: Value) -> str | None:
        if listed is not None and value not in listed:
            return "expected one of the values declared"
        if attribute.min is not None and value < attribute.min:
            return f"expected at least {least} (min)"
        # NaN is greater than all numbers, as Spark orders them.
        if attribute.max is not None and (value > attribute.max or (fractional and value != value)):  # noqa: PLR0124
            return f"expected at most {most} (max)"
        return None

    return message
