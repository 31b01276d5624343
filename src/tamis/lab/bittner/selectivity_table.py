"""The table of selectivities: of predicates as counted in events, of formulas as estimated from these.

A predicate that was not counted gets what its counted neighbours on the same attribute say (`interpolation`), else
what a sample of values says (`tamis.selectivity.sampling`), else its prior.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tamis.formulas.calls import calls_of
from tamis.formulas.expression import Typed
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame, Predicate
from tamis.formulas.predicates.within import Within
from tamis.lab.bittner.interpolation import Curve
from tamis.lab.bittner.selectivity_bounds import Selectivity, combine
from tamis.selectivity import priors
from tamis.selectivity.sampling import fractions_inside, has_sample
from tamis.statistics import AttributeStatistics, Statistics
from tamis.values.column import Column
from tamis.values.order import order_key
from tamis.values.ranges import Key, Ranges


@dataclass(slots=True)
class _Tally:
    """In how many events a predicate held, of how many."""

    held: float = 0.0
    seen: float = 0.0


class SelectivityTable:
    """Counts events in which predicates hold, and estimates from the counts.

    Attributes:
        version: Changes whenever the counts do.
    """

    def __init__(self, statistics: Statistics | None = None, *, half_life: int | None = None) -> None:
        """Start with no counts.

        Args:
            statistics: Of attributes, for predicates that were not counted.
            half_life: Events after which older ones count half, to follow events that change; None for never.
        """
        self.version = 0
        self._statistics = statistics
        self._half_life = half_life
        self._tallies: dict[Predicate, _Tally] = {}
        self._curves: dict[Typed, Curve] | None = None
        self._estimates: dict[Predicate, float] = {}

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
        self._invalidate()

    def observe(self, frame: Frame) -> None:
        """Count in which rows of a frame each predicate holds."""
        columns: dict[Typed, _SortedColumn] = {}
        for predicate, tally in self._tallies.items():
            if isinstance(predicate, Within):
                values = columns.get(predicate.attribute)
                if values is None:
                    values = columns[predicate.attribute] = _SortedColumn(frame.column(predicate.attribute))
                held = values.count(predicate.ranges, predicate.null)
            else:
                held = int(predicate.mask(frame).sum())
            self._add(tally, held, frame.rows)
        self._invalidate()

    def of(self, predicate: Predicate) -> float:
        """The selectivity of a predicate, as counted or, if it was not, as estimated."""
        tally = self._tallies.get(predicate)
        if tally is not None and tally.seen:
            return tally.held / tally.seen
        estimate = self._estimates.get(predicate)
        if estimate is None:
            estimate = self._estimates[predicate] = self._estimate_uncounted(predicate)
        return estimate

    def matches(self, predicate: Predicate) -> float:
        """In how many of the counted events a predicate held; 0 if it was not counted."""
        tally = self._tallies.get(predicate)
        return 0.0 if tally is None else tally.held

    def estimate(self, formula: Formula) -> Selectivity:
        """The selectivity of a formula."""
        known: dict[int, Selectivity] = {}
        for node in formula.nodes():
            if node.predicate is not None:
                counted = self.of(node.predicate)
                known[id(node)] = Selectivity(counted, counted, counted)
            else:
                known[id(node)] = self.combine(node.least, [known[id(operand)] for operand in node.operands])
        return known[id(formula)]

    def combine(self, least: int, operands: list[Selectivity]) -> Selectivity:
        """The selectivity of at least so many of the operands."""
        return combine(least, operands)

    def _add(self, tally: _Tally, held: int, seen: int) -> None:
        if self._half_life is not None and tally.seen > self._half_life:
            tally.held /= 2
            tally.seen /= 2
        tally.held += held
        tally.seen += seen

    def _invalidate(self) -> None:
        self.version += 1
        self._curves = None
        self._estimates.clear()

    def _estimate_uncounted(self, predicate: Predicate) -> float:
        if not isinstance(predicate, Within):
            return priors.TEST
        estimate = self._curve(predicate.attribute).selectivity(predicate)
        if estimate is None and self._statistics is not None:
            estimate = sampled_selectivity(predicate, self._statistics.of(predicate.attribute))
        if estimate is None:
            points = predicate.ranges.points()
            estimate = priors.RANGE if points is None else min(1.0, len(points) * priors.point(len(points)))
        return estimate

    def _curve(self, attribute: Typed) -> Curve:
        if self._curves is None:
            counted: dict[Typed, list[tuple[Within, float]]] = {}
            for predicate, tally in self._tallies.items():
                if isinstance(predicate, Within) and tally.seen:
                    counted.setdefault(predicate.attribute, []).append((predicate, tally.held / tally.seen))
            self._curves = {each: Curve(each.type, known) for each, known in counted.items()}
        return self._curves.get(attribute) or Curve(attribute.type, ())


class _SortedColumn:
    """The values of a column, sorted at the first comparison."""

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


def sampled_selectivity(predicate: Within, facts: AttributeStatistics | None) -> float | None:
    """The selectivity by a sample; None if the sample is too small."""
    if facts is None or not has_sample(facts):
        return None
    ranges, non_null = predicate.ranges, facts.non_null_fraction
    null = 1.0 - non_null if predicate.null else 0.0
    if not ranges.cuts:
        return null + (non_null if ranges.inside else 0.0)
    key = order_key(predicate.attribute.type)
    inside = np.array(sum(key(value) in ranges for value in facts.sample))
    return null + non_null * float(fractions_inside(inside, len(facts.sample)))
