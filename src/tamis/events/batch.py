"""Batches: the events of one call as columns, from any source.

The value of a row is independent of the other rows, so that an event matches the same conditions in any batch. A
batch never changes; columns are made when they are first used, and kept.

Names are exact, as in Spark's JSON reader: `{"Price": 1}` has no `price`. (The names in a condition are
resolved without regard to case, against the event type.) Of two columns with one name the last counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import I64
from tamis.errors import EventError, EventTypeError
from tamis.events.arrow import arrow_column, simple_array
from tamis.events.conversion import converter, plain
from tamis.events.event_type import EventType
from tamis.events.sources import BatchSource, ColumnSource, DictSource, Path, Values
from tamis.events.wide_tables import FEW_COLUMNS, Block, WideTable
from tamis.values.column import Column
from tamis.values.types import STRING, Type


class ColumnBlock(NamedTuple):
    """A block of a wide table, its values converted to a declared type."""

    block: Block
    column: Column


class EventBatch:
    """The events of one call.

    Attributes:
        event_type: The type of all events.
        rows: The number of events.
        source: Where their values come from.
    """

    __slots__ = (
        *("_blocks", "_event_id", "_ids", "_made", "_numbers", "_readings"),
        *("event_type", "rows", "source"),
    )

    def __init__(
        self,
        event_type: EventType,
        rows: int,
        source: BatchSource,
        event_id: str | None = None,
        numbers: I64 | None = None,
    ) -> None:
        """Called by `of` and by readers of files."""
        self.event_type = event_type
        self.rows = rows
        self.source = source
        self._made: dict[Path, Column] = {}
        self._readings: dict[tuple[Path, Type], Column | None] = {}
        self._blocks: dict[Type, tuple[I64, tuple[ColumnBlock, ...]]] = {}
        self._ids: pa.Array | None = None
        self._event_id = event_id
        self._numbers = numbers

    @classmethod
    def of(
        cls,
        events: Any,
        event_type: Any = None,
        event_id: str | None = None,
        *,
        numbers: I64 | None = None,
    ) -> EventBatch:
        """The batch of these events.

        Args:
            events: One event (a dict), an iterable of dicts, a pyarrow Table, RecordBatch, StructArray or
                RecordBatchReader, a pandas DataFrame, or anything with Arrow's C interface.
            event_type: Whatever `EventType.of` takes; None for schemaless.
            event_id: Name of the column that holds the events' ids.
            numbers: Ids of the rows, instead of 0, 1, 2...

        Raises:
            EventError: `events` is something else.
        """
        if isinstance(events, EventBatch):
            return events
        type_ = EventType.of(event_type)
        if type(events) is dict or isinstance(events, Mapping):
            return cls(type_, 1, DictSource([events]), event_id, numbers)
        columns, rows = _arrow_columns(events)
        if columns is not None:
            if event_id is not None and event_id not in columns:
                msg = f"there is no column {event_id!r} to take event ids from"
                raise EventError(msg)
            return cls(type_, rows, ColumnSource(rows, columns), event_id, numbers)
        if isinstance(events, (str, bytes)) or not isinstance(events, Iterable):
            msg = f"expected events as dicts, Arrow data or a DataFrame, found {type(events).__name__}"
            raise EventError(msg)
        listed = events if isinstance(events, (list, tuple)) else list(events)
        for row, event in enumerate(listed):
            if type(event) is not dict and not isinstance(event, Mapping):  # the first test is much faster
                msg = f"event {row}: expected a dict, found {type(event).__name__}"
                raise EventError(msg)
        return cls(type_, len(listed), DictSource(listed), event_id, numbers)

    def __len__(self) -> int:
        return self.rows

    @property
    def ids(self) -> pa.Array:
        """The ids of the events in results: their numbers, counted from 0, or an attribute."""
        if self._ids is None:
            if self._event_id is not None:
                self._ids = self._named_ids(self._event_id)
            else:
                numbers = np.arange(self.rows) if self._numbers is None else self._numbers
                self._ids = pa.array(numbers, pa.int64())
        return self._ids

    def column(self, path: Path) -> Column:
        """The values of an attribute, or of a field within it, names exact.

        A column of the declared type, NULL where an event has no such value; of type `any` if schemaless.
        """
        made = self._made.get(path)
        if made is None:
            made = self._made[path] = self._make(path)
        return made

    @property
    def wide_table(self) -> WideTable | None:
        """The columns, if there are so many of so few rows that it is quicker to convert them in blocks."""
        columns = self.source.columns if isinstance(self.source, ColumnSource) else None
        if not isinstance(columns, WideTable) or self.event_type.is_schemaless:
            return None
        return columns if columns.pays_in_blocks else None

    def blocks(self, table: WideTable, type_: Type, places: I64) -> tuple[ColumnBlock, ...]:
        """The attributes of a declared type in blocks, and perhaps others of that type.

        Blocks are kept, because the segments of a matcher read nearly the same attributes.

        Args:
            table: `wide_table`.
            type_: Of the attributes.
            places: Of their columns in the table.
        """
        asked, blocks = self._blocks.get(type_, (places[:0], ()))
        new = np.setdiff1d(places, asked) if blocks else places
        if len(new):
            zone = self.event_type.time_zone
            found = table.blocks(new)
            blocks = (*blocks, *(ColumnBlock(each, arrow_column(each.array, type_, zone)) for each in found))
            # One assignment: of several threads each sees every column once.
            self._blocks[type_] = np.concatenate([asked, new]), blocks
        return blocks

    def _make(self, path: Path) -> Column:
        if self.event_type.is_schemaless:
            return self.source.schemaless(path)
        type_ = self.event_type.type_at(path)
        if type_ is None:
            msg = f"event type {self.event_type.name} has no attribute {'.'.join(path)}"
            raise EventTypeError(msg)
        return self.source.column(path, type_, self.event_type.time_zone)

    def reading(self, path: Path, type_: Type) -> Column | None:
        """The result of the function `read` on a schemaless attribute, if the source has a kernel for it.

        None where each value has to be looked at, as in a batch of dicts: then `read` does that.
        """
        key = path, type_
        if key not in self._readings:
            self._readings[key] = self.source.reading(path, type_, self.event_type.time_zone)
        return self._readings[key]

    def raw(self, path: Path) -> Values:
        """The values at a path as they came, None where there is none."""
        return self.source.raw(path)

    def names(self) -> Iterable[tuple[int | None, str]]:
        """The name of every attribute with its row; the row is None where all rows have the attribute."""
        return self.source.names()

    def _named_ids(self, name: str) -> pa.Array:
        """The values of a column as ids, as strings if they are not all integers."""
        values = self.raw((name,))
        if isinstance(values, pa.Array):
            return values
        text = converter(STRING, self.event_type.time_zone)
        simple = [plain(value) for value in values]
        if {type(value) for value in simple} <= {int, type(None)}:
            return pa.array(simple, pa.int64())
        return pa.array([None if value is None else text(value) for value in simple], pa.string())


def _arrow_columns(events: Any) -> tuple[Mapping[str, Values] | None, int]:
    """Columns and number of rows of columnar data; None for other data."""
    if type(events).__module__.partition(".")[0] == "pandas" and hasattr(events, "columns"):
        return _pandas_columns(events), len(events)
    if isinstance(events, pa.RecordBatchReader):
        events = events.read_all()
    elif isinstance(events, (pa.StructArray, pa.ChunkedArray)):
        pass
    elif hasattr(events, "__arrow_c_stream__"):
        if not isinstance(events, (pa.Table, pa.RecordBatch)):
            events = pa.RecordBatchReader.from_stream(events).read_all()
    elif hasattr(events, "__arrow_c_array__"):
        events = pa.array(events)
    else:
        return None, 0
    if isinstance(events, (pa.Table, pa.RecordBatch)):
        if events.num_columns > FEW_COLUMNS:
            return WideTable(events), events.num_rows
        names, columns = events.schema.names, events.columns
        return {name: simple_array(column) for name, column in zip(names, columns, strict=True)}, events.num_rows
    array = simple_array(events)
    if not pa.types.is_struct(array.type):
        msg = f"expected an array of structs, found one of {array.type}"
        raise EventError(msg)
    names = [array.type.field(place).name for place in range(array.type.num_fields)]
    children = [simple_array(child) for child in array.flatten()]
    return dict(zip(names, children, strict=True)), len(array)


def _pandas_columns(frame: Any) -> dict[str, Values]:
    """A DataFrame's columns: missing values are NULL, as Spark takes them."""
    columns: dict[str, Values] = {}
    for place, name in enumerate(frame.columns):
        series = frame.iloc[:, place]
        if series.dtype == np.object_:  # values of several kinds, which keep theirs
            missing = series.isna().tolist()
            pairs = zip(series.tolist(), missing, strict=True)
            columns[str(name)] = [None if null is True else value for value, null in pairs]
        else:
            columns[str(name)] = simple_array(pa.array(series, from_pandas=True))
    return columns
