"""The best generalisation of one formula, by a measure; and a formula generalised so many times, or up to a loss.

Pre-pruning generalises a subscription with `generalised` before it is forwarded, for each neighbour as that one's
memory and link ask; the receiver stores what it gets. Post-pruning forwards it as it came and prunes the own table
with `tamis.routing.pruning.Pruner`. Both together are allowed: the receiver's original is what it received.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import inf
from operator import mul
from typing import NamedTuple, Protocol, TypeAlias

from tamis.language.formula import TRUE, Formula
from tamis.predicates.base import Predicate
from tamis.predicates.within import Within
from tamis.routing.measures import Facts, Measure, Rank, Step, distance
from tamis.routing.selectivity import Selectivity
from tamis.routing.shapes import Node, Shapes, Sized, Skeleton, skeleton
from tamis.routing.trees import Outline, replacing_options

Replacing: TypeAlias = Callable[[Within], Iterable[Within]]

_MOST_RANKED = 1 << 18
"""Formulas whose ranks are remembered, at most."""


class Estimates(Protocol):
    """Numbers of formulas that measures go by: selectivities, or whatever else a measure knows to read."""

    @property
    def version(self) -> int:
        """Changes whenever the numbers do."""

    def track(self, predicates: Iterable[Predicate]) -> None:
        """These will be asked for."""

    def of(self, predicate: Predicate) -> float:
        """That of a predicate; all three are the same."""

    def combined(self, least: int, operands: list[Selectivity]) -> Selectivity:
        """Those of at least so many of operands."""


class Ranked(NamedTuple):
    """A generalisation and its rank, which begins with 0 if it comes before all others, whatever it loses.

    Attributes:
        rank: Less is better.
        result: What it makes of the formula.
        outline: The sizes of that.
        lost: How often fewer than before each predicate stands in it; None if that must be counted.
    """

    rank: Rank
    result: Formula
    outline: Outline
    lost: Mapping[Predicate, int] | None = None

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
        self._shapes = Shapes(bottom_up=measure.bottom_up)

    def facts(self, formula: Formula) -> Facts:
        """What measures have to know of a formula, as long as no more events or entries are counted."""
        parts = skeleton(formula)
        shape = self._shapes.of(parts)
        return _Numbers(self, parts, shape.own).facts(shape.whole)

    def best(self, original: Facts, current: Formula, hops: int = 1) -> Ranked | None:
        """The best option for an entry, of equal ones the first; None if there is none left.

        Args:
            original: What is known of the entry as it was.
            current: The entry as it is.
            hops: Brokers on the way to its subscriber.
        """
        parts = skeleton(current)
        shape = self._shapes.of(parts)
        numbers = _Numbers(self, parts, shape.nodes)
        now = numbers.facts(shape.whole)
        best: tuple[Rank, int] | None = None
        made: dict[int, Formula] = {}
        for place, way in enumerate(shape.ways):
            if way.result is not None:
                facts = numbers.facts(way.result)
            else:
                made[place] = way.made(parts.nodes)
                if made[place] is TRUE:
                    continue
                facts = self.facts(made[place])
            order = 0 if self._opaque_first and way.is_opaque else 1
            rank = (order, *self.measure.rank(Step(original, now, facts, hops)))
            if best is None or rank < best[0]:
                best, outline = (rank, place), facts.outline
        if best is None:
            return self._replaced(original, now, current, hops)
        rank, place = best
        way = shape.ways[place]
        if way.result is None:
            return Ranked(rank, made[place], outline)
        pairs = zip(parts.predicates, shape.whole.counts, way.result.counts, strict=True)
        lost = {each: before - after for each, before, after in pairs if before != after}
        return Ranked(rank, way.made(parts.nodes), outline, lost)

    def _replaced(self, original: Facts, now: Facts, current: Formula, hops: int) -> Ranked | None:
        """The best way to widen a predicate, where nothing can be pruned."""
        found = []
        for each in replacing_options(current, self._replacing) if self._replacing is not None else ():
            facts = self.facts(each.result)
            rank = (1, *self.measure.rank(Step(original, now, facts, hops)))
            found.append(Ranked(rank, each.result, facts.outline))
        return min(found, key=lambda each: each.rank, default=None)


class SharedRanking(Ranking):
    """A ranking for several brokers: what they all have to rank is ranked once, until more events are counted.

    It is not for measures that go by the other entries of a broker.
    """

    def __init__(self, measure: Measure, table: Estimates) -> None:
        """Nothing is ranked yet."""
        super().__init__(measure, table)
        self._version = table.version
        self._facts: dict[Formula, Facts] = {}
        self._best: dict[tuple[Facts, Formula, int], Ranked | None] = {}
        self._is_near = distance not in measure.parts

    def facts(self, formula: Formula) -> Facts:
        """As `Ranking`."""
        self._forget()
        found = self._facts.get(formula)
        if found is None:
            found = self._facts[formula] = super().facts(formula)
        return found

    def best(self, original: Facts, current: Formula, hops: int = 1) -> Ranked | None:
        """As `Ranking`."""
        self._forget()
        key = original, current, 0 if self._is_near else hops
        if key not in self._best:
            self._best[key] = super().best(original, current, hops)
        return self._best[key]

    def _forget(self) -> None:
        """Forget everything when it is out of date, or too much."""
        if self._version != self.table.version or len(self._facts) + len(self._best) > _MOST_RANKED:
            self._version = self.table.version
            self._facts.clear()
            self._best.clear()


class _Numbers:
    """The numbers of leaves and inner nodes of a shape, for one formula."""

    def __init__(self, ranking: Ranking, parts: Skeleton, nodes: list[Node]) -> None:
        table = ranking.table
        shares = map(table.of, parts.predicates)
        self._found = [Selectivity(share, share, share) for share in shares]
        for least, operands in nodes:
            self._found.append(table.combined(least, [self._found[operand] for operand in operands]))
        counts = ranking.counts
        self._uses = [max(1, counts[each]) for each in parts.predicates] if ranking.measure.counts else None

    def facts(self, formula: Sized) -> Facts:
        """Of a formula of the shape. A predicate that stands in no entry yet would stand in this one."""
        uses = 0 if self._uses is None else sum(map(mul, formula.counts, self._uses))
        return Facts(self._found[formula.node], formula.outline, uses)


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
