"""The kernel does what `KeyState` does, key by key: the same matches, and the same rows stay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.composite import open_matches
from tamis.composite.key_steps import BEGUN, find_codes, order_of_codes
from tamis.composite.open_matches import KEY_BITS, Bounds, OpenMatches, Rows
from tamis.composite.parts import compile_composite

pytestmark = pytest.mark.slow

SECOND = 1_000_000
TEXTS = (
    "a THEN b",
    "a THEN b THEN c",
    "a THEN b AFTER INTERVAL '2' SECOND THEN c",
    "SEQUENCE NON STRICT (a, b, c)",
    "AT_LEAST(2, a)",
    "AT_LEAST(4, a)",
    "ALL(a, b)",
    "ALL(a, b, c)",
    "a THEN NOT b",
    "a THEN b THEN NOT c",
    "a THEN NOT b AFTER INTERVAL '2' SECOND",
    "a AS x THEN b AND price > x.price",
    "a AS x THEN b AND price >= x.price AS y THEN c AND price < y.price",
    "a THEN b AS x THEN c AND price = x.price",
    "a AS x THEN b AND price > x.price THEN NOT c AND price = x.price",
    "a AS x THEN b AS y THEN c AND price = x.price + y.price",
)


def outcome(least: int, text: str, batches: list[list[tuple[int, int, int]]], bounds: Bounds) -> Any:
    """What batches of key, second and parts give, and what they leave; the price of an event is its number."""

    def prices(numbers: Iterable[int], _names: object) -> dict[int, Any]:
        return {number: {"price": number * 7 % 5} for number in numbers}

    matches = OpenMatches(bounds, prices)
    matches.add(compile_composite(text))
    found: list[Any] = []
    number = 0
    with patch.object(open_matches, "LEAST_FOR_KERNEL", least):
        for batch in batches:
            key, second, parts = (np.array(column, np.int64) for column in zip(*batch, strict=True))
            numbers = np.arange(number, number + len(key))
            number += len(key)
            rows = Rows(key, second * SECOND, numbers, parts.astype(np.int32))
            found += matches.apply(rows, int(second.max()) * SECOND)
    held = matches.held
    columns = (held.code, held.time_us, held.number, held.number[matches.first_rows()])
    kept = (held.parts & BEGUN != 0)[~held.is_waiting].tolist()
    told = [str(matches.explain(0, key)) for key in (0, 1)]
    return found, matches.dropped, matches.abandoned, [column.tolist() for column in columns], kept, told


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_the_kernel_is_its_naive_twin(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(TEXTS))
    text = f"{form} WITHIN INTERVAL '6' SECOND BY user{data.draw(st.sampled_from(('', ' FOR ALL')))}"
    most_parts = (1 << len(compile_composite(text).all_parts)) - 1
    clock, batches = 0, []
    for size in data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=4)):
        batch = []
        for _ in range(size):
            clock += data.draw(st.sampled_from((0, 0, 1, 2)))
            batch.append((data.draw(st.integers(0, 1)), clock, data.draw(st.integers(1, most_parts))))
        batches.append(batch)
    bounds = Bounds(per_key=data.draw(st.sampled_from((3, 1000))), tries=data.draw(st.sampled_from((4, 100_000))))
    found = outcome(1, text, batches, bounds)
    assert found == outcome(1000, text, batches, bounds)


def test_a_code_keeps_its_slot_in_what_the_kernel_leaves() -> None:
    text = "a THEN b WITHIN INTERVAL '6' SECOND BY user"
    found = outcome(1, text, [[(3, 0, 1), (3, 1, 1), (3, 2, 2)]], Bounds())
    assert [each.numbers for each in found[0]] == [[0, 2]]
    assert found[3][0] == [3]
    assert 3 >> KEY_BITS == 0


def test_matches_that_share_events_need_more_room_than_there_are_events() -> None:
    text = "AT_LEAST(2, a) WITHIN INTERVAL '60' SECOND BY user FOR ALL"
    events = [[(0, second, 1) for second in range(40)]]
    found = outcome(1, text, events, Bounds())
    assert found == outcome(1000, text, events, Bounds())
    assert len(found[0]) == 39


def test_matches_in_wait_that_share_events_need_more_rows_than_there_are_events() -> None:
    text = "a THEN b THEN NOT c WITHIN INTERVAL '90' SECOND BY user FOR ALL"
    events = [[*((0, second, 1) for second in range(60)), (0, 60, 2)], [(0, 61, 2), (1, 62, 1)]]
    found = outcome(1, text, events, Bounds())
    assert found == outcome(1000, text, events, Bounds())
    assert len(found[3][0]) > 180


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 1 << 30)), max_size=60))
def test_codes_are_sorted_as_numpy_sorts_them(pairs: list[tuple[int, int]]) -> None:
    code = np.array([slot << KEY_BITS | key for slot, key in pairs], np.int64)
    assert order_of_codes(code, KEY_BITS).tolist() == np.argsort(code, kind="stable").tolist()


def test_codes_are_found_among_those_that_are_held() -> None:
    low, high = find_codes(np.array([2, 2, 5, 9, 9]), np.array([1, 2, 6, 9, 12]))
    assert (low.tolist(), high.tolist()) == ([0, 0, 3, 3, 5], [0, 2, 3, 5, 5])
