"""What a composite subscription finds in a list of events, and why it does not find more."""

from __future__ import annotations

import pytest

from tamis import EventError
from tamis.composite.trial import try_composite

TEXT = "kind = 'a' THEN kind = 'b' WITHIN INTERVAL '1' MINUTE BY user"


def test_matches_and_what_is_open_are_told_for_each_key() -> None:
    events = [
        {"time": 100, "kind": "a", "user": "eve"},
        {"time": 20, "kind": "b", "user": "ann"},
        {"time": 0, "kind": "a", "user": "ann"},
        {"time": 1, "kind": "a", "user": "bob"},
        {"time": 2, "kind": "c", "user": None},
    ]
    trial = try_composite(TEXT, events)
    assert str(trial).splitlines() == [
        "complete for ann: 2 found, at 1970-01-01 00:00:20",
        "ended for bob: 1 found, until 1970-01-01 00:01:01: part 2 of 2 did not come: kind = 'b'",
        "open for eve: 1 found, until 1970-01-01 00:02:40: part 2 of 2 is to come: kind = 'b'",
    ]
    told = trial.to_dict()
    assert [each["key"] for each in told["matches"] + told["ended"] + told["open"]] == [["ann"], ["bob"], ["eve"]]
    assert told["open"][0]["first"] == events[0]


def test_one_key_can_be_asked_about() -> None:
    events = [{"time": 0, "kind": "a", "user": user} for user in ("ann", "bob")]
    trial = try_composite(TEXT, [*events, {"time": 1, "kind": "b", "user": "ann"}], key=events[1])
    assert (trial.matches, [*trial.open]) == ([], [("bob",)])
    assert str(try_composite(TEXT, [])) == "no event satisfies a part that could begin it"


def test_an_event_without_a_time_is_refused() -> None:
    with pytest.raises(EventError, match="expected a time"):
        try_composite(TEXT, [{"kind": "a"}])
