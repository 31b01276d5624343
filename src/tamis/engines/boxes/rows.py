"""The rows of a batch as boxes see them: of each row the axes that have a value, rare ones first."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.boxes.sides import TESTS, Boxes, View
from tamis.engines.dynamic.index import Event
from tamis.engines.dynamic.predicates import Predicates

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

ABSENT = np.iinfo(np.int64).min
"""What `empty_view` and `hide_row` write for a value that is not there; one that is there may be the same."""


class Rows(NamedTuple):
    """The values of row r are those from `firsts[r]` to `firsts[r + 1]`.

    axes: int32[...]: by rank within a row; TESTS, once, in a row in which a test holds.
    values: int64[...]: anything for TESTS.
    test_firsts, tests: the tests that hold, as in `RowTests`.
    """

    firsts: Ints
    axes: Shorts
    values: Ints
    test_firsts: Ints
    tests: Shorts


@numba.njit(cache=True, nogil=True)
def rows_of(boxes: Boxes, event: Event) -> Rows:
    """The rows of a batch."""
    encoded, tests = event.encoded, event.tests
    order = np.argsort(boxes.ranks, kind="mergesort") - 1
    firsts = np.zeros(encoded.rows + 1, np.int64)
    for axis in order:
        if axis != TESTS and (axis >= len(encoded.columns) or encoded.columns[axis] < 0):
            continue
        for row in range(encoded.rows):
            if axis == TESTS:
                firsts[row + 1] += tests.firsts[row + 1] > tests.firsts[row]
            else:
                firsts[row + 1] += encoded.valid[encoded.columns[axis], row]
    for row in range(encoded.rows):
        firsts[row + 1] += firsts[row]
    ends = firsts[:-1].copy()
    axes, values = np.empty(firsts[-1], np.int32), np.empty(firsts[-1], np.int64)
    for axis in order:
        line = -1 if axis == TESTS or axis >= len(encoded.columns) else encoded.columns[axis]
        for row in range(encoded.rows):
            if axis == TESTS:
                if tests.firsts[row + 1] > tests.firsts[row]:
                    axes[ends[row]], values[ends[row]] = TESTS, 0
                    ends[row] += 1
            elif line >= 0 and encoded.valid[line, row]:
                axes[ends[row]], values[ends[row]] = axis, encoded.coordinates[line, row]
                ends[row] += 1
    return Rows(firsts, axes, values, tests.firsts, tests.tests)


@numba.njit(cache=True, nogil=True)
def empty_view(boxes: Boxes, predicates: Predicates) -> View:
    """Room for a row in which nothing has a value."""
    axes, tests = max(len(boxes.uses) - 1, len(predicates.null_owners.counts)), len(predicates.test_owners)
    return np.full(axes, ABSENT, np.int64), np.zeros(axes, np.uint8), np.zeros(tests, np.uint8)


@numba.njit(cache=True, nogil=True)
def show_row(rows: Rows, row: int, view: View) -> None:
    """Write a row into an empty view."""
    values, there, tested = view
    for at in range(rows.firsts[row], rows.firsts[row + 1]):
        axis = rows.axes[at]
        if axis >= 0:
            values[axis], there[axis] = rows.values[at], 1
    for at in range(rows.test_firsts[row], rows.test_firsts[row + 1]):
        tested[rows.tests[at]] = 1


@numba.njit(cache=True, nogil=True)
def hide_row(rows: Rows, row: int, view: View) -> None:
    """Make a view empty that shows this row."""
    values, there, tested = view
    for at in range(rows.firsts[row], rows.firsts[row + 1]):
        if rows.axes[at] >= 0:
            values[rows.axes[at]], there[rows.axes[at]] = ABSENT, 0
    for at in range(rows.test_firsts[row], rows.test_firsts[row + 1]):
        tested[rows.tests[at]] = 0


@numba.njit(cache=True, nogil=True)
def sides_met(rows: Rows, uses: Ints) -> Ints:
    """Of each row, the sides on the axes that have a value; `uses` has those of axis a at a + 1."""
    found = np.zeros(len(rows.firsts) - 1, np.int64)
    for row in range(len(found)):
        for at in range(rows.firsts[row], rows.firsts[row + 1]):
            found[row] += uses[rows.axes[at] + 1]
    return found
