"""Columns from scanned JSON: the batch form of `conversion` and of the function `read`, over bytes.

Row by row the result equals that of those two for the value alone. A value that takes more than a look at its
bytes (a date written with escapes, say, or a list as text) is read by Python's `json` and converted by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I64, U8, AnyArray, Mask
from tamis.errors import EventError
from tamis.events.arrow import python_column
from tamis.events.conversion import INT64_MAX, converter, plain
from tamis.events.json_numbers import DONE, FALLBACK, IS_NULL, decimals, doubles, gather_bytes, integers
from tamis.events.json_objects import JsonObjects, ValueSpans
from tamis.events.json_scan import (
    ESCAPED,
    FALSE,
    FRACTION,
    INTEGER,
    LARGE,
    LIST,
    OBJECT,
    TEXT,
    TRUE,
    WORD,
)
from tamis.events.json_times import NO_ZONE, moments
from tamis.functions.schemaless import reader
from tamis.values.casts import Caster
from tamis.values.column import Column, NumberValues, column_of, physical_dtype
from tamis.values.types import (
    ANY,
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    NUMBER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    integer_bounds,
    is_integral,
)
from tamis.values.zones import zone_of

Fallback: TypeAlias = Callable[[list[Any]], Column]
"""The function from Python values, none of them None, to a column."""

_BYTES = 2**31 - 1
_SECOND, _DAY_MICROS = 1_000_000, 86_400_000_000
_DATE_SIZE = len("2026-01-31")
_MIDWAY = 1 << 28
_BELOW_MIDWAY = _MIDWAY - 1
_LEAST_NORMAL = 2.0**-126
_NO_BYTES = np.frombuffer(b"", np.uint8)
_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


@dataclass(frozen=True, slots=True)
class JsonSource:
    """The events of a batch, scanned; see `tamis.events.sources.Source`."""

    objects: JsonObjects

    def _parent_and_name(self, path: tuple[str, ...]) -> tuple[JsonObjects, str]:
        objects = self.objects
        for step in path[:-1]:
            objects = objects.child(step)
        return objects, path[-1]

    def raw(self, path: tuple[str, ...]) -> pa.Array | list[Any]:
        """The values at a path; an Arrow array if all are integers or all are strings."""
        objects, name = self._parent_and_name(path)
        spans = objects.spans(name)
        if not objects.others and len(spans.kinds):
            if (spans.kinds == INTEGER).all():
                ints = typed_column(objects, name, BIGINT, "UTC")
                return pa.array(ints.values, mask=~ints.valid)
            if (spans.kinds == TEXT).all():
                return typed_column(objects, name, STRING, "UTC").values
        return objects.values(name)

    def names(self) -> Iterable[tuple[int | None, str]]:
        """Rows and keys of all values."""
        return self.objects.names()

    def present(self, path: tuple[str, ...]) -> Mask:
        """In which rows there is a value at a path that is not null."""
        objects, name = self._parent_and_name(path)
        return objects.rows_with(name)

    def column(self, path: tuple[str, ...], type_: Type, zone: str) -> Column:
        """The values at a path in a declared type."""
        return typed_column(*self._parent_and_name(path), type_, zone)

    def schemaless(self, path: tuple[str, ...]) -> Column:
        """The values at a path, each of its own kind."""
        return schemaless_column(*self._parent_and_name(path))

    def reading(self, path: tuple[str, ...], type_: Type, zone: str) -> Column | None:
        """The values at a path that are of a kind; None if `read` has to look at each value."""
        return read_column(*self._parent_and_name(path), type_, zone)


@dataclass(frozen=True, slots=True)
class _Conversion:
    """How the values of a key become a column.

    Attributes:
        actions: By kind of value: IS_NULL, DONE if the bytes suffice, FALLBACK if Python must read the value.
        fallback: Converts the values that Python has read.
        cast: For dates and timestamps: converts a text.
        zone: For timestamps: the zone of texts without one.
        once: For floats: rounded once, from the text; otherwise by way of double.
    """

    actions: U8
    fallback: Fallback
    cast: Caster | None = None
    zone: str = "UTC"
    once: bool = True


def _kinds(made: tuple[int, ...], fallback: tuple[int, ...] = ()) -> U8:
    table = np.full(OBJECT + 1, IS_NULL, np.uint8)
    table[list(made)] = DONE
    table[list(fallback)] = FALLBACK
    return table


_INTEGERS, _BOOLEANS, _TEXTS = _kinds((INTEGER,)), _kinds((FALSE, TRUE)), _kinds((TEXT,), (ESCAPED,))
_FRACTIONS = _kinds((INTEGER, FRACTION), (LARGE, WORD))
_FRACTIONS_OR_TEXTS = _kinds((INTEGER, FRACTION), (LARGE, WORD, TEXT, ESCAPED))
_TEXTS_OR_SECONDS = _kinds((INTEGER, TEXT), (ESCAPED,))
_WRITTEN = _kinds((INTEGER, FALSE, TRUE, TEXT), (FRACTION, LARGE, WORD, ESCAPED, LIST, OBJECT))
_SIMPLE = _kinds((FALSE, TRUE, INTEGER, FRACTION, WORD, TEXT), (ESCAPED, LARGE, LIST, OBJECT))


def typed_column(objects: JsonObjects, name: str, type_: Type, zone: str) -> Column:
    """The values of a key as an attribute of a declared type, by the rules of `conversion`."""
    if type_.name == "struct":
        child = objects.child(name)
        fields = tuple(typed_column(child, label, inner, zone) for label, inner in type_.fields)
        return Column(type_, fields, child.present)
    if type_.name in ("array", "map", "binary"):
        return python_column(objects.values(name), type_, zone)

    def fallback(values: list[Any]) -> Column:
        return python_column(values, type_, zone)

    if type_ == STRING:
        return _string_column(objects, name, _Conversion(_WRITTEN, fallback))
    if type_ in INTEGER_BITS:
        conversion = _Conversion(_INTEGERS, fallback)
    elif type_ == BOOLEAN:
        conversion = _Conversion(_BOOLEANS, fallback)
    elif type_ in _TIMES:
        kinds = _TEXTS_OR_SECONDS if type_ == TIMESTAMP else _TEXTS
        conversion = _Conversion(kinds, fallback, converter(type_, zone), zone)
    else:
        conversion = _Conversion(_FRACTIONS_OR_TEXTS, fallback)
    return _column(objects, name, type_, conversion)


def read_column(objects: JsonObjects, name: str, type_: Type, zone: str) -> Column | None:
    """The values of a key that are of this kind, by the rules of `read`; None for types without a kernel."""
    read = reader(type_, zone)

    def fallback(values: list[Any]) -> Column:
        return column_of(type_, [read(plain(value)) for value in values])

    if type_ == STRING:
        return _string_column(objects, name, _Conversion(_TEXTS, fallback))
    if type_ == BOOLEAN:
        conversion = _Conversion(_BOOLEANS, fallback)
    elif is_integral(type_):
        conversion = _Conversion(_INTEGERS, fallback)
    elif type_ in (NUMBER, DOUBLE, FLOAT):
        conversion = _Conversion(_FRACTIONS, fallback, once=False)
    elif type_ in _TIMES:
        conversion = _Conversion(_TEXTS, fallback, read, zone)
    else:
        return None
    return _column(objects, name, type_, conversion)


def schemaless_column(objects: JsonObjects, name: str) -> Column:
    """The values of a key, each of its own kind: the JSON meaning of each."""
    spans, values = objects.spans(name), objects.values(name)
    others, _ = objects.other_values(name)
    for row in spans.rows[_SIMPLE[spans.kinds] == FALLBACK].tolist() + others:
        values[row] = plain(values[row])
    valid = np.zeros(objects.rows, np.bool_)
    valid[spans.rows] = True
    valid[others] = True
    return Column(ANY, np.fromiter(values, np.object_, objects.rows), valid)


def _convert_in_python(
    objects: JsonObjects, name: str, left: ValueSpans, fallback: Fallback
) -> tuple[I64, Column]:
    """Rows and values that Python must read: some spans, and all objects that were not scanned."""
    rows, values = objects.other_values(name)
    if len(left.rows):
        values = values + objects.decode(left)
    return np.concatenate([np.array(rows, np.int64), left.rows]), fallback(values)


def _column(objects: JsonObjects, name: str, type_: Type, conversion: _Conversion) -> Column:
    """A column of a type whose values are numbers in arrays."""
    spans = objects.spans(name)
    todo = conversion.actions[spans.kinds]
    done = spans.where(todo == DONE)
    made, states = _convert(objects, done, type_, conversion)
    left = np.flatnonzero(todo == FALLBACK)
    if (states == FALLBACK).any():
        left = np.concatenate([left, np.flatnonzero(todo == DONE)[states == FALLBACK]])
    valid = np.zeros(objects.rows, np.bool_)
    valid[done.rows] = states == DONE
    arrays = _scatter(made, done.rows, objects.rows)
    if len(left) or objects.others:
        rows, converted = _convert_in_python(objects, name, spans.at(left), conversion.fallback)
        valid[rows] = converted.valid
        for array, values in zip(arrays, _arrays(converted), strict=True):
            array[rows] = values
    return Column(type_, NumberValues(*arrays) if type_ == NUMBER else arrays[0], valid)


def _arrays(column: Column) -> tuple[AnyArray, ...]:
    values = column.values
    return (values.integral, values.ints, values.doubles) if isinstance(values, NumberValues) else (values,)


def _scatter(arrays: tuple[AnyArray, ...], rows: AnyArray, count: int) -> list[AnyArray]:
    """Arrays over some rows as arrays over all rows, zero elsewhere."""
    if len(rows) == count:
        return list(arrays)
    spread = []
    for array in arrays:
        full = np.zeros(count, array.dtype)
        full[rows] = array
        spread.append(full)
    return spread


def _convert(
    objects: JsonObjects, spans: ValueSpans, type_: Type, conversion: _Conversion
) -> tuple[tuple[AnyArray, ...], U8]:
    """The arrays of a column, one value for each span, and the state of each value."""
    block, starts, lengths = objects.block, spans.starts, spans.lengths
    if type_ == BOOLEAN:
        return (spans.kinds == TRUE,), np.full(len(starts), DONE, np.uint8)
    if type_ in INTEGER_BITS:
        least, greatest = integer_bounds(type_)
        ints = integers(block, starts, lengths)
        fits = (ints >= least) & (ints <= greatest)
        return (ints,), np.where(fits, np.uint8(DONE), np.uint8(IS_NULL))
    if type_ in _TIMES:
        return _convert_times(objects, spans, type_, conversion)
    if type_.name == "decimal":
        unscaled, states = decimals(block, starts, lengths, type_.precision, type_.scale)
        return (unscaled.astype(physical_dtype(type_), copy=False),), states
    whole = spans.kinds == INTEGER
    ints = np.zeros(len(starts), np.int64)
    numbers, states = np.zeros(len(starts)), np.full(len(starts), DONE, np.uint8)
    if whole.any():
        ints[whole] = integers(block, starts[whole], lengths[whole])
    if not whole.all():
        numbers[~whole], states[~whole] = _fractions(objects, spans.where(~whole))
    if type_ == NUMBER:
        return (whole, ints, numbers), states
    if type_ == DOUBLE:
        return (np.where(whole, ints, numbers),), states
    with np.errstate(over="ignore"):
        rounded = np.where(whole, ints.astype(np.float32), numbers.astype(np.float32))
    if conversion.once:
        states = np.where(_between_floats(numbers), np.uint8(FALLBACK), states)
    return (rounded,), states


def _fractions(objects: JsonObjects, spans: ValueSpans) -> tuple[F64, U8]:
    """Correctly rounded doubles; FALLBACK for numbers beyond the range of doubles."""
    numbers, states = doubles(objects.block, spans.starts, spans.lengths)
    hard = states == FALLBACK
    if hard.any():
        some = spans.where(hard)
        texts = _texts(objects.block, some.starts, some.lengths, _NO_BYTES, None)
        numbers[hard] = texts.cast(pa.float64()).to_numpy()  # rounds correctly, and knows no locale
    return numbers, np.where(states > FALLBACK, np.uint8(FALLBACK), np.uint8(DONE))


def _between_floats(numbers: F64) -> Mask:
    """Which doubles may lie midway between two floats, so that rounding them again may go wrong."""
    bits = numbers.view(np.int64)
    small = np.abs(numbers) < _LEAST_NORMAL
    return np.asarray((bits & _BELOW_MIDWAY == 0) & (small | (bits & _MIDWAY != 0)) & (numbers != 0))


def _convert_times(
    objects: JsonObjects, spans: ValueSpans, type_: Type, conversion: _Conversion
) -> tuple[tuple[AnyArray, ...], U8]:
    """Dates and timestamps: common forms by a kernel, other texts by casts; integers are seconds."""
    out, states = np.zeros(len(spans.rows), np.int64), np.full(len(spans.rows), IS_NULL, np.uint8)
    textual = spans.kinds == TEXT
    if textual.any():
        some = spans.where(textual)
        out[textual], states[textual] = _common_times(objects.block, some, type_, conversion.zone)
        uncommon = textual & (states == FALLBACK)
        if uncommon.any() and conversion.cast is not None:
            some = spans.where(uncommon)
            texts = _texts(objects.block, some.starts, some.lengths, _NO_BYTES, None).dictionary_encode()
            known = column_of(type_, [conversion.cast(text) for text in texts.dictionary.to_pylist()])
            places = texts.indices.to_numpy()
            out[uncommon] = known.values[places]
            states[uncommon] = np.where(known.valid[places], DONE, IS_NULL)
    if not textual.all():
        seconds = integers(objects.block, spans.starts[~textual], spans.lengths[~textual])
        limit = INT64_MAX // _SECOND
        fits = (seconds >= -limit) & (seconds <= limit)
        out[~textual] = np.where(fits, seconds, 0) * _SECOND
        states[~textual] = np.where(fits, DONE, IS_NULL)
    return (out,), states


def _common_times(block: U8, spans: ValueSpans, type_: Type, zone: str) -> tuple[I64, U8]:
    walls, offsets, states = moments(block, spans.starts, spans.lengths)
    zoned = offsets != NO_ZONE
    if type_ == DATE:
        # Anything may follow the day in a text for a date, so longer texts are left to the cast.
        days = spans.lengths == _DATE_SIZE
        return walls // _DAY_MICROS, np.where(days, states, np.uint8(FALLBACK))
    if type_ == TIMESTAMP_NTZ:
        return walls, np.where(zoned, np.uint8(FALLBACK), states)
    offsets = np.where(zoned, offsets, zone_of(zone).offsets_of_walls(walls // _SECOND))
    return walls - offsets * _SECOND, states


def _texts(block: U8, starts: I64, lengths: AnyArray, others: U8, valid: Mask | None) -> pa.Array:
    """The string array of bytes of the block; -1 - i stands for byte i of `others`."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > _BYTES:
        msg = "one batch of events may hold 2 GB of text in a column at most"
        raise EventError(msg)
    short = offsets.astype(np.int32)
    data = gather_bytes(block, others, starts, lengths, short)
    bitmap = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.StringArray.from_buffers(len(starts), pa.py_buffer(short), pa.py_buffer(data), bitmap)


