"""The best generalisation of one formula by a measure, and repeated generalisation up to a count or a loss.

Pre-pruning generalises a subscription with `generalise` before it is forwarded, for each neighbour as its memory
and link require; the receiver stores what it gets. Post-pruning forwards the subscription unchanged and prunes
the own table with `tamis.lab.bittner.pruning.Pruner`. Both may be combined: the receiver's original is what it
received.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf
from operator import mul
from typing import NamedTuple, Protocol

from tamis.formulas.formula import TRUE, Formula
from tamis.formulas.predicates.base import Predicate
from tamis.lab.bittner.measures import Facts, Measure, PruningStep, Rank, distance
from tamis.lab.bittner.replacement import Replacing, replacement_options
from tamis.lab.bittner.selectivity_bounds import Selectivity
from tamis.lab.bittner.shapes import FormulaSkeleton, ShapeCache, ShapeNode, SizedFormula, skeleton
from tamis.routing.trees import TreeSize

_MOST_RANKED = 1 << 18
"""Formulas whose ranks are cached, at most."""


class Estimates(Protocol):
    """Estimates of formulas that measures use: selectivities, or other numbers from 0 to 1."""

    @property
    def version(self) -> int:
        """Changes whenever the estimates do."""

    def track(self, predicates: Iterable[Predicate]) -> None:
        """Prepare to estimate these."""

    def of(self, predicate: Predicate) -> float:
        """The estimate of a predicate; least, average and most are the same."""

    def combine(self, least: int, operands: list[Selectivity]) -> Selectivity:
        """Those of at least so many of operands."""


class Ranked(NamedTuple):
    """A generalisation and its rank, which begins with 0 if it comes first whatever it loses, else with 1.

    Attributes:
        rank: Less is better.
        result: The generalised formula.
        size: Of the result.
    """

    rank: Rank
    result: Formula
    size: TreeSize

    def is_within(self, limit: float) -> bool:
        """Is the first part by the measure within a limit? Opaque predicates are not limited."""
        return self.rank[0] == 0 or self.rank[1] <= limit


class Ranking:
    """Finds the best generalisation of a formula by a measure.

    Attributes:
        measure: What generalisations are ranked by.
        table: Selectivities of predicates.
        counts: The occurrences of each predicate in all entries, for measures that use them.
    """

    def __init__(
        self,
        measure: Measure,
        table: Estimates,
        *,
        opaque_first: bool = True,
    ) -> None:
        """Rank by a measure.

        Args:
            measure: What generalisations are ranked by.
            table: Selectivities of predicates.
            opaque_first: Prune predicates first that call operators or read computed attributes.
        """
        self.measure = measure
        self.table = table
        self.counts: Counter[Predicate] = Counter()
        self._opaque_first = opaque_first
        self._shapes = ShapeCache(bottom_up=measure.bottom_up)

    def facts(self, formula: Formula) -> Facts:
        """The facts of a formula, valid until more events or entries are counted."""
        parts = skeleton(formula)
        shape = self._shapes.of(parts)
        return _NodeEstimates(self, parts, shape.own).facts(shape.whole)

    def best(self, original: Facts, current: Formula, hops: int = 1) -> Ranked | None:
        """The best option for an entry, of equal ones the first; None if there is none left.

        Args:
            original: Of the original formula of the entry.
            current: The current formula.
            hops: Links to the broker of its subscriber.
        """
        parts = skeleton(current)
        shape = self._shapes.of(parts)
        numbers = _NodeEstimates(self, parts, shape.nodes)
        now = numbers.facts(shape.whole)
        best: tuple[Rank, int] | None = None
        made: dict[int, Formula] = {}
        for place, pruning in enumerate(shape.prunings):
            if pruning.result is not None:
                facts = numbers.facts(pruning.result)
            else:
                made[place] = pruning.apply(parts.nodes)
                if made[place] is TRUE:
                    continue
                facts = self.facts(made[place])
            order = 0 if self._opaque_first and pruning.is_opaque else 1
            rank = (order, *self.measure.rank(PruningStep(original, now, facts, hops)))
            if best is None or rank < best[0]:
                best, size = (rank, place), facts.size
        if best is None:
            return None
        rank, place = best
        result = made[place] if place in made else shape.prunings[place].apply(parts.nodes)
        return Ranked(rank, result, size)


class _NodeEstimates:
    """The estimates of all nodes of a shape, for one formula."""

    def __init__(self, ranking: Ranking, parts: FormulaSkeleton, nodes: list[ShapeNode]) -> None:
        table = ranking.table
        shares = map(table.of, parts.predicates)
        self._found = [Selectivity(share, share, share) for share in shares]
        for least, operands in nodes:
            self._found.append(table.combine(least, [self._found[operand] for operand in operands]))
        counts = ranking.counts
        self._uses = [max(1, counts[each]) for each in parts.predicates] if ranking.measure.counts else None

    def facts(self, formula: SizedFormula) -> Facts:
        """The facts of a formula of the shape. A predicate without occurrences counts as one."""
        uses = 0 if self._uses is None else sum(map(mul, formula.counts, self._uses))
        return Facts(self._found[formula.node], formula.size, uses)


class ReplacingRanking(Ranking):
    """A ranking that replaces predicates by wider ones in formulas in which nothing is left to prune."""

    def __init__(
        self, measure: Measure, table: Estimates, replacing: Replacing, *, opaque_first: bool = True
    ) -> None:
        super().__init__(measure, table, opaque_first=opaque_first)
        self._replacing = replacing

    def best(self, original: Facts, current: Formula, hops: int = 1) -> Ranked | None:
        pruned = super().best(original, current, hops)
        if pruned is not None:
            return pruned
        found, now = [], self.facts(current)
        for each in replacement_options(current, self._replacing):
            facts = self.facts(each.result)
            rank = (1, *self.measure.rank(PruningStep(original, now, facts, hops)))
            found.append(Ranked(rank, each.result, facts.size))
        return min(found, key=lambda each: each.rank, default=None)


class SharedRanking(Ranking):
    """A ranking shared by several brokers, which caches ranks until more events are counted.

    It does not suit measures that depend on the other entries of a broker.
    """

    def __init__(self, measure: Measure, table: Estimates) -> None:
        super().__init__(measure, table)
        self._version = table.version
        self._facts: dict[Formula, Facts] = {}
        self._best: dict[tuple[Facts, Formula, int], Ranked | None] = {}
        self._is_near = distance not in measure.parts

    def facts(self, formula: Formula) -> Facts:
        self._forget()
        found = self._facts.get(formula)
        if found is None:
            found = self._facts[formula] = super().facts(formula)
        return found

    def best(self, original: Facts, current: Formula, hops: int = 1) -> Ranked | None:
        self._forget()
        key = original, current, 0 if self._is_near else hops
        if key not in self._best:
            self._best[key] = super().best(original, current, hops)
        return self._best[key]

    def _forget(self) -> None:
        """Clear the cache when it is stale or too large."""
        if self._version != self.table.version or len(self._facts) + len(self._best) > _MOST_RANKED:
            self._version = self.table.version
            self._facts.clear()
            self._best.clear()


def generalise(
    formula: Formula, ranking: Ranking, *, count: int | None = None, threshold: float | None = None, hops: int = 1
) -> Formula:
    """The formula, generalised at most `count` times as long as the loss is within the threshold.

    >>> from tamis.language.condition import normalise
    >>> from tamis.lab.bittner.measures import EFFICIENCY
    >>> from tamis.lab.bittner.selectivity_table import SelectivityTable
    >>> generalise(normalise("a = 1 AND b < 3 AND c < 3"), Ranking(EFFICIENCY, SelectivityTable()), count=1)
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
