"""Columns from Arrow arrays and from lists of Python values: the batch form of `conversion`.

Row by row the result equals that of `conversion` for the value alone; the shortcuts for whole columns must not
change it. Arrow data may be sliced, chunked, dictionary-encoded or hold anything under its
nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64, AnyArray, Mask
from tamis.errors import EventError
from tamis.events.conversion import (
    INT64_MAX,
    clean,
    converter,
    iso_timestamp,
    plain,
)
from tamis.values.casts import round_half_up
from tamis.values.column import SHORT_DECIMAL, Column, ListValues, NumberValues, Value, column_of
from tamis.values.datetimes import write_date
from tamis.values.types import (
    ANY,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    MAX_PRECISION,
    NUMBER,
    STRING,
    Type,
    integer_bounds,
)

_NONE = type(None)
_DAY_MILLIS = 86_400_000
_PER_MICROSECOND = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


def any_column(values: Sequence[Any]) -> Column:
    """A schemaless column: the JSON meaning of each value."""
    return column_of(ANY, [plain(value) for value in values])


def python_column(values: Sequence[Any], type_: Type, zone: str) -> Column:
    """A column of `type_` from Python values of any kind, NULL where a value is not of the type."""
    kinds = set(map(type, values))
    quick = _quick_column(values, kinds, type_)
    if quick is not None:
        return quick
    if type_.name == "array" and kinds <= {list, _NONE}:
        return _python_lists(values, type_, zone)
    convert = converter(type_, zone)
    if kinds <= {str, _NONE}:  # dates and the like, of which there are few in many rows
        known = {text: convert(text) for text in set(values) if text is not None}
        return column_of(type_, [known.get(value) for value in values])
    return column_of(type_, [None if value is None else convert(value) for value in values])


def _quick_column(values: Sequence[Any], kinds: set[type], type_: Type) -> Column | None:
    """The column if all values are of the kind that needs no conversion, else None."""
    if kinds <= {_NONE}:
        return column_of(type_, values)
    if type_ == STRING and kinds <= {str, _NONE}:
        try:
            array = pa.array(values, pa.string())
        except UnicodeEncodeError:
            array = pa.array([None if value is None else clean(value) for value in values], pa.string())
        return Column(type_, array, _valid(array))
    if type_ in INTEGER_BITS and kinds <= {int, _NONE}:
        return _in_range(values, type_)
    if (type_ == BOOLEAN and kinds <= {bool, _NONE}) or (type_ == DOUBLE and kinds <= {float, _NONE}):
        return column_of(type_, values)
    return None


def _python_lists(values: Sequence[list[Any] | None], type_: Type, zone: str) -> Column:
    valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int64, len(values))
    items = [item for value in values if value is not None for item in value]
    present = np.fromiter((item is not None for item in items), np.bool_, len(items))
    return _list_column(type_, valid, lengths, python_column(items, type_.item, zone), present)


def _in_range(values: Sequence[int | None], type_: Type) -> Column:
    least, greatest = integer_bounds(type_)
    return column_of(
        type_, [value if value is not None and least <= value <= greatest else None for value in values]
    )


def arrow_column(array: pa.Array, type_: Type, zone: str) -> Column:
    """A column of `type_` from Arrow data of any type, NULL where a value is not of the type."""
    array = simple_array(array)
    found = array.type
    column: Column | None = None
    if type_ in INTEGER_BITS:
        column = _integers(array, type_) if pa.types.is_integer(found) else _null_column(type_, len(array))
    elif type_ in (FLOAT, DOUBLE):
        column = _floats(array, type_)
    elif type_.name == "decimal":
        column = _decimals(array, type_)
    elif type_ == BOOLEAN:
        column = _booleans(array) if pa.types.is_boolean(found) else _null_column(type_, len(array))
    elif type_ == STRING and pa.types.is_string(found):
        column = Column(type_, array, _valid(array))
    elif type_ == BINARY and pa.types.is_binary(found):
        column = Column(type_, array, _valid(array))
    elif type_ == DATE and pa.types.is_date(found):
        column = Column(type_, _days(array), _valid(array))
    elif type_.name in ("timestamp", "timestamp_ntz") and pa.types.is_timestamp(found):
        if (found.tz is None) == (type_.name == "timestamp_ntz"):
            micros, fits = _micros(array)
            column = Column(type_, micros, _valid(array) & fits)
    elif type_.name == "array":
        column = _lists(array, type_, zone) if _is_list(found) else _null_column(type_, len(array))
    elif type_.name == "map" and pa.types.is_map(found):
        column = _maps(array, type_, zone)
    elif type_.name == "struct" and pa.types.is_struct(found):
        column = _structs(array, type_, zone)
    return python_column(python_values(array), type_, zone) if column is None else column


def read_array(array: pa.Array, type_: Type) -> Column | None:
    """The result of the function `read` on a simple array; None if it must look at each value."""
    found, rows = array.type, len(array)
    integral, floating = pa.types.is_integer(found), pa.types.is_floating(found)
    textual, boolean = pa.types.is_string(found), pa.types.is_boolean(found)
    if type_ not in (NUMBER, STRING, BOOLEAN) or not (integral or floating or textual or boolean):
        return None
    if type_ == STRING and textual:
        return Column(type_, array, _valid(array))
    if type_ == BOOLEAN and boolean:
        return _booleans(array)
    if type_ != NUMBER or not (integral or floating):
        return _null_column(type_, rows)
    numbers = _numpy(array)
    if floating:
        doubles = numbers.astype(np.float64, copy=False)
        return Column(
            type_, NumberValues(np.zeros(rows, np.bool_), np.zeros(rows, np.int64), doubles), _valid(array)
        )
    fits = numbers <= INT64_MAX if found == pa.uint64() else np.ones(rows, np.bool_)
    ints = np.where(fits, numbers, 0).astype(np.int64, copy=False)
    doubles = np.where(fits, 0.0, numbers.astype(np.float64))
    return Column(type_, NumberValues(fits, ints, doubles), _valid(array))


_NUMPY_TYPES: dict[pa.DataType, np.dtype[Any]] = {
    type_: np.dtype(type_.to_pandas_dtype())
    for type_ in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float32(), pa.float64()),
    )
}
"""Of the types whose buffer of values numpy can read."""
_ZEROS = {type_: np.zeros(1, type_) for type_ in _NUMPY_TYPES.values()}
_BOUNDS = {type_: np.iinfo(type_) for type_ in _NUMPY_TYPES.values() if type_.kind in "iu"}


def simple_array(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The same values in one array, of one plain encoding a type, its text valid UTF-8."""
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # several chunks of text beyond 2 GB
            msg = "one batch of events may hold 2 GB of text in a column at most"
            raise EventError(msg)
    found = array.type
    if found in _NUMPY_TYPES:
        return array
    if isinstance(found, pa.BaseExtensionType):
        return simple_array(array.storage)
    if pa.types.is_dictionary(found):
        return simple_array(array.dictionary_decode())
    if pa.types.is_run_end_encoded(found):
        return simple_array(pc.run_end_decode(array))
    if pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found):
        return _text(array)
    if pa.types.is_large_binary(found) or pa.types.is_fixed_size_binary(found) or pa.types.is_binary_view(found):
        return array.cast(pa.binary())
    if pa.types.is_float16(found):
        return array.cast(pa.float32())
    return array


