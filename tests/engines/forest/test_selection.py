"""Formulas selected from a forest."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest.selection import select_formulas
from tests.engines.naive import random_forest


@pytest.mark.parametrize("seed", range(3))
def test_selected_formulas_are_the_same_and_share_nothing(seed: int) -> None:
    random_ = random.Random(seed)
    forest = random_forest(random_, 60, depth=3)
    slots = [random_.randrange(60) for _ in range(40)]
    found = select_formulas(forest, np.array(slots))
    assert list(found) == [forest[slot] for slot in slots]
    # The nodes of a formula are consecutive: those up to its root, after the root of the formula before.
    roots = [root for root in found.roots.tolist() if root >= 0]
    assert roots == sorted(set(roots))
    assert len(found.nodes.least) == max(roots) + 1
    used = [child for child in found.nodes.children.tolist() if child < 0] + found.roots[found.roots < 0].tolist()
    assert {~leaf for leaf in used} == {*range(len(found.leaves.kinds))}


def test_nothing_selected() -> None:
    found = select_formulas(random_forest(random.Random(1), 5), np.empty(0, np.int64))
    assert len(found) == len(found.leaves.kinds) == len(found.nodes.least) == 0
