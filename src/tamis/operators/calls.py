"""The calls of one batch of events: each is made once an event, whoever asks and however often."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.events.arrow import arrow_column
from tamis.events.arrow_out import arrow_array
from tamis.language.expression import Call, Constant, Typed
from tamis.operators.running import run
from tamis.values.column import Column, constant_column

Places: TypeAlias = npt.NDArray[np.int64]


class RowFrame(Protocol):
    """Rows of a batch."""

    @property
    def batch_rows(self) -> Places:
        """Which rows of the batch they are."""

    @property
    def rows(self) -> int:
        """How many."""

    def column(self, expression: Typed) -> Column:
        """The expression's value in every row."""

    def chosen(self, rows: Places) -> RowFrame:
        """Some of the rows."""


class _Answers:
    """What calls of one shape gave so far; `places` tells where the answer stands, by event and constants."""

    def __init__(self) -> None:
        self.places: dict[object, int] = {}
        self._values: list[pa.Array] = []

    def add(self, keys: Sequence[object], values: pa.Array) -> None:
        have = len(self.places)
        self._values.append(values)
        self.places.update(zip(keys, range(have, have + len(keys)), strict=True))

    def values(self) -> pa.Array:
        if len(self._values) > 1:
            self._values = [pa.concat_arrays(self._values)]
        return self._values[0]


class Calls:
    """Answers by call and event; several threads may ask, for different events."""

    def __init__(self) -> None:
        self._answers: dict[object, _Answers] = {}
        self._lock = threading.Lock()

    def is_made(self, call: Call, row: int) -> bool:
        """Was the call made for an event?"""
        known = self._answers.get(shape_of(call))
        return known is not None and (row, *_constants(call)) in known.places

    def column(self, call: Call, frame: RowFrame) -> Column:
        """The call's value in every row of a frame; it is made for events of which that is not known."""
        known = self._answers.get(shape_of(call))
        arguments: list[Column] = []
        rows, constants = frame.batch_rows, _constants(call)
        if known is None or not all((row, *constants) in known.places for row in rows.tolist()):
            arguments = [
                constant_column(each.type, each.value, len(rows))
                if isinstance(each, Constant)
                else frame.column(each)
                for each in call.arguments
            ]
        return self.several(call, arguments, rows)

    def several(self, pattern: Call, arguments: Sequence[Column], rows: Places) -> Column:
        """Calls that differ from `pattern` in constants only, one a row, with their arguments.

        Args:
            pattern: One of them.
            arguments: Their values; may be left out if all calls were made already.
            rows: Rows of the batch.
        """
        places = [place for place, each in enumerate(pattern.arguments) if isinstance(each, Constant)]
        if arguments:
            lists = [_keys(arguments[place]) for place in places]
        else:
            lists = [[value] * len(rows) for value in _constants(pattern)]
        keys: list[object] = list(zip(rows.tolist(), *lists, strict=True))
        return self._asked(shape_of(pattern), keys, pattern, arguments)

    def of_arguments(self, call: Call, arguments: Sequence[Column], rows: int) -> Column:
        """The call's value for arguments that are no attributes of events; equal arguments are one call."""
        lists = [_keys(column) for column in arguments]
        keys: list[object] = list(zip(*lists, strict=True)) if lists else [()] * rows
        return self._asked(call.operator, keys, call, arguments)

    def _asked(self, shape: object, keys: list[object], call: Call, arguments: Sequence[Column]) -> Column:
        """The answers by key; those that are not there yet are asked for."""
        operator, returns, zone = call.operator, call.signature.returns, call.signature.zone
        with self._lock:
            answers = self._answers.setdefault(shape, _Answers())
            new = {key: at for at, key in enumerate(keys) if key not in answers.places}
        if len(new) == len(keys):
            found = run(operator, arguments, len(keys), returns, zone)
            with self._lock:
                answers.add(keys, arrow_array(found))
            return found
        if new:
            some = np.array(list(new.values()), np.int64)
            found = run(operator, [column.take(some) for column in arguments], len(some), returns, zone)
            with self._lock:
                answers.add(list(new), arrow_array(found))
        with self._lock:
            places = pa.array([answers.places[key] for key in keys], pa.int64())
            return arrow_column(answers.values().take(places), returns, zone)


def shape_of(call: Call) -> object:
    """What calls have in common that differ in constants only."""
    return (
        call.operator,
        call.signature,
        tuple(None if isinstance(argument, Constant) else argument for argument in call.arguments),
    )


def _constants(call: Call) -> list[object]:
    return [_key(each.value) for each in call.arguments if isinstance(each, Constant)]


def _keys(column: Column) -> list[object]:
    values = column.to_list()
    return values if column.type.name not in ("array", "struct", "double", "float") else [_key(v) for v in values]


def _key(value: object) -> object:
    return repr(value) if isinstance(value, (list, tuple, dict, float)) else value
