"""Overlap characteristics: how many subscriptions an advertisement excludes, which pruning it would admit.

The characteristic of a predicate is the weighted share of the leaves of all subscriptions that it is disjoint
to; a leaf weighs less the more events satisfy it. It is 0 if the predicate excludes nothing. A formula has three
numbers, as with selectivities: the least, the average as if predicates were independent, and the most. After
Bittner's thesis (2008), section 7.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod, sqrt

from tamis.formulas.predicates.base import Predicate
from tamis.lab.bittner.measures import Measure, PruningStep, efficiency, memory
from tamis.lab.bittner.selectivity_bounds import Selectivity
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.routing.overlap import OverlapIndex

_DIGITS = 12


def overlap_loss(step: PruningStep) -> float:
    """The largest fall among the three characteristics, as a share of the original's; 0 where that has none."""
    pairs = zip(step.original.selectivity, step.result.selectivity, strict=True)
    return round(max((before - after) / before if before else 0.0 for before, after in pairs), _DIGITS)


OVERLAP = Measure("overlap", (overlap_loss, memory, efficiency))
"""Orders prunings of advertisements, for a pruner whose table has characteristics; ties go by bytes saved."""


class Characteristics(SelectivityTable):
    """The characteristics of formulas, in the place of the selectivities of a pruner of subscriptions.

    It counts no events; `version` changes with the subscriptions.
    """

    def __init__(
        self,
        subscriptions: OverlapIndex,
        event_type: str,
        matches: Callable[[Predicate], float] = lambda predicate: 0.0,
    ) -> None:
        """Rank the advertisements of an event type.

        Args:
            subscriptions: Those that advertisements may exclude.
            event_type: Of advertisements and subscriptions.
            matches: In how many events a predicate of a subscription held.
        """
        super().__init__()
        self._subscriptions = subscriptions
        self._event_type = event_type
        self._matches = matches
        self._known: dict[Predicate, float] = {}
        self.refresh()

    def refresh(self) -> None:
        """Count subscriptions and matches again."""
        index = self._subscriptions
        self._seen = index.version
        self._total = index.associations(self._event_type)
        self._weights = index.disjoint_weights(self._event_type, lambda each: 1 / sqrt(self._matches(each) + 1))
        self._known = {}
        self.version += 1

    def track(self, predicates: Iterable[Predicate]) -> None:
        """There is nothing to count."""

    def of(self, predicate: Predicate) -> float:
        """The characteristic of a predicate, from 0 to 1."""
        if self._seen != self._subscriptions.version:
            self.refresh()
        found = self._known.get(predicate)
        if found is None:
            found = self._known[predicate] = self._weights(predicate) / self._total if self._total else 0.0
        return found

    def combine(self, least: int, operands: list[Selectivity]) -> Selectivity:
        """That of at least so many of operands.

        What keeps apart from one operand of an AND keeps apart from all of it. To be kept apart from "at least k
        of n", all but k - 1 operands must be: the least characteristic is that of the operand that comes last
        among them. For AND that is the greatest one, for OR the least.
        """
        if not operands:
            return Selectivity(0.0, 0.0, 0.0)
        last = sorted((each.least for each in operands), reverse=True)[len(operands) - least]
        average = 1 - prod(1 - each.average for each in operands)
        return Selectivity(last, average, min(1.0, sum(each.most for each in operands)))
