"""Values inside of values: `leaf_values` and `inner_objects`, which go through objects and arrays alike.

A path is a text of names with dots, from the outermost inwards; an array anywhere on the way stands for all of its
elements. Neither function is ever NULL: a value that is missing has no leaves. A null inside of an object or an
array of JSON is a leaf; the fields of a declared struct that are NULL are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

from tamis.functions.registry import Argument, ArgumentError, Function, Resolve, Signature, check_count, register
from tamis.functions.structs import field_type
from tamis.values.column import Column, Value, column_of
from tamis.values.types import ANY, STRING, Type, array

Walk: TypeAlias = Callable[[Value], Iterator[Value]]
WalkAny: TypeAlias = Callable[[Value, tuple[str, ...]], Iterator[Value]]


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")) if path else ()


def _is_leaf(value: Value) -> bool:
    return not isinstance(value, dict)


def _walk_any(value: Value, steps: tuple[str, ...], *, wants_leaves: bool) -> Iterator[Value]:
    """A name of an event may have dots itself: `a.b` is found in `{"a.b": 1}`, too."""
    if isinstance(value, list):
        for item in value:
            yield from _walk_any(item, steps, wants_leaves=wants_leaves)
    elif not steps:
        if _is_leaf(value) is wants_leaves:
            yield value
    elif isinstance(value, dict):
        for count in range(1, len(steps) + 1):
            name = ".".join(steps[:count])
            if name in value:
                yield from _walk_any(value[name], steps[count:], wants_leaves=wants_leaves)


def find_path(type_: Type, steps: tuple[str, ...], walk_any: WalkAny) -> tuple[Type, Walk]:
    """The type of the values at a path, without arrays around it, and what finds them in a value that is not NULL.

    Args:
        type_: Of the value.
        steps: The names of the path.
        walk_any: Finds them in a schemaless value.

    Raises:
        ArgumentError: There is no such field.
    """
    if type_ == ANY:
        return ANY, lambda value: walk_any(value, steps)
    if type_.name == "array":
        item, inner = find_path(type_.item, steps, walk_any)
        return item, lambda values: (found for value in values or () for found in inner(value))
    if not steps:
        return type_, lambda value: iter((value,))
    field = field_type(type_, steps[0]) if type_.name == "struct" else None
    if field is None:
        msg = f"there is no field {steps[0]!r} in {type_}"
        raise ArgumentError(msg, 1)
    place = [name for name, _ in type_.fields].index(field[0])
    leaf, further = find_path(field[1], steps[1:], walk_any)

    def walk(value: Value) -> Iterator[Value]:
        inner = None if value is None else value[place]
        return iter(()) if inner is None else further(inner)

    return leaf, walk


_leaves = partial(_walk_any, wants_leaves=True)
_objects = partial(_walk_any, wants_leaves=False)
_find_path = lru_cache(maxsize=4096)(find_path)


def _resolve(*, wants_leaves: bool) -> Resolve:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1, 2)
        path = arguments[1] if len(arguments) == 2 else Argument(STRING, True, "")
        if path.type != STRING or not path.is_constant or path.value is None:
            msg = f"expected a path as a text, found {path.type}"
            raise ArgumentError(msg, 1)
        inner, _ = _find_path(arguments[0].type, _steps(path.value), _leaves)
        if inner != ANY and (inner.name == "struct") is wants_leaves:
            msg = f"expected {'a value' if wants_leaves else 'an object'}, found {inner}"
            raise ArgumentError(msg, 0)
        return Signature((arguments[0].type, STRING)[: len(arguments)], array(inner), zone)

    return resolve


def _register(name: str, *, wants_leaves: bool) -> None:
    def bind(signature: Signature) -> Callable[..., Value]:
        def scalar(value: Value, path: str = "") -> list[Value]:
            _, walk = _find_path(signature.parameters[0], _steps(path), _leaves if wants_leaves else _objects)
            return [] if value is None else list(walk(value))

        return scalar

    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        scalar = bind(signature)
        path = columns[1].values[0].as_py() if len(columns) == 2 and len(columns[1]) else ""
        return column_of(signature.returns, [scalar(value, path) for value in columns[0].to_list()])

    register(Function(name, _resolve(wants_leaves=wants_leaves), bind, vector, sees_null=True))


_register("leaf_values", wants_leaves=True)
_register("inner_objects", wants_leaves=False)
