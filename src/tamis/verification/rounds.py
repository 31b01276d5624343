"""What a round of calls costs beside the operators: measured, so that planning can be weighed against calls.

A round takes some time whatever it does (choosing, grouping, starting a run of each operator), and some for every
call (its key, its result, the formulas that read it). Only the first part is saved where a round is saved. The two
are told apart by a straight line through what recent rounds took, by their numbers of calls.
"""

from __future__ import annotations

from typing import NamedTuple

from tamis.verification.search import Spare

_DECAY = 0.95
"""What a round counts for after another one."""
_LONGEST = 2e-3
"""Seconds of a round that are believed: one that compiles a kernel or waits for a processor takes longer."""


class RoundCosts(NamedTuple):
    """Decaying sums over rounds; the seconds are those outside of operators."""

    rounds: float = 0.0
    calls: float = 0.0
    squared_calls: float = 0.0
    seconds: float = 0.0
    calls_by_seconds: float = 0.0

    def after(self, calls: int, seconds: float) -> RoundCosts:
        """The sums with one more round."""
        seconds = max(0.0, seconds)
        return RoundCosts(
            self.rounds * _DECAY + 1.0,
            self.calls * _DECAY + calls,
            self.squared_calls * _DECAY + calls * calls,
            self.seconds * _DECAY + seconds,
            self.calls_by_seconds * _DECAY + calls * seconds,
        )

    @property
    def per_call(self) -> float:
        """Seconds that a call takes beside its operator; 0 while all rounds had equally many calls."""
        spread = self.rounds * self.squared_calls - self.calls**2
        if spread <= 1e-9 * self.squared_calls:
            return 0.0
        slope = (self.rounds * self.calls_by_seconds - self.calls * self.seconds) / spread
        return min(max(0.0, slope), self.seconds / self.calls)

    @property
    def per_round(self) -> float:
        """Seconds that a round takes whatever the number of its calls; 0 before the first one."""
        if not self.rounds:
            return 0.0
        return min(max(0.0, (self.seconds - self.per_call * self.calls) / self.rounds), _LONGEST)


def spare_of(costs: RoundCosts, events: int) -> Spare:
    """What each of so many events may spend in a round on calls that may turn out needless.

    Together they spend no more than a round costs. So where calls take microseconds, a lone event makes all of
    them at once instead of planning; where calls take longer than planning, none is made in vain.
    """
    return Spare(costs.per_round / events, costs.per_call)
