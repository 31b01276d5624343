"""The reference: what a composite subscription means, over a list of events, in the plainest code.

It tries every combination of events, in the order of time, and knows no state, index or timer, so that
`SequenceMatcher` can be tested against it. The rule, in full:

1. An event is *late* if its time is before the watermark, which is the greatest time so far less the lateness that
   is allowed. It is *repeated* if one of the same id and time was taken. Both are counted and set aside.
2. Events are considered in the order of time; those of equal time, in the order in which they arrived. An event is
   considered when the watermark has reached its time.
3. Only events with the same values of the BY attributes match together; NULL is no value.
4. Each event ends the matches that it can end, as their last event. Of those that share a first event, only the
   earliest counts: that whose second event is the earliest, then its third, and so on.
5. FOR OLDEST: an event takes part in one match at most; the one with the earliest first event is preferred.
   FOR ALL: an event begins one match at most; it may take part in those that others begin.
6. THEN NOT: such a match waits until WITHIN has passed since its first event. An event that must not come ends the
   oldest that waits for it (FOR ALL: all), and may still be part of another match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from typing import Any, NamedTuple

from tamis import reference
from tamis.composite.parts import CompiledComposite, CompiledPart, keys_of, with_earlier
from tamis.events.batch import EventBatch


class TimedEvent(NamedTuple):
    """An event with its time, its place in the order of arrival, and the id by which it is known again."""

    time_us: int
    number: int
    event: Mapping[str, Any]
    id: Any = None


class ReferenceMatch(NamedTuple):
    """A completed match: when it was complete, and the events that took part."""

    time_us: int
    events: tuple[TimedEvent, ...]


@dataclass(frozen=True, slots=True)
class SequenceMatches:
    """All matches, in the order of their completion, and how many events were set aside."""

    matches: list[ReferenceMatch]
    late: int
    repeated: int


def find_matches(
    composite: CompiledComposite, events: Sequence[TimedEvent], lateness_us: int = 0, until_us: int | None = None
) -> SequenceMatches:
    """The matches among events, in the order of arrival; at the end the watermark moves on to `until_us`."""
    taken: list[TimedEvent] = []
    late = repeated = 0
    watermark: int | None = None
    for each in events:
        if watermark is not None and each.time_us < watermark:
            late += 1
        elif each.id is not None and any((each.id, each.time_us) == (old.id, old.time_us) for old in taken):
            repeated += 1
        else:
            taken.append(each)
            watermark = max(old.time_us for old in taken) - lateness_us
    if until_us is not None:
        watermark = until_us if watermark is None else max(watermark, until_us)
    if watermark is None:
        return SequenceMatches([], late, repeated)
    due = sorted((each for each in taken if each.time_us <= watermark), key=lambda each: each[:2])
    batch = EventBatch.of([each.event for each in due], composite.parts[0].local.schema)
    keys = keys_of(batch, composite.keys)
    found: list[ReferenceMatch] = []
    for key in {key for key in keys if key is not None}:
        same = [each for each, own in zip(due, keys, strict=True) if own == key]
        found += _matches_of_key(composite, same, watermark)
    # What timers complete comes after the events of the same time.
    timers = composite.absent is not None
    found.sort(key=lambda match: (match.time_us, 0 if timers else match.events[-1].number, match.events[0][:2]))
    return SequenceMatches(found, late, repeated)


def _matches_of_key(
    composite: CompiledComposite, events: list[TimedEvent], watermark: int
) -> list[ReferenceMatch]:
    source = composite.source
    used: set[int] = set()
    ended: list[tuple[TimedEvent, ...]] = []
    for place, last in enumerate(events):
        if composite.absent is not None:
            for waiting in sorted(ended, key=lambda events: events[0][:2]):
                if _must_not_follow(composite, waiting, last):
                    ended.remove(waiting)
                    if not source.shared:
                        break
        for others in combinations(events[:place], source.count - 1):
            chosen = (*others, last)
            spent = chosen[:1] if source.shared else chosen
            if used.isdisjoint(each.number for each in spent) and _fits(composite, chosen):
                used.update(each.number for each in spent)
                ended.append(chosen)
    if composite.absent is None:
        return [ReferenceMatch(chosen[-1].time_us, chosen) for chosen in ended]
    deadlines = [ReferenceMatch(chosen[0].time_us + source.within_us, chosen) for chosen in ended]
    return [match for match in deadlines if match.time_us < watermark]


def _fits(composite: CompiledComposite, chosen: tuple[TimedEvent, ...]) -> bool:
    """Are these events, in the order of time, a match?"""
    source, parts = composite.source, composite.parts
    if chosen[-1].time_us - chosen[0].time_us > source.within_us:
        return False
    if source.form == "at_least":
        return all(_satisfies(parts[0], each, ()) for each in chosen)
    if source.form == "all":
        return any(
            all(_satisfies(part, each, ()) for part, each in zip(parts, order, strict=True))
            for order in permutations(chosen)
        )
    later = zip(parts[1:], pairwise(chosen), strict=True)
    return all(_is_after(composite, part, *two) for part, two in later) and all(
        _satisfies(part, each, chosen[:place], parts)
        for place, (part, each) in enumerate(zip(parts, chosen, strict=True))
    )


def _is_after(composite: CompiledComposite, part: CompiledPart, before: TimedEvent, event: TimedEvent) -> bool:
    """Is an event, which is later in the order, late enough for its part?"""
    if composite.source.strict and event.time_us == before.time_us:
        return False
    return event.time_us - before.time_us >= part.gap_us


def _must_not_follow(composite: CompiledComposite, waiting: tuple[TimedEvent, ...], event: TimedEvent) -> bool:
    absent = composite.absent
    assert absent is not None, "only asked of THEN NOT"
    in_time = event.time_us - waiting[0].time_us <= composite.source.within_us
    follows = in_time and _is_after(composite, absent, waiting[-1], event)
    return follows and _satisfies(absent, event, waiting, composite.parts)


def _satisfies(
    part: CompiledPart, event: TimedEvent, earlier: tuple[TimedEvent, ...], parts: Sequence[CompiledPart] = ()
) -> bool:
    def holds(condition: Any, read: Mapping[str, Any]) -> bool:
        return reference.evaluate(condition, EventBatch.of(read, condition.schema)) == [True]

    if not holds(part.local, event.event):
        return False
    bound = with_earlier(event.event, (each.event for each in earlier), parts)
    return part.joint is None or holds(part.joint, bound)
