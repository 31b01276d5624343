"""Counting down finds what a count of all hits finds, and restoring leaves no trace."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from tamis.lab.dynamic.kernels.hit_counters import count_down, restore_counters
from tamis.lab.dynamic.kernels.posting_lists import add_posting, empty_posting_lists


def test_counting_down_is_counting_up() -> None:
    random_ = random.Random(4)
    needed = np.array([random_.randrange(1, 5) for _ in range(50)], np.uint8)
    counters, found = needed.copy(), np.empty(50, np.int32)
    hits: Counter[int] = Counter()
    count = 0
    for _ in range(6):
        run = np.array(sorted(random_.choices(range(50), k=20)), np.int32)
        hits.update(run.tolist())
        count = count_down(run, 0, len(run), counters, found, count)
    reached = {number for number, times in hits.items() if times >= needed[number]}
    assert sorted(found[:count].tolist()) == sorted(reached)


def test_restored_counters_are_what_is_needed() -> None:
    lists = empty_posting_lists(2)
    for number in (3, 3, 7, 9):
        add_posting(lists, 1, number)
    needed = np.arange(10, 20).astype(np.uint8)
    counters, found = needed.copy(), np.empty(10, np.int32)
    count_down(np.array([3, 3, 7, 9], np.int32), 0, 4, counters, found, 0)
    assert counters.tolist() != needed.tolist()
    restore_counters(lists, 1, counters, needed)
    assert counters.tolist() == needed.tolist()
