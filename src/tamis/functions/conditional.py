"""Choosing among values: coalesce, nvl, nvl2, nullif, if, CASE.

All branches are cast to one type before one is chosen, as in Spark; a condition that is NULL counts as false.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.functions.arithmetic import numeric_parameter
from tamis.functions.registry import Argument, Function, Signature, always, check_count, register
from tamis.functions.rows import Scalar, select_rows
from tamis.functions.unify import check_condition, require_type, unify
from tamis.values.casts import caster
from tamis.values.coercion import comparison_type
from tamis.values.column import Column, constant_column
from tamis.values.order import compare
from tamis.values.types import BIGINT, BOOLEAN, INT, NULL, STRING


def _resolve_coalesce(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1)
    both = unify(arguments)
    return Signature((both,) * len(arguments), both, zone)


def _resolve_nvl(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    return _resolve_coalesce(arguments, zone)


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _vector_coalesce(_: Signature, columns: Sequence[Column]) -> Column:
    result = columns[0]
    for column in columns[1:]:
        if result.valid.all():
            break
        result = select_rows(result.valid, result, column)
    return result


def _resolve_nvl2(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 3, 3)
    both = unify(arguments[1:])
    return Signature((arguments[0].type, both, both), both, zone)


def _nvl2(tested: Any, present: Any, absent: Any) -> Any:
    return absent if tested is None else present


def _vector_nvl2(_: Signature, columns: Sequence[Column]) -> Column:
    tested, present, absent = columns
    return select_rows(tested.valid, present, absent)


def _resolve_if(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 3, 3)
    check_condition(arguments, 0, allow=(NULL,))
    both = unify(arguments[1:])
    return Signature((BOOLEAN, both, both), both, zone)


def _resolve_case(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2)
    tests = range(0, len(arguments) - 1, 2)
    for place in tests:
        check_condition(arguments, place)
    both = unify([argument for place, argument in enumerate(arguments) if place not in tests])
    parameters = [BOOLEAN if place in tests else both for place in range(len(arguments))]
    return Signature(tuple(parameters), both, zone)


def _case(*values: Any) -> Any:
    for place in range(0, len(values) - 1, 2):
        if values[place]:
            return values[place + 1]
    return values[-1] if len(values) % 2 else None


def _vector_case(signature: Signature, columns: Sequence[Column]) -> Column:
    if len(columns) % 2:
        result = columns[-1]
    else:
        result = constant_column(signature.returns, None, len(columns[0]))
    for place in reversed(range(0, len(columns) - 1, 2)):
        test = columns[place]
        result = select_rows(test.valid & test.values, columns[place + 1], result)
    return result


def _resolve_nullif(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    tested, other = arguments
    common = require_type(comparison_type(tested, other), arguments)
    return Signature((tested.type, common), tested.type, zone)


def _bind_nullif(signature: Signature) -> Scalar:
    """The result is the first argument uncast, so its cast to the common type happens here."""
    type_, common = signature.parameters
    comparator = compare(common)
    cast = caster(type_, common, signature.zone)

    def scalar(tested: Any, other: Any) -> Any:
        if tested is None or other is None:
            return tested
        same_type = cast(tested)
        return None if same_type is not None and comparator(same_type, other) == 0 else tested

    return scalar


def _resolve_nullifzero(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    parameter = STRING if arguments[0].type == STRING else numeric_parameter(arguments, 0)
    return Signature((parameter,), parameter, zone)


def _bind_nullifzero(signature: Signature) -> Scalar:
    if signature.returns != STRING:
        return lambda value: None if value == 0 else value
    number = caster(STRING, BIGINT, signature.zone)
    return lambda text: None if number(text) == 0 else text


def _resolve_zeroifnull(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    numeric_parameter(arguments, 0)
    both = unify([arguments[0], Argument(INT, is_constant=True, value=0)])
    return Signature((both,), both, zone)


def _bind_zeroifnull(signature: Signature) -> Scalar:
    zero = 0.0 if signature.returns.name in ("float", "double") else 0
    return lambda value: zero if value is None else value


def _vector_zeroifnull(signature: Signature, columns: Sequence[Column]) -> Column:
    zero = constant_column(signature.returns, _bind_zeroifnull(signature)(None), len(columns[0]))
    return select_rows(np.asarray(columns[0].valid), columns[0], zero)


register(Function("coalesce", _resolve_coalesce, always(_coalesce), _vector_coalesce, sees_null=True))
register(Function("nvl", _resolve_nvl, always(_coalesce), _vector_coalesce, sees_null=True), "ifnull")
register(Function("nvl2", _resolve_nvl2, always(_nvl2), _vector_nvl2, sees_null=True))
register(Function("if", _resolve_if, always(_case), _vector_case, sees_null=True))
register(Function("case", _resolve_case, always(_case), _vector_case, sees_null=True))
register(Function("nullif", _resolve_nullif, _bind_nullif, sees_null=True))
register(Function("nullifzero", _resolve_nullifzero, _bind_nullifzero))
register(Function("zeroifnull", _resolve_zeroifnull, _bind_zeroifnull, _vector_zeroifnull, sees_null=True))
