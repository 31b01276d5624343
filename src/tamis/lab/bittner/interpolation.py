"""The selectivity of a predicate that was not counted, from counted ones on the same attribute.

A comparison with a bound gives one point of the attribute's cumulative distribution. Between two such bounds the
distribution is linear. A single value gets the fraction between its two neighbouring bounds, less the values there
that were counted, and no more than those have on average. Values without distances, such as strings, are half-way
between their neighbours.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from tamis.formulas.predicates.within import Within
from tamis.values.order import value_of_key
from tamis.values.ranges import ALL, Key, after
from tamis.values.types import Type, is_fractional


class Curve:
    """The distribution of one attribute: the fraction of events below some bounds, and at some single values."""

    def __init__(self, type_: Type, known: Iterable[tuple[Within, float]]) -> None:
        """From predicates of the attribute, each with the fraction of events in which it held."""
        self._type = type_
        counted = list(known)
        self._non_null = next(
            (fraction for each, fraction in counted if each.ranges == ALL and not each.null), 1.0
        )
        below: dict[Key, float] = {}
        points: dict[Key, float] = {}
        for each, fraction in counted:
            cuts = each.ranges.cuts
            here = fraction - (1.0 - self._non_null if each.null else 0.0)
            if len(cuts) == 1:
                below[cuts[0]] = here if each.ranges.inside else self._non_null - here
            elif len(cuts) == 2 and not each.ranges.inside and after(cuts[0]) == cuts[1]:
                points[cuts[0]] = here
        self._cuts = sorted(below)
        # A distribution rises; its points may not, when they were counted at different times.
        self._below = list(accumulate((min(below[cut], self._non_null) for cut in self._cuts), max))
        self._counted = points
        self._points = sorted(points)
        self._sums = [0.0, *accumulate(points[key] for key in self._points)]

    def selectivity(self, predicate: Within) -> float | None:
        """The selectivity of a predicate of the attribute; None if no counted predicate helps."""
        null = 1.0 - self._non_null if predicate.null else 0.0
        if not predicate.ranges.cuts:
            return null + (self._non_null if predicate.ranges.inside else 0.0)
        found = [self._piece(low, high) for low, high in predicate.ranges.pieces()]
        known = [each for each in found if each is not None]
        return min(1.0, null + sum(known)) if len(known) == len(found) else None

    def _piece(self, low: Key | None, high: Key | None) -> float | None:
        if low is not None and high is not None and after(low) == high:
            return self._point(low)
        if not self._cuts:
            return None
        start = 0.0 if low is None else self._under(low)
        return max(0.0, (self._non_null if high is None else self._under(high)) - start)

    def _under(self, cut: Key) -> float:
        """The fraction of events below a bound."""
        place = bisect_left(self._cuts, cut)
        if place < len(self._cuts) and self._cuts[place] == cut:
            return self._below[place]
        low, high = self._band(place)
        if place in (0, len(self._cuts)):
            return (low + high) / 2
        return low + (high - low) * _fraction(self._type, self._cuts[place - 1], cut, self._cuts[place])

    def _point(self, key: Key) -> float | None:
        """The fraction of events with one value."""
        counted = self._counted.get(key)
        if counted is not None:
            return counted
        if not self._cuts:
            return self._sums[-1] / len(self._points) if self._points else None
        place = bisect_right(self._cuts, key)
        low, high = self._band(place)
        first = bisect_left(self._points, self._cuts[place - 1]) if place else 0
        last = bisect_left(self._points, self._cuts[place]) if place < len(self._cuts) else len(self._points)
        inside = self._sums[last] - self._sums[first]
        rest = max(0.0, high - low - inside)
        return min(rest, inside / (last - first)) if last > first else rest

    def _band(self, place: int) -> tuple[float, float]:
        """The fractions of events below the bounds before and at a place."""
        low = self._below[place - 1] if place else 0.0
        return low, self._below[place] if place < len(self._cuts) else self._non_null


def _fraction(type_: Type, low: Key, cut: Key, high: Key) -> float:
    """How far a cut is on the way from low to high, 0 to 1."""
    ends = [_position(type_, each) for each in (low, cut, high)]
    if not all(map(math.isfinite, ends)) or ends[0] >= ends[2]:
        return 0.5
    return (ends[1] - ends[0]) / (ends[2] - ends[0])


def _position(type_: Type, cut: Key) -> float:
    """A cut as a number; NaN for a value without distances."""
    if isinstance(cut, (str, bytes)):
        return math.nan
    if isinstance(cut, tuple):
        return float(cut[1])
    return float(value_of_key(type_)(cut)) if is_fractional(type_) else float(cut)
