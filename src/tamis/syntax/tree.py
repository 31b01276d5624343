"""The syntax tree: the structure of a condition before its names are resolved.

Immutable; trees are equal if they have the same structure, whatever the spans of their nodes. The parser removes
syntactic sugar: `BETWEEN` is two comparisons, `x NOT IN (...)` is `NOT (x IN (...))`, `LIKE ANY` is an
OR, `==` is `=`, simple CASE is searched CASE, runs of AND and OR are flat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from tamis.values.column import Value
from tamis.values.types import Type

Span: TypeAlias = tuple[int, int]
"""First character and one past the last, in the condition's text."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant whose syntax determines its type: `3`, `3L`, `2.5`, `'x'`, `TRUE`, `NULL`, `X'1F'`."""

    type: Type
    value: Value
    span: Span = field(default=(0, 0), compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Same type and value; NaN equals NaN, and 0.0 differs from -0.0."""
        return isinstance(other, Literal) and self.type == other.type and (repr(self.value) == repr(other.value))

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))


@dataclass(frozen=True, slots=True)
class TimeLiteral:
    """`DATE '...'`, `TIMESTAMP '...'`, `TIMESTAMP_NTZ '...'`: read when the time zone is known."""

    type: Type
    text: str
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """An attribute, a path into a structure, or a lambda's variable; quoted parts are unquoted here."""

    parts: tuple[str, ...]
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Free:
    """`?p`, a variable that an operator call binds."""

    name: str
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function or an operator, whose name is its symbol or keyword: `+`, `and`, `in`, `[]`."""

    function: str
    arguments: tuple[Expression, ...]
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """`CAST(operand AS type)`; TRY_CAST and `::` mean the same here, because a failed cast is NULL."""

    operand: Expression
    type: Type
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FieldAccess:
    """A field of something that is not a plain path: `items[0].price`."""

    operand: Expression
    name: str
    span: Span = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lambda:
    """`x -> body` or `(x, y) -> body`, an argument of `exists`, `transform` and the like."""

    variable: str
    body: Expression
    span: Span = field(default=(0, 0), compare=False, repr=False)
    others: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of all variables."""
        return self.variable, *self.others


@dataclass(frozen=True, slots=True)
class Missing:
    """Replaces text that could not be parsed and whose problem has been reported."""

    span: Span = field(default=(0, 0), compare=False, repr=False)


TESTS = tuple(f"is_{word}" for name in ("null", "unknown", "true", "false") for word in (name, f"not_{name}"))
"""Names of the tests that are written with IS; they cannot be called by name."""

Expression: TypeAlias = Literal | TimeLiteral | Name | Free | FunctionCall | Cast | FieldAccess | Lambda | Missing


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands of an expression, in the order of the text."""
    match expression:
        case FunctionCall(arguments=arguments):
            return arguments
        case Cast(operand=operand) | FieldAccess(operand=operand):
            return (operand,)
        case Lambda(body=body):
            return (body,)
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all expressions in it, parents first."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))
