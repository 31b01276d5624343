"""Costs of boxes count what BatchSearch does, and pairs and costs that are wrong are noticed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tamis.engines.bitslice import Bitslice
from tamis.engines.forest import forest_of
from tamis.events.batch import EventBatch
from tamis.lab.claims.box_costs import (
    SKEWS,
    Boxes,
    Costs,
    boxes_of,
    check_costs,
    check_pairs,
    costs_of,
    drawn,
    inserted,
    packed,
)
from tamis.lab.measuring.cases import SEED
from tamis.lab.wang.rtree.batch_search import batch_search
from tamis.lab.wang.rtree.kernels.tree import height_of
from tamis.lab.wang.rtree.kernels.updates import delete_box
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions


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
    sides: dict[str, Any] = {"width": (0.4, 0.9)}  # wide boxes make many pairs with few boxes
    text = generate("boxes", subscriptions=3_000, events=64, seed=SEED, skew=SKEWS[workload], **sides)
    index = Bitslice().build(forest_of(compile_conditions(text.conditions, text.event_type)))
    rows, slots = index.match(EventBatch.of(text.events, text.event_type))
    given = boxes_of(workload, 3_000, 64, **sides)
    answers = batch_search(packed(given), given.points, 2)
    found = sorted(zip(answers.rows.tolist(), answers.payloads.tolist(), strict=True))
    assert found == sorted(zip(rows.tolist(), slots.tolist(), strict=True)) != []
