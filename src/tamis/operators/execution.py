"""Execution of an operator on a batch of arguments. A call that fails is NULL, and only that one.

A run that fails is repeated on halves of its rows until the failing rows are found, so that the result of an event
is independent of the batch. A run that times out is not repeated.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.events.arrow import arrow_column
from tamis.events.arrow_out import arrow_array, arrow_type
from tamis.operators.meters import Meter, meter
from tamis.operators.registry import OPERATORS, Operator
from tamis.values.column import Column
from tamis.values.types import Type

ArgumentArrays: TypeAlias = Sequence[pa.Array]

_SHOWN = 120


class WrongResultError(Exception):
    """An operator returned something that is not one value for each row."""


def run_operator(name: str, columns: Sequence[Column], rows: int, returns: Type, zone: str = "UTC") -> Column:
    """The results of an operator, one for each row; NULL where an argument is NULL and where the call fails."""
    operator = OPERATORS.get(name)
    if operator is None:
        meter(name).count(skipped=rows)
        return arrow_column(pa.nulls(rows, arrow_type(returns)), returns, zone)
    valid = np.ones(rows, np.bool_)
    for column in columns:
        valid &= column.valid
    asked = np.flatnonzero(valid)
    arguments = [arrow_array(column if len(asked) == rows else column.take(asked)) for column in columns]
    results = _cached_results(operator, arguments, len(asked))
    if len(asked) < rows:
        places = np.full(rows, -1, np.int64)
        places[asked] = np.arange(len(asked))
        results = results.take(pa.array(places, mask=~valid))
    return arrow_column(results, returns, zone)


def _cached_results(operator: Operator, arguments: ArgumentArrays, rows: int) -> pa.Array:
    """One result for each row; from the cache if the operator has one."""
    counts = meter(operator.name)
    if not operator.cache:
        return _run_batch(operator, arguments, rows, counts)
    keys = list(zip(*(array.to_pylist() for array in arguments), strict=True)) if arguments else [()] * rows
    texts = [repr(key) for key in keys]
    cache = _cache_of(operator)
    wanted = {text: row for row, text in reversed(list(enumerate(texts))) if text not in cache}
    new = sorted(wanted.values())
    counts.count(cached=rows - len(new))
    known = {text: cache[text] for text in texts if text in cache}
    if new:
        found = _run_batch(
            operator, [array.take(pa.array(new)) for array in arguments], len(new), counts
        ).to_pylist()
        fresh = dict(zip((texts[row] for row in new), found, strict=True))
        known |= fresh
        cache.keep(fresh)
    return pa.array([known[text] for text in texts], arrow_type(operator.returns))


def _run_batch(operator: Operator, arguments: ArgumentArrays, rows: int, counts: Meter) -> pa.Array:
    type_ = arrow_type(operator.returns)
    parts: list[pa.Array] = []
    waiting = [(0, rows)] if rows else []
    while waiting:
        start, stop = waiting.pop()
        if counts.is_open():
            counts.count(skipped=stop - start)
            parts.append(pa.nulls(stop - start, type_))
            continue
        some = [array.slice(start, stop - start) for array in arguments]
        began = time.perf_counter()
        try:
            answer = _run_once(operator, some, stop - start, type_)
        except Exception as error:
            # The code is not ours and may raise anything: it is counted, and kept with its traceback.
            seconds = time.perf_counter() - began
            if stop - start > 1 and not isinstance(error, TimeoutError):
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
            else:
                shown = ", ".join(_abbreviate(array[0].as_py()) for array in some)
                counts.record_failure(stop - start, seconds, shown, error)
                parts.append(pa.nulls(stop - start, type_))
        else:
            counts.record_run(stop - start, time.perf_counter() - began)
            parts.append(answer)
    return pa.concat_arrays(parts) if parts else pa.nulls(0, type_)


def _run_once(operator: Operator, arguments: ArgumentArrays, rows: int, type_: pa.DataType) -> pa.Array:
    """One run of the operator's function; raises what the function raises, or WrongResultError."""
    if operator.batch:
        found = _run_in_time(operator, partial(operator.function, *arguments))
    else:
        values = list(zip(*(array.to_pylist() for array in arguments), strict=True)) if arguments else [()] * rows
        found = [_run_in_time(operator, partial(operator.function, *value)) for value in values]
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if not hasattr(found, "__len__") or isinstance(found, (str, bytes)):
        msg = f"{operator.name} returned {_abbreviate(found)}, expected an array"
        raise WrongResultError(msg)
    if len(found) != rows:
        msg = f"{operator.name} returned {len(found)} values for {rows} rows"
        raise WrongResultError(msg)
    if isinstance(found, pa.Array):
        return found if found.type == type_ else found.cast(type_)
    return pa.array(found, type_, from_pandas=False)


def _run_in_time(operator: Operator, function: Callable[[], Any]) -> Any:
    """The result of the function. After the timeout its thread is abandoned: Python cannot stop it."""
    if operator.timeout is None:
        return function()
    outcome: list[Any] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            raised.append(error)  # for the thread that waits

    thread = threading.Thread(target=work, name=f"operator-{operator.name}", daemon=True)
    thread.start()
    thread.join(operator.timeout)
    if raised:
        raise raised[0]
    if not outcome:
        msg = f"{operator.name} took more than {operator.timeout} s"
        raise TimeoutError(msg)
    return outcome[0]


def _abbreviate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


class _ResultCache:
    """The results for the last arguments, by their text."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def __getitem__(self, key: str) -> Any:
        return self._answers[key]

    def keep(self, answers: dict[str, Any]) -> None:
        with self._lock:
            self._answers.update(answers)
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)


_CACHES: dict[int, tuple[Operator, _ResultCache]] = {}


def _cache_of(operator: Operator) -> _ResultCache:
    return _CACHES.setdefault(id(operator), (operator, _ResultCache(operator.cache)))[1]
