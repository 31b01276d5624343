"""Selectivities of "at least k of": against all outcomes, and against the bounds of AND and OR."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import pytest

from tamis.lab.bittner.selectivity_bounds import Selectivity, combine


@pytest.mark.parametrize("seed", range(20))
def test_at_least_of_independent_ones_against_all_outcomes(seed: int) -> None:
    random_ = random.Random(seed)
    shares = [random_.random() for _ in range(random_.randint(1, 5))]
    for least in range(len(shares) + 2):
        expected = sum(
            prod(one if held else 1 - one for one, held in zip(shares, outcome, strict=True))
            for outcome in product((False, True), repeat=len(shares))
            if sum(outcome) >= least
        )
        found = combine(least, [Selectivity(one, one, one) for one in shares])
        assert found.average == pytest.approx(expected)
        assert found.least <= found.average + 1e-12
        assert found.average <= found.most + 1e-12


def test_bounds_of_at_least_are_those_of_and_and_or_at_the_ends() -> None:
    shares = [Selectivity(one, one, one) for one in (0.9, 0.8, 0.7)]
    assert combine(3, shares) == pytest.approx((0.4, 0.504, 0.7))
    assert combine(1, shares) == pytest.approx((0.9, 0.994, 1.0))
    assert combine(2, shares)[::2] == pytest.approx((0.7, 1.0))
    few = [Selectivity(one, one, one) for one in (0.1, 0.2, 0.3)]
    assert combine(2, few)[::2] == pytest.approx((0.0, 0.3))
