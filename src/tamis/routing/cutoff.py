"""Where to stop pruning: while events get cheaper, and before false positives cost more than is saved.

Pruning goes by steps. The cost of an event, filtering and forwarding together, falls with the first steps and
rises with the last. The caller measures the cost after each step, and a `CutOff` answers what to do next. It
tries one more step as long as that pays, gets over a bump of a few steps, and goes back to the best step seen.
There it stays until costs drift or many entries change; then it searches again, first forwards, then backwards.

`tamis.schedule.controller` does not fit here: it serves batches at neighbouring levels by turns, which costs
nothing where a level is a number, and would prune and undo a whole step for each batch here.

A `CutOff` knows neither what a step is nor the unit of costs, reads no clock, and is deterministic.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, TypeAlias

Decision: TypeAlias = Literal["measure", "go on", "step back", "stop"]


class CutOff:
    """Decides how many steps of pruning are made.

    >>> cutoff = CutOff()
    >>> costs = [10.0, 7.0, 6.0, 9.0, 14.0]
    >>> while not cutoff.settled:
    ...     decision = cutoff.observe(costs[cutoff.step])
    >>> cutoff.step
    2

    Attributes:
        step: How many steps should have been made when the next cost is measured.
        settled: Is the search over?
    """

    def __init__(
        self,
        *,
        rounds: int = 1,
        patience: int = 1,
        gain: float = 0.0,
        drift: float = 0.25,
        threshold: int | None = None,
        highest: int | None = None,
    ) -> None:
        """Begin with no step made, to be measured first.

        Args:
            rounds: Costs to be measured at each step; their mean counts.
            patience: Steps without a gain that are tried before it goes back.
            gain: The share by which a step must be cheaper than the best one to be better.
            drift: The share by which the mean of the last costs may change before it searches again.
            threshold: Entries that may come and go before it searches again; None for any number.
            highest: The greatest number of steps; None if that is not known.
        """
        if rounds < 1 or patience < 1 or drift <= 0:
            msg = f"expected rounds, patience and drift above 0, found {rounds}, {patience} and {drift}"
            raise ValueError(msg)
        self._rounds, self._patience, self._gain, self._drift = rounds, patience, gain, drift
        self._threshold = threshold
        self._highest = highest
        self._changes = 0
        self._costs: deque[float] = deque(maxlen=rounds)
        self.step = 0
        self._begin()

    def observe(self, cost: float) -> Decision:
        """Take the cost that was measured at `step`.

        Returns:
            What to do before the next cost is measured: nothing ("measure", more often at this step), prune or
            undo up to `step` ("go on", "step back"), or nothing, and leave it at that ("stop").
        """
        self._costs.append(cost)
        if len(self._costs) < self._rounds:
            return "stop" if self.settled else "measure"
        mean = sum(self._costs) / self._rounds
        if not self.settled:
            return self._search(mean)
        if abs(mean - self._known[self.step]) <= self._drift * abs(self._known[self.step]):
            return "stop"
        self._begin()
        return self._search(mean)

    def change(self, count: int = 1) -> None:
        """Count entries that were registered or deregistered; after `threshold` of them it searches again."""
        if self.settled and self._threshold is not None:
            self._changes += count
            if self._changes >= self._threshold:
                self._begin()

    def exhaust(self, step: int) -> None:
        """Take note that nothing is left to prune after so many steps, which is where the table is now."""
        self._highest = step
        if self.step > step:
            self._move(step)
            if step in self._known:
                self._decide()

    def _begin(self) -> None:
        """Start a search from the current step."""
        self.settled = False
        self._changes = 0
        self._start = self._best = self.step
        self._direction = 1
        self._known: dict[int, float] = {}
        self._costs.clear()

    def _search(self, mean: float) -> Decision:
        before = self.step
        self._known[before] = mean
        if mean < self._known[self._best] * (1.0 - self._gain):
            self._best = before
        self._decide()
        if self.step != before:
            return "go on" if self.step > before else "step back"
        return "stop"

    def _decide(self) -> None:
        """Go one step further the same way, or the other way from the start, or settle at the best."""
        further = self._further(self.step)
        if further is None and self._direction > 0:
            self._direction = -1
            # No step forwards is better: the start may have been too far already.
            further = self._further(self._start) if self._best == self._start else None
        if further is not None:
            self._move(further)
            return
        self.settled = True
        self._move(self._best)

    def _further(self, step: int) -> int | None:
        """The next step to try; None if there is none, or if `patience` is exhausted."""
        following = step + self._direction
        if abs(following - self._best) > self._patience or following < 0:
            return None
        return None if self._highest is not None and following > self._highest else following

    def _move(self, step: int) -> None:
        if step != self.step:
            self.step = step
            self._costs.clear()