def _text(array: pa.Array) -> pa.Array:
    """A string array; bytes that are no UTF-8 are replaced, value by value."""
    raw = array.cast(pa.binary())
    try:
        return raw.cast(pa.string())  # this way round the cast looks at the bytes
    except pa.ArrowInvalid:
        texts = [None if value is None else value.decode("utf-8", "replace") for value in raw.to_pylist()]
        return pa.array(texts, pa.string())


def struct_child(array: pa.Array, name: str) -> pa.Array | None:
    """The field of a struct array, NULL where the struct is; of two with one name the last, as in JSON."""
    places = [place for place in range(array.type.num_fields) if array.type.field(place).name == name]
    return pc.struct_field(array, places[-1:]) if places else None


def _valid(array: pa.Array) -> Mask:
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    bits = array.buffers()[0]
    if bits is None:  # of the type null
        return np.zeros(len(array), np.bool_)
    # As `is_valid`, at a fraction of the cost: a wide table has hundreds of short columns.
    first, skipped = array.offset >> 3, array.offset & 7
    found = np.frombuffer(bits, np.uint8, (skipped + len(array) + 7) >> 3, first)
    return np.unpackbits(found, count=skipped + len(array), bitorder="little")[skipped:].view(np.bool_)


def _null_column(type_: Type, rows: int) -> Column:
    return column_of(type_, [None] * rows)


