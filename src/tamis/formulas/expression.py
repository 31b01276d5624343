"""Typed expressions: conditions with resolved names, types and casts.

They are immutable and hashable; equal expressions compute equal values, so that an evaluation can be shared.
Everything left of a comparison is such an expression, called an attribute wherever a predicate reads it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from tamis.functions.registry import Signature
from tamis.syntax import tree as syntax
from tamis.values.casts import to_text
from tamis.values.column import Value
from tamis.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    NULL,
    NUMBER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
)


@dataclass(frozen=True, slots=True)
class Path:
    """A plain attribute, or a field inside one: the exact names from the outermost inwards."""

    steps: tuple[str, ...]
    type: Type

    def __hash__(self) -> int:
        """Agrees with equality, and is cheap: a name hardly ever has two types."""
        return hash(self.steps)


@dataclass(frozen=True, slots=True)
class Variable:
    """The current element of a quantifier; `name` is unique within a condition."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a type; None is NULL."""

    type: Type
    value: Value

    def __eq__(self, other: object) -> bool:
        """Same type and same value; NaN equals itself and 0.0 is not -0.0."""
        return isinstance(other, Constant) and self.type == other.type and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of the registry, by its canonical name, on arguments of the signature's types."""

    function: str
    arguments: tuple[Typed, ...]
    signature: Signature

    @property
    def type(self) -> Type:
        return self.signature.returns


@dataclass(frozen=True, slots=True)
class Quantifier:
    """`exists(array, variable -> body)` or `forall`; three-valued, NULL for a NULL array."""

    function: str
    array: Typed
    variable: Variable
    body: Typed

    @property
    def type(self) -> Type:
        return BOOLEAN


