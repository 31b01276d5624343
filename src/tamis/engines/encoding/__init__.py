"""A batch as engines see it: coordinates on the axes of a forest, and which of its tests hold.

Every index encodes a batch for itself, because axes and ranks are its own. Axes that no event of the batch has a
value on take no room and no time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.encoding.dict_events import DictReader, plain_path
from tamis.engines.encoding.dict_values import OddAttributeError, is_scalar
from tamis.engines.encoding.presence import Presence
from tamis.engines.encoding.probes import Probes
from tamis.engines.forest.axes import Axis
from tamis.engines.forest.tests import Tests
from tamis.events.compute import BatchFrame
from tamis.events.sources import Dicts
from tamis.language.expression import Path
from tamis.predicates.base import Frame

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Lines: TypeAlias = tuple[Shorts, Ints, Bytes]
"""`columns`, `coordinates` and `valid` of `Encoded`."""

# Dicts can be read value by value or by columns. Columns are shared by all segments of a matcher, and have a price
# even where most of their rows are empty.
_FEW_EVENTS = 32
"""Up to so many dicts are read value by value."""
_SPARSE = 8
"""More are, too, if they have together one in so many of the values that their columns have room for."""


class Encoded(NamedTuple):
    """The rows of a batch in coordinates.

    rows: how many.
    columns: int32[axes]: the axis' line in `coordinates` and `valid`; -1 if it is NULL in every row.
    coordinates: int64[lines, rows]: anything where not valid.
    valid: uint8[lines, rows].
    tests: int32[n]: the tests that hold somewhere, rising.
    firsts: int64[n + 1]: `hits[firsts[i]:firsts[i + 1]]` are the rows where test `tests[i]` holds, rising.
    hits: int32[...].
    """

    rows: int
    columns: Shorts
    coordinates: Ints
    valid: Bytes
    tests: Shorts
    firsts: Ints
    hits: Shorts


class Encoder:
    """Encodes rows for one forest's axes and tests; several threads may do so at the same time.

    Args:
        axes: Of the forest.
        tests: Of the forest.
        saved: What `Probes.arrays` gave for these tests, so that nothing has to be built again.
    """

    def __init__(
        self, axes: Sequence[Axis], tests: Tests, saved: Mapping[str, npt.NDArray[Any]] | None = None
    ) -> None:
        self.axes = tuple(axes)
        self.tests = Probes(tests, saved)
        attributes = [(number, axis.attribute) for number, axis in enumerate(self.axes)]
        self._all = Presence(attributes)
        computed = [(number, each) for number, each in attributes if plain_path(each) is None]
        self._computed = Presence(computed)
        self._scalar = Presence((number, each) for number, each in computed if is_scalar(each))
        self._elements = Presence((number, each) for number, each in computed if not is_scalar(each))
        self._by_name: dict[str, list[int]] = {}
        for number, each in attributes:
            if (path := plain_path(each)) is not None:
                self._by_name.setdefault(path.steps[0], []).append(number)
        # A plain attribute is found by its name in the batch, without a look at the expression.
        self._steps = [each.steps if isinstance(each, Path) else None for _, each in attributes]
        self._reader: DictReader | None = None
        self._nowhere = np.full(len(self.axes), -1, np.int32)

    def encode(self, frame: Frame) -> Encoded:
        """The rows of a frame."""
        lines: Lines | None = None
        if 0 < frame.rows <= _FEW_EVENTS:
            lines = self._by_value(frame)
        if lines is None:
            numbers = self._all.among(frame.names()) if frame.rows else []
            if frame.rows > _FEW_EVENTS and _count_values(frame) * _SPARSE < len(numbers) * frame.rows:
                lines = self._by_value(frame)
            if lines is None:
                lines = self._lines(frame, numbers)
        return Encoded(frame.rows, *lines, *self.tests.hits(frame))

    def _lines(self, frame: Frame, numbers: Iterable[int]) -> Lines:
        """The lines of the given axes."""
        columns = self._nowhere.copy()
        coordinates: list[Ints] = []
        valid: list[npt.NDArray[np.bool_]] = []
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

    def _by_value(self, frame: Frame) -> Lines | None:
        """The lines of all axes of dicts; None if these are none, or need the care that columns take."""
        if not isinstance(frame, BatchFrame) or not isinstance(frame.batch.source, Dicts):
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
                if type(event) is not dict:  # another mapping may have more than it shows
                    return None
                reader.read(event, axes, coordinates)
                if few and self._scalar:
                    reader.compute(self._scalar.among(event), event, axes, coordinates)
                ends.append(len(axes))
        except OddAttributeError:
            return None
        lines = self._lines_of_values(axes, coordinates, ends)
        left = self._elements if few else self._computed
        return _joined(lines, self._lines(frame, left.among(frame.names()))) if left else lines

    def _lines_of_values(self, axes: list[int], coordinates: list[int], ends: list[int]) -> Lines:
        """The lines of values read row by row; calls of numpy are few and cheap, since one event pays them all."""
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


def _count_values(frame: Frame) -> float:
    """How many values the dicts of a frame have; without end if it is not one of dicts."""
    if not isinstance(frame, BatchFrame) or not isinstance(frame.batch.source, Dicts):
        return math.inf
    return sum(map(len, frame.batch.source.events))


def _joined(some: Lines, others: Lines) -> Lines:
    """The lines of different axes together."""
    columns = np.where(others[0] >= 0, others[0] + np.int32(len(some[1])), some[0])
    return columns, np.concatenate([some[1], others[1]]), np.concatenate([some[2], others[2]])
