"""Intervals of leaves."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.conjunctions.intervals import intervals_of
from tamis.engines.forest import PIECES, forest_of
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.language.condition import compile_condition
from tests.engines.naive import random_forest

pytestmark = pytest.mark.usefixtures("form")


def test_a_leaf_has_one_interval_several_or_none() -> None:
    forest = random_forest(random.Random(7), 80)
    leaves = forest.leaves
    asked = np.array(random.Random(8).sample(range(len(leaves.kinds)), 60), np.int32)
    found = intervals_of(leaves, forest.pieces, asked)
    for place, leaf in enumerate(asked.tolist()):
        here = slice(int(found.firsts[place]), int(found.firsts[place + 1]))
        low, high = int(leaves.lows[leaf]), int(leaves.highs[leaf])
        if leaves.kinds[leaf] == PIECES:
            wanted = [*zip(forest.pieces.lows[low:high], forest.pieces.highs[low:high], strict=True)]
        else:
            wanted = [(low, high)] if low <= high else []
        assert [*zip(found.lows[here], found.highs[here], strict=True)] == wanted


def test_a_test_has_all_values() -> None:
    forest = forest_of([compile_condition("s LIKE '%x'").formula])
    found = intervals_of(forest.leaves, forest.pieces, np.array([0], np.int32))
    assert (found.lows.tolist(), found.highs.tolist()) == ([LOWEST], [HIGHEST])
