"""Wide tables: Arrow data of many columns, of which only what is asked for and holds something is touched.

A Python object for a column takes longer to make than the values of a short column to convert. So the columns that
are asked for together are written as one message of Arrow's IPC format, in one call of C++, and read with numpy:

    metadata   nodes     (rows, nulls) of each column        which are NULL in all rows
               buffers   (offset, bytes), two for a column   where its validity and its values are in the body
    body       validity  values  validity  values  ...

The values that are there of all columns of one type become a *block*, a single array without NULL. It is converted
as any array is, by `arrow_column`, so no rule of conversion is written twice.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, U8, AnyArray
from tamis.events.arrow import simple_array

FEW_COLUMNS = 8
"""Up to so many columns are made one by one."""
_MOST_ROWS = 8
_MOST_VALUES = 256
"""Of more rows for each column, or more values in a column, columns are made one by one, which takes less for a
value and more for a column."""
_SAMPLED_COLUMNS = 8
_KNOWN_SCHEMAS = 8
_MESSAGE_START = 8
"""Bytes before the metadata of a message: a marker, and the metadata's length."""
_RECORD_BATCH, _NODES, _BUFFERS = 2, 1, 2
"""Numbers of fields of the tables `Message` and `RecordBatch`, in Arrow's `Message.fbs`."""
_UNITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64}
"""By width in bytes, what values are copied as."""


class Block(NamedTuple):
    """The values that are there of columns of one type, column after column.

    places: int64[columns]: the columns by their places in the table; none is NULL in all rows.
    columns: int64[values]: of each value the column, a place in `places`.
    rows: int64[values]: and the row.
    array: the values.
    """

    places: I64
    columns: I64
    rows: I64
    array: pa.Array


class Layout(NamedTuple):
    """What a schema says of its columns.

    places: by name; of several with one name the last.
    types: int64[columns]: number of the type in `kinds`, -1 if the column cannot be part of a block.
    kinds: the types of blocks.
    """

    places: dict[str, int]
    types: I64
    kinds: list[pa.DataType]


