"""What an event costs where routing entries decide about it, and how far entries are generalised by that.

Each step halves the bytes of the entries. `tamis.routing.cutoff` looks for the step with the least cost, and again
when costs drift. The cost of an event is what it takes anyway, the time of the processor to filter it, and as much
again as both where it was sent in vain. The time of a whole batch would be no measure: nearly all of it is that of
Spark, and an event's share depends on how many come together.

A step can save no more than the time of filtering. Where that is less than the share by which a step has to be
cheaper, no step is tried: that would make entries twice, and send events in vain meanwhile, for nothing.

Whether an event was in vain may be known only later. So the share in vain is that of the events with an answer,
and events that were sent before a step count for none: a step that sends everything would look cheap until the
first answers come.
"""

from __future__ import annotations

from dataclasses import dataclass

from tamis.routing.cutoff import CutOff

_GAIN = 0.05
"""The share by which a step must be cheaper than the best one."""


@dataclass(frozen=True, slots=True)
class Load:
    """What was done since some moment.

    Attributes:
        events: That were filtered.
        seconds: Of the processor, to filter them.
        forwarded: How often one was sent somewhere.
        answered: Of these, those of which it is known whether anybody wanted them.
        in_vain: Of these, those that nobody wanted.
    """

    events: int = 0
    seconds: float = 0.0
    forwarded: int = 0
    answered: int = 0
    in_vain: int = 0

    def __add__(self, other: Load) -> Load:
        return Load(
            self.events + other.events,
            self.seconds + other.seconds,
            self.forwarded + other.forwarded,
            self.answered + other.answered,
            self.in_vain + other.in_vain,
        )

    def since(self, before: Load) -> Load | None:
        """What was done since an earlier moment; None if counting began again meanwhile."""
        if self.events < before.events or self.answered < before.answered:
            return None
        return Load(
            self.events - before.events,
            self.seconds - before.seconds,
            self.forwarded - before.forwarded,
            self.answered - before.answered,
            self.in_vain - before.in_vain,
        )

    @property
    def filter_seconds(self) -> float:
        """To filter an event."""
        return self.seconds / max(1, self.events)

    @property
    def in_vain_share(self) -> float:
        """Events in vain for each that was filtered, as far as answers tell."""
        return self.forwarded / self.events * self.in_vain / self.answered if self.answered else 0.0


class LoadCutOff:
    """How often the bytes of entries are halved, judged by what events cost.

    Attributes:
        is_worth_it: Did filtering take long enough, when a step was last to be tried?
    """

    def __init__(self, event_seconds: float, *, highest: int, rounds: int = 1, least_events: int = 1) -> None:
        """Begin with no step.

        Args:
            event_seconds: What an event takes besides filtering, where it arrives.
            highest: The greatest number of steps.
            rounds: How often the cost of each step is measured.
            least_events: Events of one measurement.
        """
        self._event_seconds, self._least_events = event_seconds, least_events
        self._search = CutOff(rounds=rounds, gain=_GAIN, highest=highest)
        self._stepped: Load | None = None  # what was done when entries of this step were first there
        self._before: Load | None = None  # and when all that had been sent until then was answered
        self.is_worth_it = True

    @property
    def step(self) -> int:
        """How often the bytes of entries are halved."""
        return self._search.step

    def observe(self, load: Load, seconds_there: float | None = None) -> None:
        """Take what was done since counting began.

        Args:
            load: By those who filter with the entries.
            seconds_there: To filter an event where it is sent to; by default as long as here.
        """
        if self._stepped is None or load.since(self._stepped) is None:
            self._stepped, self._before = load, None
        if self._before is None:
            if load.answered >= self._stepped.forwarded:
                self._before = load
            return
        done = load.since(self._before)
        if done is None or done.events < self._least_events or 2 * done.answered < done.forwarded:
            return
        here = self._event_seconds + done.filter_seconds
        there = here if seconds_there is None else self._event_seconds + seconds_there
        self.is_worth_it = bool(self.step) or done.filter_seconds >= _GAIN * here
        before = self.step
        if self.is_worth_it:
            self._search.observe(here + done.in_vain_share * there)
        # After a step, what is under way was still filtered with the old entries.
        self._stepped, self._before = (load, load) if self.step == before else (None, None)
