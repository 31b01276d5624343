"""A knob that turns itself: a whole number whose cost falls, then rises, is kept where the cost is least.

The controller of Wang, Zhang and Kitsuregawa. Batches are served at the current level and at its neighbours by
turns, each batch once, so that finding out costs nothing but the difference between neighbours. A controller knows
neither what its levels mean nor the unit of costs, asks no clock, and does the same again for the same costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

ROUNDS = 64
"""Rounds of a loop: with fewer, the differences between batches hide those between levels."""
THRESHOLD = 100_000
"""Updates of an index that a settled level outlives."""


@dataclass(slots=True)
class _Sum:
    """The costs of the batches that were served at one level."""

    cost: float = 0.0
    batches: int = 0

    def add(self, cost: float) -> None:
        self.cost += cost
        self.batches += 1

    @property
    def mean(self) -> float:
        return self.cost / self.batches


class Controller:
    """Finds the level of the least cost, and looks again when much has changed.

    While it is unsettled, a loop serves the current level, the one below and the one above by turns, `rounds`
    times each; a neighbour beyond the bounds is left out. Then the cheapest becomes the current level, which stays
    if it is as good as any; of two equal neighbours the lower wins. A current level that stays is settled. After
    twice as many loops as there are levels, which noise alone can bring about, the level with the best mean of all
    loops is settled.

    >>> knob = Controller(1, 6, rounds=1)
    >>> while not knob.settled:
    ...     level = knob.level
    ...     knob.observe(level, cost=(level - 3) ** 2)
    >>> knob.current
    3

    Attributes:
        current: The level that is, or was last, thought best.
        settled: Is `current` believed to be the best? Costs do not matter then.
        loops: Loops since it was last settled.
    """

    def __init__(
        self,
        lowest: int,
        highest: int,
        *,
        rounds: int = ROUNDS,
        threshold: int = THRESHOLD,
        start: int | None = None,
    ) -> None:
        """Begin unsettled.

        Args:
            lowest: The least level.
            highest: The greatest level.
            rounds: How often a loop serves each level.
            threshold: Updates after which a settled level is looked at again.
            start: The first level; one below the highest by default, where curves of this kind are steep.
        """
        if rounds < 1 or threshold < 1:
            msg = f"expected at least one round and an update as threshold, found {rounds} and {threshold}"
            raise ValueError(msg)
        _check(lowest, highest)
        self.lowest, self.highest = lowest, highest
        self.rounds = rounds
        self.threshold = threshold
        self.current = min(max(lowest, highest - 1 if start is None else start), highest)
        self.loops = 0
        self.settled = False
        self._updates = 0
        self._loop: dict[int, _Sum] = {}
        self._seen: dict[int, _Sum] = {}
        self._unsettle()

    @property
    def level(self) -> int:
        """The level to serve the next batch at."""
        if self.settled:
            return self.current
        # In the order of the loop's levels; the first that had fewest turns is the next in the round.
        return min(self._loop, key=lambda level: self._loop[level].batches)

    def observe(self, level: int, cost: float) -> None:
        """A batch was served at a level, at a cost; one from before the loop began does not count."""
        if self.settled or level not in self._loop:
            return
        self._loop[level].add(cost)
        self._seen.setdefault(level, _Sum()).add(cost)
        if all(each.batches >= self.rounds for each in self._loop.values()):
            self._close_loop()

    def update(self, count: int = 1) -> None:
        """The index changed, by so many inserts and deletes."""
        if self.settled:
            self._updates += count
            if self._updates >= self.threshold:
                self._unsettle()

    def resize(self, lowest: int, highest: int) -> None:
        """Other levels are possible: the current one goes to the nearest of them, and a loop begins."""
        _check(lowest, highest)
        if (lowest, highest) != (self.lowest, self.highest):
            self.lowest, self.highest = lowest, highest
            self.current = min(max(lowest, self.current), highest)
            self._unsettle()

    def _close_loop(self) -> None:
        # The current level comes first, then the lower one: `min` gives the first of equals.
        best = min(self._loop, key=lambda level: self._loop[level].mean)
        self.loops += 1
        if best == self.current:
            self._settle(best)
        elif self.loops >= 2 * (self.highest - self.lowest + 1):
            order = (self.current, *sorted(self._seen))
            self._settle(min(order, key=lambda level: self._seen[level].mean))
        else:
            self.current = best
            self._begin_loop()

    def _settle(self, level: int) -> None:
        self.current = level
        self.settled = True
        self._updates = 0
        self._loop = {}
        self._seen = {}

    def _unsettle(self) -> None:
        self.settled = self.lowest == self.highest
        self.loops = 0
        self._updates = 0
        self._seen = {}
        self._begin_loop()

    def _begin_loop(self) -> None:
        near = (self.current, self.current - 1, self.current + 1)
        self._loop = {level: _Sum() for level in near if self.lowest <= level <= self.highest}


def _check(lowest: int, highest: int) -> None:
    if lowest > highest:
        msg = f"expected a lowest level up to the highest, found {lowest} and {highest}"
        raise ValueError(msg)


def bucket(events: int) -> int:
    """The class of a batch by its number of events: the least b with 2**b of them or more.

    >>> [bucket(events) for events in (1, 2, 3, 4, 5, 128)]
    [0, 1, 2, 2, 3, 7]
    """
    return max(0, events - 1).bit_length()


class Controllers:
    """A controller for each class of batches, because the best level depends on how many events there are.

    Exact numbers would starve the rare ones. An update counts for all of them.
    """

    def __init__(self, make: Callable[[int], Controller]) -> None:
        """None yet; `make` gives the controller of a `bucket`."""
        self._make = make
        self._made: dict[int, Controller] = {}

    def of(self, events: int) -> Controller:
        """The controller of batches with so many events."""
        at = bucket(events)
        found = self._made.get(at)
        if found is None:
            found = self._made[at] = self._make(at)
        return found

    def update(self, count: int = 1) -> None:
        """The index changed, by so many inserts and deletes."""
        for each in self._made.values():
            each.update(count)

    def resize(self, lowest: int, highest: int) -> None:
        """Other levels are possible in all classes."""
        for each in self._made.values():
            each.resize(lowest, highest)

    def currents(self) -> dict[int, int]:
        """The current level by class."""
        return {at: each.current for at, each in sorted(self._made.items())}
