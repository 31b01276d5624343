"""Expressions that conditions cannot say, written out as objects: arithmetic, comparisons, XOR, NAND and so on.

An expression says something true or false of an event, or reckons a value from the attributes of its predicates: a
predicate that holds has the value of its attribute. Arithmetic and comparisons read values; all else reads truth.
Operands in a row of the same AND, OR, XOR, `min` or `max` may be put in other brackets.

>>> from tamis.language.condition import compile_condition
>>> a, b = (Leaf(compile_condition(text).formula) for text in ("a >= 200", "b >= 100"))
>>> bound = Call("<=", (Call("+", (a, b)), Constant(1000)))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.engines.dag import functions as known
from tamis.engines.dag.program import Program
from tamis.engines.forest import Forest, forest_of
from tamis.errors import TamisError
from tamis.language.formula import FALSE, TRUE, Formula


class ExpressionError(TamisError):
    """An expression makes no sense."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A predicate, as a formula; TRUE and FALSE are possible too."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Call:
    """A function of operands.

    Attributes:
        function: "and", "or", "xor", "min", "max", "avg" of any number of operands, "not" of one, "nand", "nor",
            "xnor", "+", "-", "*", "/", "<", "<=", ">", ">=", "=", "<>" of two.
        operands: What it is applied to.
    """

    function: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """At least so many of the operands are true; equal operands count each time."""

    least: int
    operands: tuple[Expression, ...]


Expression: TypeAlias = Leaf | Constant | Call | AtLeast

_LONG = {"and": known.AND, "or": known.OR, "xor": known.XOR, "min": known.LEAST, "max": known.GREATEST}
_BINARY = {
    "nand": known.NAND,
    "nor": known.NOR,
    "xnor": known.XNOR,
    "+": known.PLUS,
    "-": known.MINUS,
    "*": known.TIMES,
    "/": known.DIVIDED_BY,
    "<": known.LESS,
    "<=": known.LESS_OR_EQUAL,
    "=": known.EQUAL,
    "<>": known.UNEQUAL,
}
_SWAPPED = {">": "<", ">=": "<="}
_VALUES = {"+", "-", "*", "/", "min", "max"}
_COMPARISONS = {"<", "<=", "=", "<>"}


class Written(NamedTuple):
    """An expression as arrays: its leaves, and what it says of them."""

    forest: Forest
    program: Program


def written(expression: Expression) -> Written:
    """An expression as arrays; raises ExpressionError if it makes no sense."""
    writer = _Writer()
    root = writer.boolean(expression, "the expression as a whole")
    program = Program(
        np.array(writer.functions, np.int32),
        np.array(writer.firsts, np.int64),
        np.array(writer.children, np.int32),
        np.array(writer.constants, np.float64).view(np.int64),
        np.array([root], np.int32),
    )
    return Written(forest_of(writer.leaves), program)


class _Writer:
    """Collects terms; each method gives a child as `Program` has it."""

    def __init__(self) -> None:
        self.leaves: list[Formula] = []
        self.functions: list[int] = []
        self.firsts = [0]
        self.children: list[int] = []
        self.constants: list[float] = []

    def boolean(self, expression: Expression, place: str) -> int:
        """Something that is true or false."""
        match expression:
            case Leaf(formula):
                return self._leaf(formula)
            case AtLeast(least, operands):
                return self._at_least(least, [self.boolean(each, "AtLeast") for each in operands])
            case Call(function, operands) if function in _SWAPPED:
                return self.boolean(Call(_SWAPPED[function], operands[::-1]), place)
            case Call(function, operands) if function in _COMPARISONS:
                return self._term(_BINARY[function], [self._value(each, function) for each in _two(expression)])
            case Call("not", (operand,)):
                child = self.boolean(operand, "not")
                return self._term(known.NOR, [child, child])
            case Call("and" | "or" | "xor" as function, _):
                operands = _row(expression)
                return self._term(_LONG[function], [self.boolean(each, function) for each in operands])
            case Call("nand" | "nor" | "xnor" as function, _):
                return self._term(_BINARY[function], [self.boolean(each, function) for each in _two(expression)])
        message = f"{place}: expected something true or false, found {expression}"
        raise ExpressionError(message)

    def _value(self, expression: Expression, place: str) -> int:
        match expression:
            case Leaf(formula) if formula.predicate is not None:
                return self._leaf(formula)
            case Constant(value):
                return self._number(value)
            case Call("avg", operands) if operands:
                total = reduce(lambda one, other: Call("+", (one, other)), operands)
                return self._value(Call("/", (total, Constant(len(operands)))), place)
            case Call("min" | "max" as function, _):
                operands = _row(expression)
                return self._term(_LONG[function], [self._value(each, function) for each in operands])
            case Call(function, _) if function in _VALUES:
                return self._term(_BINARY[function], [self._value(each, function) for each in _two(expression)])
        message = f"{place}: expected a value, found {expression}"
        raise ExpressionError(message)

    def _leaf(self, formula: Formula) -> int:
        if formula is TRUE or formula is FALSE:
            return self._term(known.TRUE if formula is TRUE else known.FALSE, [])
        if formula.predicate is None:
            message = f"expected a leaf with one predicate, found {formula.describe()}"
            raise ExpressionError(message)
        self.leaves.append(formula)
        return ~(len(self.leaves) - 1)

    def _number(self, value: float) -> int:
        self.constants.append(float(value))
        return self._term(known.CONSTANT, [len(self.constants) - 1])

    def _at_least(self, least: int, operands: Sequence[int]) -> int:
        if least <= 0 or least > len(operands):
            return self._term(known.TRUE if least <= 0 else known.FALSE, [])
        if least == len(operands):
            return self._term(known.AND, operands)
        return self._term(known.OR if least == 1 else known.at_least_of(least), operands)

    def _term(self, function: int, children: Sequence[int]) -> int:
        self.children.extend(children)
        self.firsts.append(len(self.children))
        self.functions.append(function)
        return len(self.functions) - 1


def _two(call: Call) -> tuple[Expression, ...]:
    if len(call.operands) != 2:
        message = f"{call.function}: expected two operands, found {len(call.operands)}"
        raise ExpressionError(message)
    return call.operands


def _row(call: Call) -> list[Expression]:
    """The operands of a call and of those below it that are of the same function."""
    if not call.operands:
        message = f"{call.function}: expected operands, found none"
        raise ExpressionError(message)
    found: list[Expression] = []
    for operand in call.operands:
        if isinstance(operand, Call) and operand.function == call.function:
            found += _row(operand)
        else:
            found.append(operand)
    return found
