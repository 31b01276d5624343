"""How far the entries of a link are generalised, if that is left to measurements.

Each step halves the bytes of the exact entries. The neighbour filters with them, and says in its handshakes how
much time of the processor that takes and how many of the events that it sent here were in vain. The cost of an
event is the time to filter it there, and for each one that was in vain the time that it takes here.
`tamis.routing.cutoff` looks for the step with the least cost, and again when costs drift. The time of a whole
batch would be no measure: nearly all of it is Spark's, and an event's share depends on how many come together.

Whether an event was in vain is known only after it was matched here, seconds after it was filtered there, and
later still under load. So the share in vain is that of the events with an answer, and events that were sent before
a step count for none: a step that sends everything would look cheap until the first answers come.
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
        seconds: Of the processor, to filter them.
        forwarded: Events that it sent to the neighbour.
        answered: Of these, those of which the neighbour has said whether anybody wanted them.
        in_vain: Of these, those that nobody wanted.
    """

    events: int = 0
    seconds: float = 0.0
    forwarded: int = 0
    answered: int = 0
    in_vain: int = 0

    def since(self, before: Load) -> Load | None:
        """What was done since an earlier moment; None if the service was started again meanwhile."""
        if self.events < before.events or self.answered < before.answered:
            return None
        return Load(
            events=self.events - before.events,
            seconds=self.seconds - before.seconds,
            forwarded=self.forwarded - before.forwarded,
            answered=self.answered - before.answered,
            in_vain=self.in_vain - before.in_vain,
        )

    @property
    def in_vain_share(self) -> float:
        """Events in vain for each that was matched, as far as answers tell."""
        return self.forwarded / self.events * self.in_vain / self.answered if self.answered else 0.0


class LinkCutOff:
    """The step of one link."""

    def __init__(self) -> None:
        self._search = CutOff(gain=0.05, highest=_HIGHEST)
        self._stepped: Load | None = None  # what the neighbour had done when it first had the entries of this step
        self._before: Load | None = None  # and when all that it had sent until then was answered

    @property
    def step(self) -> int:
        """How often the bytes of entries are halved."""
        return self._search.step

    def observe(self, there: Load, seconds_here: float) -> None:
        """Take what the neighbour says.

        Args:
            there: Since its service was started.
            seconds_here: What it takes to filter an event here.
        """
        if self._stepped is None or there.since(self._stepped) is None:
            self._stepped, self._before = there, None
        if self._before is None:
            if there.answered >= self._stepped.forwarded:
                self._before = there
            return
        done = there.since(self._before)
        if done is None or done.events < _LEAST_EVENTS or 2 * done.answered < done.forwarded:
            return
        cost = done.seconds / done.events + done.in_vain_share * (seconds_here + _TAKING_SECONDS)
        before = self._search.step
        self._search.observe(cost)
        # After a step, what is under way was still matched with the old entries.
        self._stepped, self._before = (there, there) if self._search.step == before else (None, None)
