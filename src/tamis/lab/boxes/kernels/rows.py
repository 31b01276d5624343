"""The rows of a batch as points: for each row the axes on which it has a value, rare ones first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.kernels import kernel
from tamis.lab.boxes.kernels.boxes import TESTS, Boxes, RowView
from tamis.lab.dynamic.kernels.predicates import Predicates
from tamis.lab.dynamic.predicate_index import EncodedEvents

ABSENT = np.iinfo(np.int64).min
"""What a `RowView` has for a missing value; a value may be equal to it."""


class RowValues(NamedTuple):
    """The values of row r are those from `firsts[r]` to `firsts[r + 1]`.

    axes: int32[...]: by rank within a row; TESTS, once, in a row in which a test holds.
    values: int64[...]: undefined for TESTS.
    test_firsts, tests: the tests that hold, as in `RowTests`.
    """

    firsts: I64
    axes: I32
    values: I64
    test_firsts: I64
    tests: I32


@kernel
def row_values(boxes: Boxes, event: EncodedEvents) -> RowValues:
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
    return RowValues(firsts, axes, values, tests.firsts, tests.tests)


@kernel
def empty_view(boxes: Boxes, predicates: Predicates) -> RowView:
    """A view of a row without any value."""
    axes, tests = max(len(boxes.uses) - 1, len(predicates.null_owners.counts)), len(predicates.test_owners)
    return np.full(axes, ABSENT, np.int64), np.zeros(axes, np.uint8), np.zeros(tests, np.uint8)


@kernel
def show_row(rows: RowValues, row: int, view: RowView) -> None:
    """Write a row into an empty view: verification then reads values by axis."""
    values, there, tested = view
    for at in range(rows.firsts[row], rows.firsts[row + 1]):
        axis = rows.axes[at]
        if axis >= 0:
            values[axis], there[axis] = rows.values[at], 1
    for at in range(rows.test_firsts[row], rows.test_firsts[row + 1]):
        tested[rows.tests[at]] = 1


@kernel
def hide_row(rows: RowValues, row: int, view: RowView) -> None:
    """Empty a view that shows this row; costs as much as the row has values."""
    values, there, tested = view
    for at in range(rows.firsts[row], rows.firsts[row + 1]):
        if rows.axes[at] >= 0:
            values[rows.axes[at]], there[rows.axes[at]] = ABSENT, 0
    for at in range(rows.test_firsts[row], rows.test_firsts[row + 1]):
        tested[rows.tests[at]] = 0


@kernel
def sides_on_present_axes(rows: RowValues, uses: I64) -> I64:
    """int64[rows]: the number of sides on the axes on which each row has a value; `uses` is `axis_uses`."""
    found = np.zeros(len(rows.firsts) - 1, np.int64)
    for row in range(len(found)):
        for at in range(rows.firsts[row], rows.firsts[row + 1]):
            found[row] += uses[rows.axes[at] + 1]
    return found
