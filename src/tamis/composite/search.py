"""The search for a match among the events that one key keeps.

Kept are events and not half-made matches: which event ends up in which match is decided when one can be ended, so
an event that a hopeless match would have taken is still there for another. The rule is that of
`tamis.composite.reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tamis.composite.parts import CompiledComposite, CompiledPart, with_earlier
from tamis.events.batch import EventBatch
from tamis.frames import BatchFrame

EventOf: TypeAlias = Callable[[int], Mapping[str, Any]]
"""The attributes of the event of a number."""


@dataclass(slots=True)
class KeptEvent:
    """An event that may take part in a match.

    Attributes:
        time_us: Its time.
        number: Its place in the order of arrival.
        parts: The places of the parts whose local condition it satisfies, as bits.
        begun: Has it begun a match? Then it begins no other.
    """

    time_us: int
    number: int
    parts: int
    begun: bool = False


class Search:
    """Looks for matches of one subscription, with `tries` steps for all first events together.

    Attributes:
        deepest: The most events in order that were found together.
    """

    def __init__(self, composite: CompiledComposite, tries: int, event_of: EventOf) -> None:
        self.composite = composite
        self.event_of = event_of
        self.tries = tries
        self.deepest = 0

    @property
    def gave_up(self) -> bool:
        """Were there too few tries to look at everything?"""
        return self.tries < 0

    def match_from(
        self, first: KeptEvent, between: Sequence[KeptEvent], last: KeptEvent | None
    ) -> list[KeptEvent] | None:
        """The earliest match from `first` to `last`; None if there is none, or no last event."""
        source = self.composite.source
        if source.form == "sequence":
            return self._sequence([first], between, last)
        ends = [] if last is None else [last]
        chosen = [first]
        for each in between:
            if len(chosen) + len(ends) == source.count:
                break
            self.tries -= source.form == "all"
            if self.gave_up:
                return None
            if source.form == "at_least" or _assignable([*chosen, *ends, each]):
                chosen.append(each)
        self.deepest = max(self.deepest, len(chosen))
        chosen += ends
        complete = len(chosen) == source.count and (source.form == "at_least" or _assignable(chosen))
        return chosen if ends and complete else None

    def _sequence(
        self, chosen: list[KeptEvent], between: Sequence[KeptEvent], last: KeptEvent | None
    ) -> list[KeptEvent] | None:
        parts = self.composite.parts
        place = len(chosen)
        self.deepest = max(self.deepest, place)
        if place == len(parts) - 1:
            between = [] if last is None else [last]
        fitting: Sequence[KeptEvent] = [
            each for each in between if each.parts >> place & 1 and self.is_after(parts[place], chosen[-1], each)
        ]
        if self.composite.is_greedy:
            fitting = fitting[:1]
        else:
            self.tries -= len(fitting)
            fitting = [] if self.gave_up else self.jointly(parts[place], chosen, fitting)
        for each in fitting:
            if place == len(parts) - 1:
                return [*chosen, each]
            rest = [other for other in between if (other.time_us, other.number) > (each.time_us, each.number)]
            found = self._sequence([*chosen, each], rest, last)
            if found is not None:
                return found
        return None

    def is_after(self, part: CompiledPart, before: KeptEvent, event: KeptEvent) -> bool:
        """Is an event, which is later in the order, late enough for its part?"""
        elapsed = event.time_us - before.time_us
        return elapsed >= part.gap_us and (elapsed > 0 or not self.composite.source.strict)

    def jointly(
        self, part: CompiledPart, chosen: Sequence[KeptEvent], events: Sequence[KeptEvent]
    ) -> Sequence[KeptEvent]:
        """Those of the events that satisfy the joint condition of a part, after those chosen for earlier ones."""
        if part.joint is None or not events:
            return events
        earlier = [self.event_of(each.number) for each in chosen]
        rows = [with_earlier(self.event_of(each.number), earlier, self.composite.parts) for each in events]
        verdicts = BatchFrame(EventBatch.of(rows, part.joint.schema)).column(part.joint.expression).to_list()
        return [each for each, verdict in zip(events, verdicts, strict=True) if verdict is True]


def _assignable(events: Sequence[KeptEvent]) -> bool:
    """Can each event have a part of its own? Augmenting paths: one that is taken moves to another part it fits."""
    owner: dict[int, KeptEvent] = {}

    def place(event: KeptEvent, visited: set[int]) -> bool:
        for part in range(event.parts.bit_length()):
            if part in visited or not event.parts >> part & 1:
                continue
            visited.add(part)
            if part not in owner or place(owner[part], visited):
                owner[part] = event
                return True
        return False

    return all(place(event, set()) for event in events)
