"""Distinct predicates against a dictionary of predicates."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest import PIECES, Forest
from tamis.engines.forest.distinct import distinct_predicates
from tests.engines.naive import random_forest


@pytest.mark.parametrize("seed", range(3))
def test_equal_leaves_get_equal_numbers(seed: int) -> None:
    random_ = random.Random(seed)
    forest = random_forest(random_, 120, axes=2, domain=4, depth=2)
    count = len(forest.leaves.kinds)
    asked = np.array(sorted(random_.sample(range(count), count // 2)), np.int32)
    found = distinct_predicates(forest.leaves, forest.pieces, asked)
    numbers: dict[object, int] = {}
    wanted = np.full(count, -1)
    for leaf in asked.tolist():
        wanted[leaf] = numbers.setdefault(_key(forest, leaf), len(numbers))
    np.testing.assert_array_equal(found.numbers, wanted)
    assert [found.numbers[leaf] for leaf in found.examples] == [*range(len(numbers))]


def _key(forest: Forest, leaf: int) -> object:
    kind, null, axis, low, high = (int(column[leaf]) for column in forest.leaves)
    if kind != PIECES:
        return kind, null, axis, low, high
    return kind, null, axis, *forest.pieces.lows[low:high].tolist(), *forest.pieces.highs[low:high].tolist()