@dataclass(frozen=True, slots=True)
class HigherOrder:
    """`transform`, `filter`, `zip_with` or `aggregate`: functions of arrays that compute a body for each element.

    Attributes:
        function: Its name.
        arguments: The arrays; of aggregate, the array and the value to begin with.
        variables: Of the first body: the element, perhaps followed by its place (from 0) or its counterpart; of
            aggregate, what was gathered, the element, and what the second body is given.
        bodies: What is computed for each element; of aggregate, also what is made of the end result.
        type: Of the result.
    """

    function: str
    arguments: tuple[Typed, ...]
    variables: tuple[Variable, ...]
    bodies: tuple[Typed, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """A call of an operator, by its name, on arguments of the signature's types.

    Calls are expensive: each is made only for events with a condition that it may decide, once for all conditions.
    """

    operator: str
    arguments: tuple[Typed, ...]
    signature: Signature

    @property
    def type(self) -> Type:
        return self.signature.returns


@dataclass(frozen=True, slots=True)
class Joint:
    """A whole condition with variables that calls bind: does some choice of their values make it true?"""

    variables: tuple[Variable, ...]
    body: Typed

    @property
    def type(self) -> Type:
        return BOOLEAN


Typed: TypeAlias = Path | Variable | Constant | Apply | Quantifier | HigherOrder | OperatorCall | Joint


def parts(expression: Typed) -> tuple[Typed, ...]:
    """The direct parts of an expression."""
    match expression:
        case Apply(arguments=arguments) | OperatorCall(arguments=arguments):
            return arguments
        case Quantifier(array=array, body=body):
            return (array, body)
        case HigherOrder(arguments=arguments, bodies=bodies):
            return (*arguments, *bodies)
        case Joint(body=body):
            return (body,)
        case _:
            return ()


def walk(expression: Typed) -> Iterator[Typed]:
    """The expression and all its parts, parents first."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(parts(node)))


def calls_in(expression: Typed) -> tuple[OperatorCall, ...]:
    """The distinct calls of operators in an expression, outer ones first."""
    # Nearly all attributes are plain paths, and hashing one costs more than testing its type.
    inner = (
        expression.arguments[0] if isinstance(expression, Apply) and expression.function == "read" else expression
    )
    return () if isinstance(inner, Path) else _calls_in(expression)


@lru_cache(maxsize=1 << 16)
def _calls_in(expression: Typed) -> tuple[OperatorCall, ...]:
    return tuple(dict.fromkeys(part for part in walk(expression) if isinstance(part, OperatorCall)))


def to_syntax(expression: Typed) -> syntax.Expression:
    """A syntax tree that says the same, for printing; what was read from schemaless events shows as its path."""
    match expression:
        case Path(steps=steps):
            return syntax.Name(steps)
        case Variable(name=name):
            return syntax.Free(name[1:]) if name.startswith("?") else syntax.Name((name,))
        case Joint(body=body):
            return to_syntax(body)
        case Apply(function="binds", arguments=(OperatorCall(operator=name, arguments=inputs), *outputs)):
            return syntax.FunctionCall(name, tuple(to_syntax(each) for each in (*inputs, *outputs)))
        case Constant():
            return _constant_syntax(expression)
        case Quantifier(function=function, array=array, variable=variable, body=body):
            inner = syntax.Lambda(variable.name, to_syntax(body))
            return syntax.FunctionCall(function, (to_syntax(array), inner))
        case HigherOrder():
            return _higher_order_syntax(expression)
        case Apply(function="cast", arguments=(operand,), signature=signature):
            return syntax.Cast(to_syntax(operand), signature.returns)
        case Apply(function="read", arguments=(operand,)):
            return to_syntax(operand)
        case Apply(function="field", arguments=(operand, Constant(value=name))):
            inner_syntax = to_syntax(operand)
            if isinstance(inner_syntax, syntax.Name):
                return syntax.Name((*inner_syntax.parts, name))
            return syntax.FieldAccess(inner_syntax, name)
        case Apply(function=function, arguments=arguments) | OperatorCall(operator=function, arguments=arguments):
            return syntax.FunctionCall(function, tuple(to_syntax(argument) for argument in arguments))


def _higher_order_syntax(expression: HigherOrder) -> syntax.Expression:
    names = [variable.name for variable in expression.variables]
    is_fold = expression.function == "aggregate"
    lambdas = [names[:2], names[2:]] if is_fold else [names]
    inner = [
        syntax.Lambda(of[0], to_syntax(body), others=tuple(of[1:]))
        for of, body in zip(lambdas, expression.bodies, strict=False)
    ]
    return syntax.FunctionCall(expression.function, (*map(to_syntax, expression.arguments), *inner))


def _constant_syntax(constant: Constant) -> syntax.Expression:
    type_, value = constant.type, constant.value
    if value is None:
        return syntax.Literal(NULL, None) if type_ == NULL else syntax.Cast(syntax.Literal(NULL, None), type_)
    if type_ in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        # A timestamp says its time zone, so that it means the same wherever it is read.
        text = to_text(value, type_, "UTC") + ("Z" if type_ == TIMESTAMP else "")
        return syntax.TimeLiteral(type_, text)
    if type_.name == "array":
        return syntax.FunctionCall("array", tuple(_constant_syntax(Constant(type_.item, item)) for item in value))
    if type_.name == "map":
        pairs = [zip(type_.item.fields, entry, strict=True) for entry in value]
        ends = (_constant_syntax(Constant(inner, each)) for pair in pairs for (_, inner), each in pair)
        return syntax.FunctionCall("map", tuple(ends))
    if type_.name == "struct":
        parts_ = [
            (syntax.Literal(STRING, name), _constant_syntax(Constant(inner, each)))
            for (name, inner), each in zip(type_.fields, value, strict=True)
        ]
        return syntax.FunctionCall("named_struct", tuple(part for pair in parts_ for part in pair))
    if type_ == NUMBER:
        return _constant_syntax(Constant(DOUBLE if isinstance(value, float) else BIGINT, value))
    if type_ in (DOUBLE, FLOAT) and not math.isfinite(value):
        return syntax.Cast(syntax.Literal(STRING, to_text(value, type_, "UTC")), type_)
    return syntax.Literal(type_, value)
