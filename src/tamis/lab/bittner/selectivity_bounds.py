"""The selectivity of "at least k of these operands", with bounds.

Of a formula there are three numbers: a lower and an upper bound, which hold however its predicates depend on each
other, and the selectivity that it has if they are independent. The bounds are right for the events that were
counted, when all predicates of the formula were.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

import numpy as np

from tamis.selectivity.combination import at_least


class Selectivity(NamedTuple):
    """The fraction of events that satisfy a formula: at least, on average, at most."""

    least: float
    average: float
    most: float


def combine(least: int, operands: list[Selectivity]) -> Selectivity:
    """The selectivity of at least so many of the operands; for AND and OR its bounds are those of Fréchet."""
    count = len(operands)
    if least <= 0 or least > count:
        constant = 1.0 if least <= 0 else 0.0
        return Selectivity(constant, constant, constant)
    lows, averages, highs = zip(*operands, strict=True)
    if least == count:
        return Selectivity(max(0.0, sum(lows) - (count - 1)), prod(averages), min(highs))
    if least == 1:
        return Selectivity(max(lows), 1.0 - prod([1.0 - each for each in averages]), min(1.0, sum(highs)))
    average = at_least(least, np.array(averages, np.float64))
    return Selectivity(_lower_bound(lows, least), average, _upper_bound(highs, least))


def _lower_bound(selectivities: Iterable[float], least: int) -> float:
    """Consider the m most frequent operands. An event outside of the result has at most `least` - 1 of them and
    one inside at most m, so what their sum exceeds `least` - 1 by must be in the result, m - `least` + 1 a time.
    """  # noqa: D205
    ordered = sorted(selectivities, reverse=True)
    bounds = [(sum(ordered[:m]) - (least - 1)) / (m - least + 1) for m in range(least, len(ordered) + 1)]
    return max(0.0, *bounds)


def _upper_bound(selectivities: Iterable[float], least: int) -> float:
    """Leave out the m most frequent operands: every event of the result has `least` - m of the others."""
    ordered = sorted(selectivities)
    bounds = [sum(ordered[: len(ordered) - m]) / (least - m) for m in range(least)]
    return min(1.0, *bounds)