def _numpy(array: pa.Array, valid: Mask | None = None) -> AnyArray:
    """Numbers as numpy sees them, 0 for null; `valid`, if given, says which are none."""
    type_ = _NUMPY_TYPES.get(array.type)
    if type_ is not None and array.null_count:
        found: AnyArray = np.frombuffer(array.buffers()[1], type_, array.offset + len(array))
        return np.where(_valid(array) if valid is None else valid, found[array.offset :], _ZEROS[type_])
    filled = array.fill_null(0) if array.null_count else array
    numbers: AnyArray = filled.to_numpy(zero_copy_only=False)
    return numbers


def _integers(array: pa.Array, type_: Type) -> Column:
    least, greatest = integer_bounds(type_)
    valid = _valid(array)
    numbers = _numpy(array, valid)
    info = _BOUNDS[numbers.dtype]
    if int(info.min) < least or int(info.max) > greatest:
        valid = valid & (numbers <= greatest)
        if info.min < 0:
            valid &= numbers >= least
    return Column(type_, numbers.astype(np.int64, copy=False), valid)


def _booleans(array: pa.Array) -> Column:
    filled = array.fill_null(fill_value=False) if array.null_count else array
    return Column(BOOLEAN, filled.to_numpy(zero_copy_only=False), _valid(array))


def _floats(array: pa.Array, type_: Type) -> Column | None:
    """Integers round once, straight to the type; None for what needs a look at each value."""
    found = array.type
    if not (pa.types.is_integer(found) or pa.types.is_floating(found)):
        return _null_column(type_, len(array)) if pa.types.is_boolean(found) else None
    valid = _valid(array)
    with np.errstate(over="ignore"):
        numbers = _numpy(array, valid).astype(np.float32 if type_ == FLOAT else np.float64, copy=False)
    return Column(type_, numbers, valid)


def _decimals(array: pa.Array, type_: Type) -> Column | None:
    found = array.type
    if pa.types.is_integer(found):
        unscaled = _numpy(array)
        unscaled = unscaled.astype(np.object_ if found == pa.uint64() else np.int64, copy=False)
        digits, scale = len(str(max(-unscaled.min(initial=0), unscaled.max(initial=0)))), 0
    elif pa.types.is_decimal(found) and found.precision <= MAX_PRECISION:
        unscaled, digits, scale = _unscaled_values(array), found.precision, found.scale
    else:
        return None
    return _rescale_column(unscaled, _valid(array), digits, type_.scale - scale, type_)


def _unscaled_values(array: pa.Array) -> AnyArray:
    """Unscaled values of a decimal array: int64 where the precision allows, else Python integers."""
    precision = array.type.precision
    if not pa.types.is_decimal128(array.type):
        array = array.cast(pa.decimal128(precision, array.type.scale))
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(len(array), np.int64)
    words = np.frombuffer(data, "<i8").reshape(-1, 2)[array.offset : array.offset + len(array)]
    if precision <= SHORT_DECIMAL:
        return words[:, 0].astype(np.int64)
    low = words[:, 0].astype(np.uint64).astype(np.object_)
    return np.asarray(words[:, 1].astype(np.object_) * (1 << 64) + low, np.object_)


def _rescale_column(unscaled: AnyArray, valid: Mask, digits: int, more: int, type_: Type) -> Column:
    """Integers of so many digits, given `more` decimals, in decimal type `type_`."""
    bound = 10**type_.precision
    if more >= 0 and digits + more <= SHORT_DECIMAL and unscaled.dtype == np.int64:
        scaled = np.where(valid, unscaled, 0) * 10**more
        if digits + more > type_.precision:
            valid = valid & (np.abs(scaled) < bound)
        values = scaled if type_.precision <= SHORT_DECIMAL else scaled.astype(np.object_)
        return Column(type_, values, valid)
    results = [
        _rescale(value, more) if ok else None for value, ok in zip(unscaled.tolist(), valid.tolist(), strict=True)
    ]
    return column_of(type_, [None if value is None or abs(value) >= bound else value for value in results])


def _rescale(value: int, more: int) -> int:
    """The unscaled value with `more` decimals, rounded half up if there are fewer."""
    return value * int(10**more) if more >= 0 else round_half_up(value, int(10**-more))


