"""Columns from scanned JSON: the batch form of `conversion` and of the function `read`, over bytes.

Row by row the result is what those two give for the row's value alone. A value whose meaning takes more than
its bytes (a string with escapes for a date, say, or a list as text) is made by Python's `json` and goes their way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import EventError
from tamis.events.arrow import python_column
from tamis.events.conversion import INT64_MAX, converter, plain
from tamis.events.json_numbers import ASK, MADE, NOTHING, decimals, doubles, gathered, integers
from tamis.events.json_objects import JsonObjects, Spans
from tamis.events.json_scan import (
    ESCAPED,
    FALSE,
    FRACTION,
    INTEGER,
    LARGE,
    LIST,
    NULL,
    OBJECT,
    TEXT,
    TRUE,
    WORD,
    Bytes,
    Ints,
)
from tamis.events.json_times import NO_ZONE, moments
from tamis.functions.schemaless import reader
from tamis.values.casts import Caster
from tamis.values.column import Column, Mask, Numbers, column_of, physical_dtype
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

Ask: TypeAlias = Callable[[list[Any]], Column]
"""From Python values, none of them None, to a column of what they mean."""

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

    def _within(self, path: tuple[str, ...]) -> tuple[JsonObjects, str]:
        objects = self.objects
        for step in path[:-1]:
            objects = objects.child(step)
        return objects, path[-1]

    def raw(self, path: tuple[str, ...]) -> pa.Array | list[Any]:
        """The values at a path: an array if all are integers or all are strings."""
        objects, name = self._within(path)
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
        objects, name = self._within(path)
        spans = objects.spans(name)
        found = np.zeros(objects.rows, np.bool_)
        found[spans.rows[spans.kinds != NULL]] = True
        found[objects.other_values(name)[0]] = True
        return found

    def column(self, path: tuple[str, ...], type_: Type, zone: str) -> Column:
        """The values at a path in a declared type."""
        return typed_column(*self._within(path), type_, zone)

    def schemaless(self, path: tuple[str, ...]) -> Column:
        """The values at a path, each of its own kind."""
        return schemaless_column(*self._within(path))

    def reading(self, path: tuple[str, ...], type_: Type, zone: str) -> Column | None:
        """The values at a path that are of a kind, if there is a short way to them."""
        return read_column(*self._within(path), type_, zone)


@dataclass(frozen=True, slots=True)
class _Way:
    """How values become a column.

    Attributes:
        made: By kind, what to do: NOTHING for NULL, MADE if the bytes are enough, ASK for Python.
        ask: What the values mean that Python made.
        cast: For times: the meaning of a text.
        zone: For timestamps: of a text that names none.
        once: For floats: are they rounded once, from the text? Otherwise by way of double.
    """

    made: Bytes
    ask: Ask
    cast: Caster | None = None
    zone: str = "UTC"
    once: bool = True


def _kinds(made: tuple[int, ...], ask: tuple[int, ...] = ()) -> Bytes:
    table = np.full(OBJECT + 1, NOTHING, np.uint8)
    table[list(made)] = MADE
    table[list(ask)] = ASK
    return table


_INTEGERS, _BOOLEANS, _TEXTS = _kinds((INTEGER,)), _kinds((FALSE, TRUE)), _kinds((TEXT,), (ESCAPED,))
_FRACTIONS = _kinds((INTEGER, FRACTION), (LARGE, WORD))
_FRACTIONS_OR_TEXTS = _kinds((INTEGER, FRACTION), (LARGE, WORD, TEXT, ESCAPED))
_TEXTS_OR_SECONDS = _kinds((INTEGER, TEXT), (ESCAPED,))
_WRITTEN = _kinds((INTEGER, FALSE, TRUE, TEXT), (FRACTION, LARGE, WORD, ESCAPED, LIST, OBJECT))
_SIMPLE = _kinds((FALSE, TRUE, INTEGER, FRACTION, WORD, TEXT), (ESCAPED, LARGE, LIST, OBJECT))


def typed_column(objects: JsonObjects, name: str, type_: Type, zone: str) -> Column:
    """The values of a key as an attribute of a declared type; see `conversion` for what is taken."""
    if type_.name == "struct":
        child = objects.child(name)
        fields = tuple(typed_column(child, label, inner, zone) for label, inner in type_.fields)
        return Column(type_, fields, child.present)
    if type_.name in ("array", "binary"):
        return python_column(objects.values(name), type_, zone)

    def ask(values: list[Any]) -> Column:
        return python_column(values, type_, zone)

    if type_ == STRING:
        return _strings(objects, name, _Way(_WRITTEN, ask))
    if type_ in INTEGER_BITS:
        way = _Way(_INTEGERS, ask)
    elif type_ == BOOLEAN:
        way = _Way(_BOOLEANS, ask)
    elif type_ in _TIMES:
        kinds = _TEXTS_OR_SECONDS if type_ == TIMESTAMP else _TEXTS
        way = _Way(kinds, ask, converter(type_, zone), zone)
    else:
        way = _Way(_FRACTIONS_OR_TEXTS, ask)
    return _column(objects, name, type_, way)


def read_column(objects: JsonObjects, name: str, type_: Type, zone: str) -> Column | None:
    """The values of a key that are of this kind, as `read` takes them; None if that is not done here."""
    read = reader(type_, zone)

    def ask(values: list[Any]) -> Column:
        return column_of(type_, [read(plain(value)) for value in values])

    if type_ == STRING:
        return _strings(objects, name, _Way(_TEXTS, ask))
    if type_ == BOOLEAN:
        way = _Way(_BOOLEANS, ask)
    elif is_integral(type_):
        way = _Way(_INTEGERS, ask)
    elif type_ in (NUMBER, DOUBLE, FLOAT):
        way = _Way(_FRACTIONS, ask, once=False)
    elif type_ in _TIMES:
        way = _Way(_TEXTS, ask, read, zone)
    else:
        return None
    return _column(objects, name, type_, way)


def schemaless_column(objects: JsonObjects, name: str) -> Column:
    """The values of a key, each of its own kind: the JSON meaning of each."""
    spans, values = objects.spans(name), objects.values(name)
    others, _ = objects.other_values(name)
    for row in spans.rows[_SIMPLE[spans.kinds] == ASK].tolist() + others:
        values[row] = plain(values[row])
    valid = np.zeros(objects.rows, np.bool_)
    valid[spans.rows] = True
    valid[others] = True
    return Column(ANY, np.fromiter(values, np.object_, objects.rows), valid)


def _asked(objects: JsonObjects, name: str, unsure: Spans, ask: Ask) -> tuple[Ints, Column]:
    """Rows and values that need Python: those of some spans, and those of objects that were not scanned."""
    rows, values = objects.other_values(name)
    if len(unsure.rows):
        values = values + objects.decoded(unsure)
    return np.concatenate([np.array(rows, np.int64), unsure.rows]), ask(values)


def _column(objects: JsonObjects, name: str, type_: Type, way: _Way) -> Column:
    """A column of a type whose values are numbers in arrays."""
    spans = objects.spans(name)
    todo = way.made[spans.kinds]
    sure = spans.where(todo == MADE)
    made, states = _made(objects, sure, type_, way)
    unsure = np.flatnonzero(todo == ASK)
    if (states == ASK).any():
        unsure = np.concatenate([unsure, np.flatnonzero(todo == MADE)[states == ASK]])
    valid = np.zeros(objects.rows, np.bool_)
    valid[sure.rows] = states == MADE
    arrays = _spread(made, sure.rows, objects.rows)
    if len(unsure) or objects.others:
        rows, answers = _asked(objects, name, spans.at(unsure), way.ask)
        valid[rows] = answers.valid
        for array, answer in zip(arrays, _arrays(answers), strict=True):
            array[rows] = answer
    return Column(type_, Numbers(*arrays) if type_ == NUMBER else arrays[0], valid)


def _arrays(column: Column) -> tuple[npt.NDArray[Any], ...]:
    values = column.values
    return (values.integral, values.ints, values.doubles) if isinstance(values, Numbers) else (values,)


def _spread(arrays: tuple[npt.NDArray[Any], ...], rows: npt.NDArray[Any], count: int) -> list[npt.NDArray[Any]]:
    """Arrays of values of some rows as arrays of all rows."""
    if len(rows) == count:
        return list(arrays)
    spread = []
    for array in arrays:
        full = np.zeros(count, array.dtype)
        full[rows] = array
        spread.append(full)
    return spread


def _made(
    objects: JsonObjects, spans: Spans, type_: Type, way: _Way
) -> tuple[tuple[npt.NDArray[Any], ...], Bytes]:
    """The arrays of a column of the values of spans, and what became of each of them."""
    block, starts, lengths = objects.block, spans.starts, spans.lengths
    if type_ == BOOLEAN:
        return (spans.kinds == TRUE,), np.full(len(starts), MADE, np.uint8)
    if type_ in INTEGER_BITS:
        least, greatest = integer_bounds(type_)
        ints = integers(block, starts, lengths)
        fits = (ints >= least) & (ints <= greatest)
        return (ints,), np.where(fits, np.uint8(MADE), np.uint8(NOTHING))
    if type_ in _TIMES:
        return _times(objects, spans, type_, way)
    if type_.name == "decimal":
        unscaled, states = decimals(block, starts, lengths, type_.precision, type_.scale)
        return (unscaled.astype(physical_dtype(type_), copy=False),), states
    whole = spans.kinds == INTEGER
    ints = np.zeros(len(starts), np.int64)
    numbers, states = np.zeros(len(starts)), np.full(len(starts), MADE, np.uint8)
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
    if way.once:
        states = np.where(_between_floats(numbers), np.uint8(ASK), states)
    return (rounded,), states


def _fractions(objects: JsonObjects, spans: Spans) -> tuple[npt.NDArray[np.float64], Bytes]:
    """Doubles of numbers, all of them correctly rounded; ASK for what is beyond them."""
    numbers, states = doubles(objects.block, spans.starts, spans.lengths)
    hard = states == ASK
    if hard.any():
        some = spans.where(hard)
        texts = _texts(objects.block, some.starts, some.lengths, _NO_BYTES, None)
        numbers[hard] = texts.cast(pa.float64()).to_numpy()  # rounds correctly, and knows no locale
    return numbers, np.where(states > ASK, np.uint8(ASK), np.uint8(MADE))


def _between_floats(numbers: npt.NDArray[np.float64]) -> Mask:
    """Which doubles may lie midway between two floats, so that rounding them again may go wrong."""
    bits = numbers.view(np.int64)
    small = np.abs(numbers) < _LEAST_NORMAL
    return np.asarray((bits & _BELOW_MIDWAY == 0) & (small | (bits & _MIDWAY != 0)) & (numbers != 0))


def _times(
    objects: JsonObjects, spans: Spans, type_: Type, way: _Way
) -> tuple[tuple[npt.NDArray[Any], ...], Bytes]:
    """Dates and timestamps: the usual texts at once, others by a cast for each that is distinct; seconds."""
    out, states = np.zeros(len(spans.rows), np.int64), np.full(len(spans.rows), NOTHING, np.uint8)
    textual = spans.kinds == TEXT
    if textual.any():
        some = spans.where(textual)
        out[textual], states[textual] = _usual_times(objects.block, some, type_, way.zone)
        unusual = textual & (states == ASK)
        if unusual.any() and way.cast is not None:
            some = spans.where(unusual)
            texts = _texts(objects.block, some.starts, some.lengths, _NO_BYTES, None).dictionary_encode()
            known = column_of(type_, [way.cast(text) for text in texts.dictionary.to_pylist()])
            places = texts.indices.to_numpy()
            out[unusual] = known.values[places]
            states[unusual] = np.where(known.valid[places], MADE, NOTHING)
    if not textual.all():
        seconds = integers(objects.block, spans.starts[~textual], spans.lengths[~textual])
        limit = INT64_MAX // _SECOND
        fits = (seconds >= -limit) & (seconds <= limit)
        out[~textual] = np.where(fits, seconds, 0) * _SECOND
        states[~textual] = np.where(fits, MADE, NOTHING)
    return (out,), states


def _usual_times(block: Bytes, spans: Spans, type_: Type, zone: str) -> tuple[Ints, Bytes]:
    walls, offsets, states = moments(block, spans.starts, spans.lengths)
    zoned = offsets != NO_ZONE
    if type_ == DATE:
        # What stands behind a date may be anything at all.
        days = spans.lengths == _DATE_SIZE
        return walls // _DAY_MICROS, np.where(days, states, np.uint8(ASK))
    if type_ == TIMESTAMP_NTZ:
        return walls, np.where(zoned, np.uint8(ASK), states)
    offsets = np.where(zoned, offsets, zone_of(zone).offsets_of_walls(walls // _SECOND))
    return walls - offsets * _SECOND, states


def _texts(block: Bytes, starts: Ints, lengths: npt.NDArray[Any], others: Bytes, valid: Mask | None) -> pa.Array:
    """The string array of bytes of the block; -1 - i stands for byte i of `others`."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > _BYTES:
        msg = "one batch of events may hold 2 GB of text in a column at most"
        raise EventError(msg)
    short = offsets.astype(np.int32)
    data = gathered(block, others, starts, lengths, short)
    bitmap = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.StringArray.from_buffers(len(starts), pa.py_buffer(short), pa.py_buffer(data), bitmap)


