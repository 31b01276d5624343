"""Values of one kind: `text_of`, `number_of` and `boolean_of` are their argument, or NULL if it is of another.

`quotient`, `size_of` and `same_value` depend on the kinds of their arguments, as `/`, `size` and `==` of other
languages do.

Nothing is converted: the text '1' is no number. Of an attribute with a declared type the answer is known
beforehand; of the value of a schemaless event it is what reading the value gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Resolve,
    Signature,
    always,
    check_count,
    register,
    takes,
)
from tamis.functions.rows import Scalar
from tamis.values.column import Column, Value, constant_column
from tamis.values.types import ANY, BOOLEAN, DOUBLE, INT, NUMBER, STRING, Type, is_numeric

KINDS = ("text_of", "number_of", "boolean_of")


def _resolve(is_kind: Callable[[Type], bool], read_as: Type, otherwise: Type) -> Resolve:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1, 1)
        given = arguments[0].type
        if given == ANY:
            return Signature((read_as,), read_as, zone)
        return Signature((given,), given if is_kind(given) else otherwise, zone)

    return resolve


def _bind(signature: Signature) -> Scalar:
    if signature.parameters[0] == signature.returns:
        return lambda value: value

    def nothing(_: Value) -> None:
        return None

    return nothing


def _vector(signature: Signature, columns: Sequence[Column]) -> Column:
    column = columns[0]
    same = signature.parameters[0] == signature.returns
    return column if same else constant_column(signature.returns, None, len(column))


register(Function("text_of", _resolve(lambda given: given == STRING, STRING, STRING), _bind, _vector))
register(Function("number_of", _resolve(is_numeric, NUMBER, DOUBLE), _bind, _vector))
register(Function("boolean_of", _resolve(lambda given: given == BOOLEAN, BOOLEAN, BOOLEAN), _bind, _vector))


def _quotient(left: float, right: float) -> float | None:
    """Of whole numbers a whole number, rounded towards zero; else as IEEE 754 divides, but NULL for NaN."""
    if isinstance(left, int) and isinstance(right, int):
        if right == 0:
            return None
        whole = abs(left) // abs(right)
        found = whole if (left < 0) == (right < 0) else -whole
        return found if found < 1 << 63 else None
    if right:
        return left / right
    is_nan = not left or math.isnan(left)
    return None if is_nan else math.copysign(math.inf, left) * math.copysign(1.0, right)


def _resolve_size_of(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    given = arguments[0].type
    if given not in (ANY, STRING) and given.element is None:
        msg = f"expected a text, an array or a map, found {given}"
        raise ArgumentError(msg, 0)
    return Signature((given,), INT, zone)


def _size_of(value: Value) -> int | None:
    return len(value) if isinstance(value, str | list | dict) else None


def _resolve_same(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    return Signature(tuple(each.type for each in arguments), BOOLEAN, zone)


def _same(left: Value, right: Value) -> bool:
    """Of one kind and equal, lists and objects part by part."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[name]) for name, value in left.items())
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _has_key(value: Value, sought: Value) -> bool | None:
    return sought in value if isinstance(value, dict) else None


def _bind_has_key(signature: Signature) -> Scalar:
    if signature.parameters[0].name != "map":
        return _has_key
    same = _bind_same(Signature((signature.parameters[0].item.fields[0][1], signature.parameters[1]), BOOLEAN))
    return lambda entries, sought: any(same(key, sought) for key, _ in entries)


def _bind_same(signature: Signature) -> Scalar:
    """Values of two declared types are comparable if both are numbers, or the types are the same."""
    one, other = signature.parameters
    is_like = one == other or ANY in (one, other) or (is_numeric(one) and is_numeric(other))
    return _same if is_like else lambda left, right: False


register(Function("quotient", takes(NUMBER, NUMBER, returns=NUMBER), always(_quotient)))
register(Function("size_of", _resolve_size_of, always(_size_of)))
register(Function("same_value", _resolve_same, _bind_same))
register(Function("has_key", _resolve_same, _bind_has_key))
