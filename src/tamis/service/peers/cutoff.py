"""How far the entries of a link are generalised, if that is left to measurements.

Each step halves the bytes of the exact entries. The neighbour filters with them, and says in its handshakes how
long its stream takes and how many of the events that it sent here were in vain. The cost of an event is the time
that it takes there, and for each one that was in vain the time that it takes here. `tamis.routing.cutoff` looks
for the step with the least cost, and again when costs drift.
"""

from __future__ import annotations

from pydantic import BaseModel

from tamis.routing.cutoff import CutOff

_HIGHEST = 7
_LEAST_EVENTS = 500
"""Events between two handshakes; if there are fewer, the next ones count as well."""
_TAKING_SECONDS = 0.001
"""To send an event and to write it down, besides matching it."""


class Load(BaseModel):
    """What a site has done since its service was started.

    Attributes:
        events: That its stream matched.
        seconds: That this took.
        in_vain: Events that it sent to the neighbour, and that nobody there wanted.
    """

    events: int = 0
    seconds: float = 0.0
    in_vain: int = 0

    def since(self, before: Load) -> Load | None:
        """What was done since an earlier moment; None if the service was started again meanwhile."""
        if self.events < before.events or self.in_vain < before.in_vain:
            return None
        return Load(
            events=self.events - before.events,
            seconds=self.seconds - before.seconds,
            in_vain=self.in_vain - before.in_vain,
        )


class LinkCutOff:
    """The step of one link."""

    def __init__(self) -> None:
        self._search = CutOff(gain=0.05, highest=_HIGHEST)
        self._before: Load | None = None

    @property
    def step(self) -> int:
        """How often the bytes of entries are halved."""
        return self._search.step

    def observe(self, there: Load, seconds_here: float) -> None:
        """Take what the neighbour says.

        Args:
            there: Since its service was started.
            seconds_here: What it takes to match an event here.
        """
        done = None if self._before is None else there.since(self._before)
        if done is None:
            self._before = there
        elif done.events >= _LEAST_EVENTS:
            vain = done.in_vain / done.events * (seconds_here + _TAKING_SECONDS)
            before = self._search.step
            self._search.observe(done.seconds / done.events + vain)
            # After a step, what is under way was still matched with the old entries.
            self._before = there if self._search.step == before else None
