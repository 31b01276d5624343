"""The kernels between terms and an R-tree: boxes of terms, points of events, and a last look at what was found."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.boxes.rows import Rows, empty_view, hide_row, show_row
from tamis.engines.boxes.sides import AXIS, HIGH, LOW, SIDE, Boxes, head_at, holds_at
from tamis.engines.dynamic.predicates import Predicates

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@numba.njit(cache=True, nogil=True)
def ends_of(boxes: Boxes, terms: Shorts, places: Shorts, dimensions: int) -> tuple[Ints, Ints]:
    """The ends of terms in every dimension, without bounds where a term has no side.

    Args:
        boxes: Of the index.
        terms: Whose ends are asked for.
        places: int32[axes]: the dimension of each axis, -1 if it has none; there may be more axes.
        dimensions: How many there are.
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


@numba.njit(cache=True, nogil=True)
def points_of(rows: Rows, places: Shorts, dimensions: int) -> Ints:
    """The values of rows in every dimension; the least for those that are missing, which `verified` sees."""
    points = np.full((len(rows.firsts) - 1, dimensions), LEAST, np.int64)
    for row in range(len(points)):
        for at in range(rows.firsts[row], rows.firsts[row + 1]):
            axis = rows.axes[at]
            if 0 <= axis < len(places) and places[axis] >= 0:
                points[row, places[axis]] = rows.values[at]
    return points


@numba.njit(cache=True, nogil=True)
def verified(
    boxes: Boxes, predicates: Predicates, rows: Rows, found: Shorts, terms: Shorts
) -> tuple[Shorts, Ints]:
    """Rows and heads of those pairs of a row and a term that hold; `found` has equal rows together."""
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
        if holds_at(boxes, predicates, first, view):
            kept[used], heads[used] = shown, head_at(boxes, first)
            used += 1
    return kept[:used].copy(), heads[:used].copy()
