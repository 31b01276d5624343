"""Measures: which generalisation of which entry comes first.

Each compares the result with a *reference*: the original entry, so that many small losses add up, or the current
entry, where only the step matters. The least rank comes first; parts of a rank beyond the first break ties, in the
order that Bittner's thesis (2008) gives.

- accuracy: the largest rise among least, average and most selectivity; reference: original; then efficiency,
  memory.
- efficiency: the fall of the number of predicates that must hold; reference: original; then accuracy, memory.
- memory: bytes saved, the most first, bottom-up; reference: current; then accuracy, efficiency.
- occurrence: the loss of accuracy (reference: original), times the quotient of the occurrences of the predicates
  in all entries before and after (reference: current); then accuracy, efficiency.
- distance: the loss of accuracy, divided by the hops to the subscriber's broker; reference: original; then
  accuracy, efficiency, memory.

`occurrence` removes rare predicates, so that entries become alike. The thesis wants `distance` to prune entries of
far subscribers first and gives no formula: here an entry that is twice as far may lose twice as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tamis.lab.bittner.selectivity_bounds import Selectivity
from tamis.routing.trees import TreeSize

Rank: TypeAlias = tuple[float, ...]

_DIGITS = 12
"""To which shares are rounded: numbers that differ only by the order of additions must tie."""


class Facts(NamedTuple):
    """What measures know of a formula; `occurrences` is 0 if the measure does not use it."""

    selectivity: Selectivity
    size: TreeSize
    occurrences: int = 0


class PruningStep(NamedTuple):
    """One generalisation of an entry."""

    original: Facts
    current: Facts
    result: Facts
    hops: int = 1


def accuracy(step: PruningStep) -> float:
    """The largest rise of the selectivity, against the original."""
    before, after = step.original.selectivity, step.result.selectivity
    rise = max(after.least - before.least, after.average - before.average, after.most - before.most)
    return round(rise, _DIGITS)


def efficiency(step: PruningStep) -> float:
    """How many predicates fewer must hold, against the original."""
    return step.original.size.p_min - step.result.size.p_min


def memory(step: PruningStep) -> float:
    """The change in bytes of the encoded tree: negative, so that the largest saving has the least rank."""
    return step.result.size.bytes - step.current.size.bytes


def occurrence(step: PruningStep) -> float:
    """The loss of accuracy, weighted up if the removed predicates are common."""
    quotient = step.current.occurrences / max(1, step.result.occurrences)
    return round(quotient * accuracy(step), _DIGITS)


def distance(step: PruningStep) -> float:
    """The loss of accuracy per hop to the subscriber."""
    return round(accuracy(step) / max(1, step.hops), _DIGITS)


@dataclass(frozen=True, slots=True)
class Measure:
    """An order of generalisations.

    Attributes:
        name: As users write it.
        parts: Functions that give the parts of a rank, most significant first.
        bottom_up: May only operands be deleted in which nothing can be pruned?
        learns: Do ranks change as events are counted?
        counts: Do ranks depend on the occurrences of predicates in other entries?
    """

    name: str
    parts: tuple[Callable[[PruningStep], float], ...]
    bottom_up: bool = False
    learns: bool = True
    counts: bool = False

    def rank(self, step: PruningStep) -> Rank:
        """The rank of a generalisation: the least comes first."""
        return tuple(part(step) for part in self.parts)

    def limit(self, threshold: float) -> float:
        """The greatest first part that a threshold allows: a loss at most, or bytes saved at least."""
        return -threshold if self.parts[0] is memory else threshold


ACCURACY = Measure("accuracy", (accuracy, efficiency, memory))
EFFICIENCY = Measure("efficiency", (efficiency, accuracy, memory), learns=False)
MEMORY = Measure("memory", (memory, accuracy, efficiency), bottom_up=True, learns=False)
OCCURRENCE = Measure("occurrence", (occurrence, accuracy, efficiency), counts=True)
DISTANCE = Measure("distance", (distance, accuracy, efficiency, memory))
MEASURES = {each.name: each for each in (ACCURACY, EFFICIENCY, MEMORY, OCCURRENCE, DISTANCE)}
"""All measures by name."""
