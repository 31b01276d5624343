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
        self._ranges: dict[Typed, dict[Within, _Tally]] = {}
        self._others: dict[Predicate, _Tally] = {}
        self._curves: dict[Typed, Curve] = {}
        self._guesses: dict[Predicate, float] = {}

    @classmethod
    def of_counts(cls, held: Mapping[Predicate, float], total: float) -> SelectivityTable:
        """The table in which these predicates held so often, of so many events."""
        table = cls()
        table.track(held)
        for predicate, count in held.items():
            tally = table._tally(predicate)
            assert tally is not None, "it is tracked"
            tally.held, tally.seen = count, total
        return table

    def __len__(self) -> int:
        """Number of predicates that are counted."""
        return len(self._others) + sum(map(len, self._ranges.values()))

    def track(self, predicates: Iterable[Predicate]) -> None:
        """Count these from now on; not those that call operators, for counting must not."""
        for predicate in predicates:
            if isinstance(predicate, Within):
                known = self._ranges.get(predicate.attribute)
                if known is None:
                    if calls_of(predicate):
                        continue
                    known = self._ranges[predicate.attribute] = {}
                known.setdefault(predicate, _Tally())
            elif not calls_of(predicate):
                self._others.setdefault(predicate, _Tally())

    def forget(self, predicates: Iterable[Predicate]) -> None:
        """Count these no longer."""
        for predicate in predicates:
            if isinstance(predicate, Within):
                self._ranges.get(predicate.attribute, {}).pop(predicate, None)
            else:
                self._others.pop(predicate, None)
        self._changed()

    def observe(self, frame: Frame) -> None:
        """Count in which rows of a frame each predicate holds."""
        for attribute, known in self._ranges.items():
            if known:
                values = _Values(frame.column(attribute))
                for within, tally in known.items():
                    self._add(tally, values.count(within.ranges, within.null), frame.rows)
        for predicate, tally in self._others.items():
            self._add(tally, int(predicate.mask(frame).sum()), frame.rows)
        self._changed()

    def of(self, predicate: Predicate) -> float:
        """The share of events that a predicate holds in, as counted or, if it was not, as guessed."""
        tally = self._tally(predicate)
        if tally is not None and tally.seen:
            return tally.held / tally.seen
        found = self._guesses.get(predicate)
        if found is None:
            found = self._guesses[predicate] = self._guessed(predicate)
        return found

    def held(self, predicate: Predicate) -> float:
        """In how many of the events that were counted a predicate held; 0 if it was not counted."""
        tally = self._tally(predicate)
        return 0.0 if tally is None else tally.held

    def estimate(self, formula: Formula, memory: dict[int, Selectivity] | None = None) -> Selectivity:
        """The share of events that a formula holds in.

        Args:
            formula: Any.
            memory: Shares what is known of nodes, by identity, while they are alive and the version is the same.
        """
        memory = {} if memory is None else memory
        known = memory.get(id(formula))
        if known is None:
            if formula.predicate is not None:
                share = self.of(formula.predicate)
                known = Selectivity(share, share, share)
            else:
                known = combined(formula.least, [self.estimate(each, memory) for each in formula.operands])
            memory[id(formula)] = known
        return known

    def _tally(self, predicate: Predicate) -> _Tally | None:
        if isinstance(predicate, Within):
            known = self._ranges.get(predicate.attribute)
            return None if known is None else known.get(predicate)
        return self._others.get(predicate)

    def _add(self, tally: _Tally, held: int, seen: int) -> None:
        if self._half_life is not None and tally.seen > self._half_life:
            tally.held /= 2
            tally.seen /= 2
        tally.held += held
        tally.seen += seen

    def _changed(self) -> None:
        self.version += 1
        self._curves.clear()
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
        curve = self._curves.get(attribute)
        if curve is None:
            counted = self._ranges.get(attribute, {}).items()
            known = ((within, tally.held / tally.seen) for within, tally in counted if tally.seen)
            curve = self._curves[attribute] = Curve(attribute.type, known)
        return curve


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
    if least == count:
        low = sum(each.least for each in operands) - (count - 1)
        return Selectivity(
            max(0.0, low), prod(each.average for each in operands), min(each.most for each in operands)
        )
    if least == 1:
        none = prod(1.0 - each.average for each in operands)
        return Selectivity(
            max(each.least for each in operands), 1.0 - none, min(1.0, sum(each.most for each in operands))
        )
    return Selectivity(
        _at_least_so_many([each.least for each in operands], least),
        _independent([each.average for each in operands], least),
        _at_most_so_many([each.most for each in operands], least),
    )


def _at_least_so_many(shares: list[float], least: int) -> float:
    """No fewer: among the m most frequent ones, all that is beyond `least` - 1 each must fall on somebody."""
    shares = sorted(shares, reverse=True)
    bounds = [(sum(shares[:some]) - (least - 1)) / (some - least + 1) for some in range(least, len(shares) + 1)]
    return max(0.0, *bounds)


def _at_most_so_many(shares: list[float], least: int) -> float:
    """No more: without the m most frequent ones, `least` - m others must share what they have."""
    shares = sorted(shares)
    bounds = [sum(shares[: len(shares) - some]) / (least - some) for some in range(least)]
    return min(1.0, *bounds)


def _independent(shares: list[float], least: int) -> float:
    """If they are independent: how likely k of those so far are, one operand after the other."""
    likely = [1.0] + [0.0] * least
    for share in shares:
        likely[least] += likely[least - 1] * share
        for held in range(least - 1, 0, -1):
            likely[held] = likely[held] * (1.0 - share) + likely[held - 1] * share
        likely[0] *= 1.0 - share
    return likely[least]