def _days(array: pa.Array) -> I64:
    if pa.types.is_date32(array.type):
        return _numpy(array.cast(pa.int32())).astype(np.int64)
    return np.asarray(_numpy(array.cast(pa.int64())) // _DAY_MILLIS)


def _micros(array: pa.Array) -> tuple[I64, Mask]:
    """Microseconds of timestamps in any unit, rounded down, and which of them fit 64 bits."""
    numbers = _numpy(array.cast(pa.int64()))
    factor, divisor = _PER_MICROSECOND[array.type.unit]
    if factor == 1:
        return (numbers // divisor if divisor > 1 else numbers), np.ones(len(array), np.bool_)
    fits = (numbers >= -(INT64_MAX // factor)) & (numbers <= INT64_MAX // factor)
    return np.where(fits, numbers, 0) * factor, fits


def _is_list(found: pa.DataType) -> bool:
    tests = (
        pa.types.is_list,
        pa.types.is_large_list,
        pa.types.is_fixed_size_list,
        pa.types.is_list_view,
        pa.types.is_large_list_view,
    )
    return any(test(found) for test in tests)


def _lengths(array: pa.Array) -> I64:
    """How many items of `array.flatten()`, which leaves out what is under nulls, each list has."""
    lengths = _numpy(pc.list_value_length(array)).astype(np.int64)
    lengths[~_valid(array)] = 0
    return lengths


def _bounds(lengths: I64) -> I64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _lists(array: pa.Array, type_: Type, zone: str) -> Column:
    found = simple_array(array.flatten())
    items = arrow_column(found, type_.item, zone)
    return _list_column(type_, _valid(array), _lengths(array), items, _valid(found))


def _maps(array: pa.Array, type_: Type, zone: str) -> Column:
    entry = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
    lists = array.cast(pa.list_(entry))
    entries = lists.flatten()
    key, value = _structs(entries, type_.item, zone).values
    fits = key.valid & (value.valid | ~_valid(pc.struct_field(entries, [1])))
    items = Column(type_.item, (key, value), fits)
    return _list_column(type_, _valid(array), _lengths(lists), items, np.ones(len(entries), np.bool_))


def _list_column(type_: Type, valid: Mask, lengths: I64, items: Column, present: Mask) -> Column:
    """Lists of converted items; NULL where an item was `present` and is no value of its type."""
    wrong = present & ~items.valid
    if wrong.any():
        owners = np.repeat(np.arange(len(valid)), lengths)
        good = np.ones(len(valid), np.bool_)
        good[owners[wrong]] = False
        items = items.take(np.flatnonzero(good[owners]))
        lengths, valid = np.where(good, lengths, 0), valid & good
    return Column(type_, ListValues(_bounds(lengths), items), valid)


def _structs(array: pa.Array, type_: Type, zone: str) -> Column:
    fields: list[Column] = []
    for name, inner in type_.fields:
        child = struct_child(array, name)
        fields.append(_null_column(inner, len(array)) if child is None else arrow_column(child, inner, zone))
    return Column(type_, tuple(fields), _valid(array))


def python_values(array: pa.Array | pa.ChunkedArray) -> list[Value]:
    """The values as Python holds them; dates and timestamps as ISO text, None for types without a meaning."""
    array = simple_array(array)
    found = array.type
    if pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_boolean(found):
        return list(array.to_pylist())
    if pa.types.is_string(found) or pa.types.is_binary(found) or pa.types.is_decimal(found):
        return list(array.to_pylist())
    if pa.types.is_date(found):
        return _texts(_days(array), _valid(array), write_date)
    if pa.types.is_timestamp(found):
        micros, fits = _micros(array)
        zoned = found.tz is not None
        return _texts(micros, _valid(array) & fits, lambda value: iso_timestamp(value, zoned=zoned))
    if _is_list(found):
        return _slices(array, python_values(array.flatten()))
    if pa.types.is_struct(found):
        names = [found.field(place).name for place in range(found.num_fields)]
        fields = [python_values(child) for child in array.flatten()]
        rows = zip(*fields, strict=True) if fields else ((),) * len(array)
        present = _valid(array).tolist()
        return [dict(zip(names, row, strict=True)) if ok else None for row, ok in zip(rows, present, strict=True)]
    return [None] * len(array)


def _texts(numbers: I64, valid: Mask, text: Callable[[int], str]) -> list[Value]:
    pairs = zip(numbers.tolist(), valid.tolist(), strict=True)
    return [text(number) if ok else None for number, ok in pairs]


def _slices(array: pa.Array, items: list[Value]) -> list[Value]:
    offsets = _bounds(_lengths(array)).tolist()
    bounds = zip(offsets[:-1], offsets[1:], _valid(array).tolist(), strict=True)
    return [items[start:end] if ok else None for start, end, ok in bounds]
