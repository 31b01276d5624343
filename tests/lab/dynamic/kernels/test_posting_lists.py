"""Posting lists have what was added to them, sorted, whatever was added and removed before."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from tamis.lab.dynamic.kernels.posting_lists import (
    BLOCK,
    PostingLists,
    add_posting,
    empty_posting_lists,
    posting_list_bytes,
    postings_in,
    remove_posting,
    reserve_lists,
)


def check(lists: PostingLists, wanted: list[Counter[int]]) -> None:
    for which, numbers in enumerate(wanted):
        assert postings_in(lists, which).tolist() == sorted(numbers.elements())


@pytest.mark.parametrize("seed", range(6))
def test_random_changes(seed: int) -> None:
    random_ = random.Random(seed)
    lists, wanted = empty_posting_lists(1), [Counter[int]() for _ in range(4)]
    reserve_lists(lists, 4)
    domain = random_.choice([5, 300, 100_000])
    for step in range(6_000):
        which = random_.randrange(4)
        # It grows for a while and shrinks for a while.
        grows = random_.random() < (0.8 if (step // 1_500) % 2 == 0 else 0.2)
        present = [*wanted[which]]
        if grows or not present:
            number = random_.randrange(domain)
            add_posting(lists, which, number)
            wanted[which][number] += 1
        else:
            number = random_.choice(present[:50])
            assert remove_posting(lists, which, number)
            wanted[which] -= Counter([number])
        if step % 1_000 == 0:
            check(lists, wanted)
    check(lists, wanted)
    for which, numbers in enumerate(wanted):
        for number in [*numbers.elements()]:
            assert remove_posting(lists, which, number)
        assert not remove_posting(lists, which, 1)
    check(lists, [Counter() for _ in wanted])


@pytest.mark.parametrize("order", ["rising", "falling", "shuffled", "equal"])
@pytest.mark.parametrize("count", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 3])
def test_filled_and_emptied(order: str, count: int) -> None:
    numbers = list(range(count)) if order != "equal" else [7] * count
    if order == "falling":
        numbers.reverse()
    if order == "shuffled":
        random.Random(1).shuffle(numbers)
    lists = empty_posting_lists(3)
    for number in numbers:
        add_posting(lists, 1, number)
    assert postings_in(lists, 1).tolist() == sorted(numbers)
    assert not remove_posting(lists, 1, count + 10)
    for left, number in reversed([*enumerate(numbers)]):
        assert remove_posting(lists, 1, number)
        assert len(postings_in(lists, 1)) == left
    assert postings_in(lists, 0).tolist() == postings_in(lists, 2).tolist() == []


def test_free_places_are_reused() -> None:
    lists = empty_posting_lists(1)
    sizes = []
    for _ in range(5):
        for number in range(3_000):
            add_posting(lists, 0, number)
        for number in np.random.default_rng(3).permutation(3_000).tolist():
            assert remove_posting(lists, 0, number)
        sizes.append(posting_list_bytes(lists))
    assert sizes[-1] == sizes[1], sizes
