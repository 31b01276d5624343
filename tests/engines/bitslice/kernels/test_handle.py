"""A handle searches as the kernels do that it wraps, again and again, and several may search at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tamis.engines.bitslice.kernels.handle import (
    Handle,
    count_candidates_with_handle,
    new_handle,
    search_with_handle,
)
from tamis.engines.bitslice.kernels.search import count_candidates, search
from tests.engines.bitslice.build_steps import build_steps
from tests.engines.naive import Pair

STEPS = build_steps(51, 90, 70, depth=3)
ENCODED: Any = tuple(STEPS.encoded)
ROOM = 10_000


def handle_of_steps() -> Handle:
    made: Handle = new_handle(STEPS.index.index, STEPS.index._new_state())
    return made


def pairs(handle: Handle, fewest: int = 2, room: int = ROOM) -> list[Pair]:
    rows, slots, count = search_with_handle(handle, ENCODED, fewest, room)
    return sorted(zip(rows[:count].tolist(), slots[:count].tolist(), strict=True))


@pytest.mark.parametrize("fewest", [1, 2, 1 << 30])
def test_it_finds_what_search_finds(fewest: int) -> None:
    found, count = search(STEPS.index.index, STEPS.encoded, STEPS.index._new_state(), fewest, ROOM)
    wanted = sorted(zip(found.events[:count].tolist(), found.numbers[:count].tolist(), strict=True))
    assert pairs(handle_of_steps(), fewest) == wanted == STEPS.pairs


def test_one_handle_serves_many_searches() -> None:
    handle = handle_of_steps()
    for fewest, room in ((2, ROOM), (1, 1), (1 << 30, ROOM), (2, 1)):
        assert pairs(handle, fewest, room) == STEPS.pairs
        count_candidates_with_handle(handle, ENCODED)


def test_it_counts_what_count_candidates_counts() -> None:
    state = STEPS.index._new_state()
    counts = count_candidates_with_handle(handle_of_steps(), ENCODED).tolist()
    assert counts == count_candidates(STEPS.index.index, STEPS.encoded, state.test_lines).tolist()
    for event, count in enumerate(counts):
        assert count >= sum(row == event for row, _ in STEPS.pairs)


def test_handles_of_one_index_search_at_the_same_time() -> None:
    def search_often(handle: Handle) -> list[list[Pair]]:
        return [pairs(handle) for _ in range(5)]

    with ThreadPoolExecutor(4) as threads:
        results = threads.map(search_often, [handle_of_steps() for _ in range(4)])
        assert list(results) == [[STEPS.pairs] * 5] * 4
