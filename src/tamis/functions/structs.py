"""Fields of structs, `items[0].price`, and of all structs of an array, `items.price`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.functions.registry import Argument, ArgumentError, Function, Signature, register
from tamis.values.column import Column, ListValues, Value, column_of
from tamis.values.types import ANY, STRING, Type, array


def field_type(type_: Type, name: str) -> tuple[str, Type] | None:
    """The declared name and type of a field, ignoring case; of an array of structs, the array of that field."""
    if type_ == ANY:
        return name, ANY
    if type_.name == "array":
        inner = field_type(type_.item, name) if type_.item.name == "struct" else None
        return None if inner is None else (inner[0], array(inner[1]))
    found = [(exact, inner) for exact, inner in type_.fields if exact.lower() == name.lower()]
    if len(found) > 1:
        msg = f"{name!r} may be any of {', '.join(exact for exact, _ in found)}"
        raise ArgumentError(msg)
    return found[0] if found else None


def _resolve(arguments: Sequence[Argument], zone: str) -> Signature:
    found = field_type(arguments[0].type, arguments[1].value)
    if found is None:
        msg = f"there is no field {arguments[1].value!r} in {arguments[0].type}"
        raise ArgumentError(msg, 1)
    return Signature((arguments[0].type, STRING), found[1], zone)


def _place(type_: Type, name: str) -> int:
    return [exact for exact, _ in type_.fields].index(name)


def _scalar(signature: Signature, value: Value, name: str) -> Value:
    type_ = signature.parameters[0]
    if type_ == ANY:
        return value.get(name) if isinstance(value, dict) else None
    if type_.name == "array":
        place = _place(type_.item, name)
        return [None if item is None else item[place] for item in value]
    return value[_place(type_, name)]


def _vector(signature: Signature, columns: Sequence[Column]) -> Column:
    operand, names = columns
    if not len(operand):
        return column_of(signature.returns, [])
    name = names.values[0].as_py()
    field: Column
    if isinstance(operand.values, tuple):
        field = operand.values[_place(operand.type, name)]
        return field.where(operand.valid)
    if isinstance(operand.values, ListValues):
        items = operand.values.items
        field = items.values[_place(items.type, name)]
        inner = field.where(items.valid)
        return Column(signature.returns, ListValues(operand.values.offsets, inner), operand.valid)
    rows = zip(operand.values.tolist(), operand.valid.tolist(), strict=True)
    values = [_scalar(signature, value, name) if ok else None for value, ok in rows]
    return Column(ANY, column_of(ANY, values).values, np.array([value is not None for value in values], np.bool_))


register(
    Function("field", _resolve, lambda signature: lambda value, name: _scalar(signature, value, name), _vector)
)
