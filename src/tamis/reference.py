"""The reference evaluator: what a condition means, one event at a time, in the plainest code.

It evaluates the typed expression with three-valued logic and knows no formula, predicate or index, so that these
can be tested against it. Every engine must return the same pairs, and so must Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product, zip_longest
from typing import TypeAlias

from tamis.events.batch import EventBatch
from tamis.formulas.binding import BINDS
from tamis.formulas.expression import (
    Apply,
    Constant,
    HigherOrder,
    Joint,
    OperatorCall,
    Path,
    Quantifier,
    Typed,
    Variable,
    walk,
)
from tamis.functions import FUNCTIONS
from tamis.functions.registry import Signature
from tamis.language.condition import Condition
from tamis.operators.execution import run_operator
from tamis.values.column import Value, column_of


@dataclass(frozen=True, slots=True)
class EventRow:
    """One row of a batch, the current elements of quantifiers, and the results of operator calls so far."""

    columns: dict[tuple[str, ...], list[Value]]
    row: int
    elements: dict[str, Value] = field(default_factory=dict)
    results: dict[tuple[str, str], Value] = field(default_factory=dict)

    def with_elements(self, elements: dict[str, Value]) -> EventRow:
        return EventRow(self.columns, self.row, {**self.elements, **elements}, self.results)


Evaluate: TypeAlias = Callable[[EventRow], Value]


def evaluate(condition: Condition, batch: EventBatch) -> list[bool | None]:
    """TRUE, FALSE or NULL (None) for every event."""
    columns: dict[tuple[str, ...], list[Value]] = {}
    value = evaluator(condition.expression, batch, columns)
    return [value(EventRow(columns, row)) for row in range(batch.rows)]


def matches(condition: Condition, batch: EventBatch) -> list[int]:
    """The rows that satisfy the condition."""
    return [row for row, verdict in enumerate(evaluate(condition, batch)) if verdict is True]


def evaluator(expression: Typed, batch: EventBatch, columns: dict[tuple[str, ...], list[Value]]) -> Evaluate:
    """The function from an event to the value of the expression; `columns` collects the attributes read."""
    match expression:
        case Path(steps=steps):
            if steps not in columns:
                columns[steps] = batch.column(steps).to_list()
            return lambda event: event.columns[steps][event.row]
        case Variable(name=name):
            return lambda event: event.elements[name]
        case Constant(value=value):
            return lambda event: value
        case Apply(function=function, arguments=arguments, signature=signature):
            scalar = FUNCTIONS[function].scalar(signature)
            inner = [evaluator(argument, batch, columns) for argument in arguments]
            return lambda event: scalar(*[argument(event) for argument in inner])
        case OperatorCall(operator=operator, arguments=arguments, signature=signature):
            inner = [evaluator(argument, batch, columns) for argument in arguments]
            return lambda event: _call(operator, signature, [argument(event) for argument in inner], event)
        case Joint():
            return _joint_evaluator(expression, batch, columns)
        case Quantifier(function=function, array=array, variable=variable, body=body):
            items = evaluator(array, batch, columns)
            test = evaluator(body, batch, columns)
            return lambda event: _quantify(function, items(event), variable.name, test, event)
        case HigherOrder(function=function, arguments=arguments, variables=variables, bodies=bodies):
            given = [evaluator(argument, batch, columns) for argument in arguments]
            computed = [evaluator(body, batch, columns) for body in bodies]
            names = [variable.name for variable in variables]
            return lambda event: _higher_order(function, [each(event) for each in given], names, computed, event)


def _joint_evaluator(
    expression: Joint, batch: EventBatch, columns: dict[tuple[str, ...], list[Value]]
) -> Evaluate:
    """Try every combination of the values that calls bind to variables, NULL for each included."""
    body = evaluator(expression.body, batch, columns)
    binding = [part for part in walk(expression.body) if isinstance(part, Apply) and part.function == BINDS]
    calls = [(evaluator(part.arguments[0], batch, columns), part) for part in binding]

    def choices(event: EventRow) -> dict[str, list[Value]]:
        found: dict[str, list[Value]] = {variable.name: [None] for variable in expression.variables}
        for _ in calls:  # the result of one may be an argument of another
            for call, part in calls:
                for chosen in _combinations(found):
                    for row in call(event.with_elements(chosen)) or ():
                        for place, output in enumerate(part.arguments[1:]):
                            if isinstance(output, Variable) and row is not None and output.name in found:
                                if row[place] not in found[output.name]:
                                    found[output.name].append(row[place])
        return found

    def value(event: EventRow) -> bool | None:
        verdicts = [body(event.with_elements(chosen)) for chosen in _combinations(choices(event))]
        return True if True in verdicts else None if None in verdicts else False

    return value


def _combinations(choices: dict[str, list[Value]]) -> list[dict[str, Value]]:
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def _call(operator: str, signature: Signature, values: list[Value], event: EventRow) -> Value:
    """The result of the operator for one event alone, called once."""
    key = operator, repr(values)
    if key not in event.results:
        columns = [column_of(type_, [value]) for type_, value in zip(signature.parameters, values, strict=True)]
        event.results[key] = run_operator(operator, columns, 1, signature.returns, signature.zone).to_list()[0]
    return event.results[key]


def _higher_order(
    function: str, given: list[Value], names: list[str], bodies: list[Evaluate], event: EventRow
) -> Value:
    items = given[0]
    if items is None or (function == "zip_with" and given[1] is None):
        return None
    if function == "aggregate":
        gathered = given[1]
        for item in items:
            gathered = bodies[0](event.with_elements({names[0]: gathered, names[1]: item}))
        return bodies[1](event.with_elements({names[2]: gathered})) if len(bodies) > 1 else gathered
    rows = (
        list(zip_longest(items, given[1]))
        if function == "zip_with"
        else [(item, place) for place, item in enumerate(items)]
    )
    found = [bodies[0](event.with_elements(dict(zip(names, row, strict=False)))) for row in rows]
    return found if function != "filter" else [item for item, kept in zip(items, found, strict=True) if kept]


def _quantify(function: str, items: list[Value] | None, name: str, test: Evaluate, event: EventRow) -> bool | None:
    if items is None:
        return None
    decisive = function == "exists"
    verdicts = [test(event.with_elements({name: item})) for item in items]
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive
