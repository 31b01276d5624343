"""Sets of keys behave as sets, and comparisons select the keys that they say."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.values.ranges import (
    ALL,
    NONE,
    Ranges,
    after,
    between_ranges,
    comparison_ranges,
    points_of,
    starting_with,
    within_bounds,
)
from tamis.values.types import BIGINT, INT, NUMBER, STRING, TINYINT

KEYS = range(-2, 12)
SETS = st.builds(
    lambda inside, cuts: Ranges(inside, tuple(sorted(cuts))), st.booleans(), st.sets(st.integers(0, 9), max_size=5)
)


def members(ranges: Ranges) -> set[int]:
    return {key for key in KEYS if key in ranges}


@settings(max_examples=50)
@given(SETS, SETS)
def test_the_algebra_is_that_of_sets(left: Ranges, right: Ranges) -> None:
    assert members(left & right) == members(left) & members(right)
    assert members(left | right) == members(left) | members(right)
    assert members(~left) == set(KEYS) - members(left)
    covered = [
        key
        for key in KEYS
        for low, high in left.pieces()
        if (low is None or low <= key) and (high is None or key < high)
    ]
    assert sorted(covered) == sorted(members(left))


@pytest.mark.parametrize("name", ["<", "<=", ">", ">=", "=", "<>"])
def test_a_comparison_selects_its_keys(name: str) -> None:
    compare = {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "=": operator.eq,
        "<>": operator.ne,
    }
    assert members(comparison_ranges(INT, name, 4)) == {key for key in KEYS if compare[name](key, 4)}


@pytest.mark.parametrize("key", [5, "ab", b"ab", (0, 2.5, 0)])
def test_nothing_lies_between_a_key_and_the_next_cut(key: Any) -> None:
    only = points_of(NUMBER, [key])
    assert key in only
    assert after(key) > key
    assert only.points() == [key]


def test_points_that_touch_are_one_interval_and_no_list() -> None:
    assert points_of(INT, [3, 4, 7]).cuts == (3, 5, 7, 8)
    assert points_of(INT, [3, 7]).points() == [3, 7]
    assert comparison_ranges(INT, "<", 3).points() is None


@pytest.mark.parametrize("text", ["", "a", "ab", "abc", "ac", "b", "a\U0010ffff", "\ud7ff", "\ue000"])
@pytest.mark.parametrize("prefix", ["", "a", "ab", "a\U0010ffff", "\U0010ffff", "\ud7ff"])
def test_a_prefix_is_an_interval_of_strings(prefix: str, text: str) -> None:
    assert (text in starting_with(prefix)) == text.startswith(prefix)


def test_cuts_outside_a_type_are_dropped() -> None:
    assert within_bounds(TINYINT, Ranges(False, (-128, 128))) == ALL
    assert within_bounds(TINYINT, Ranges(False, (200,))) == NONE
    assert within_bounds(TINYINT, Ranges(True, (-500, 3))) == Ranges(False, (3,))
    assert within_bounds(STRING, Ranges(False, ("",))) == ALL


@pytest.mark.parametrize(("low", "high"), [(1, 5), (3, 3), (5, 1), (-200, 3), (3, 200), (-200, 200), (150, 200)])
def test_between_is_both_comparisons(low: int, high: int) -> None:
    for type_ in (TINYINT, BIGINT):
        both = comparison_ranges(type_, ">=", low) & comparison_ranges(type_, "<=", high)
        assert between_ranges(type_, low, high) == both
