"""Kernels on plain arrays, against numpy."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.array_kernels import count_up_to, group_by_number, grow


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_the_positions_of_each_number(seed: int) -> None:
    random_ = random.Random(seed)
    numbers = np.array([random_.randrange(-1, 6) for _ in range(40)], np.int32)
    firsts, order = group_by_number(numbers, 7)
    groups = [order[firsts[number] : firsts[number + 1]].tolist() for number in range(7)]
    assert groups == [np.flatnonzero(numbers == number).tolist() for number in range(7)]


def test_a_grown_array_begins_with_the_old_one() -> None:
    found = grow(np.array([1, 2, 3], np.int64), 5)
    assert found.dtype == np.int64
    assert (len(found), found[:3].tolist()) == (5, [1, 2, 3])


def test_cuts_up_to_a_value_are_counted_within_their_range() -> None:
    cuts = np.array([9, 1, 3, 3, 7, 0], np.int64)
    for value in range(10):
        assert count_up_to(cuts, 1, 5, value) == np.searchsorted(cuts[1:5], value, side="right")
