"""Functions of arrays: size, the constructor, membership, overlap, elements (also of maps), extremes.

NULL elements make membership and overlap unknown (three-valued, as in Spark); extremes skip them. An index out of
range gives NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tamis.arrays import I64, Mask
from tamis.functions.comparison import compare_columns, is_member
from tamis.functions.maps import bind_lookup, resolve_lookup, vector_lookup
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, always, check_count, register
from tamis.functions.rows import Scalar
from tamis.functions.unify import type_mismatch, unify
from tamis.values.coercion import contained_type, tightest_type
from tamis.values.column import Column, Value, constant_column, list_items
from tamis.values.order import Compare, compare, order_key
from tamis.values.types import (
    ANY,
    BIGINT,
    BOOLEAN,
    INT,
    INTEGER_BITS,
    NULL,
    Type,
    array,
    is_integral,
    is_ordered,
)


def _array(arguments: Sequence[Argument], place: int) -> Type:
    """The array type of an argument; a path of a schemaless event is read as array<any>."""
    found = arguments[place].type
    if found == ANY:
        return array(ANY)
    if found.name != "array":
        msg = f"expected an array, found {found}"
        raise ArgumentError(msg, place)
    return found


def _resolve_size(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    given = arguments[0].type
    parameter = array(NULL) if given == NULL else given if given.name == "map" else _array(arguments, 0)
    return Signature((parameter,), INT, zone)


def _vector_size(_: Signature, columns: Sequence[Column]) -> Column:
    (column,) = columns
    return Column(INT, np.diff(column.values.offsets), column.valid)


def _resolve_array(arguments: Sequence[Argument], zone: str) -> Signature:
    element = unify(arguments) if arguments else NULL
    return Signature((element,) * len(arguments), array(element), zone)


def _construct(*values: Any) -> list[Any]:
    return list(values)


def _resolve_contains(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    if arguments[1].type == NULL:
        msg = "expected a value, found NULL"
        raise ArgumentError(msg, 1)
    found = contained_type(_array(arguments, 0).item, arguments[1].type)
    if found is None:
        raise type_mismatch(arguments)
    return Signature((array(found), found), BOOLEAN, zone)


def _bind_contains(signature: Signature) -> Scalar:
    comparator = compare(signature.parameters[1])

    def scalar(items: list[Any], value: Any) -> bool | None:
        return is_member(comparator, value, items)

    return scalar


def _vector_contains(_: Signature, columns: Sequence[Column]) -> Column:
    lists, value = columns
    items, rows = list_items(lists)
    truth, known = compare_columns("=", items, value.take(rows))
    found = np.bincount(rows[truth], minlength=len(value)) > 0
    unknown = np.bincount(rows[~known], minlength=len(value)) > 0
    return Column(BOOLEAN, found, lists.valid & value.valid & (found | ~unknown))


def _resolve_overlap(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    found = tightest_type(_array(arguments, 0).item, _array(arguments, 1).item)
    if found is None:
        raise type_mismatch(arguments)
    return Signature((array(found), array(found)), BOOLEAN, zone)


def _bind_overlap(signature: Signature) -> Scalar:
    element = signature.parameters[0].item
    shares = _shared_keys(order_key(element)) if is_ordered(element) else _shared_pairs(compare(element))

    def scalar(left: list[Any], right: list[Any]) -> bool | None:
        if not left or not right:
            return False
        found = shares(left, right)
        return found or (None if found is None or None in left or None in right else False)

    return scalar


def _shared_keys(key: Callable[[Any], Any]) -> Callable[[list[Any], list[Any]], bool | None]:
    def shares(left: list[Any], right: list[Any]) -> bool:
        keys = {key(item) for item in left if item is not None}
        return any(item is not None and key(item) in keys for item in right)

    return shares


def _shared_pairs(comparator: Compare) -> Callable[[list[Any], list[Any]], bool | None]:
    def shares(left: list[Any], right: list[Any]) -> bool | None:
        signs = [comparator(a, b) for a in left if a is not None for b in right if b is not None]
        return True if 0 in signs else None if None in signs else False

    return shares


def _resolve_position(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    found = tightest_type(_array(arguments, 0).item, arguments[1].type)
    if found is None:
        raise type_mismatch(arguments)
    return Signature((array(found), found), BIGINT, zone)


def _bind_position(signature: Signature) -> Scalar:
    comparator = compare(signature.parameters[1])

    def scalar(items: list[Any], value: Any) -> int:
        for place, item in enumerate(items, 1):
            if item is not None and comparator(item, value) == 0:
                return place
        return 0

    return scalar


def _resolve_index(widest: Type) -> Callable[[Sequence[Argument], str], Signature]:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 2, 2)
        index = arguments[1].type
        if arguments[0].type.name == "map":
            return resolve_lookup(arguments, zone, widen=widest == INT)
        items = _array(arguments, 0)
        if index != NULL and not (is_integral(index) and INTEGER_BITS[index] <= INTEGER_BITS[widest]):
            msg = f"expected an index ({widest}), found {index}"
            raise ArgumentError(msg, 1)
        return Signature((items, widest), items.item, zone)

    return resolve


def _element_at(items: list[Any], index: int) -> Any:
    if index == 0 or abs(index) > len(items):
        return None
    return items[index - 1 if index > 0 else index]


def _get(items: list[Any], index: int) -> Any:
    return items[index] if 0 <= index < len(items) else None


def _bind_index(get: Scalar) -> Callable[[Signature], Scalar]:
    return lambda signature: bind_lookup(signature) if signature.parameters[0].name == "map" else get


def _vector_get(signature: Signature, columns: Sequence[Column]) -> Column:
    if signature.parameters[0].name == "map":
        return vector_lookup(signature, columns)
    lists, index = columns
    lengths = np.diff(lists.values.offsets)
    inside = lists.valid & index.valid & (index.values >= 0) & (index.values < lengths)
    return _elements_at(signature, lists, index.values, inside)


def _vector_element_at(signature: Signature, columns: Sequence[Column]) -> Column:
    if signature.parameters[0].name == "map":
        return vector_lookup(signature, columns)
    lists, index = columns
    lengths = np.diff(lists.values.offsets)
    place = np.where(index.values > 0, index.values - 1, index.values + lengths)
    inside = lists.valid & index.valid & (index.values != 0) & (place >= 0) & (place < lengths)
    return _elements_at(signature, lists, place, inside)


def _elements_at(signature: Signature, lists: Column, place: I64, inside: Mask) -> Column:
    """The element at `place` of each row, NULL where not `inside`."""
    items = lists.values.items
    if not len(items):
        return constant_column(signature.returns, None, len(lists))
    found: Column = items.take(np.where(inside, lists.values.offsets[:-1] + place, 0))
    return found.where(inside)


def _resolve_extreme(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    items = _array(arguments, 0)
    return Signature((items,), items.item, zone)


def _bind_extreme(wanted: int) -> Callable[[Signature], Scalar]:
    def bind(signature: Signature) -> Scalar:
        comparator = compare(signature.returns)

        def scalar(items: list[Any]) -> Any:
            best = None
            for item in items:
                if item is not None and (best is None or comparator(item, best) == wanted):
                    best = item
            return best

        return scalar

    return bind


register(Function("size", _resolve_size, always(len), _vector_size), "cardinality", "array_size")
register(Function("array", _resolve_array, always(_construct), sees_null=True))
register(Function("array_contains", _resolve_contains, _bind_contains, _vector_contains))
register(Function("arrays_overlap", _resolve_overlap, _bind_overlap))
register(Function("array_position", _resolve_position, _bind_position))
register(
    Function("element_at", _resolve_index(INT), _bind_index(_element_at), _vector_element_at), "try_element_at"
)
register(Function("[]", _resolve_index(BIGINT), _bind_index(_get), _vector_get), "get")
register(Function("array_max", _resolve_extreme, _bind_extreme(1)))
register(Function("array_min", _resolve_extreme, _bind_extreme(-1)))


def _bind_binds(signature: Signature) -> Scalar:
    """Is there a row with these values? A row with a NULL among them does not count."""
    keys = [order_key(type_) for type_ in signature.parameters[1:]]

    def scalar(rows: list[Value], *values: Value) -> bool:
        wanted = [key(value) for key, value in zip(keys, values, strict=True)]
        return any(
            row is not None
            and all(
                field is not None and key(field) == sought
                for field, key, sought in zip(row, keys, wanted, strict=True)
            )
            for row in rows
        )

    return scalar


def _no_binding(_arguments: Sequence[Argument], _zone: str) -> Signature:
    msg = "binds is not called by name: call an operator with ?variables"
    raise ArgumentError(msg)


register(Function("binds", _no_binding, _bind_binds))