def _string_column(objects: JsonObjects, name: str, conversion: _Conversion) -> Column:
    """A column of strings: the bytes of texts, integers and words; all others are read by Python."""
    spans = objects.spans(name)
    todo = conversion.actions[spans.kinds]
    if conversion.actions is _WRITTEN:
        minus = (spans.kinds == INTEGER) & (spans.lengths == 2)
        minus[minus] = objects.block[spans.starts[minus] + 1] == ord("0")  # -0 is the integer 0
        todo[minus] = FALLBACK
    starts, lengths = np.zeros(objects.rows, np.int64), np.zeros(objects.rows, np.int32)
    valid = np.zeros(objects.rows, np.bool_)
    done = spans.where(todo == DONE)
    starts[done.rows], lengths[done.rows], valid[done.rows] = done.starts, done.lengths, True
    others = _NO_BYTES
    if len(done.rows) < len(spans.rows) or objects.others:
        rows, converted = _convert_in_python(objects, name, spans.where(todo == FALLBACK), conversion.fallback)
        bounds, others = _buffers(converted.values)
        starts[rows], lengths[rows], valid[rows] = -1 - bounds[:-1], np.diff(bounds), converted.valid
    return Column(STRING, _texts(objects.block, starts, lengths, others, valid), valid)


def _buffers(texts: pa.Array) -> tuple[I64, U8]:
    """Offsets and bytes of a string array."""
    _, offsets, data = texts.buffers()
    bounds = np.zeros(1, np.int32) if offsets is None else np.frombuffer(offsets, np.int32)
    part = bounds[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return part, _NO_BYTES if data is None else np.frombuffer(data, np.uint8)
