"""Comparisons: `= <> < <= > >= <=>`, IN, IS NULL.

Both sides arrive in the common type that `tamis.values.coercion` chose; `tamis.values.order` defines the order of
its values. `<=>` and IS NULL are never NULL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Bools, Mask
from tamis.functions.registry import Argument, Function, Signature, Vector, check_count, register
from tamis.functions.rows import Scalar
from tamis.functions.unify import require_type, unify
from tamis.values.coercion import comparison_type
from tamis.values.column import Column, NumberValues
from tamis.values.order import Compare, compare, compare_doubles, compare_numbers
from tamis.values.types import ANY, BOOLEAN, NULL, Type, is_fractional

_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARROW = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _resolve(arguments: Sequence[Argument], zone: str, *, ordering: bool) -> Signature:
    check_count(arguments, 2, 2)
    left, right = arguments
    both = require_type(comparison_type(left, right, ordering=ordering), arguments)
    return Signature((both, both), BOOLEAN, zone)


def _resolve_equality(arguments: Sequence[Argument], zone: str) -> Signature:
    return _resolve(arguments, zone, ordering=False)


def _resolve_ordering(arguments: Sequence[Argument], zone: str) -> Signature:
    return _resolve(arguments, zone, ordering=True)


def _scalar(name: str) -> Callable[[Signature], Scalar]:
    test = _TESTS[name]

    def bind(signature: Signature) -> Scalar:
        comparator = compare(signature.parameters[0])

        def scalar(left: Any, right: Any) -> bool | None:
            found = comparator(left, right)
            return None if found is None else bool(test(found, 0))

        return scalar

    return bind


def compare_columns(name: str, left: Column, right: Column) -> tuple[Mask, Mask]:
    """Per row, whether a comparison is true, and whether it is not NULL; the first is false where it is NULL."""
    valid = left.valid & right.valid
    type_ = left.type
    if isinstance(left.values, pa.Array):
        found = pc.fill_null(_ARROW[name](left.values, right.values), False)
        return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_) & valid, valid
    if isinstance(left.values, NumberValues):
        signs = compare_numbers(left.values, right.values)
        return _TESTS[name](signs, 0) & valid, valid
    if is_fractional(type_):
        return _TESTS[name](compare_doubles(left.values, right.values), 0) & valid, valid
    if type_.name in ("array", "struct") or type_ in (ANY, NULL):
        return _by_rows(name, type_, left, right, valid)
    if left.values.dtype == np.object_:  # objects in invalid rows may not be comparable
        truth = np.asarray(_TESTS[name](left.values[valid], right.values[valid]), np.bool_)
        return _scatter(truth, valid), valid
    return _TESTS[name](left.values, right.values) & valid, valid


def _by_rows(name: str, type_: Type, left: Column, right: Column, valid: Mask) -> tuple[Mask, Mask]:
    comparator, test = compare(type_), _TESTS[name]
    at = np.flatnonzero(valid)
    pairs = zip(left.take(at).to_list(), right.take(at).to_list(), strict=True)
    signs = [comparator(*pair) for pair in pairs]
    known = np.fromiter((sign is not None for sign in signs), np.bool_, len(signs))
    truth = np.fromiter((sign is not None and test(sign, 0) for sign in signs), np.bool_, len(signs))
    return _scatter(truth, valid), _scatter(known, valid)


def _scatter(found: Bools, valid: Mask) -> Mask:
    result = np.zeros(len(valid), np.bool_)
    result[valid] = found
    return result


def _vector(name: str) -> Vector:
    def vector(_: Signature, columns: Sequence[Column]) -> Column:
        return Column(BOOLEAN, *compare_columns(name, *columns))

    return vector


def _bind_null_safe(signature: Signature) -> Scalar:
    comparator = compare(signature.parameters[0])

    def scalar(left: Any, right: Any) -> bool:
        if left is None or right is None:
            return left is right
        return comparator(left, right) == 0

    return scalar


def _vector_null_safe(_: Signature, columns: Sequence[Column]) -> Column:
    left, right = columns
    truth, _known = compare_columns("=", left, right)
    return Column(BOOLEAN, truth | ~(left.valid | right.valid), np.ones(len(left), np.bool_))


def _resolve_in(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2)
    return Signature((unify(arguments),) * len(arguments), BOOLEAN, zone)


def _bind_in(signature: Signature) -> Scalar:
    comparator = compare(signature.parameters[0])

    def scalar(value: Any, *items: Any) -> bool | None:
        return None if value is None else is_member(comparator, value, items)

    return scalar


def is_member(comparator: Compare, value: Any, items: Iterable[Any]) -> bool | None:
    """Is a value equal to one of the items? Unknown if it is not, but an item is NULL or not comparable."""
    unknown = False
    for item in items:
        order = None if item is None else comparator(value, item)
        if order == 0:
            return True
        unknown = unknown or order is None
    return None if unknown else False


def _vector_in(_: Signature, columns: Sequence[Column]) -> Column:
    value, *items = columns
    truth = np.zeros(len(value), np.bool_)
    known = value.valid.copy()
    for item in items:
        equal, valid = compare_columns("=", value, item)
        truth |= equal
        known &= valid
    return Column(BOOLEAN, truth, truth | known)


def _resolve_null_test(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    return Signature((arguments[0].type,), BOOLEAN, zone)


def _is_null(value: Any) -> bool:
    return value is None


def _is_not_null(value: Any) -> bool:
    return value is not None


def _vector_is_null(_: Signature, columns: Sequence[Column]) -> Column:
    return Column(BOOLEAN, ~columns[0].valid, np.ones(len(columns[0]), np.bool_))


def _vector_is_not_null(_: Signature, columns: Sequence[Column]) -> Column:
    return Column(BOOLEAN, columns[0].valid.copy(), np.ones(len(columns[0]), np.bool_))


for _name in _TESTS:
    _typing = _resolve_equality if _name in ("=", "<>") else _resolve_ordering
    register(Function(_name, _typing, _scalar(_name), _vector(_name)))
register(Function("<=>", _resolve_equality, _bind_null_safe, _vector_null_safe, sees_null=True))
register(Function("in", _resolve_in, _bind_in, _vector_in, sees_null=True))
register(Function("is_null", _resolve_null_test, lambda _: _is_null, _vector_is_null, sees_null=True), "isnull")
register(
    Function("is_not_null", _resolve_null_test, lambda _: _is_not_null, _vector_is_not_null, sees_null=True),
    "isnotnull",
)
