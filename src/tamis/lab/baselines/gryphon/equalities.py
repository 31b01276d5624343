"""Which leaves are equalities, for which a matching tree has edges.

The answer depends on the predicate alone, never on the rest of the forest, so that equal predicates always get the
same one. Where a scale cannot tell, it is no: such a predicate is verified at the end of a path instead.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I64, U8, Bools
from tamis.engines.array_kernels import group_by_number
from tamis.engines.forest import INTERVAL, Forest
from tamis.engines.forest.axes import Axis, KeyScale, NumberScale, TextScale
from tamis.kernels import kernel
from tamis.values.order import key_bounds


def equalities_of(forest: Forest) -> Bools:
    """For every leaf, does it hold for exactly one value of its attribute, and not for NULL?"""
    leaves = forest.leaves
    found = (leaves.kinds == INTERVAL) & (leaves.nulls == 0)
    firsts, order = group_by_number(np.ascontiguousarray(leaves.axes), len(forest.axes))
    for number, axis in enumerate(forest.axes):
        here = order[firsts[number] : firsts[number + 1]]
        found[here] &= _is_one_value(axis, leaves.lows[here], leaves.highs[here])
    return np.asarray(found, np.bool_)


def _is_one_value(axis: Axis, lows: I64, highs: I64) -> Bools:
    """bool[n]: does each of n intervals of coordinates hold one value?"""
    if isinstance(axis.scale, KeyScale):
        bounds = key_bounds(axis.attribute.type)
        assert bounds is not None, "keys have bounds"
        # TRUE, for one, is everything from 1 on, since no Boolean is beyond.
        return np.asarray(np.maximum(lows, bounds[0]) == np.minimum(highs, bounds[1]))
    steps = _steps(axis)
    found = (lows == highs) & (lows >= 1) & (lows <= len(steps))
    found[found] = steps[lows[found] - 1]
    return np.asarray(found)


def _steps(axis: Axis) -> Bools:
    """For every cut but the last: is there one value between it and the next?"""
    scale = axis.scale
    if isinstance(scale, TextScale):
        return np.asarray(_text_steps(scale.offsets, scale.data))
    found = np.zeros(max(len(scale) - 1, 0), np.bool_)
    if isinstance(scale, NumberScale):
        # One whole number and the double of the same value are one. What is beyond either has no place in both.
        inner = max(min(len(scale.ints), len(scale.doubles)) - 1, 0)
        ints, doubles = scale.ints[: inner + 1], scale.doubles[: inner + 1]
        found[:inner] = (ints[1:] - 1 <= ints[:-1]) & (doubles[1:] - 1 <= doubles[:-1])
    elif not isinstance(scale, KeyScale):
        found[:] = [low + 1 == high for low, high in zip(scale.cuts[:-1], scale.cuts[1:], strict=True)]
    return found


@kernel
def _text_steps(offsets: I64, data: U8) -> Bools:
    """Is the next cut the text itself and a zero byte, before which nothing else comes?"""
    found = np.zeros(max(len(offsets) - 2, 0), np.bool_)
    for cut in range(len(found)):
        start, end, last = offsets[cut], offsets[cut + 1], offsets[cut + 2] - 1
        if last - end != end - start or data[last] != 0:
            continue
        place = 0
        while start + place < end and data[start + place] == data[end + place]:
            place += 1
        found[cut] = start + place == end
    return found
