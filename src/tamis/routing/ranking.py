"""The best generalisation of one formula, by a measure; and a formula generalised so many times, or up to a loss.

Pre-pruning generalises a subscription with `generalised` before it is forwarded, for each neighbour as that one's
memory and link ask; the receiver stores what it gets. Post-pruning forwards it as it came and prunes the own table
with `tamis.routing.pruning.Pruner`. Both together are allowed: the receiver's original is what it received.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from math import inf
from typing import NamedTuple, Protocol, TypeAlias

from tamis.language.formula import Formula
from tamis.predicates.base import Predicate
from tamis.predicates.within import Within
from tamis.routing.measures import Facts, Measure, Rank, Step, occurrences
from tamis.routing.selectivity import Selectivity
from tamis.routing.trees import Option, Outline, Pruning, is_opaque, options, outline, replacing_options

Replacing: TypeAlias = Callable[[Within], Iterable[Within]]


class Estimates(Protocol):
    """Numbers of formulas that measures go by: selectivities, or whatever else a measure knows to read."""

    @property
    def version(self) -> int:
        """Changes whenever the numbers do."""

    def track(self, predicates: Iterable[Predicate]) -> None:
        """These will be asked for."""

    def estimate(self, formula: Formula, memory: dict[int, Selectivity] | None = None) -> Selectivity:
        """Those of a formula; `memory` shares those of nodes, by identity, while they are alive."""


class Ranked(NamedTuple):
    """A generalisation and its rank, which begins with 0 if it comes before all others, whatever it loses."""

    rank: Rank
    result: Formula
    outline: Outline

    def is_within(self, limit: float) -> bool:
        """Does the first part by the measure keep to a limit? What comes before all others is not held back."""
        return self.rank[0] == 0 or self.rank[1] <= limit


class Ranking:
    """Finds the best generalisation of a formula by a measure.

    Attributes:
        measure: What generalisations are ranked by.
        table: Selectivities of predicates.
        counts: How often each predicate stands in all entries, for measures that ask.
    """

    def __init__(
        self,
        measure: Measure,
        table: Estimates,
        *,
        replacing: Replacing | None = None,
        opaque_first: bool = True,
    ) -> None:
        """Rank by a measure.

        Args:
            measure: What generalisations are ranked by.
            table: Selectivities of predicates.
            replacing: Gives wider predicates for formulas in which nothing is left to prune; None to leave them.
            opaque_first: Prune predicates first that call operators or read computed attributes.
        """
        self.measure = measure
        self.table = table
        self.counts: Counter[Predicate] = Counter()
        self._replacing = replacing
        self._opaque_first = opaque_first

    def facts(self, formula: Formula) -> Facts:
        """What measures have to know of a formula, as long as no more events or entries are counted."""
        return _Reader(self).facts(formula)

    def best(self, original: Facts, current: Formula, hops: int = 1) -> Ranked | None:
        """The best option for an entry, of equal ones the first; None if there is none left.

        Args:
            original: What is known of the entry as it was.
            current: The entry as it is.
            hops: Brokers on the way to its subscriber.
        """
        choice = options(current, bottom_up=self.measure.bottom_up)
        if not choice and self._replacing is not None:
            choice = replacing_options(current, self._replacing)
        if not choice:
            return None
        # What is known of nodes is remembered by identity, which the options keep alive.
        read = _Reader(self)
        now = read.facts(current)
        has_opaque = self._opaque_first and any(map(is_opaque, current.predicates()))
        found = []
        for each in choice:
            step = Step(original, now, read.facts(each.result), hops)
            order = 0 if has_opaque and _is_opaque(each) else 1
            found.append(Ranked((order, *self.measure.rank(step)), each.result, step.result.outline))
        return min(found, key=lambda each: each.rank)


def _is_opaque(option: Option) -> bool:
    """Is nothing taken away but what calls operators or is computed?"""
    return isinstance(option.change, Pruning) and all(map(is_opaque, option.taken.predicates()))


class _Reader:
    """Reads the facts of formulas that share nodes."""

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self._selectivities: dict[int, Selectivity] = {}
        self._outlines: dict[int, Outline] = {}
        self._sums: dict[int, int] = {}

    def facts(self, formula: Formula) -> Facts:
        ranking = self._ranking
        counted = occurrences(formula, ranking.counts, self._sums) if ranking.measure.counts else 0
        selectivity = ranking.table.estimate(formula, self._selectivities)
        return Facts(selectivity, outline(formula, self._outlines), counted)


def generalised(
    formula: Formula, ranking: Ranking, *, count: int | None = None, threshold: float | None = None, hops: int = 1
) -> Formula:
    """The formula, generalised by itself: `count` times at most, as long as the measure says no worse.

    >>> from tamis.language.condition import normalise
    >>> from tamis.routing.measures import EFFICIENCY
    >>> from tamis.routing.selectivity import SelectivityTable
    >>> generalised(normalise("a = 1 AND b < 3 AND c < 3"), Ranking(EFFICIENCY, SelectivityTable()), count=1)
    Formula(a = 1 AND c < 3)
    """
    limit = inf if threshold is None else ranking.measure.limit(threshold)
    left = inf if count is None else count
    original, current = ranking.facts(formula), formula
    while left > 0:
        found = ranking.best(original, current, hops)
        if found is None or not found.is_within(limit):
            break
        current = found.result
        left -= 1
    return current
