"""Intervals are found by the coordinates that they hold, whatever was added and removed before."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.lab.dynamic.kernels.interval_index import (
    IntervalIndex,
    add_interval,
    empty_interval_index,
    interval_index_bytes,
    owners_at,
    remove_interval,
    reserve_axes,
)

Interval = tuple[int, int, int, int]
"""Axis, low, high, owner."""


def found_at(lists: IntervalIndex, axis: int, value: int) -> list[int]:
    found = np.empty(20_000, np.int32)
    count = owners_at(lists, axis, value, found, 2)
    return sorted(found[2:count].tolist())


def drawn(random_: random.Random, scale: int) -> tuple[int, int]:
    form = random_.random()
    if form < 0.1:
        return LOWEST, random_.randrange(-scale, scale)
    if form < 0.2:
        return random_.randrange(-scale, scale), HIGHEST
    if form < 0.22:
        return LOWEST, HIGHEST
    if form < 0.5:
        value = random_.randrange(-scale, scale)
        return value, value
    low = random_.randrange(-scale, scale)
    return low, min(low + int(2 ** random_.uniform(0, 64)) // random_.choice([1, 1 << 20, 1 << 50]), HIGHEST - 1)


@pytest.mark.parametrize("scale", [10, 100_000, 1 << 62])
def test_random_changes(scale: int) -> None:
    random_ = random.Random(scale)
    lists, wanted = empty_interval_index(), set[Interval]()
    reserve_axes(lists, 2)
    for step in range(4_000):
        grows = random_.random() < (0.8 if (step // 1_000) % 2 == 0 else 0.3)
        if grows or not wanted:
            entry = (random_.randrange(2), *drawn(random_, scale), step)
            add_interval(lists, *entry)
            wanted.add(entry)
        else:
            entry = random_.choice([*wanted]) if step % 7 == 0 else next(iter(wanted))
            assert remove_interval(lists, *entry)
            assert not remove_interval(lists, *entry)
            wanted.remove(entry)
        if step % 200 == 0:
            ends = [end for _, low, high, _ in [*wanted][:20] for end in (low, high)]
            values = [*ends, LOWEST, HIGHEST, 0, *(random_.randrange(-scale, scale) for _ in range(10))]
            for value in [
                *values,
                *(min(end + 1, HIGHEST) for end in ends),
                *(max(end - 1, LOWEST) for end in ends),
            ]:
                for axis in range(2):
                    holds = sorted(w for a, low, high, w in wanted if a == axis and low <= value <= high)
                    assert found_at(lists, axis, value) == holds


def test_many_equal_intervals() -> None:
    lists = empty_interval_index()
    reserve_axes(lists, 1)
    for owner in range(1_000):
        add_interval(lists, 0, 5, 9, owner)
    assert found_at(lists, 0, 5) == found_at(lists, 0, 9) == list(range(1_000))
    assert found_at(lists, 0, 4) == found_at(lists, 0, 10) == []
    for owner in range(0, 1_000, 2):
        assert remove_interval(lists, 0, 5, 9, owner)
    assert found_at(lists, 0, 7) == list(range(1, 1_000, 2))


def test_free_blocks_are_reused() -> None:
    lists = empty_interval_index()
    reserve_axes(lists, 1)
    sizes = []
    for _ in range(4):
        for owner in range(5_000):
            add_interval(lists, 0, owner * 37 % 1_001, 2_000, owner)
        for owner in range(5_000):
            assert remove_interval(lists, 0, owner * 37 % 1_001, 2_000, owner)
        sizes.append(interval_index_bytes(lists))
    assert sizes[-1] == sizes[0]
