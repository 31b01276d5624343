"""A batch as engines see it: coordinates on the axes of a forest, and which of its tests hold.

Every index encodes a batch for itself, because axes and ranks are its own. Axes on which no event of the batch has
a value take neither space nor time.

Dicts can be read in two ways. Column by column is cheaper for many events, and columns are shared by all segments
of a matcher. Value by value costs only what an event has, so it wins for a few events and for sparse ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I32, I64, U8, Arrays, Bools
from tamis.engines.encoding.attribute_filter import AttributeFilter
from tamis.engines.encoding.dict_events import DictReader, plain_path
from tamis.engines.encoding.dict_values import UndeclaredAttributeError, is_scalar
from tamis.engines.encoding.non_interval_index import IndexBuilder, NonIntervalIndex
from tamis.engines.forest.axes import KEY_SCALE, Axis, KeyScale
from tamis.engines.forest.tests import Tests
from tamis.events.event_type import EventType
from tamis.events.sources import DictSource
from tamis.events.wide_tables import Layout, WideTable
from tamis.formulas.expression import Path
from tamis.formulas.predicates.base import Frame
from tamis.frames import BatchFrame
from tamis.values.types import Type

CoordinateLines: TypeAlias = tuple[I32, I64, U8]
"""`columns`, `coordinates` and `valid` of `EncodedBatch`."""

_FEW_EVENTS = 32
"""Batches of up to so many dicts are read value by value."""
_SPARSE = 8
"""Larger batches are, too, if fewer than one in so many cells of their columns has a value."""


class EncodedBatch(NamedTuple):
    """The rows of a batch in coordinates; one line for each axis that is not NULL in all rows.

    rows: number of events.
    columns: int32[axes]: the axis' line in `coordinates` and `valid`; -1 if it is NULL in every row.
    coordinates: int64[lines, rows]: undefined where not valid.
    valid: uint8[lines, rows].
    tests: int32[n]: the tests that hold in some row, ascending.
    firsts: int64[n + 1]: `hits[firsts[i]:firsts[i + 1]]` are the rows where test `tests[i]` holds, ascending.
    hits: int32[...].
    """

    rows: int
    columns: I32
    coordinates: I64
    valid: U8
    tests: I32
    firsts: I64
    hits: I32


class _BlockPlan(NamedTuple):
    """How to read the axes of an encoder from tables of one layout, as events of one type.

    asked: by type, the places of the columns to ask for in blocks.
    axes: int64[columns]: the axis that reads a column in a block, else -1.
    left: axes to read from columns that cannot be part of a block.
    """

    layout: Layout
    event_type: EventType
    asked: list[tuple[Type, I64]]
    axes: I64
    left: list[int]


class Encoder:
    """Encodes rows for one forest's axes and tests; several threads may do so at the same time.

    Args:
        axes: Of the forest.
        tests: Of the forest.
        saved: The result of `NonIntervalIndex.arrays` for these tests; without it, pattern indexes are built.
        build_index: Indexes the formulas inside quantifiers; see `NonIntervalIndex`.
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        tests: Tests,
        saved: Arrays | None = None,
        build_index: IndexBuilder | None = None,
    ) -> None:
        self.axes = tuple(axes)
        self.tests = NonIntervalIndex(tests, saved, build_index)
        attributes = [(number, axis.attribute) for number, axis in enumerate(self.axes)]
        self._all = AttributeFilter(attributes)
        computed = [(number, each) for number, each in attributes if plain_path(each) is None]
        self._computed = AttributeFilter(computed)
        self._scalar = AttributeFilter((number, each) for number, each in computed if is_scalar(each))
        self._elements = AttributeFilter((number, each) for number, each in computed if not is_scalar(each))
        self._by_name: dict[str, list[int]] = {}
        for number, each in attributes:
            if (path := plain_path(each)) is not None:
                self._by_name.setdefault(path.steps[0], []).append(number)
        # The batch finds a plain attribute by its steps: quicker than hashing the expression.
        self._steps = [each.steps if isinstance(each, Path) else None for _, each in attributes]
        # The axes that wide tables are asked for in blocks, by name, and the others.
        self._in_blocks: dict[str, int] = {}
        for number, axis in enumerate(self.axes):
            attribute = axis.attribute
            if isinstance(attribute, Path) and len(attribute.steps) == 1 and isinstance(axis.scale, KeyScale):
                self._in_blocks[attribute.steps[0]] = number
        blocked = set(self._in_blocks.values())
        self._others = AttributeFilter((number, each) for number, each in attributes if number not in blocked)
        self._plan: _BlockPlan | None = None
        self._reader: DictReader | None = None
        self._nowhere = np.full(len(self.axes), -1, np.int32)

    def encode(self, frame: Frame) -> EncodedBatch:
        """Encode the rows of a frame."""
        lines: CoordinateLines | None = None
        if 0 < frame.rows <= _FEW_EVENTS:
            lines = self._lines_by_value(frame)
        if lines is None:
            lines = self._lines_by_block(frame)
        if lines is None:
            numbers = self._all.candidates(frame.names()) if frame.rows else []
            if frame.rows > _FEW_EVENTS and _count_values(frame) * _SPARSE < len(numbers) * frame.rows:
                lines = self._lines_by_value(frame)
            if lines is None:
                lines = self._lines_by_column(frame, numbers)
        return EncodedBatch(frame.rows, *lines, *self.tests.hits(frame))

    def _lines_by_column(self, frame: Frame, numbers: Iterable[int]) -> CoordinateLines:
        """The lines of the given axes, read from columns."""
        columns = self._nowhere.copy()
        coordinates: list[I64] = []
        valid: list[Bools] = []
        batch = frame.batch if isinstance(frame, BatchFrame) else None
        for number in numbers:
            axis, steps = self.axes[number], self._steps[number]
            column = frame.column(axis.attribute) if batch is None or steps is None else batch.column(steps)
            if np.count_nonzero(column.valid):
                columns[number] = len(valid)
                coordinates.append(axis.scale.coordinates(column))
                valid.append(column.valid)
        shape = len(valid), frame.rows
        if not valid:
            return columns, np.empty(shape, np.int64), np.empty(shape, np.uint8)
        return (
            columns,
            np.concatenate(coordinates).reshape(shape),
            np.concatenate(valid).reshape(shape).view(np.uint8),
        )

    def _lines_by_block(self, frame: Frame) -> CoordinateLines | None:
        """The lines of all axes, read from a wide table; None if the frame has none."""
        batch = frame.batch if isinstance(frame, BatchFrame) else None
        table = None if batch is None else batch.wide_table
        if batch is None or table is None:
            return None
        plan = self._plan
        if plan is None or plan.layout is not table.layout or plan.event_type != batch.event_type:
            plan = self._plan = _plan_blocks(self._in_blocks, table.layout, batch.event_type)
        columns, rows, count = self._nowhere.copy(), frame.rows, 0
        cells: list[I64] = []
        values: list[I64] = []
        for type_, places in plan.asked:
            for block, column in batch.blocks(table, type_, places):
                axes = plan.axes[block.places]
                # The values that count: on an axis, and within the bounds of the declared type.
                keep = column.valid & (axes >= 0)[block.columns]
                line_of = np.full(len(axes), -1)
                line_of[block.columns[keep]] = 0
                used = np.flatnonzero(line_of == 0)
                line_of[used] = columns[axes[used]] = np.arange(count, count + len(used))
                count += len(used)
                cells.append(line_of[block.columns[keep]] * rows + block.rows[keep])
                values.append(KEY_SCALE.coordinates(column)[keep])
        coordinates, valid = np.empty((count, rows), np.int64), np.zeros((count, rows), np.uint8)
        if count:
            at = np.concatenate(cells)
            coordinates.ravel()[at] = np.concatenate(values)
            valid.ravel()[at] = 1
        others = plan.left
        if self._others:
            others = others + self._others.candidates(frame.names())
        others = [each for each in others if not self._is_empty(table, each)]
        lines: CoordinateLines = columns, coordinates, valid
        return _concatenate_lines(lines, self._lines_by_column(frame, others)) if others else lines

    def _is_empty(self, table: WideTable, number: int) -> bool:
        """Is an axis that reads an attribute of a table NULL in all rows, as far as one can tell at once?"""
        steps = self._steps[number]
        return steps is not None and table.is_empty(steps[0])

    def _lines_by_value(self, frame: Frame) -> CoordinateLines | None:
        """The lines of all axes, read from dicts; None if the frame has none, or if columns must convert them."""
        if not isinstance(frame, BatchFrame) or not isinstance(frame.batch.source, DictSource):
            return None
        reader = self._reader
        event_type = frame.batch.event_type
        if reader is None or (reader.event_type is not event_type and reader.event_type != event_type):
            reader = self._reader = DictReader(self.axes, self._by_name, event_type)
        axes: list[int] = []
        coordinates: list[int] = []
        ends = [0]
        few = frame.rows <= _FEW_EVENTS
        try:
            for event in frame.batch.source.events:
                if type(event) is not dict:  # a defaultdict, say, has more than it lists
                    return None
                reader.read(event, axes, coordinates)
                if few and self._scalar:
                    reader.compute(self._scalar.candidates(event), event, axes, coordinates)
                ends.append(len(axes))
        except UndeclaredAttributeError:
            return None
        lines = self._lines_of_values(axes, coordinates, ends)
        left = self._elements if few else self._computed
        return (
            _concatenate_lines(lines, self._lines_by_column(frame, left.candidates(frame.names())))
            if left
            else lines
        )

    def _lines_of_values(self, axes: list[int], coordinates: list[int], ends: list[int]) -> CoordinateLines:
        """The lines of values that were read row by row.

        It calls numpy seldom, for a batch may be a single event, which pays for all calls.
        """
        columns, count, rows = self._nowhere.copy(), len(axes), len(ends) - 1
        flat = np.array(axes + coordinates, np.int64)
        numbers, values = flat[:count], flat[count:]
        if rows == 1:
            columns[numbers] = np.arange(count)
            valid = np.empty((count, 1), np.uint8)
            valid.fill(1)
            return columns, values.reshape(count, 1), valid
        used = np.unique(numbers)
        columns[used] = np.arange(len(used))
        at = columns[numbers], np.repeat(np.arange(rows), np.diff(ends))
        shape = len(used), rows
        lines, valid = np.empty(shape, np.int64), np.zeros(shape, np.uint8)
        lines[at] = values
        valid[at] = 1
        return columns, lines, valid


