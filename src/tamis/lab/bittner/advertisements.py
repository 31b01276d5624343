"""Advertisements: what publishers say of their events, so that subscriptions go only where events may come from.

Every event of a publisher satisfies one of its advertisements. A subscription goes to a neighbour only if it
overlaps with an advertisement that came from there. Pruning generalises the advertisements of neighbours: tables
become smaller and a subscription may be forwarded for nothing, but none is held back. The registered form is
kept beside the pruned one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tamis.arrays import Mask
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Predicate
from tamis.frames import BatchFrame
from tamis.lab.bittner.characteristics import OVERLAP, Characteristics
from tamis.lab.bittner.pruning import Pruner, Strategy, TableTotals
from tamis.routing.overlap import OverlapIndex


@dataclass(frozen=True, slots=True)
class Advertisement:
    """A condition that all events of a publisher satisfy, or one of several such conditions.

    Attributes:
        id: Unique.
        event_type: Name of the type of its events.
        formula: Of the condition.
    """

    id: str
    event_type: str
    formula: Formula


class Advertisements:
    """The advertisements of one publisher, or those that came from one neighbour.

    >>> from tamis.language.condition import normalise
    >>> advertised = Advertisements()
    >>> advertised.add(Advertisement("a", "book", normalise("price > 10 AND used")))
    >>> advertised.overlaps("book", normalise("price < 5"))
    False
    """

    def __init__(
        self,
        subscriptions: OverlapIndex | None = None,
        matches: Callable[[Predicate], float] = lambda predicate: 0.0,
        *,
        event_types: Iterable[EventType] = (),
        strategy: Strategy = "strict",
    ) -> None:
        """Start without advertisements.

        Args:
            subscriptions: Those that may go to the neighbour; pruning is ranked by them.
            matches: In how many events a predicate of a subscription held.
            event_types: Types whose domains all publishers keep to.
            strategy: What is done about ranks that have become stale, see `tamis.lab.bittner.pruning`.
        """
        self._subscriptions = OverlapIndex(event_types) if subscriptions is None else subscriptions
        self._matches = matches
        self._strategy = strategy
        self._index = OverlapIndex(event_types)
        self._registered: dict[str, Advertisement] = {}
        self._pruners: dict[str, tuple[Characteristics, Pruner]] = {}

    def __len__(self) -> int:
        return len(self._registered)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._registered

    def __iter__(self) -> Iterator[Advertisement]:
        """All of them, as they were registered."""
        return iter(self._registered.values())

    def __getitem__(self, id_: str) -> Advertisement:
        """An advertisement in its pruned form; KeyError if there is none."""
        return Advertisement(id_, *self._index.condition(id_))

    def add(self, advertisement: Advertisement) -> None:
        """Register an advertisement.

        Raises:
            ValueError: Its id is taken.
        """
        self._index.add(advertisement.id, advertisement.event_type, advertisement.formula)
        self._registered[advertisement.id] = advertisement
        self._pruner(advertisement.event_type)[1].register(advertisement.id, advertisement.formula)

    def remove(self, id_: str) -> None:
        """Deregister an advertisement, pruned or not; KeyError if there is none."""
        advertisement = self._registered.pop(id_)
        self._index.remove(id_)
        self._pruner(advertisement.event_type)[1].deregister(id_)

    def withdraw(self, id_: str) -> list[str]:
        """Deregister an advertisement; returns the subscriptions that overlap with no remaining one.

        The neighbour does not need them any more. Those that went there only because of a pruning are among them.
        """
        event_type, formula = self._index.condition(id_)
        self.remove(id_)
        found = self._subscriptions.overlapping(event_type, formula)
        return [each for each in found if not self._index.overlaps(*self._subscriptions.condition(each))]

    def conforms(self, batch: EventBatch) -> Mask:
        """Which events satisfy one of the advertisements of their type, as these were registered."""
        frame = BatchFrame(batch)
        memory: dict[Formula, Mask] = {}
        found = np.zeros(batch.rows, np.bool_)
        for advertisement in self:
            if advertisement.event_type == batch.event_type.name:
                found |= advertisement.formula.mask(frame, memory)
        return found

    def overlaps(self, event_type: str, formula: Formula) -> bool:
        """Must a subscription go to the neighbour, because it overlaps with an advertisement?"""
        return self._index.overlaps(event_type, formula)

    def overlapping(self, event_type: str, formula: Formula) -> list[str]:
        """The ids of those that a subscription overlaps with."""
        return self._index.overlapping(event_type, formula)

    def prune(
        self, event_type: str, *, count: int | None = None, threshold: float | None = None
    ) -> dict[Hashable, Formula]:
        """Generalise advertisements of a type, beginning where the fewest excluded subscriptions are lost.

        Args:
            event_type: Whose advertisements.
            count: Prunings, at most.
            threshold: The share of its characteristic that an advertisement may lose, from 0 to 1.

        Returns:
            Those that changed, by id, as they are now.
        """
        table, pruner = self._pruner(event_type)
        if self._strategy != "strict":
            table.refresh()
        changed = pruner.prune(count=count, threshold=threshold)
        for id_, formula in changed.items():
            self._index.replace(str(id_), formula)
        return changed

    def rank(self, event_type: str) -> None:
        """Rank all prunings again, by the current subscriptions and matches."""
        table, pruner = self._pruner(event_type)
        table.refresh()
        pruner.rebuild()

    def totals(self, event_type: str) -> TableTotals:
        """The size of the table of advertisements of a type."""
        return self._pruner(event_type)[1].totals

    def _pruner(self, event_type: str) -> tuple[Characteristics, Pruner]:
        found = self._pruners.get(event_type)
        if found is None:
            table = Characteristics(self._subscriptions, event_type, self._matches)
            found = self._pruners[event_type] = table, Pruner(OVERLAP, table, strategy=self._strategy)
        return found
