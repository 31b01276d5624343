"""Bags hold what was put into them, sorted, whatever was put in and taken out before."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from tamis.engines.dynamic.bags import BLOCK, Bags, bag_bytes, bags_of, numbers_in, put_in, reserve_bags, take_out


def check(bags: Bags, wanted: list[Counter[int]]) -> None:
    for bag, numbers in enumerate(wanted):
        assert numbers_in(bags, bag).tolist() == sorted(numbers.elements())


@pytest.mark.parametrize("seed", range(6))
def test_random_changes(seed: int) -> None:
    random_ = random.Random(seed)
    bags, wanted = bags_of(1), [Counter[int]() for _ in range(4)]
    reserve_bags(bags, 4)
    domain = random_.choice([5, 300, 100_000])
    for step in range(6_000):
        bag = random_.randrange(4)
        # It grows for a while and shrinks for a while.
        grows = random_.random() < (0.8 if (step // 1_500) % 2 == 0 else 0.2)
        present = [*wanted[bag]]
        if grows or not present:
            number = random_.randrange(domain)
            put_in(bags, bag, number)
            wanted[bag][number] += 1
        else:
            number = random_.choice(present[:50])
            assert take_out(bags, bag, number)
            wanted[bag] -= Counter([number])
        if step % 1_000 == 0:
            check(bags, wanted)
    check(bags, wanted)
    for bag, numbers in enumerate(wanted):
        for number in [*numbers.elements()]:
            assert take_out(bags, bag, number)
        assert not take_out(bags, bag, 1)
    check(bags, [Counter() for _ in wanted])


@pytest.mark.parametrize("order", ["rising", "falling", "shuffled", "equal"])
@pytest.mark.parametrize("count", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 3])
def test_filled_and_emptied(order: str, count: int) -> None:
    numbers = list(range(count)) if order != "equal" else [7] * count
    if order == "falling":
        numbers.reverse()
    if order == "shuffled":
        random.Random(1).shuffle(numbers)
    bags = bags_of(3)
    for number in numbers:
        put_in(bags, 1, number)
    assert numbers_in(bags, 1).tolist() == sorted(numbers)
    assert not take_out(bags, 1, count + 10)
    for left, number in reversed([*enumerate(numbers)]):
        assert take_out(bags, 1, number)
        assert len(numbers_in(bags, 1)) == left
    assert numbers_in(bags, 0).tolist() == numbers_in(bags, 2).tolist() == []


def test_free_places_are_used_again() -> None:
    bags = bags_of(1)
    sizes = []
    for _ in range(5):
        for number in range(3_000):
            put_in(bags, 0, number)
        for number in np.random.default_rng(3).permutation(3_000).tolist():
            assert take_out(bags, 0, number)
        sizes.append(bag_bytes(bags))
    assert sizes[-1] == sizes[1], sizes
