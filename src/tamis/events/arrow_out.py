"""Columns as Arrow arrays, for operators: the inverse of `tamis.events.arrow`."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, Mask
from tamis.values.column import Column, ListValues
from tamis.values.types import Type

_SIMPLE: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type of an attribute's type."""
    if type_.name == "decimal":
        return pa.decimal128(type_.precision, type_.scale)
    if type_.name == "array":
        return pa.list_(arrow_type(type_.item))
    if type_.name == "map":
        return pa.map_(*(arrow_type(inner) for _, inner in type_.item.fields))
    if type_.name == "struct":
        return pa.struct([(name, arrow_type(inner)) for name, inner in type_.fields])
    return _SIMPLE[type_.name]


def arrow_array(column: Column) -> pa.Array:
    """The values of a column, null where it is NULL."""
    type_, values = column.type, column.values
    found = arrow_type(type_)
    if isinstance(values, ListValues):
        offsets = pa.array(values.offsets, pa.int32())
        if type_.name == "map":
            keys, items = map(arrow_array, values.items.values)
            return pa.MapArray.from_arrays(offsets, keys, items, found, mask=_nulls(column))
        return pa.ListArray.from_arrays(offsets, arrow_array(values.items), found, mask=_nulls(column))
    if isinstance(values, tuple):
        fields = [arrow_array(field) for field in values]
        return pa.StructArray.from_arrays(fields, fields=list(found), mask=_nulls(column))
    if isinstance(values, pa.Array):
        return values
    if type_.name == "decimal" and values.dtype == np.int64:
        return _narrow_decimals(values, column.valid, found)
    if type_.name == "decimal":
        unit = Decimal(1).scaleb(-type_.scale)
        return pa.array([None if each is None else each * unit for each in column.to_list()], found)
    if type_.name == "date":
        values = values.astype(np.int32)
    return pa.array(values, mask=~column.valid).cast(found)


def _narrow_decimals(unscaled: I64, valid: Mask, type_: pa.DataType) -> pa.Array:
    """Decimals of 18 digits or fewer: Arrow has 128 bits of each, the low half first."""
    halves = np.stack([unscaled, unscaled >> 63], axis=1)
    bits = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(type_, len(unscaled), [bits, pa.py_buffer(halves)])


def _nulls(column: Column) -> pa.Array:
    return pa.array(~column.valid)
