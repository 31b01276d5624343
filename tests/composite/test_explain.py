"""What is open and until when, and why a match was not completed."""

from __future__ import annotations

from tamis import SequenceMatcher

WITHIN = "WITHIN INTERVAL '1' MINUTE BY user"


def matcher_of(text: str) -> SequenceMatcher:
    matcher = SequenceMatcher()
    matcher.add("s", f"{text} {WITHIN}")
    return matcher


def feed(matcher: SequenceMatcher, *events: tuple[int, str, str]) -> int:
    return len(matcher.feed([{"time": time, "kind": kind, "user": user} for time, kind, user in events]))


def test_an_open_sequence_says_what_it_waits_for() -> None:
    matcher = matcher_of("kind = 'a' THEN kind = 'b' THEN kind = 'c'")
    feed(matcher, (0, "a", "ann"), (1, "b", "ann"), (2, "a", "bob"))
    explanation = matcher.explain("s", {"user": "ann"})
    assert str(explanation) == "open: 2 found, until 1970-01-01 00:01:00: part 3 of 3 is to come: kind = 'c'"
    assert explanation.open[0].first == {"time": 0, "kind": "a", "user": "ann"}
    assert matcher.explain("s", {"user": "bob"}).open[0].reached == 1
    assert matcher.explain("s", {"user": "eve"}) == matcher.explain("s")


def test_a_sequence_that_was_not_completed_says_why() -> None:
    matcher = matcher_of("kind = 'a' THEN kind = 'b'")
    assert feed(matcher, (0, "a", "ann"), (61, "b", "ann")) == 0
    said = "ended: 1 found, until 1970-01-01 00:01:00: part 2 of 2 did not come: kind = 'b'"
    assert str(matcher.explain("s", {"user": "ann"})) == said


def test_counts_say_how_many_are_missing() -> None:
    matcher = matcher_of("AT_LEAST(3, kind = 'a')")
    feed(matcher, (0, "a", "ann"), (1, "a", "ann"))
    progress = matcher.explain("s", {"user": "ann"}).open
    assert [(each.reached, each.reason) for each in progress] == [
        (2, "1 more of 3 is to come"),
        (1, "2 more of 3 is to come"),
    ]


def test_an_absence_says_what_must_not_come_and_what_came() -> None:
    matcher = matcher_of("kind = 'a' THEN NOT kind = 'b'")
    feed(matcher, (0, "a", "ann"))
    assert matcher.explain("s", {"user": "ann"}).open[0].reason == "must not come: kind = 'b'"
    feed(matcher, (30, "b", "ann"))
    explanation = matcher.explain("s", {"user": "ann"})
    assert explanation.open == ()
    assert explanation.ended[0].reason == "came at 1970-01-01 00:00:30+00:00: kind = 'b'"
