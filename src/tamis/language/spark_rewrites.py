"""Rewrites of Spark's optimiser that change results; tamis makes them, too, because `df.filter` does.

Each looks harmless but loses a rounding, a case conversion or a NULL. They apply to expressions over attributes
only; constants are folded before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tamis.formulas.expression import Apply, Constant, Typed
from tamis.functions import FUNCTIONS
from tamis.functions.registry import Signature
from tamis.syntax import tree as syntax
from tamis.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    integer_bounds,
    is_decimal,
    is_integral,
)

_ORDERINGS = ("<", "<=", ">", ">=")
_COMPARISONS = (*_ORDERINGS, "=", "<>", "<=>", "in")
_CASE = ("lower", "upper")
_MOMENTS = (TIMESTAMP, TIMESTAMP_NTZ)


def drop_inner_calls(
    name: str, arguments: tuple[Typed, ...], signature: Signature
) -> tuple[tuple[Typed, ...], Signature]:
    """The arguments of a call without the inner calls that Spark drops."""
    if name == "cast" and signature.returns == DOUBLE:
        return _without_float(arguments, signature)
    if name in _COMPARISONS and len(arguments) == 2 and signature.parameters[0] in _MOMENTS:
        return _compare_in_own_zone(arguments, signature)
    if name in ("+", "*") and is_integral(signature.returns):
        return _gather_constants(name, arguments, signature), signature
    if name in (*_CASE, "ilike"):
        # lower(upper(x)) becomes lower(x), and ILIKE compares lower(x): not the same for letters such as ß.
        return (_without_case(arguments[0]), *arguments[1:]), signature
    return arguments, signature


def _compare_in_own_zone(
    arguments: tuple[Typed, ...], signature: Signature
) -> tuple[tuple[Typed, ...], Signature]:
    """A moment with a zone beside a constant without one, or the other way round: the constant is cast instead.

    That differs where clocks are changed: of an hour that does not exist, or comes twice, the cast is not undone.
    """
    for place in (0, 1):
        cast, constant = arguments[place], arguments[1 - place]
        if not (isinstance(cast, Apply) and cast.function == "cast" and isinstance(constant, Constant)):
            continue
        (own,) = cast.arguments
        if own.type == cast.type or own.type not in _MOMENTS or cast.type not in _MOMENTS:
            continue
        back = FUNCTIONS["cast"].scalar(Signature((cast.type,), own.type, cast.signature.zone))
        value = None if constant.value is None else back(constant.value)
        if value is None:
            continue
        swapped = [own, Constant(own.type, value)]
        found = tuple(swapped if place == 0 else reversed(swapped))
        return found, Signature((own.type, own.type), signature.returns, signature.zone)
    return arguments, signature


def _without_float(arguments: tuple[Typed, ...], signature: Signature) -> tuple[tuple[Typed, ...], Signature]:
    """An integer that is cast to float and then to double is cast to double at once, without rounding."""
    inner = arguments[0]
    if isinstance(inner, Apply) and inner.function == "cast" and inner.type == FLOAT:
        source = inner.arguments[0].type
        if is_integral(source):
            return inner.arguments, Signature((source,), DOUBLE, signature.zone)
    return arguments, signature


def _gather_constants(name: str, arguments: tuple[Typed, ...], signature: Signature) -> tuple[Typed, ...]:
    """In a chain of + or of *, constants are joined and come last, so overflow happens elsewhere or not at all.

    `b + 2147483647 + -5` is `b + 2147483642`, and `a + 5 + b` is `(a + b) + 5`. (Spark leaves this rewrite out for
    rows that it holds in the driver.)
    """
    operands = [operand for argument in arguments for operand in _chain(name, argument, signature)]
    constants = [operand.value for operand in operands if isinstance(operand, Constant)]
    others = [operand for operand in operands if not isinstance(operand, Constant)]
    if len(operands) < 3 or not constants or not others:
        return arguments
    compute = FUNCTIONS[name].scalar(signature)
    left = reduce(lambda one, other: Apply(name, (one, other), signature), others)
    return left, Constant(signature.returns, reduce(compute, constants))


def _chain(name: str, expression: Typed, signature: Signature) -> list[Typed]:
    if isinstance(expression, Apply) and expression.function == name and expression.signature == signature:
        return [operand for argument in expression.arguments for operand in _chain(name, argument, signature)]
    return [expression]


def _without_case(operand: Typed) -> Typed:
    while isinstance(operand, Apply) and operand.function in _CASE:
        operand = operand.arguments[0]
    return operand


def beyond_bigint(operator: str, node: syntax.FunctionCall, arguments: Sequence[Typed]) -> Constant | None:
    """Spark compares an integer with a decimal literal as a bigint, and decides at once if that is impossible.

    The answer is then TRUE or FALSE even where the integer is NULL.
    """
    if operator not in _ORDERINGS:
        return None
    for mine, other in ((0, 1), (1, 0)):
        literal, constant = node.arguments[other], arguments[other]
        if not (is_integral(arguments[mine].type) and is_decimal(constant.type)):
            continue
        if not isinstance(literal, syntax.Literal) or not isinstance(constant, Constant):
            continue
        least, greatest = integer_bounds(BIGINT)
        unit = 10**constant.type.scale
        is_large, is_small = constant.value > greatest * unit, constant.value < least * unit
        if is_large or is_small:
            below = operator in ("<", "<=") if mine == 0 else operator in (">", ">=")
            return Constant(BOOLEAN, below == is_large)
    return None
