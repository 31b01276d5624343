"""Explanations of composite subscriptions: what is open and until when, and why a match was not completed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tamis.composite.parts import CompiledComposite
from tamis.composite.search import EventOf, KeptEvent, Search

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a match came that is open, or was never completed.

    Attributes:
        first: Its first event.
        reached: How many events were found.
        until: When it ends, or ended.
        reason: What it waits for, or why it was not completed.
    """

    first: Mapping[str, Any]
    reached: int
    until: datetime
    reason: str

    def __str__(self) -> str:
        return f"{self.reached} found, until {self.until:%Y-%m-%d %H:%M:%S}: {self.reason}"


@dataclass(frozen=True, slots=True)
class CompositeExplanation:
    """What is open for one key, and the last matches that were not completed."""

    open: tuple[Progress, ...]
    ended: tuple[Progress, ...]

    def __str__(self) -> str:
        return "\n".join([*(f"open: {each}" for each in self.open), *(f"ended: {each}" for each in self.ended)])


@dataclass(frozen=True, slots=True)
class Ending:
    """A match that was not completed: the events from its first on, and the one that must not have come."""

    events: Sequence[KeptEvent]
    unwanted: KeptEvent | None = None


def explain_state(
    composite: CompiledComposite,
    kept: Sequence[KeptEvent],
    waiting: Iterable[Sequence[KeptEvent]],
    endings: Iterable[Ending],
    tries: int,
    event_of: EventOf,
) -> CompositeExplanation:
    """The explanation of what one key keeps, and of what ended."""
    absent = composite.absent
    text = absent.text if absent else ""

    def progress(events: Sequence[KeptEvent], reached: int, reason: str) -> Progress:
        until = moment_of(events[0].time_us + composite.source.within_us)
        return Progress(event_of(events[0].number), reached, until, reason)

    def search(events: Sequence[KeptEvent], word: str) -> Progress:
        searched = Search(composite, tries, event_of)
        searched.match_from(events[0], events[1:], None)
        reached, count = searched.deepest, composite.source.count
        if composite.source.form != "sequence":
            return progress(events, reached, f"{count - reached} more of {count} {word}")
        return progress(events, reached, f"part {reached + 1} of {count} {word}: {composite.parts[reached].text}")

    pending = [progress(events, len(events), f"must not come: {text}") for events in waiting]
    opened = [search(kept[place:], "is to come") for place in first_places(composite, kept)]
    ended = [
        search(each.events, "did not come")
        if each.unwanted is None
        else progress(each.events, len(each.events), f"came at {moment_of(each.unwanted.time_us)}: {text}")
        for each in endings
    ]
    return CompositeExplanation((*pending, *opened), tuple(ended))


def first_places(composite: CompiledComposite, kept: Sequence[KeptEvent]) -> list[int]:
    """The places of the kept events that may still begin a match."""
    ordered = composite.source.form == "sequence"
    return [place for place, each in enumerate(kept) if not each.begun and (each.parts & 1 or not ordered)]


def moment_of(time_us: int) -> datetime:
    """The time of so many microseconds since 1970."""
    return EPOCH + timedelta(microseconds=time_us)
