"""Functions of maps: keys, values, entries, lookup, and maps made of pairs.

A map is held as the array of its entries. Keys are never NULL and equal as in comparisons; a lookup gives the
value of the first equal key. What would give a key twice, or a NULL key, is NULL, where Spark raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from tamis.functions.comparison import compare_columns
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, always, check_count, register
from tamis.functions.rows import Scalar
from tamis.functions.unify import require_type, type_mismatch, unify
from tamis.values.coercion import common_type, tightest_type
from tamis.values.column import Column, ListValues, Value, constant_column, list_items
from tamis.values.order import compare, order_key
from tamis.values.types import ANY, BOOLEAN, NULL, STRING, Type, array, holds_map, is_ordered, map_of

Entries = list[tuple[Value, Value]]
_META = frozenset("\\.[]{}()*+?^$|")
"""What makes a regular expression of a text."""

TAKE_MAPS = frozenset(
    "[] element_at size map map_keys map_values map_entries map_contains_key map_from_arrays map_from_entries "
    "map_concat array named_struct field coalesce if case nvl2 isnull isnotnull is_null is_not_null is_unknown "
    "is_not_unknown typeof cast read to_json size_of".split()
)
"""The functions that take maps, or what holds maps; the others compare, and maps cannot be compared."""


def _map(arguments: Sequence[Argument], place: int = 0) -> tuple[Type, Type]:
    """The types of the keys and of the values; an object of a schemaless event is a map of texts."""
    found = arguments[place].type
    if found == ANY:
        return STRING, ANY
    if found.name != "map":
        msg = f"expected a map, found {found}"
        raise ArgumentError(msg, place)
    (_, key), (_, value) = found.item.fields
    return key, value


def resolve_lookup(arguments: Sequence[Argument], zone: str, *, widen: bool) -> Signature:
    """`m[k]` casts k to the type of the keys; with `widen`, for element_at, both are cast to a common type."""
    key, value = _map(arguments)
    if widen and arguments[1].type != NULL:
        key = require_type(tightest_type(key, arguments[1].type), arguments)
    return Signature((map_of(key, value), key), value, zone)


def bind_lookup(signature: Signature) -> Scalar:
    """The scalar form of `m[k]` and element_at."""
    comparator = compare(signature.parameters[1])
    return lambda pairs, sought: next((value for key, value in pairs if comparator(key, sought) == 0), None)


def vector_lookup(signature: Signature, columns: Sequence[Column]) -> Column:
    """The batch form of `m[k]` and element_at."""
    maps, sought = columns
    items, rows = list_items(maps)
    if not len(items):
        return constant_column(signature.returns, None, len(maps))
    keys, values = items.values
    hits = np.flatnonzero(compare_columns("=", keys, sought.take(rows))[0])
    found, first = np.unique(rows[hits], return_index=True)
    places, known = np.zeros(len(maps), np.int64), np.zeros(len(maps), np.bool_)
    places[found], known[found] = hits[first], True
    result: Column = values.take(places)
    return result.where(known)


def _resolve_contains(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    if arguments[1].type == NULL:
        msg = "expected a key, found NULL"
        raise ArgumentError(msg, 1)
    found = resolve_lookup(arguments, zone, widen=True)
    return Signature(found.parameters, BOOLEAN, zone)


def _bind_contains(signature: Signature) -> Scalar:
    comparator = compare(signature.parameters[1])
    return lambda pairs, sought: any(comparator(key, sought) == 0 for key, _ in pairs)


def _parts(returns: Callable[[Type, Type], Type]) -> Callable[[Sequence[Argument], str], Signature]:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1, 1)
        key, value = _map(arguments)
        return Signature((map_of(key, value),), returns(key, value), zone)

    return resolve


def _define_part(name: str, place: int) -> None:
    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        lists = columns[0].values
        return Column(signature.returns, ListValues(lists.offsets, lists.items.values[place]), columns[0].valid)

    resolve = _parts(lambda *types: array(types[place]))
    register(Function(name, resolve, always(lambda pairs: [pair[place] for pair in pairs]), vector))


def _same_entries(signature: Signature, columns: Sequence[Column]) -> Column:
    return Column(signature.returns, columns[0].values, columns[0].valid)


# Maps of pairs


def _map_type(key: Type, value: Type) -> Type:
    if holds_map(key):
        msg = "a map cannot be the key of a map"
        raise ArgumentError(msg)
    return map_of(key, value)


def _builder(type_: Type) -> Callable[[Entries], Entries | None]:
    """What checks the keys."""
    inner = type_.item.fields[0][1]
    comparator, identity = compare(inner), order_key(inner) if is_ordered(inner) else None

    def build(pairs: Entries) -> Entries | None:
        if any(key is None for key, _ in pairs):
            return None
        if identity is not None:
            repeated = len({identity(key) for key, _ in pairs}) < len(pairs)
        else:
            repeated = any(comparator(one, other) == 0 for (one, _), (other, _) in combinations(pairs, 2))
        return None if repeated else pairs

    return build


def _resolve_map(arguments: Sequence[Argument], zone: str) -> Signature:
    if len(arguments) % 2:
        msg = "expected pairs of a key and a value"
        raise ArgumentError(msg)
    key, value = (unify(arguments[place::2]) if arguments else NULL for place in (0, 1))
    return Signature((key, value) * (len(arguments) // 2), _map_type(key, value), zone)


def _bind_map(signature: Signature) -> Scalar:
    build = _builder(signature.returns)
    return lambda *given: build(list(zip(given[0::2], given[1::2], strict=True)))


def _resolve_from_arrays(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    keys, values = (each.type for each in arguments)
    if (keys.name, values.name) != ("array", "array"):
        raise type_mismatch(arguments, "made a map")
    return Signature((keys, values), _map_type(keys.item, values.item), zone)


def _bind_from_arrays(signature: Signature) -> Scalar:
    build = _builder(signature.returns)
    return lambda keys, values: build(list(zip(keys, values, strict=True))) if len(keys) == len(values) else None


def _resolve_from_entries(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    found = arguments[0].type
    if found.name != "array" or len(found.item.fields) != 2:
        msg = f"expected an array of structs of key and value, found {found}"
        raise ArgumentError(msg, 0)
    (_, key), (_, value) = found.item.fields
    return Signature((found,), _map_type(key, value), zone)


def _bind_from_entries(signature: Signature) -> Scalar:
    build = _builder(signature.returns)
    return lambda entries: None if None in entries else build(entries)


def _resolve_from_text(arguments: Sequence[Argument], zone: str) -> Signature:
    """Spark takes regular expressions as delimiters; here they are constants that are none."""
    check_count(arguments, 1, 3)
    for place, each in enumerate(arguments[1:], 1):
        if each.type == NULL or (each.is_constant and each.value is None):
            continue
        if not each.is_constant or not each.value or not _META.isdisjoint(str(each.value)):
            msg = f"expected a constant delimiter without any of {' '.join(sorted(_META))}, found {each.value!r}"
            raise ArgumentError(msg, place)
    return Signature((STRING,) * len(arguments), map_of(STRING, STRING), zone)


def _bind_from_text(signature: Signature) -> Scalar:
    build = _builder(signature.returns)

    def scalar(text: str, between: str = ",", inside: str = ":") -> Entries | None:
        pairs = (each.partition(inside) for each in text.split(between))
        return build([(key, value if sign else None) for key, sign, value in pairs])

    return scalar


def _resolve_concat(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1)
    for place in range(len(arguments)):
        _map(arguments, place)
    found = require_type(common_type(arguments), arguments)
    return Signature((found,) * len(arguments), found, zone)


def _bind_concat(signature: Signature) -> Scalar:
    build = _builder(signature.returns)
    return lambda *maps: build([pair for pairs in maps for pair in pairs])


_define_part("map_keys", 0)
_define_part("map_values", 1)
_entries = _parts(lambda key, value: array(map_of(key, value).item))
register(Function("map_entries", _entries, always(lambda pairs: pairs), _same_entries))
register(Function("map_contains_key", _resolve_contains, _bind_contains))
register(Function("map", _resolve_map, _bind_map, sees_null=True))
register(Function("map_from_arrays", _resolve_from_arrays, _bind_from_arrays))
register(Function("str_to_map", _resolve_from_text, _bind_from_text))
register(Function("map_from_entries", _resolve_from_entries, _bind_from_entries))
register(Function("map_concat", _resolve_concat, _bind_concat))
