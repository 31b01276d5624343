"""Selectivity: in which share of events a predicate holds, as counted, and a formula, as estimated.

Of a formula there are three numbers: a share that it cannot be below and one that it cannot be above, whatever
predicates have to do with each other, and the share that it has if they have nothing to do with each other. The
bounds are right for the events that were counted, when all predicates of the formula were. Nothing that is routed
depends on these numbers, only which entries are generalised first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tamis.language.expression import Typed
from tamis.language.formula import Formula
from tamis.operators.calling import calls_of
from tamis.predicates.base import Frame, Predicate
from tamis.predicates.within import Within
from tamis.routing.interpolation import Curve, sampled_share
from tamis.statistics import Statistics
from tamis.values.column import Column
from tamis.values.order import order_key
from tamis.values.ranges import Key, Ranges

POINT_SHARE, RANGE_SHARE, TEST_SHARE = 0.01, 0.5, 0.1
"""What is taken for the share of events with one value, with values in a range, and that pass another test, if
nothing at all is known of the attribute."""


class Selectivity(NamedTuple):
    """The share of events that satisfy a formula: at least, on average, at most."""

    least: float
    average: float
    most: float


@dataclass(slots=True)
class _Tally:
    """In how many events a predicate held, of how many."""

    held: float = 0.0
    seen: float = 0.0


class SelectivityTable:
    """Counts of the events in which predicates held.

    Attributes:
        version: Changes whenever the counts do.
    """

    def __init__(self, statistics: Statistics | None = None, *, half_life: int | None = None) -> None:
        """Nothing counted yet.

        Args:
            statistics: What is known of attributes, for predicates that were not counted.
            half_life: Events after which older ones count half, to follow events that change; None for never.
        """
        self.version = 0
        self._statistics = statistics
        self._half_life = half_life
        self._tallies: dict[Predicate, _Tally] = {}
        self._curves: dict[Typed, Curve] | None = None
        self._guesses: dict[Predicate, float] = {}

    @classmethod
    def of_counts(cls, held: Mapping[Predicate, float], total: float) -> SelectivityTable:
        """The table in which these predicates held so often, of so many events."""
        table = cls()
        for predicate, count in held.items():
            table._tallies[predicate] = _Tally(count, total)
        return table

    def __len__(self) -> int:
        """Number of predicates that are counted."""
        return len(self._tallies)

    def track(self, predicates: Iterable[Predicate]) -> None:
        """Count these from now on; not those that call operators, for counting must not."""
        for predicate in predicates:
            if predicate not in self._tallies and not calls_of(predicate):
                self._tallies[predicate] = _Tally()

    def forget(self, predicates: Iterable[Predicate]) -> None:
        """Count these no longer."""
        for predicate in predicates:
            self._tallies.pop(predicate, None)
        self._changed()

    def observe(self, frame: Frame) -> None:
        """Count in which rows of a frame each predicate holds."""
        columns: dict[Typed, _Values] = {}
        for predicate, tally in self._tallies.items():
            if isinstance(predicate, Within):
                values = columns.get(predicate.attribute)
                if values is None:
                    values = columns[predicate.attribute] = _Values(frame.column(predicate.attribute))
                held = values.count(predicate.ranges, predicate.null)
            else:
                held = int(predicate.mask(frame).sum())
            self._add(tally, held, frame.rows)
        self._changed()

    def of(self, predicate: Predicate) -> float:
        """The share of events that a predicate holds in, as counted or, if it was not, as guessed."""
        tally = self._tallies.get(predicate)
        if tally is not None and tally.seen:
            return tally.held / tally.seen
        found = self._guesses.get(predicate)
        if found is None:
            found = self._guesses[predicate] = self._guessed(predicate)
        return found

    def held(self, predicate: Predicate) -> float:
        """In how many of the events that were counted a predicate held; 0 if it was not counted."""
        tally = self._tallies.get(predicate)
        return 0.0 if tally is None else tally.held

    def estimate(self, formula: Formula) -> Selectivity:
        """The share of events that a formula holds in."""
        known: dict[int, Selectivity] = {}
        for node in formula.nodes():
            if node.predicate is not None:
                share = self.of(node.predicate)
                known[id(node)] = Selectivity(share, share, share)
            else:
                known[id(node)] = self.combined(node.least, [known[id(operand)] for operand in node.operands])
        return known[id(formula)]

    def combined(self, least: int, operands: list[Selectivity]) -> Selectivity:
        """The selectivity of at least so many of operands, see `combined`."""
        return combined(least, operands)

    def _add(self, tally: _Tally, held: int, seen: int) -> None:
        if self._half_life is not None and tally.seen > self._half_life:
            tally.held /= 2
            tally.seen /= 2
        tally.held += held
        tally.seen += seen

    def _changed(self) -> None:
        self.version += 1
        self._curves = None
        self._guesses.clear()

    def _guessed(self, predicate: Predicate) -> float:
        if not isinstance(predicate, Within):
            return TEST_SHARE
        share = self._curve(predicate.attribute).share(predicate)
        if share is None and self._statistics is not None:
            share = sampled_share(predicate, self._statistics.of(predicate.attribute))
        if share is None:
            share = RANGE_SHARE if predicate.ranges.points() is None else POINT_SHARE
        return share

    def _curve(self, attribute: Typed) -> Curve:
        if self._curves is None:
            counted: dict[Typed, list[tuple[Within, float]]] = {}
            for predicate, tally in self._tallies.items():
                if isinstance(predicate, Within) and tally.seen:
                    counted.setdefault(predicate.attribute, []).append((predicate, tally.held / tally.seen))
            self._curves = {each: Curve(each.type, known) for each, known in counted.items()}
        return self._curves.get(attribute) or Curve(attribute.type, ())


class _Values:
    """The values of a column, sorted when they are first compared."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._present = int(column.valid.sum())
        self._keys: list[Key] | None = None

    def count(self, ranges: Ranges, null: bool) -> int:
        """How many are in the ranges, or NULL if that counts."""
        absent = len(self._column) - self._present if null else 0
        if not ranges.cuts:
            return absent + (self._present if ranges.inside else 0)
        if self._keys is None:
            values = self._column.take(self._column.valid.nonzero()[0]).to_list()
            self._keys = sorted(map(order_key(self._column.type), values))
        keys = self._keys
        for low, high in ranges.pieces():
            start = 0 if low is None else bisect_left(keys, low)
            absent += (len(keys) if high is None else bisect_left(keys, high)) - start
        return absent


