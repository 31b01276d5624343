"""What one subscription keeps of one key: events in the order of time, and matches that wait for their end.

It knows neither the watermark nor other keys. Events come in the order of time, and `expire` is called for every
deadline before a later event comes, so everything that is kept is within reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from tamis.composite.explain import Ending, first_places
from tamis.composite.parts import CompiledComposite
from tamis.composite.search import KeptEvent, Search


@dataclass(slots=True)
class KeyState:
    """The state of one key.

    Attributes:
        kept: Events that may still take part, in the order of time.
        waiting: The events of matches of THEN NOT whose time is not over, in the order of their first events.
    """

    kept: list[KeptEvent] = field(default_factory=list)
    waiting: list[list[KeptEvent]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many events are held."""
        return len(self.kept) + (sum(map(len, self.waiting)) if self.waiting else 0)

    def next_deadline(self, within_us: int) -> int:
        """When something is over; there is something."""
        return min(each.time_us for each in (*self.kept[:1], *(each[0] for each in self.waiting))) + within_us

    def expire(self, within_us: int, deadline_us: int) -> tuple[list[list[KeptEvent]], list[KeptEvent]]:
        """Forget what is over at a deadline: the matches that are complete, and the events that were kept."""
        oldest_us = deadline_us - within_us
        over = [each for each in self.kept if each.time_us <= oldest_us]
        complete = [each for each in self.waiting if each[0].time_us <= oldest_us]
        self.waiting = [each for each in self.waiting if each[0].time_us > oldest_us]
        self.kept = [each for each in self.kept if each.time_us > oldest_us]
        return complete, over

    def cancel(self, composite: CompiledComposite, event: KeptEvent, search: Search) -> list[Ending]:
        """End the matches in wait that this event must not follow: the oldest, or all."""
        absent = composite.absent
        if absent is None or not event.parts >> len(composite.parts) & 1:
            return []
        endings = []
        for events in list(self.waiting):
            if search.is_after(absent, events[-1], event) and search.jointly(absent, events, [event]):
                self.waiting.remove(events)
                endings.append(Ending(events, event))
                if not composite.source.shared:
                    break
        return endings

    def end_matches(self, composite: CompiledComposite, event: KeptEvent, search: Search) -> list[list[KeptEvent]]:
        """The matches that this event completes; it is kept if it can wait for others. Those of THEN NOT wait."""
        ended: list[list[KeptEvent]] = []
        is_used = False
        for chosen in self._matches_to(composite, event, search):
            ended.append(chosen)
            chosen[0].begun = True
            if not composite.source.shared:
                is_used = True
                used = {each.number for each in chosen}
                self.kept = [each for each in self.kept if each.number not in used]
                break
        if not is_used and self._can_wait(composite, event):
            self.kept.append(event)
        if composite.absent is None:
            return ended
        self.waiting += ended
        self.waiting.sort(key=lambda events: (events[0].time_us, events[0].number))
        return []

    def drop(self, event: KeptEvent) -> None:
        """Take back an event that found no place, and the matches in wait that it ended."""
        self.kept = [each for each in self.kept if each is not event]
        self.waiting = [events for events in self.waiting if events[-1] is not event]

    def _matches_to(
        self, composite: CompiledComposite, event: KeptEvent, search: Search
    ) -> Iterator[list[KeptEvent]]:
        """The matches whose last event this is, that with the earliest first event first."""
        wanted = (1 << len(composite.parts)) - 1
        last = wanted + 1 >> 1 if composite.source.form == "sequence" else wanted
        if not event.parts & last:
            return
        if composite.source.count == 1:
            yield [event]
        kept = self.kept
        if not kept or len(kept) + 1 < composite.source.count:
            return
        if wanted & ~reduce(or_, (each.parts for each in kept), event.parts):
            return
        for place in first_places(composite, kept):
            chosen = search.match_from(kept[place], kept[place + 1 :], event)
            if chosen is not None:
                yield chosen
            elif composite.is_greedy:  # what fits after a later first event would fit after this one
                return

    def _can_wait(self, composite: CompiledComposite, event: KeptEvent) -> bool:
        """Can the event be in a match that a later one ends?"""
        if composite.source.form != "sequence":
            return True
        before_last = (1 << len(composite.parts) - 1) - 1
        return event.parts & (before_last if self.kept else before_last & 1) != 0
