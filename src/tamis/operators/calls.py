"""The operator calls of one batch of events: each is made at most once for an event, and its result is shared."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tamis.arrays import RowIndices
from tamis.events.arrow import arrow_column
from tamis.events.arrow_out import arrow_array
from tamis.formulas.expression import Constant, OperatorCall
from tamis.formulas.predicates.base import Frame
from tamis.operators.execution import run_operator
from tamis.values.column import Column, constant_column
from tamis.values.types import NESTED


class _CallResults:
    """The results of calls of one shape; `places` maps (row of the event, constants) to a place in `values()`."""

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


class BatchCalls:
    """Results by call and event. Several threads may ask at once if their events differ."""

    def __init__(self) -> None:
        self._by_shape: dict[object, _CallResults] = {}
        self._lock = threading.Lock()

    def is_made(self, call: OperatorCall, row: int) -> bool:
        """Was the call made for the event in this row?"""
        known = self._by_shape.get(call_shape(call))
        return known is not None and (row, *_constants(call)) in known.places

    def column(self, call: OperatorCall, frame: Frame) -> Column:
        """The call's value in every row of a frame; it is made for those events only that have no result yet."""
        known = self._by_shape.get(call_shape(call))
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

    def several(self, pattern: OperatorCall, arguments: Sequence[Column], rows: RowIndices) -> Column:
        """The results of calls that differ from `pattern` in constants only, one call for each row.

        Args:
            pattern: One of them.
            arguments: A column for each argument; may be empty if all calls were made before.
            rows: The row of the batch that each call belongs to.
        """
        places = [place for place, each in enumerate(pattern.arguments) if isinstance(each, Constant)]
        if arguments:
            lists = [_keys(arguments[place]) for place in places]
        else:
            lists = [[value] * len(rows) for value in _constants(pattern)]
        keys: list[object] = list(zip(rows.tolist(), *lists, strict=True))
        return self._results(call_shape(pattern), keys, pattern, arguments)

    def of_arguments(self, call: OperatorCall, arguments: Sequence[Column], rows: int) -> Column:
        """The call's value for arguments that are no attributes of events; equal arguments are one call."""
        lists = [_keys(column) for column in arguments]
        keys: list[object] = list(zip(*lists, strict=True)) if lists else [()] * rows
        return self._results(call.operator, keys, call, arguments)

    def _results(
        self, shape: object, keys: list[object], call: OperatorCall, arguments: Sequence[Column]
    ) -> Column:
        """The results by key; calls without one are made in a single run."""
        operator, returns, zone = call.operator, call.signature.returns, call.signature.zone
        with self._lock:
            results = self._by_shape.setdefault(shape, _CallResults())
            new = {key: at for at, key in enumerate(keys) if key not in results.places}
        if len(new) == len(keys):
            found = run_operator(operator, arguments, len(keys), returns, zone)
            with self._lock:
                results.add(keys, arrow_array(found))
            return found
        if new:
            some = np.array(list(new.values()), np.int64)
            found = run_operator(operator, [column.take(some) for column in arguments], len(some), returns, zone)
            with self._lock:
                results.add(list(new), arrow_array(found))
        with self._lock:
            places = pa.array([results.places[key] for key in keys], pa.int64())
            return arrow_column(results.values().take(places), returns, zone)


def call_shape(call: OperatorCall) -> object:
    """Calls of equal shape differ in their constants only."""
    return (
        call.operator,
        call.signature,
        tuple(None if isinstance(argument, Constant) else argument for argument in call.arguments),
    )


def _constants(call: OperatorCall) -> list[object]:
    return [_key(each.value) for each in call.arguments if isinstance(each, Constant)]


def _keys(column: Column) -> list[object]:
    values = column.to_list()
    return values if column.type.name not in (*NESTED, "double", "float") else [_key(v) for v in values]


def _key(value: object) -> object:
    return repr(value) if isinstance(value, (list, tuple, dict, float)) else value
