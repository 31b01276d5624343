"""The search for one match among kept events."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from tamis.composite.parts import compile_composite
from tamis.composite.search import KeptEvent, Search

WITHIN = "WITHIN INTERVAL '1' HOUR"


def kept(*parts: set[int]) -> list[KeptEvent]:
    return [KeptEvent(number, number, sum(1 << part for part in each)) for number, each in enumerate(parts)]


def places(text: str, events: list[KeptEvent]) -> list[int] | None:
    search = Search(compile_composite(f"{text} {WITHIN}"), 1000, lambda _: {})
    found = search.match_from(events[0], events[1:-1], events[-1])
    return None if found is None else [each.number for each in found]


def test_the_earliest_event_that_fits_is_taken() -> None:
    assert places("a THEN b THEN c", kept({0}, {0, 2}, {1}, {1}, {2})) == [0, 2, 4]
    assert places("a THEN b THEN c", kept({0}, {0}, {2})) is None


@given(st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=3, max_size=5))
def test_all_finds_a_part_for_each_event_if_there_is_one(parts: list[set[int]]) -> None:
    between = range(1, len(parts) - 1)
    expected = [
        [0, middle, len(parts) - 1]
        for middle in between
        if any(
            all(part in parts[place] for part, place in enumerate(order))
            for order in permutations((0, middle, len(parts) - 1))
        )
    ]
    assert places("ALL(a, b, c)", kept(*parts)) == (expected[0] if expected else None)