def _plan_blocks(in_blocks: Mapping[str, int], layout: Layout, event_type: EventType) -> _BlockPlan:
    """The plan for axes by the names of their attributes."""
    plan = _BlockPlan(layout, event_type, [], np.full(len(layout.types), -1), [])
    by_type: dict[Type, list[int]] = {}
    for name, number in in_blocks.items():
        place = layout.places.get(name)
        if place is None:
            continue
        type_ = event_type.type_at((name,))
        if type_ is None or layout.types[place] < 0:
            plan.left.append(number)
        else:
            plan.axes[place] = number
            by_type.setdefault(type_, []).append(place)
    plan.asked.extend((type_, np.array(places, np.int64)) for type_, places in by_type.items())
    return plan


def _count_values(frame: Frame) -> float:
    """How many values the dicts of a frame have; infinity if its source is another."""
    if not isinstance(frame, BatchFrame) or not isinstance(frame.batch.source, DictSource):
        return math.inf
    return sum(map(len, frame.batch.source.events))


def _concatenate_lines(some: CoordinateLines, others: CoordinateLines) -> CoordinateLines:
    """Lines of disjoint sets of axes together."""
    columns = np.where(others[0] >= 0, others[0] + np.int32(len(some[1])), some[0])
    return columns, np.concatenate([some[1], others[1]]), np.concatenate([some[2], others[2]])