def _strings(objects: JsonObjects, name: str, way: _Way) -> Column:
    """A column of strings: their bytes, those of integers and words, and texts that need Python."""
    spans = objects.spans(name)
    todo = way.made[spans.kinds]
    if way.made is _WRITTEN:
        minus = (spans.kinds == INTEGER) & (spans.lengths == 2)
        minus[minus] = objects.block[spans.starts[minus] + 1] == ord("0")  # -0 is the integer 0
        todo[minus] = ASK
    starts, lengths = np.zeros(objects.rows, np.int64), np.zeros(objects.rows, np.int32)
    valid = np.zeros(objects.rows, np.bool_)
    sure = spans.where(todo == MADE)
    starts[sure.rows], lengths[sure.rows], valid[sure.rows] = sure.starts, sure.lengths, True
    others = _NO_BYTES
    if len(sure.rows) < len(spans.rows) or objects.others:
        rows, answers = _asked(objects, name, spans.where(todo == ASK), way.ask)
        bounds, others = _buffers(answers.values)
        starts[rows], lengths[rows], valid[rows] = -1 - bounds[:-1], np.diff(bounds), answers.valid
    return Column(STRING, _texts(objects.block, starts, lengths, others, valid), valid)


def _buffers(texts: pa.Array) -> tuple[Ints, Bytes]:
    """Offsets and bytes of a string array."""
    _, offsets, data = texts.buffers()
    bounds = np.zeros(1, np.int32) if offsets is None else np.frombuffer(offsets, np.int32)
    part = bounds[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return part, _NO_BYTES if data is None else np.frombuffer(data, np.uint8)
