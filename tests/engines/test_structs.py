"""Objects whose fields compiled code replaces."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.experimental import structref

from tamis.arrays import I64
from tamis.engines.structs import struct


@struct
class Counter(structref.StructRefProxy):
    """Values, and how many there are."""

    values: I64
    count: int


@numba.njit(nogil=True)
def _add(counter: Counter, value: int) -> None:
    if counter.count == len(counter.values):
        longer = np.zeros(2 * len(counter.values), np.int64)
        longer[: counter.count] = counter.values
        counter.values = longer
    counter.values[counter.count] = value
    counter.count += 1


@numba.njit(nogil=True)
def _counted(values: I64) -> tuple[I64, int]:
    counter = Counter(np.empty(1, np.int64), 0)  # type: ignore[no-untyped-call]
    for value in values:
        _add(counter, value)
    return counter.values, counter.count


@pytest.mark.slow
def test_a_function_replaces_an_array_of_its_argument() -> None:
    values, count = _counted(np.array([3, 1, 2], np.int64))
    assert (len(values), count) == (4, 3)
    assert values[:3].tolist() == [3, 1, 2]
