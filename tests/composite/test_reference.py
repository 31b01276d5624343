"""The reference itself, on examples small enough to follow by hand."""

from __future__ import annotations

from tamis.composite.parts import compile_composite
from tamis.composite.reference import SequenceMatches, TimedEvent, find_matches

WITHIN = "WITHIN INTERVAL '10' SECOND"


def outcome(
    text: str, events: str, lateness_us: int = 0, until: int | None = None
) -> tuple[SequenceMatches, list[str]]:
    """Events are written as kind and time; one written with `*` has the id of the one before."""
    timed: list[TimedEvent] = []
    for number, word in enumerate(events.split()):
        id = timed[-1].id if word.endswith("*") else number
        kind, time = word[0], int(word[1:].rstrip("*"))
        timed.append(TimedEvent(time * 1_000_000, number, {"kind": kind, "name": f"{kind}{time}"}, id))
    until_us = None if until is None else until * 1_000_000
    found = find_matches(compile_composite(f"{text} {WITHIN}"), timed, lateness_us, until_us)
    return found, [" ".join(each.event["name"] for each in match.events) for match in found.matches]


A_THEN_B = "kind = 'a' THEN kind = 'b'"


def test_no_events_no_matches() -> None:
    assert outcome(A_THEN_B, "") == (SequenceMatches([], 0, 0), [])


def test_an_event_is_in_one_match_and_the_oldest_is_preferred() -> None:
    assert outcome(A_THEN_B, "a0 a1 b2 b3")[1] == ["a0 b2", "a1 b3"]


def test_late_events_are_set_aside_and_counted() -> None:
    found, names = outcome(A_THEN_B, "a1 b5 a4 b6")
    assert (found.late, names) == (1, ["a1 b5"])
    found, names = outcome(A_THEN_B, "a1 b5 a4 b6", lateness_us=1_000_000, until=6)
    assert (found.late, names) == (0, ["a1 b5", "a4 b6"])


def test_events_wait_for_the_watermark() -> None:
    assert outcome(A_THEN_B, "a1 b5", lateness_us=1_000_000)[1] == []
    assert outcome(A_THEN_B, "a1 b5", lateness_us=1_000_000, until=5)[1] == ["a1 b5"]


def test_repeated_events_count_once() -> None:
    found, names = outcome("AT_LEAST(2, kind = 'a')", "a1 a1*")
    assert (found.repeated, names) == (1, [])
    assert outcome("AT_LEAST(2, kind = 'a')", "a1 a1")[1] == ["a1 a1"]


def test_what_must_not_come_is_awaited_to_the_end() -> None:
    absent = "kind = 'a' THEN NOT kind = 'b'"
    assert outcome(absent, "a0 x10")[1] == []
    found, names = outcome(absent, "a0 x11")
    assert (names, found.matches[0].time_us) == (["a0"], 10_000_000)
    assert outcome(absent, "a0", until=11)[1] == ["a0"]
    assert outcome(absent, "a0 b10 x11")[1] == []
