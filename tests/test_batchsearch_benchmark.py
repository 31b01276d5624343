"""The benchmark of BatchSearch counts what BatchSearch does, and notices pairs and costs that are wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.batchsearch import PARTS, run
from benchmarks.batchsearch_adapting import settled_levels
from benchmarks.batchsearch_data import (
    SCALES,
    Boxes,
    Costs,
    boxes_of,
    check_costs,
    check_engine,
    check_pairs,
    costs_of,
    drawn,
    inserted,
    packed,
)
from benchmarks.batchsearch_levels import best_level, is_bent, relative
from tamis.lab.wang.rtree.batch_search import batch_search
from tamis.lab.wang.rtree.kernels.tree import height_of
from tamis.lab.wang.rtree.kernels.updates import delete_box
from tamis.schedule.controller import Controller


@pytest.fixture(scope="module")
def given() -> Boxes:
    return boxes_of("skewed", 2_000, 64)


def test_arrays_have_different_points_and_all_points_come_equally_often() -> None:
    arrays = drawn(64, 8, 16)
    assert arrays.shape == (16, 8)
    assert all(len(set(array)) == 8 for array in arrays.tolist())
    assert np.bincount(arrays.ravel()).tolist() == [2] * 64
    assert drawn(64, 8, 3).tolist() == arrays[:3].tolist()


def test_perfect_knowledge_gains_what_the_bound_says() -> None:
    totals = np.array([5, 1, 9, 2], np.int64)
    costs = Costs(totals, np.zeros((2, 4), np.int64), np.stack([np.ones(4, np.int64), totals]))
    arrays = np.arange(4)[None, :]
    assert costs.responses(1, arrays).tolist() == [[5, 6, 15, 17]]
    assert costs.responses(2, arrays).tolist() == [[1, 3, 8, 17]]
    any_order = (len(totals) + 1) / 2 * totals.mean()
    assert 1 - costs.means(arrays)[1, 0] / any_order == pytest.approx(costs.most(arrays))


def test_the_estimate_delays_everybody() -> None:
    costs = Costs(np.array([4, 4]), np.array([[0, 0], [1, 2]]), np.array([[1, 1], [3, 2]]))
    assert costs.responses(2, np.array([[0, 1]])).tolist() == [[5, 8]]


def test_curves_are_read() -> None:
    means = np.array([[4.0, 6.0], [3.0, 2.0], [5.0, 1.0]])
    assert best_level(means) == 2
    assert relative(means).tolist() == [1.0, 0.5, 0.6]
    assert is_bent(relative(means))
    assert not is_bent(np.array([1.0, 0.5, 0.7, 0.6]))


def test_a_level_is_settled_on_costs_of_arrays() -> None:
    means = np.repeat([[4.0], [2.0], [1.0], [3.0]], 5, axis=1)
    knob = Controller(1, 4, rounds=2, start=1)
    levels, served = settled_levels(knob, means, np.random.default_rng(1))
    assert knob.current == 3
    assert len(levels) == len(served) == 4 + 6 + 6
    assert set(served) <= set(range(5))


def test_other_sizes_are_in_proportion() -> None:
    scale = SCALES["full"].resized(600_000)
    assert scale.sizes == (100_000, 200_000, 300_000, 400_000, 600_000)
    assert (scale.one, scale.growth, scale.pool) == (300_000, (100_000, 60_000, 7), SCALES["full"].pool)


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(SystemExit, match=r"there is no part W99; known are W1, .*growth"):
        run("smallest", ["W99"])
    assert {claim for part in PARTS.values() for claim in part.claims} == {f"W{number}" for number in range(1, 14)}


@pytest.mark.slow
def test_costs_are_those_of_batch_search(given: Boxes) -> None:
    tree = packed(given)
    costs = costs_of(tree, given.points)
    check_costs(tree, given, costs, "boxes")
    array = drawn(64, 16, 1)
    for level in range(1, height_of(tree) + 1):
        served = batch_search(tree, given.points[array[0]], level).responses
        assert costs.means(array)[level - 1, 0] == served.mean()
    with pytest.raises(SystemExit, match=r"boxes, level 1: responses are \[.*\], counted were"):
        check_costs(tree, given, replace(costs, totals=costs.totals + 1), "boxes")


@pytest.mark.slow
def test_pairs_that_are_missing_are_told(given: Boxes) -> None:
    tree = packed(given, 1_500)
    check_pairs(tree, given, "packed", 1_500)
    inserted(tree, given, 1_500, 2_000)
    check_pairs(tree, given, "grown")
    delete_box(tree, 7)
    with pytest.raises(SystemExit, match=r"grown, level 1: point 0 is in .* boxes, the tree finds"):
        check_pairs(tree, replace(given, points=given.lows[7:8]), "grown")


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["uniform", "skewed"])
def test_the_tree_finds_what_an_engine_finds(workload: str) -> None:
    assert check_engine(workload, 3_000) > 0
