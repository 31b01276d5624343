"""Three-valued logic: AND, OR, NOT, XOR, AT LEAST, IS [NOT] TRUE, IS [NOT] FALSE, and_then, or_else.

Works on booleans, IS [NOT] UNKNOWN on values of any type; NULL means "unknown". The tests IS ... are never NULL.
`and_then` and `or_else` stop at the first operand that is not TRUE, not FALSE: to languages in which an error is a
value, NULL is that error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Signature,
    Vector,
    always,
    check_count,
    register,
)
from tamis.functions.rows import Scalar, all_valid, select_rows
from tamis.functions.unify import check_condition
from tamis.values.column import Column
from tamis.values.types import BOOLEAN, INT, NULL, STRING, is_integral

TruthValue = bool | None


def _resolve_junction(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1)
    for place in range(len(arguments)):
        check_condition(arguments, place, allow=(NULL, STRING))
    # As in Spark, a string beside a boolean is cast to boolean, but strings alone are an error.
    if len(arguments) > 1 and all(argument.type == STRING for argument in arguments):
        msg = "expected conditions (boolean), found strings"
        raise ArgumentError(msg, 0)
    return Signature((BOOLEAN,) * len(arguments), BOOLEAN, zone)


def _resolve_conditions(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2)
    for place in range(len(arguments)):
        check_condition(arguments, place, allow=(NULL,))
    return Signature((BOOLEAN,) * len(arguments), BOOLEAN, zone)


def _resolve_one(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    check_condition(arguments, 0, allow=(NULL, STRING))
    return Signature((BOOLEAN,), BOOLEAN, zone)


def _resolve_unknown(arguments: Sequence[Argument], zone: str) -> Signature:
    """IS UNKNOWN is IS NULL, of any type; of a literal Spark wants a condition."""
    check_count(arguments, 1, 1)
    if arguments[0].is_constant and not arguments[0].folded:
        check_condition(arguments, 0, allow=(NULL,))
    return Signature((arguments[0].type,), BOOLEAN, zone)


def _and(*values: TruthValue) -> TruthValue:
    if False in values:
        return False
    return None if None in values else True


def _or(*values: TruthValue) -> TruthValue:
    if True in values:
        return True
    return None if None in values else False


def _not(value: bool) -> bool:
    return not value


def _xor(*values: bool) -> bool:
    return sum(values) % 2 == 1


def _vector_and(_: Signature, columns: Sequence[Column]) -> Column:
    true = columns[0].valid & columns[0].values
    false = columns[0].valid & ~columns[0].values
    for column in columns[1:]:
        true = true & column.valid & column.values
        false = false | (column.valid & ~column.values)
    return Column(BOOLEAN, true, true | false)


def _vector_or(_: Signature, columns: Sequence[Column]) -> Column:
    true = columns[0].valid & columns[0].values
    false = columns[0].valid & ~columns[0].values
    for column in columns[1:]:
        true = true | (column.valid & column.values)
        false = false & column.valid & ~column.values
    return Column(BOOLEAN, true, true | false)


def _vector_not(_: Signature, columns: Sequence[Column]) -> Column:
    return Column(BOOLEAN, ~columns[0].values, columns[0].valid)


def _vector_xor(_: Signature, columns: Sequence[Column]) -> Column:
    return Column(BOOLEAN, np.logical_xor.reduce([column.values for column in columns]), all_valid(columns))


def _resolve_at_least(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2)
    least, *conditions = arguments
    if not (least.is_constant and least.value is not None and is_integral(least.type)):
        msg = f"expected a constant whole number first, found {least.type}"
        raise ArgumentError(msg, 0)
    if not 1 <= least.value <= len(conditions):
        msg = f"expected a number from 1 to {len(conditions)}, the number of conditions, found {least.value}"
        raise ArgumentError(msg, 0)
    for place in range(1, len(arguments)):
        check_condition(arguments, place, allow=(NULL,))
    return Signature((INT,) + (BOOLEAN,) * len(conditions), BOOLEAN, zone)


def _at_least(least: int, *values: TruthValue) -> TruthValue:
    if values.count(True) >= least:
        return True
    return False if values.count(False) > len(values) - least else None


def _vector_at_least(_: Signature, columns: Sequence[Column]) -> Column:
    least, *conditions = columns
    true = np.zeros(len(least), np.int64)
    false = np.zeros(len(least), np.int64)
    for column in conditions:
        true += column.valid & column.values
        false += column.valid & ~column.values
    enough = true >= least.values
    return Column(BOOLEAN, enough, enough | (false > len(conditions) - least.values))


def _and_then(*values: TruthValue) -> TruthValue:
    return next((value for value in values if value is not True), True)


def _or_else(*values: TruthValue) -> TruthValue:
    return next((value for value in values if value is not False), False)


def _vector_sequence(passing: bool) -> Vector:
    def vector(_: Signature, columns: Sequence[Column]) -> Column:
        result = columns[-1]
        for column in reversed(columns[:-1]):
            result = select_rows(column.valid & (column.values == passing), result, column)
        return result

    return vector


def _is(wanted: bool | None, *, negated: bool) -> tuple[Callable[[Signature], Scalar], Vector]:
    def scalar(value: Any) -> bool:
        return (value is wanted) != negated

    def vector(_: Signature, columns: Sequence[Column]) -> Column:
        (column,) = columns
        found = ~column.valid if wanted is None else column.valid & (column.values == wanted)
        return Column(BOOLEAN, ~found if negated else found, np.ones(len(column), np.bool_))

    return always(scalar), vector


register(Function("and", _resolve_junction, always(_and), _vector_and, sees_null=True))
register(Function("or", _resolve_junction, always(_or), _vector_or, sees_null=True))
register(Function("not", _resolve_one, always(_not), _vector_not), "!")
register(Function("xor", _resolve_conditions, always(_xor), _vector_xor))
register(Function("at_least", _resolve_at_least, always(_at_least), _vector_at_least, sees_null=True))
register(Function("and_then", _resolve_conditions, always(_and_then), _vector_sequence(True), sees_null=True))
register(Function("or_else", _resolve_conditions, always(_or_else), _vector_sequence(False), sees_null=True))
register(Function("is_unknown", _resolve_unknown, *_is(None, negated=False), sees_null=True))
register(Function("is_not_unknown", _resolve_unknown, *_is(None, negated=True), sees_null=True))
register(Function("is_true", _resolve_one, *_is(True, negated=False), sees_null=True))
register(Function("is_not_true", _resolve_one, *_is(True, negated=True), sees_null=True))
register(Function("is_false", _resolve_one, *_is(False, negated=False), sees_null=True))
register(Function("is_not_false", _resolve_one, *_is(False, negated=True), sees_null=True))
