"""What is kept of one key, and for how long."""

from __future__ import annotations

import pytest

from tamis.composite.key_state import KeyState
from tamis.composite.parts import compile_composite
from tamis.composite.search import KeptEvent, Search

WITHIN = "WITHIN INTERVAL '10' SECOND"
SECOND = 1_000_000


def event(second: int, *parts: int) -> KeptEvent:
    return KeptEvent(second * SECOND, second, sum(1 << part for part in parts))


def state_after(text: str, *events: KeptEvent) -> tuple[KeyState, list[list[int]]]:
    composite, state, found = compile_composite(f"{text} {WITHIN}"), KeyState(), []
    for each in events:
        search = Search(composite, 1000, lambda _: {})
        state.cancel(composite, each, search)
        found += [[one.number for one in match] for match in state.end_matches(composite, each, search)]
    return state, found


@pytest.mark.parametrize(
    ("text", "events", "kept"),
    [
        ("a THEN b THEN c", [event(0, 1), event(1, 2)], []),
        ("a THEN b THEN c", [event(0, 0), event(1, 1), event(2, 0)], [0, 1, 2]),
        ("a THEN b THEN c", [event(0, 0), event(1, 2)], [0]),
        ("ALL(a, b)", [event(0, 1)], [0]),
        ("a THEN NOT b", [event(0, 1)], []),
    ],
)
def test_only_what_a_later_event_can_use_is_kept(text: str, events: list[KeptEvent], kept: list[int]) -> None:
    state, _ = state_after(text, *events)
    assert [each.number for each in state.kept] == kept
    assert state.size == len(kept)


def test_the_events_of_a_match_are_used_up_unless_they_are_shared() -> None:
    events = (event(0, 0), event(1, 0), event(2, 1))
    state, found = state_after("a THEN b", *events)
    assert (found, [each.number for each in state.kept]) == ([[0, 2]], [1])


def test_what_is_over_is_forgotten_and_told() -> None:
    composite = compile_composite(f"a THEN b {WITHIN}")
    state, _ = state_after("a THEN b", event(0, 0), event(3, 0))
    assert state.next_deadline(composite.source.within_us) == 10 * SECOND
    complete, over = state.expire(composite.source.within_us, 10 * SECOND)
    assert (complete, [each.number for each in over]) == ([], [0])
    assert [each.number for each in state.kept] == [3]


def test_a_match_of_then_not_is_complete_when_its_time_is_over() -> None:
    composite = compile_composite(f"a THEN NOT b {WITHIN}")
    state, found = state_after("a THEN NOT b", event(0, 0), event(1, 0), event(2, 1))
    assert found == []
    assert [[each.number for each in events] for events in state.waiting] == [[1]]
    complete, _ = state.expire(composite.source.within_us, 11 * SECOND)
    assert [each.number for each in complete[0]] == [1]
    assert state.size == 0


def test_an_event_without_a_place_is_taken_back() -> None:
    state, _ = state_after("a THEN NOT b", event(0, 0))
    last = event(1, 0)
    composite = compile_composite(f"a THEN NOT b {WITHIN}")
    state.end_matches(composite, last, Search(composite, 1000, lambda _: {}))
    state.drop(last)
    assert [events[0].number for events in state.waiting] == [0]
