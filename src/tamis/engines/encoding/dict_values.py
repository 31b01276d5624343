"""Values of computed attributes of one event that is a dict, by the scalar forms of functions.

The scalar forms define what the batch forms compute, so the values equal those in the columns of a frame. A path
is converted at most once an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tamis.events.conversion import converter, plain
from tamis.events.event_type import EventType
from tamis.formulas.expression import Apply, Constant, HigherOrder, Path, Quantifier, Typed, Variable, walk
from tamis.functions import FUNCTIONS
from tamis.values.column import Value
from tamis.values.types import ANY

KnownPaths: TypeAlias = dict[tuple[str, ...], Value]
"""The converted values of the paths of one event."""
Evaluate: TypeAlias = Callable[[Mapping[str, Any], KnownPaths], Value]


class UndeclaredAttributeError(Exception):
    """The event type does not declare an attribute with the type that a condition uses; columns handle that."""


def is_scalar(expression: Typed) -> bool:
    """Can `evaluator` compute it? It cannot where there are elements of arrays."""
    return not any(isinstance(part, (Quantifier, HigherOrder, Variable)) for part in walk(expression))


def evaluator(expression: Typed, event_type: EventType) -> Evaluate:
    """A function from an event of that type to the expression's value.

    Raises:
        OddAttributeError: The event type has what the expression reads in another type, or not at all.
    """
    match expression:
        case Constant(value=value):
            return lambda event, known: value
        case Path():
            return _path(expression, event_type)
        case Apply(function=function, arguments=arguments, signature=signature):
            scalar = FUNCTIONS[function].scalar(signature)
            inner = [evaluator(argument, event_type) for argument in arguments]
            if len(inner) == 1:
                (only,) = inner
                return lambda event, known: scalar(only(event, known))
            return lambda event, known: scalar(*[argument(event, known) for argument in inner])
        case _:
            msg = f"{expression} has no value here"
            raise LookupError(msg)


def is_declared(path: Path, event_type: EventType) -> bool:
    """Does the event type declare this path with exactly this type?"""
    return path.type == (ANY if event_type.is_schemaless else event_type.type_at(path.steps))


def _path(path: Path, event_type: EventType) -> Evaluate:
    if not is_declared(path, event_type):
        raise UndeclaredAttributeError(path)
    steps = path.steps
    convert = plain if event_type.is_schemaless else converter(path.type, event_type.time_zone)

    def value(event: Mapping[str, Any], known: KnownPaths) -> Value:
        if steps not in known:
            found: Any = event
            for step in steps:
                found = found.get(step) if isinstance(found, Mapping) else None
            known[steps] = None if found is None else convert(found)
        return known[steps]

    return value
