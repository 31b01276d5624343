"""Conditions before they are subscribed: problems with places, what they would match, and why."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tamis.errors import ConditionError, EventError
from tamis.events.event_type import EventType
from tamis.limits import DEFAULT_LIMITS
from tamis.service.testing import count_matches, explain_event, findings, try_events

ANY = EventType("t/event")
SALE = EventType.of({"name": "t/sale", "attributes": {"price": "double"}})


def events(*given: dict[str, Any]) -> list[tuple[str, bytes]]:
    return [(f"e{place}", json.dumps(each).encode()) for place, each in enumerate(given)]


def test_a_wrong_condition_has_an_error_with_its_place() -> None:
    [found] = findings("price < 5 AND\ncolour = 'red'", SALE, DEFAULT_LIMITS)
    assert found["severity"] == "error"
    assert (found["line"], found["column"], found["start"], found["end"]) == (2, 1, 14, 20)
    assert "colour" in found["message"]


def test_a_condition_that_is_right_and_plain_has_no_findings() -> None:
    assert findings("price < 5", SALE, DEFAULT_LIMITS) == []


def test_a_condition_that_can_never_hold_is_found() -> None:
    found = findings("price < 5 AND price > 6", SALE, DEFAULT_LIMITS)
    assert found
    assert all(each["severity"] != "error" and 0 <= each["start"] <= each["end"] for each in found)


def test_events_that_would_match_are_counted_and_named() -> None:
    given = events({"id": "x", "a": 1}, {"id": "y", "a": 2}, {"a": 1})
    tried = count_matches("a = 1", ANY, DEFAULT_LIMITS, given)
    assert (tried.events, tried.matched, tried.ids) == (3, 2, ["e0", "e2"])


def test_an_event_that_cannot_be_read_counts_for_nothing_and_moves_no_name() -> None:
    given = [("bad", b"nonsense"), *events({"a": 1})]
    tried = count_matches("a = 1", ANY, DEFAULT_LIMITS, given)
    assert (tried.events, tried.matched, tried.ids) == (1, 1, ["e0"])


def test_of_many_matches_only_some_are_named() -> None:
    tried = count_matches("true", ANY, DEFAULT_LIMITS, events(*({"a": number} for number in range(100))))
    assert (tried.matched, len(tried.ids)) == (100, 20)


def test_without_events_nothing_matches() -> None:
    assert count_matches("true", ANY, DEFAULT_LIMITS, []).events == 0


def test_a_condition_that_is_refused_is_not_tried() -> None:
    with pytest.raises(ConditionError):
        count_matches("a =", ANY, DEFAULT_LIMITS, [])


def test_why_an_event_matches_is_explained() -> None:
    assert explain_event("a = 1 OR b = 2", ANY, DEFAULT_LIMITS, {"a": 1}, subscription_id="s").matched
    assert not explain_event("a = 1", ANY, DEFAULT_LIMITS, {"a": 2}).matched


def test_what_is_no_event_is_not_explained() -> None:
    with pytest.raises(EventError, match="expected an event, an object"):
        explain_event("a = 1", ANY, DEFAULT_LIMITS, [1])


WALK = "kind = 'a' THEN kind = 'b' WITHIN INTERVAL '1' MINUTE BY user"


def test_a_composite_subscription_is_checked_and_tried_on_events() -> None:
    assert findings(WALK, ANY, DEFAULT_LIMITS, dialect="composite") == []
    [found] = findings(WALK.replace("BY user", "BY"), ANY, DEFAULT_LIMITS, dialect="composite")
    assert (found["severity"], found["start"]) == ("error", len(WALK) - 5)
    given = [
        {"time": second, "kind": kind, "user": user}
        for second, kind, user in [(5, "b", "ann"), (0, "a", "ann"), (1, "a", "bob"), (90, "c", "bob")]
    ]
    tried = count_matches(WALK, ANY, DEFAULT_LIMITS, events(*given), "composite")
    assert (tried.events, tried.matched, tried.ids) == (4, 1, ["e0"])
    assert "ended for bob" in str(try_events(WALK, ANY, DEFAULT_LIMITS, events(*given), "e2"))


def test_events_without_a_time_have_the_one_at_which_they_were_accepted() -> None:
    given = events({"kind": "b", "user": "ann"}, {"kind": "a", "user": "ann"}, {"kind": "a", "user": "bob"})
    given.append(("own", b'{"kind": "b", "user": "cy", "time": 5}'))  # a time of its own, of another kind
    noon = datetime(2026, 11, 18, 12, tzinfo=UTC)
    seconds = {"e0": 30, "e1": 0, "e2": 40}  # the newest comes first, as the inbox gives them
    soon = {id: noon + timedelta(seconds=second) for id, second in seconds.items()}
    late = {**soon, "e0": noon + timedelta(seconds=90)}
    for accepted, ids in ((soon, ["e0"]), (late, [])):
        assert count_matches(WALK, ANY, DEFAULT_LIMITS, given, "composite", accepted=accepted).ids == ids
        assert bool(try_events(WALK, ANY, DEFAULT_LIMITS, given, "e1", accepted=accepted).matches) == bool(ids)
    assert "until 2026-11-18 12:01:40" in str(try_events(WALK, ANY, DEFAULT_LIMITS, given, "e2", accepted=soon))
