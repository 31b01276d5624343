"""Leaves as sets of coordinates, against Python's sets of values."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.engines.selectivity import leaf_selectivities
from tamis.formulas.formula import conjunction, disjunction, leaf
from tamis.formulas.predicates.within import Within
from tamis.routing.leaf_sets import axis_facts, intersect, leaf_sets, set_hash, set_hashes, unite
from tamis.statistics import Statistics
from tests.routing.drawing import random_frame, random_leaf


@pytest.mark.parametrize("seed", range(10))
def test_unions_and_intersections_are_those_of_ranges(seed: int) -> None:
    random_ = random.Random(seed)
    checked = 0
    for _ in range(60):
        pair = [random_leaf(random_) for _ in range(2)]
        one, other = (each.predicate for each in pair)
        if not (isinstance(one, Within) and isinstance(other, Within)) or one.attribute != other.attribute:
            continue
        checked += 1
        for join, kernel in ((disjunction, unite), (conjunction, intersect)):
            made = join([leaf(Within(each.attribute, each.ranges)) for each in (one, other)])
            forest = forest_of([*(leaf(Within(each.attribute, each.ranges)) for each in (one, other)), made])
            sets = leaf_sets(forest, axis_facts(forest, None))
            lows, highs = (np.resize(each, len(each) + 32) for each in (sets.lows, sets.highs))
            first, second = ((int(sets.firsts[at]), int(sets.lasts[at])) for at in (0, 1))
            at = len(sets.lows)
            found = kernel(lows, highs, first, second, at)
            if made.predicate is None:  # nothing is left
                assert found == at
                continue
            expected = slice(sets.firsts[2], sets.lasts[2])
            assert lows[at:found].tolist() == sets.lows[expected].tolist()
            assert highs[at:found].tolist() == sets.highs[expected].tolist()
            axis = int(sets.axes[0])
            assert set_hash(axis, 0, lows, highs, (at, found), 0) == set_hashes(sets)[2]
    assert checked


def test_selectivities_are_those_of_engines() -> None:
    random_ = random.Random(3)
    frame = random_frame(random_)
    forest = forest_of([random_leaf(random_) for _ in range(80)])
    statistics = Statistics()
    statistics.survey(frame, [axis.attribute for axis in forest.axes], frame.rows)
    for known in (None, statistics):
        found = leaf_sets(forest, axis_facts(forest, known)).selectivities
        np.testing.assert_allclose(found, leaf_selectivities(forest, known), rtol=1e-12)


def test_a_sample_of_events_says_more_than_statistics() -> None:
    random_ = random.Random(4)
    frame = random_frame(random_, 2_000)
    leaves = [each for each in (random_leaf(random_) for _ in range(40)) if isinstance(each.predicate, Within)]
    forest = forest_of(leaves)
    found = leaf_sets(forest, axis_facts(forest, None, [frame])).selectivities
    assert np.abs(found - [each.mask(frame).mean() for each in leaves]).max() < 0.005


def test_equal_leaves_have_equal_hashes_and_others_do_not() -> None:
    random_ = random.Random(5)
    leaves = [random_leaf(random_) for _ in range(300)]
    forest = forest_of(leaves)
    sets = leaf_sets(forest, axis_facts(forest, None))
    for lane in range(2):
        hashes = set_hashes(sets, lane).tolist()
        assert len(set(hashes)) == len(set(leaves)) == len(set(zip(hashes, leaves, strict=True)))
