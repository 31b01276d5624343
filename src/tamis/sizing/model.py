"""The time of matching an event by the number of subscriptions: a model of four coefficients, and its fit.

A core takes `a + b * N^c + d * matches` microseconds for an event, with N subscriptions in one segment. None of
the four is negative. Segments are searched one after the other, so the second term counts for each; an event is
read once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tamis.arrays import F64

_EXPONENTS = np.linspace(0.05, 1.0, 96)


@dataclass(frozen=True, slots=True)
class Model:
    """Microseconds of a core for an event: `a + S * b * (N / S)^c + d * matches`.

    Attributes:
        a: For an event that finds nothing among nothing.
        b: For the search of a segment.
        c: How the search grows.
        d: For a match.
        residuals: Of the points that it was fitted to: predicted over measured, less one.
    """

    a: float
    b: float
    c: float
    d: float
    residuals: tuple[float, ...] = ()

    def microseconds(self, subscriptions: float, matches: float, segments: int = 1) -> float:
        """For an event and so many subscriptions in some segments of equal size.

        >>> Model(a=2.0, b=0.5, c=0.5, d=0.1).microseconds(10_000, 20)
        54.0
        """
        return float(self.a + segments * self.b * (subscriptions / segments) ** self.c + self.d * matches)


def fit(points: Sequence[tuple[float, float, float]]) -> Model:
    """The model that is nearest to (subscriptions, matches, microseconds) of some points, each of one segment.

    Nearest by squares of relative errors, so that small numbers of subscriptions count as much as large ones: for
    each exponent a linear problem with three unknowns, of which any that would be negative is 0.
    """
    sizes, matches, times = np.array(points, np.float64).T
    best: tuple[float, Model] | None = None
    for exponent in _EXPONENTS:
        # Columns of about 1, so that none is lost to rounding.
        scale = np.array([1.0, sizes.max() ** exponent, max(matches.max(), 1e-9)])
        design = np.column_stack([np.ones_like(sizes), sizes**exponent, matches]) / scale
        weights = _not_negative(design / times[:, None], np.ones_like(times))
        residuals = design @ weights / times - 1.0
        error = float(residuals @ residuals)
        if best is None or error < best[0] - 1e-12:
            a, b, d = (weights / scale).tolist()
            best = error, Model(a, b, float(exponent), d, tuple(residuals.tolist()))
    assert best is not None
    return best[1]


def _not_negative(design: F64, wanted: F64) -> F64:
    """Least squares with unknowns of at least 0: of all choices of those that are not 0, the best."""
    unknowns = design.shape[1]
    best = np.zeros(unknowns)
    least = float(wanted @ wanted)
    for count in range(1, unknowns + 1):
        for chosen in combinations(range(unknowns), count):
            found = np.zeros(unknowns)
            found[list(chosen)] = np.linalg.lstsq(design[:, chosen], wanted, rcond=None)[0]
            error = float(((design @ found - wanted) ** 2).sum())
            if (found >= 0).all() and error < least:
                best, least = found, error
    return best
