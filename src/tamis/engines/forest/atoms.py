"""The kernel that turns atoms of known shapes into leaves, a whole column of conditions at once.

It interprets an atom as `tamis.language.operands.Operand` does. Ends of intervals that are ranks must be known;
see `tamis.engines.forest.atom_cuts`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.forest import INTERVAL, PIECES, TEST, Leaves, Pieces
from tamis.engines.forest.atom_cuts import AtomColumn
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.kernels import kernel
from tamis.language.skeleton import SHAPE_BARE, SHAPE_BETWEEN, SHAPE_IN, SHAPE_LIKE, SHAPE_NULL
from tamis.syntax.tokens import Kind

# numba sees kinds as plain integers.
_EQ, _NE, _LT, _LE, _GT, _GE = (
    *(int(Kind.EQ), int(Kind.NE), int(Kind.LT)),
    *(int(Kind.LE), int(Kind.GT), int(Kind.GE)),
)


class AxisBounds(NamedTuple):
    """One entry per axis: the kind of its coordinates, and their range."""

    ranked: U8  # 1 if coordinates are ranks
    leasts: I64
    greatests: I64


@kernel
def fill_leaves(
    atoms: AtomColumn, axes: I32, tests: I32, line: AxisBounds, ends: I64, out: Leaves, pieces: Pieces, base: int
) -> int:
    """Fill in the leaf of every atom; returns the number of pieces.

    axes: per atom, the number of its axis; tests: per atom, the number of its test or -1; ends: per constant its
    two ends where they are ranks; base: number of the first piece.
    """
    # Arrays are taken out of their tuples once, not once an atom: that costs more than the rest.
    shapes, constants = atoms.shapes.shapes, atoms.shapes.constants
    keys, skip, truths = atoms.keys, atoms.skip, atoms.holds
    ranked, leasts, greatests = line.ranked, line.leasts, line.greatests
    kinds, nulls, out_axes, lows, highs = out.kinds, out.nulls, out.axes, out.lows, out.highs
    piece_lows, piece_highs = pieces.lows, pieces.highs
    used = 0
    for atom in range(len(axes)):
        if skip[atom]:
            continue
        axis = axes[atom]
        nulls[atom], out_axes[atom] = 0, axis
        if tests[atom] >= 0:
            kinds[atom], lows[atom], highs[atom] = TEST, tests[atom], 0
            continue
        kinds[atom] = INTERVAL
        shape, holds = shapes[atom], truths[atom] == 1
        first = constants[atom]
        if shape == SHAPE_NULL:
            nulls[atom] = truths[atom]
            lows[atom], highs[atom] = HIGHEST if holds else LOWEST, LOWEST if holds else HIGHEST
            continue
        if shape == SHAPE_BARE:
            lows[atom], highs[atom] = 1 if holds else LOWEST, HIGHEST if holds else 0
            continue
        least, greatest = leasts[axis], greatests[axis]
        if shape == SHAPE_IN and constants[atom + 1] - first > 1:
            points = np.empty(constants[atom + 1] - first, np.int64)
            for place in range(len(points)):
                points[place] = ends[2 * (first + place)] if ranked[axis] else keys[first + place]
            found = _write_points(points, least, greatest, holds, pieces, used)
            if found > 1:
                kinds[atom], lows[atom], highs[atom] = PIECES, base + used, base + used + found
                used += found
            else:
                lows[atom] = piece_lows[used] if found else HIGHEST
                highs[atom] = piece_highs[used] if found else LOWEST
            continue
        # The first coordinate inside and the first one behind; an end outside of the range of the axis becomes
        # open.
        low, high = np.int64(LOWEST), np.int64(HIGHEST)
        is_empty = False
        if shape != _LT and shape != _LE:
            start = ends[2 * first] if ranked[axis] else keys[first] + (1 if shape == _GT else 0)
            is_empty = bool(start > greatest)
            if start > least:
                low = start
        if shape != _GT and shape != _GE:
            constant = first + 1 if shape == SHAPE_BETWEEN else first
            if not ranked[axis]:
                behind = keys[constant] + (0 if shape == _LT else 1)
            elif shape == SHAPE_LIKE:
                behind = ends[2 * constant + 1]
            else:
                behind = ends[2 * constant] + (1 if shape == _EQ or shape == _NE or shape == SHAPE_IN else 0)
            is_empty |= bool(behind <= least)
            if behind <= greatest:
                high = behind - 1
        is_empty |= bool(low > high)
        if holds != (shape == _NE):
            lows[atom], highs[atom] = HIGHEST if is_empty else low, LOWEST if is_empty else high
        elif is_empty:
            lows[atom], highs[atom] = LOWEST, HIGHEST
        elif low != LOWEST and high != HIGHEST:
            piece_lows[used], piece_highs[used] = LOWEST, low - 1
            piece_lows[used + 1], piece_highs[used + 1] = high + 1, HIGHEST
            kinds[atom], lows[atom], highs[atom] = PIECES, base + used, base + used + 2
            used += 2
        elif low != LOWEST:
            lows[atom], highs[atom] = LOWEST, low - 1
        elif high != HIGHEST:
            lows[atom], highs[atom] = high + 1, HIGHEST
        else:
            lows[atom], highs[atom] = HIGHEST, LOWEST
    return used


@kernel
def _sort(values: I64) -> None:
    """Shell's sort, because most lists are short and numba takes seconds to compile its own."""
    gap = 1
    while 3 * gap < len(values):
        gap = 3 * gap + 1
    while gap:
        for first in range(gap, len(values)):
            value = values[first]
            place = first
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@kernel
def _write_points(points: I64, least: int, greatest: int, holds: bool, pieces: Pieces, used: int) -> int:
    """Write the pieces of an IN, or of its complement; returns their number."""
    _sort(points)
    count = 0
    low, high = np.int64(HIGHEST), np.int64(LOWEST)  # the piece under construction
    before = np.int64(LOWEST)  # of the complement: where its next piece begins
    for place in range(len(points) + 1):
        at_end = place == len(points)
        point = np.int64(0) if at_end else points[place]
        if not at_end and (point < least or point > greatest or point == high):
            continue
        if not at_end and low <= high and point == high + 1:
            high = point
            continue
        if low <= high:
            start = LOWEST if low <= least else low
            end = HIGHEST if high >= greatest else high
            if holds:
                pieces.lows[used + count], pieces.highs[used + count] = start, end
                count += 1
            else:
                if start != LOWEST:
                    pieces.lows[used + count], pieces.highs[used + count] = before, start - 1
                    count += 1
                if end == HIGHEST:
                    return count
                before = np.int64(end + 1)
        low, high = point, point
    if not holds:
        pieces.lows[used + count], pieces.highs[used + count] = before, HIGHEST
        count += 1
    return count