class WideTable(Mapping[str, pa.Array]):
    """The columns of a table or record batch by name, made when they are first asked for, then kept."""

    __slots__ = ("_arrays", "_empty", "_pays", "_table", "layout")

    def __init__(self, table: pa.Table | pa.RecordBatch) -> None:
        self.layout = _layouts.of(table.schema)
        self._table = table
        self._arrays: dict[str, pa.Array] = {}
        self._pays: bool | None = None
        self._empty = np.zeros(table.num_columns, np.bool_)

    def __len__(self) -> int:
        return len(self.layout.places)

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout.places)

    def __contains__(self, name: object) -> bool:
        return name in self.layout.places

    def __getitem__(self, name: str) -> pa.Array:
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = simple_array(self._table.column(self.layout.places[name]))
        return array

    @property
    def pays_in_blocks(self) -> bool:
        """Are there so many columns of so few values that it is quicker to convert them in blocks?"""
        if self._pays is None:
            rows, columns = self._table.num_rows, self._table.num_columns
            self._pays = rows <= _MOST_ROWS * columns
            if self._pays and rows > _MOST_VALUES:
                sample = range(0, columns, -(-columns // _SAMPLED_COLUMNS))
                nulls = sum(self._table.column(place).null_count for place in sample)
                self._pays = rows - nulls / len(sample) <= _MOST_VALUES
        return self._pays

    def filled_names(self) -> Iterable[str]:
        """The names of the columns that are not known to be NULL in all rows."""
        places, empty = self.layout.places, self._empty.tolist()
        return [name for name, place in places.items() if not empty[place]] if any(empty) else places

    def is_empty(self, name: str) -> bool:
        """Is a column NULL in all rows? False if there is no such column."""
        place = self.layout.places.get(name)
        if place is None:
            return False
        if not self._empty[place]:
            column = self._arrays.get(name)
            if column is None:
                column = self._table.column(place)
            self._empty[place] = column.null_count == len(column)
        return bool(self._empty[place])

    def blocks(self, places: I64) -> list[Block]:
        """The values of some columns, whose `types` in the layout are not -1, one block for each type."""
        if not len(places) or not self._table.num_rows:
            return []
        message, at = _Message.of(self._table, self.layout, places)
        is_empty = message.nulls[at] == message.rows
        self._empty[places[is_empty]] = True
        places, at = places[~is_empty], at[~is_empty]
        types = self.layout.types[places]
        return [
            message.block(self.layout.kinds[type_], places[types == type_], at[types == type_])
            for type_ in np.unique(types).tolist()
        ]


class _Message(NamedTuple):
    """Columns that have two buffers each, as an IPC message.

    rows: number of rows.
    nulls: int64[columns]: how many of them are NULL.
    buffers: int64[columns, 2]: offsets in the body of validity and values; there is no validity without a NULL.
    body: uint8[...].
    """

    rows: int
    nulls: I64
    buffers: I64
    body: U8

    @classmethod
    def of(cls, table: pa.Table | pa.RecordBatch, layout: Layout, places: I64) -> tuple[_Message, I64]:
        """A message with some columns of a table, perhaps among others, and their places in it."""
        at = places
        # To choose columns takes as long as to write them, so most of a table is written whole.
        if 2 * len(places) < len(layout.types) or layout.types.min() < 0:
            table, at = table.select(places.tolist()), np.arange(len(places))
        if isinstance(table, pa.Table):
            batches = table.to_batches()
            table = batches[0] if len(batches) == 1 else table.combine_chunks().to_batches()[0]
        data = table.serialize()
        (metadata,) = struct.unpack_from("<i", data, 4)
        batch = _follow(data, _field(data, _follow(data, _MESSAGE_START), _RECORD_BATCH))
        nodes = _pairs(data, _follow(data, _field(data, batch, _NODES)))
        buffers = _pairs(data, _follow(data, _field(data, batch, _BUFFERS)))
        body = np.frombuffer(data, np.uint8, offset=_MESSAGE_START + metadata)
        return cls(table.num_rows, nodes[:, 1], buffers[:, 0].reshape(-1, 2), body), at

    def block(self, type_: pa.DataType, places: I64, at: I64) -> Block:
        """Of columns of one type, none of them NULL in all rows: `at` in this message, `places` in the table."""
        has_nulls = self.nulls[at] > 0
        starts = np.where(has_nulls, self.buffers[at, 0], 0)
        bitmaps = self.body[starts[:, np.newaxis] + np.arange(-(-self.rows // 8))]
        bitmaps[~has_nulls] = 255
        is_there = np.unpackbits(bitmaps, axis=1, count=self.rows, bitorder="little")
        columns, rows = np.divmod(np.flatnonzero(is_there), self.rows)
        starts = self.buffers[at, 1][columns]
        values: AnyArray
        if pa.types.is_boolean(type_):
            values = np.packbits((self.body[starts + (rows >> 3)] >> (rows & 7)) & 1, bitorder="little")
        else:
            width = type_.bit_width // 8
            unit = np.dtype(_UNITS[width])
            words = self.body[: len(self.body) // unit.itemsize * unit.itemsize].view(unit)
            firsts = (starts + rows * width) // unit.itemsize
            values = words[firsts] if width == unit.itemsize else words[firsts[:, np.newaxis] + np.arange(2)]
        array = pa.Array.from_buffers(type_, len(rows), [None, pa.py_buffer(values)])
        return Block(places, columns, rows, array)


def _follow(data: pa.Buffer, at: int) -> int:
    """Where the offset that stands here leads, in a flatbuffer."""
    (offset,) = struct.unpack_from("<I", data, at)
    return at + int(offset)


def _field(data: pa.Buffer, table: int, number: int) -> int:
    """Where a field of a table is, in a flatbuffer; it is there."""
    (back,) = struct.unpack_from("<i", data, table)
    (offset,) = struct.unpack_from("<H", data, table - back + 4 + 2 * number)
    return table + int(offset)


def _pairs(data: pa.Buffer, vector: int) -> I64:
    """A vector of pairs of 64-bit integers, in a flatbuffer."""
    (length,) = struct.unpack_from("<I", data, vector)
    return np.frombuffer(data, np.int64, 2 * length, vector + 4).reshape(-1, 2)


class _Layouts:
    """The layouts of the last few schemas, since the types of one are hundreds of Python objects."""

    def __init__(self) -> None:
        self._known: tuple[tuple[pa.Schema, Layout], ...] = ()

    def of(self, schema: pa.Schema) -> Layout:
        """The layout of a schema."""
        for known, layout in self._known:
            if known is schema or known.equals(schema):
                return layout
        kinds: dict[pa.DataType, int] = {}
        types = [kinds.setdefault(type_, len(kinds)) if _fits(type_) else -1 for type_ in schema.types]
        places = {name: place for place, name in enumerate(schema.names)}
        layout = Layout(places, np.array(types, np.int64), [*kinds])
        self._known = (schema, layout), *self._known[: _KNOWN_SCHEMAS - 1]
        return layout


_layouts = _Layouts()


def _fits(type_: pa.DataType) -> bool:
    """Is a column of it a validity, and for each value a bit or as many bytes?"""
    kinds = pa.types
    tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal128, kinds.is_date)
    return any(test(type_) for test in (*tests, kinds.is_timestamp))
