"""The reference: what a condition means, one event at a time, in the plainest code that we could write.

It evaluates the typed expression itself with three-valued logic and knows no formula, no predicate and no
index, so that it can tell whether those are right. Every engine must return what it returns; Spark must too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from tamis.events.batch import EventBatch
from tamis.functions import FUNCTIONS
from tamis.functions.registry import Signature
from tamis.language.binding import BINDS
from tamis.language.condition import Condition
from tamis.language.expression import Apply, Call, Constant, Joint, Path, Quantifier, Typed, Variable, walk
from tamis.operators.running import run
from tamis.values.column import Value, column_of


@dataclass(frozen=True, slots=True)
class Event:
    """One row of a batch, the elements that quantifiers are looking at, and what operators answered so far."""

    columns: dict[tuple[str, ...], list[Value]]
    row: int
    elements: dict[str, Value] = field(default_factory=dict)
    answers: dict[tuple[str, str], Value] = field(default_factory=dict)

    def beside(self, elements: dict[str, Value]) -> Event:
        """The same event, with more elements."""
        return Event(self.columns, self.row, {**self.elements, **elements}, self.answers)


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
        case Call(operator=operator, arguments=arguments, signature=signature):
            inner = [evaluator(argument, batch, columns) for argument in arguments]
            return lambda event: _called(operator, signature, [argument(event) for argument in inner], event)
        case Joint():
            return _jointly(expression, batch, columns)
        case Quantifier(function=function, array=array, variable=variable, body=body):
            items = evaluator(array, batch, columns)
            test = evaluator(body, batch, columns)
            return lambda event: _quantified(function, items(event), variable.name, test, event)


def _jointly(expression: Joint, batch: EventBatch, columns: dict[tuple[str, ...], list[Value]]) -> Evaluate:
    """Try every combination of values that calls found for their variables, and one without any."""
    body = evaluator(expression.body, batch, columns)
    binding = [part for part in walk(expression.body) if isinstance(part, Apply) and part.function == BINDS]
    calls = [(evaluator(part.arguments[0], batch, columns), part) for part in binding]

    def choices(event: Event) -> dict[str, list[Value]]:
        found: dict[str, list[Value]] = {variable.name: [None] for variable in expression.variables}
        for _ in calls:  # what one finds may be what another is called with
            for call, part in calls:
                for chosen in _combined(found):
                    for row in call(event.beside(chosen)) or ():
                        for place, output in enumerate(part.arguments[1:]):
                            if isinstance(output, Variable) and row is not None and output.name in found:
                                if row[place] not in found[output.name]:
                                    found[output.name].append(row[place])
        return found

    def value(event: Event) -> bool | None:
        verdicts = [body(event.beside(chosen)) for chosen in _combined(choices(event))]
        return True if True in verdicts else None if None in verdicts else False

    return value


def _combined(choices: dict[str, list[Value]]) -> list[dict[str, Value]]:
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def _called(operator: str, signature: Signature, values: list[Value], event: Event) -> Value:
    """What the operator answers for one event alone, asked once."""
    key = operator, repr(values)
    if key not in event.answers:
        columns = [column_of(type_, [value]) for type_, value in zip(signature.parameters, values, strict=True)]
        event.answers[key] = run(operator, columns, 1, signature.returns, signature.zone).to_list()[0]
    return event.answers[key]


def _quantified(function: str, items: list[Value] | None, name: str, test: Evaluate, event: Event) -> bool | None:
    if items is None:
        return None
    decisive = function == "exists"
    verdicts = [test(event.beside({name: item})) for item in items]
    if decisive in verdicts:
        return decisive
    return None if None in verdicts else not decisive
