"""Sorting and halving of entries against plain Python."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from tamis.engines.bitslice.kernels.groups import counting_sort, group_ranges, halve
from tamis.engines.bitslice.layout import EntryArrays


def test_counting_sort_is_a_stable_sort() -> None:
    random_ = np.random.default_rng(1)
    keys = random_.integers(0, 5, 40).astype(np.int32)
    order = random_.permutation(40)
    assert counting_sort(order, keys, 5).tolist() == sorted(order.tolist(), key=lambda element: int(keys[element]))
    assert counting_sort(order[:0], keys, 5).tolist() == []


@pytest.mark.parametrize("limit", [1, 4, 30, 100])
def test_halved_sets_are_small_or_equal(limit: int) -> None:
    random_ = random.Random(limit)
    base = 10
    pairs = [sorted(random_.sample(range(base, base + 12), 2)) for _ in range(100)]
    lows, highs = (np.array(each, np.int32) for each in zip(*pairs, strict=True))
    order, begins = np.arange(100), np.zeros(100, np.bool_)
    halve(order, np.array([0, 60, 100]), np.array([limit, 7]), np.array([base, base]), lows, highs, begins)
    assert sorted(order[:60].tolist()) == list(range(60)), "segments keep their elements"
    firsts = [*np.flatnonzero(begins).tolist(), 100]
    assert 60 in firsts
    for first, last in pairwise(firsts):
        different = {(int(lows[each]), int(highs[each])) for each in order[first:last]}
        assert last - first <= (limit if first < 60 else 7) or len(different) == 1


def test_ranges_of_groups_are_named_once() -> None:
    random_ = np.random.default_rng(3)
    firsts = np.arange(0, 91, 3, dtype=np.int32)
    ranges = random_.integers(0, 9, 90).astype(np.uint16)
    none = np.empty(0, np.int32)
    entries = EntryArrays(none, firsts, ranges, none, none, none, none)
    entry_firsts = np.array([0, 1, 12, 12, 30])
    groups, named = np.empty(90, np.int32), np.empty(90, np.int32)
    count = group_ranges(entries, entry_firsts, 9, groups, named)
    wanted = {
        (group, int(each))
        for group in range(4)
        for each in ranges[firsts[entry_firsts[group]] : firsts[entry_firsts[group + 1]]]
    }
    found = list(zip(groups[:count].tolist(), named[:count].tolist(), strict=True))
    assert len(found) == len(wanted) and set(found) == wanted
