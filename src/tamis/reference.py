"""The reference: what a condition means, one event at a time, in the plainest code that we could write.

It evaluates the typed expression itself with three-valued logic and knows no formula, no predicate and no
index, so that it can tell whether those are right. Every engine must return what it returns; Spark must too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tamis.events.batch import EventBatch
from tamis.functions import FUNCTIONS
from tamis.language.condition import Condition
from tamis.language.expression import Apply, Constant, Path, Quantifier, Typed, Variable
from tamis.values.column import Value


@dataclass(frozen=True, slots=True)
class Event:
    """One row of a batch, and the elements that the quantifiers around an expression are looking at."""

    columns: dict[tuple[str, ...], list[Value]]
    row: int
    elements: dict[str, Value] = field(default_factory=dict)


Evaluate: TypeAlias = Callable[[Event], Value]


def evaluate(condition: Condition, batch: EventBatch) -> list[bool | None]:
    """TRUE, FALSE or NULL (None) for every event."""
    columns: dict[tuple[str, ...], list[Value]] = {}
    value = evaluator(condition.expression, batch, columns)
    return [value(Event(columns, row)) for row in range(batch.rows)]


def matches(condition: Condition, batch: EventBatch) -> list[int]:
    """The rows that satisfy the condition."""
    return [row for row, verdict in enumerate(evaluate(condition, batch)) if verdict is True]


def evaluator(expression: Typed, batch: EventBatch, columns: dict[tuple[str, ...], list[Value]]) -> Evaluate:
    """A function from events to the expression's value; `columns` collects the attributes that it reads."""
    match expression:
        case Path(steps=steps):
            columns.setdefault(steps, batch.column(steps).to_list())
            return lambda event: event.columns[steps][event.row]
        case Variable(name=name):
            return lambda event: event.elements[name]
        case Constant(value=value):
            return lambda event: value
        case Apply(function=function, arguments=arguments, signature=signature):
            scalar = FUNCTIONS[function].scalar(signature)
            inner = [evaluator(argument, batch, columns) for argument in arguments]
            return lambda event: scalar(*[argument(event) for argument in inner])
        case Quantifier(function=function, array=array, variable=variable, body=body):
            items = evaluator(array, batch, columns)
            test = evaluator(body, batch, columns)
            return lambda event: _quantified(function, items(event), variable.name, test, event)


def _quantified(function: str, items: list[Value] | None, name: str, test: Evaluate, event: Event) -> bool | None:
    if items is None:
        return None
    decisive = function == "exists"
    verdicts = [test(Event(event.columns, event.row, {**event.elements, name: item})) for item in items]
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive
