"""Selectivities of "at least k of", against all outcomes."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import numpy as np
import pytest

from tamis.selectivity.combination import at_least


@pytest.mark.parametrize("seed", range(20))
def test_at_least_of_independent_ones_against_all_outcomes(seed: int) -> None:
    random_ = random.Random(seed)
    shares = [random_.random() for _ in range(random_.randint(1, 5))]
    for least in range(1, len(shares) + 2):
        expected = sum(
            prod(one if held else 1 - one for one, held in zip(shares, outcome, strict=True))
            for outcome in product((False, True), repeat=len(shares))
            if sum(outcome) >= least
        )
        assert at_least(least, np.array(shares)) == pytest.approx(expected)
