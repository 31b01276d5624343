"""Expressions that no condition can express: arithmetic over attributes, comparisons, XOR, NAND (thesis, 4.2).

An expression is true or false of an event, or has a value: a satisfied predicate has the value of its attribute.
Arithmetic and comparisons read values; all other functions read truth. The operands of nested calls of the same
AND, OR, XOR, `min` or `max` may be bracketed in another way.

>>> from tamis.language.condition import compile_condition
>>> a, b = (LeafExpression(compile_condition(text).formula) for text in ("a >= 200", "b >= 100"))
>>> bound = CallExpression("<=", (CallExpression("+", (a, b)), ConstantExpression(1000)))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, TypeAlias

from tamis.engines.forest import Forest, forest_of
from tamis.errors import TamisError
from tamis.formulas.calls import calls_of
from tamis.formulas.formula import FALSE, TRUE, Formula
from tamis.lab.jewel.dag.kernels import functions as known
from tamis.lab.jewel.dag.program import ExpressionProgram, ProgramWriter


class ExpressionError(TamisError):
    """An expression is not well formed."""


@dataclass(frozen=True, slots=True)
class LeafExpression:
    """A predicate, as a formula; TRUE and FALSE are possible too."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class ConstantExpression:
    """A number that arithmetic reads."""

    value: float


@dataclass(frozen=True, slots=True)
class CallExpression:
    """A function of operands.

    Attributes:
        function: "and", "or", "xor", "min", "max", "avg" of any number of operands, "not" of one, "nand", "nor",
            "xnor", "+", "-", "*", "/", "<", "<=", ">", ">=", "=", "<>" of two.
        operands: Its arguments.
    """

    function: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """At least so many of the operands are true; equal operands count each time."""

    least: int
    operands: tuple[Expression, ...]


Expression: TypeAlias = LeafExpression | ConstantExpression | CallExpression | AtLeast

_LONG = {"and": known.AND, "or": known.OR, "xor": known.XOR, "min": known.MINIMUM, "max": known.MAXIMUM}
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


class CompiledExpression(NamedTuple):
    """An expression as arrays: its leaves, and the program over them."""

    forest: Forest
    program: ExpressionProgram


def compile_expression(expression: Expression) -> CompiledExpression:
    """Compile an expression to arrays; raises ExpressionError if it is not well formed."""
    compiler = _ExpressionCompiler()
    root = compiler.boolean(expression, "the expression as a whole")
    return CompiledExpression(forest_of(compiler.writer.leaves), compiler.writer.program([root]))


class _ExpressionCompiler:
    """Writes an expression; each method returns a child as `ExpressionProgram` has it."""

    def __init__(self) -> None:
        self.writer = ProgramWriter()

    def boolean(self, expression: Expression, place: str) -> int:
        """Compile an expression that is true or false."""
        match expression:
            case LeafExpression(formula):
                return self._leaf(formula)
            case AtLeast(least, operands):
                return self.writer.at_least(least, [self.boolean(each, "AtLeast") for each in operands])
            case CallExpression(function, operands) if function in _SWAPPED:
                return self.boolean(CallExpression(_SWAPPED[function], operands[::-1]), place)
            case CallExpression(function, operands) if function in _COMPARISONS:
                return self.writer.term(
                    _BINARY[function], [self._value(each, function) for each in _two_operands(expression)]
                )
            case CallExpression("not", (operand,)):
                child = self.boolean(operand, "not")
                return self.writer.term(known.NOR, [child, child])
            case CallExpression("and" | "or" | "xor" as function, _):
                operands = _flat_operands(expression)
                return self.writer.term(_LONG[function], [self.boolean(each, function) for each in operands])
            case CallExpression("nand" | "nor" | "xnor" as function, _):
                return self.writer.term(
                    _BINARY[function], [self.boolean(each, function) for each in _two_operands(expression)]
                )
        message = f"{place}: expected something true or false, found {expression}"
        raise ExpressionError(message)

    def _value(self, expression: Expression, place: str) -> int:
        match expression:
            case LeafExpression(formula) if formula.predicate is not None:
                return self._leaf(formula)
            case ConstantExpression(value):
                return self.writer.constant(value)
            case CallExpression("avg", operands) if operands:
                total = reduce(lambda one, other: CallExpression("+", (one, other)), operands)
                return self._value(CallExpression("/", (total, ConstantExpression(len(operands)))), place)
            case CallExpression("min" | "max" as function, _):
                operands = _flat_operands(expression)
                return self.writer.term(_LONG[function], [self._value(each, function) for each in operands])
            case CallExpression(function, _) if function in _VALUES:
                return self.writer.term(
                    _BINARY[function], [self._value(each, function) for each in _two_operands(expression)]
                )
        message = f"{place}: expected a value, found {expression}"
        raise ExpressionError(message)

    def _leaf(self, formula: Formula) -> int:
        if formula is TRUE or formula is FALSE:
            return self.writer.term(known.TRUE if formula is TRUE else known.FALSE, [])
        if formula.predicate is None or calls_of(formula.predicate):
            message = f"expected a leaf with one predicate that calls no operator, found {formula.describe()}"
            raise ExpressionError(message)
        return self.writer.leaf(formula)


def _two_operands(call: CallExpression) -> tuple[Expression, ...]:
    if len(call.operands) != 2:
        message = f"{call.function}: expected two operands, found {len(call.operands)}"
        raise ExpressionError(message)
    return call.operands


def _flat_operands(call: CallExpression) -> tuple[Expression, ...]:
    """The operands of a call, those of nested calls of the same function included."""
    if not call.operands:
        message = f"{call.function}: expected operands, found none"
        raise ExpressionError(message)
    found: list[Expression] = []
    for operand in call.operands:
        if isinstance(operand, CallExpression) and operand.function == call.function:
            found += _flat_operands(operand)
        else:
            found.append(operand)
    return tuple(found)
