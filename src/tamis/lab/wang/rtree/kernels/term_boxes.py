"""From terms to boxes and from events to points, and the verification of what the tree finds."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64
from tamis.kernels import kernel
from tamis.lab.boxes.kernels.boxes import AXIS, HIGH, LOW, SIDE, Boxes, box_holds, head_at
from tamis.lab.boxes.kernels.rows import RowValues, empty_view, hide_row, show_row
from tamis.lab.dynamic.kernels.predicates import Predicates

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@kernel
def term_ends(boxes: Boxes, terms: I32, places: I32, dimensions: int) -> tuple[I64, I64]:
    """int64[terms, dimensions] low and high ends, unbounded where a term has no side.

    Args:
        boxes: All boxes.
        terms: The terms.
        places: int32[axes]: the dimension of each axis, -1 if it has none; later axes have none.
        dimensions: How many dimensions there are.
    """
    lows = np.full((len(terms), dimensions), LEAST, np.int64)
    highs = np.full((len(terms), dimensions), MOST, np.int64)
    for number in range(len(terms)):
        first = boxes.firsts[terms[number]]
        for at in range(first, first + SIDE * boxes.lengths[terms[number]], SIDE):
            axis = boxes.cells[at + AXIS]
            if 0 <= axis < len(places) and places[axis] >= 0:
                lows[number, places[axis]] = boxes.cells[at + LOW]
                highs[number, places[axis]] = boxes.cells[at + HIGH]
    return lows, highs


@kernel
def event_points(rows: RowValues, places: I32, dimensions: int) -> I64:
    """int64[rows, dimensions]: the values of rows, the least int64 if missing; `verify_pairs` excludes those."""
    points = np.full((len(rows.firsts) - 1, dimensions), LEAST, np.int64)
    for row in range(len(points)):
        for at in range(rows.firsts[row], rows.firsts[row + 1]):
            axis = rows.axes[at]
            if 0 <= axis < len(places) and places[axis] >= 0:
                points[row, places[axis]] = rows.values[at]
    return points


@kernel
def verify_pairs(boxes: Boxes, predicates: Predicates, rows: RowValues, found: I32, terms: I32) -> tuple[I32, I64]:
    """Rows and heads of the pairs of a row and a term that hold; equal rows are together in `found`."""
    kept, heads = np.empty(len(found), np.int32), np.empty(len(found), np.int64)
    view = empty_view(boxes, predicates)
    used, shown = 0, -1
    for place in range(len(found)):
        if found[place] != shown:
            if shown >= 0:
                hide_row(rows, shown, view)
            shown = found[place]
            show_row(rows, shown, view)
        first = boxes.firsts[terms[place]]
        if box_holds(boxes, predicates, first, view):
            kept[used], heads[used] = shown, head_at(boxes, first)
            used += 1
    return kept[:used].copy(), heads[:used].copy()
