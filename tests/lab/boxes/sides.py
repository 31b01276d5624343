"""The sides of a term, read out of a struct that only compiled code can look into."""

from __future__ import annotations

import numba

from tamis.arrays import I64
from tamis.lab.boxes.kernels.boxes import SIDE, Boxes


@numba.njit(cache=True)
def sides_of(boxes: Boxes, term: int) -> I64:
    """int64[sides, 3]: axis, low end and high end of each side."""
    first, length = boxes.firsts[term], boxes.lengths[term]
    return boxes.cells[first : first + SIDE * length].copy().reshape(length, SIDE)
