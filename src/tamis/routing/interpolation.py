"""Guessing how often a predicate holds that nobody counted, from what was counted of the same attribute.

Comparisons with a bound say which share of events lies below it. Between two such bounds the share is interpolated
by where the new bound stands between them; a single value gets what its two neighbours leave between them, less
the values in there that were counted, and no more than those have on average. Values without distances, as strings
are, stand half-way.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from tamis.predicates.within import Within
from tamis.statistics import AttributeStatistics
from tamis.values.order import order_key, value_of_key
from tamis.values.ranges import ALL, Key, Ranges, after
from tamis.values.types import Type, is_fractional

_ENOUGH = 16
"""Values from which a sample says something."""


class Curve:
    """What is known of one attribute: the share of events below some bounds, and at some single values."""

    def __init__(self, type_: Type, known: Iterable[tuple[Within, float]]) -> None:
        """From predicates of the attribute and the shares of events that they held in."""
        self._type = type_
        counted = list(known)
        self.present = next((share for each, share in counted if each.ranges == ALL and not each.null), 1.0)
        below: dict[Key, float] = {}
        points: dict[Key, float] = {}
        for each, share in counted:
            cuts = each.ranges.cuts
            here = share - (1.0 - self.present if each.null else 0.0)
            if len(cuts) == 1:
                below[cuts[0]] = here if each.ranges.inside else self.present - here
            elif len(cuts) == 2 and not each.ranges.inside and after(cuts[0]) == cuts[1]:
                points[cuts[0]] = here
        self._cuts = sorted(below)
        # Counted at different times, shares need not rise as they must.
        self._below = list(accumulate((min(below[cut], self.present) for cut in self._cuts), max))
        self._counted = points
        self._points = sorted(points)
        self._sums = [0.0, *accumulate(points[key] for key in self._points)]

    def share(self, predicate: Within) -> float | None:
        """The share of events that the predicate is expected to hold in; None if nothing is known."""
        absent = 1.0 - self.present if predicate.null else 0.0
        if not predicate.ranges.cuts:
            return absent + (self.present if predicate.ranges.inside else 0.0)
        found = [self._piece(low, high) for low, high in predicate.ranges.pieces()]
        known = [each for each in found if each is not None]
        return min(1.0, absent + sum(known)) if len(known) == len(found) else None

    def _piece(self, low: Key | None, high: Key | None) -> float | None:
        if low is not None and high is not None and after(low) == high:
            return self._point(low)
        if not self._cuts:
            return None
        start = 0.0 if low is None else self._under(low)
        return max(0.0, (self.present if high is None else self._under(high)) - start)

    def _under(self, cut: Key) -> float:
        """The share of events below a bound."""
        place = bisect_left(self._cuts, cut)
        if place < len(self._cuts) and self._cuts[place] == cut:
            return self._below[place]
        low, high = self._band(place)
        if place in (0, len(self._cuts)):
            return (low + high) / 2
        return low + (high - low) * _fraction(self._type, self._cuts[place - 1], cut, self._cuts[place])

    def _point(self, key: Key) -> float | None:
        """The share of events with one value."""
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
        """The shares of events below the bounds before and at a place."""
        low = self._below[place - 1] if place else 0.0
        return low, self._below[place] if place < len(self._cuts) else self.present


def _fraction(type_: Type, low: Key, cut: Key, high: Key) -> float:
    """How far a cut is on the way from one to another."""
    ends = [_position(type_, each) for each in (low, cut, high)]
    if not all(map(math.isfinite, ends)) or ends[0] >= ends[2]:
        return 0.5
    return (ends[1] - ends[0]) / (ends[2] - ends[0])


def _position(type_: Type, cut: Key) -> float:
    """Where a cut is on the line of values; NaN if there is no such line."""
    if isinstance(cut, (str, bytes)):
        return math.nan
    if isinstance(cut, tuple):
        return float(cut[1])
    return float(value_of_key(type_)(cut)) if is_fractional(type_) else float(cut)


def sampled_share(predicate: Within, facts: AttributeStatistics | None) -> float | None:
    """The share of events by a sample of values; None if there is none that says something."""
    if facts is None or len(facts.sample) < _ENOUGH:
        return None
    absent = 1.0 - facts.presence if predicate.null else 0.0
    ranges: Ranges = predicate.ranges
    if not ranges.cuts:
        return absent + (facts.presence if ranges.inside else 0.0)
    key = order_key(predicate.attribute.type)
    inside = sum(key(value) in ranges for value in facts.sample)
    return absent + facts.presence * (inside + 0.5) / (len(facts.sample) + 1)
