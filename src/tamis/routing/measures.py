"""Measures: which generalisation of which entry comes first.

Each compares an entry as it would be with a *reference*: the original, so that many small losses count as the
large one that they are, or the entry as it is now, where only the step matters. Every part of a rank is turned so
that the least comes first; parts beyond the first decide ties, in the order that Bittner's thesis (2008) gives.

- accuracy: the largest rise among least, average and most selectivity; reference: original; then efficiency,
  memory.
- efficiency: the fall of the number of predicates that must hold; reference: original; then accuracy, memory.
- memory: bytes saved, the most first, bottom-up; reference: current; then accuracy, efficiency.
- occurrence: the loss of accuracy (reference: original), times how many times more often the predicates stand in
  all entries before than after (reference: current); then accuracy, efficiency.
- distance: the loss of accuracy, divided by the hops to the subscriber's broker; reference: original; then
  accuracy, efficiency, memory.

`occurrence` sheds rare predicates, so that entries become alike. The thesis asks that `distance` prunes entries of
far subscribers first and gives no formula: here an entry that is twice as far may lose twice as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tamis.routing.selectivity import Selectivity
from tamis.routing.trees import Outline

Rank: TypeAlias = tuple[float, ...]

_DIGITS = 12
"""Of shares of events: what is equal but for the order of additions must be a tie."""


class Facts(NamedTuple):
    """What measures know of a formula; `occurrences` is 0 where no measure asks."""

    selectivity: Selectivity
    outline: Outline
    occurrences: int = 0


class Step(NamedTuple):
    """A generalisation of an entry, as measures see it."""

    original: Facts
    current: Facts
    result: Facts
    hops: int = 1


def accuracy(step: Step) -> float:
    """The largest rise of the selectivity, against the original."""
    before, after = step.original.selectivity, step.result.selectivity
    rise = max(after.least - before.least, after.average - before.average, after.most - before.most)
    return round(rise, _DIGITS)


def efficiency(step: Step) -> float:
    """How many predicates fewer must hold, against the original."""
    return step.original.outline.p_min - step.result.outline.p_min


def memory(step: Step) -> float:
    """Bytes of the encoded tree, less those of the current entry: negative, so that the most saved is least."""
    return step.result.outline.bytes - step.current.outline.bytes


def occurrence(step: Step) -> float:
    """The loss of accuracy, the greater the more common the predicates are that go."""
    quotient = step.current.occurrences / max(1, step.result.occurrences)
    return round(quotient * accuracy(step), _DIGITS)


def distance(step: Step) -> float:
    """The loss of accuracy for each hop that the subscriber is away."""
    return round(accuracy(step) / max(1, step.hops), _DIGITS)


@dataclass(frozen=True, slots=True)
class Measure:
    """An order of generalisations.

    Attributes:
        name: For people.
        parts: Of a rank, the first one first.
        bottom_up: May only operands be deleted in which nothing can be pruned?
        learns: Do ranks change when more events are counted?
        counts: Do they change with the other entries, by the occurrences of predicates?
    """

    name: str
    parts: tuple[Callable[[Step], float], ...]
    bottom_up: bool = False
    learns: bool = True
    counts: bool = False

    def rank(self, step: Step) -> Rank:
        """Where a generalisation stands: the least comes first."""
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
"""By name."""