def combined(least: int, operands: list[Selectivity]) -> Selectivity:
    """The selectivity of at least so many of operands.

    The bounds hold whatever operands have to do with each other; for AND and OR they are those of Fréchet.
    """
    count = len(operands)
    if least <= 0 or least > count:
        share = 1.0 if least <= 0 else 0.0
        return Selectivity(share, share, share)
    lows, averages, highs = zip(*operands, strict=True)
    if least == count:
        return Selectivity(max(0.0, sum(lows) - (count - 1)), prod(averages), min(highs))
    if least == 1:
        return Selectivity(max(lows), 1.0 - prod([1.0 - each for each in averages]), min(1.0, sum(highs)))
    return Selectivity(
        _at_least_so_many(lows, least), _independent(averages, least), _at_most_so_many(highs, least)
    )


def _at_least_so_many(shares: Iterable[float], least: int) -> float:
    """No fewer: among the m most frequent ones, all that is beyond `least` - 1 each must fall on somebody."""
    shares = sorted(shares, reverse=True)
    bounds = [(sum(shares[:some]) - (least - 1)) / (some - least + 1) for some in range(least, len(shares) + 1)]
    return max(0.0, *bounds)


def _at_most_so_many(shares: Iterable[float], least: int) -> float:
    """No more: without the m most frequent ones, `least` - m others must share what they have."""
    shares = sorted(shares)
    bounds = [sum(shares[: len(shares) - some]) / (least - some) for some in range(least)]
    return min(1.0, *bounds)


def _independent(shares: Iterable[float], least: int) -> float:
    """If they are independent: how likely k of those so far are, one operand after the other."""
    likely = [1.0] + [0.0] * least
    for share in shares:
        likely[least] += likely[least - 1] * share
        for held in range(least - 1, 0, -1):
            likely[held] = likely[held] * (1.0 - share) + likely[held - 1] * share
        likely[0] *= 1.0 - share
    return likely[least]
