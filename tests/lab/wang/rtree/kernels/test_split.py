"""The best cut is the one that leaves the least volume; volumes know what has no end and never overflow."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.arrays import F64
from tamis.lab.wang.rtree.kernels.split import (
    BEYOND,
    LEAST_WIDTH,
    best_split,
    extend_ranges,
    scale_box,
    sort_by,
    volume,
)
from tamis.lab.wang.rtree.kernels.tree import NO_HIGH, NO_LOW, RtreeNodes, empty_tree

Floats = F64


def placed(tree: RtreeNodes, box: list[int]) -> Floats:
    places = np.empty(len(box), np.float64)
    scale_box(tree, np.array(box), 0, places)
    return places


def price(places: Floats, order: list[int], cut: int) -> float:
    parts = (places[order[:cut]], places[order[cut:]])
    return float(sum(volume(np.ascontiguousarray(part.max(axis=0))) for part in parts))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_split_is_the_cheapest_of_all(seed: int) -> None:
    random = np.random.default_rng(seed)
    places = random.random((15, 6)).round(1)
    cuts = np.array([3, 7, 8, 12], np.int32)
    prices = {}
    for key in range(6):
        order = np.argsort(places[:, key], kind="stable").tolist()
        for place, cut in enumerate(cuts.tolist()):
            prices[key, place] = price(places, order, cut)
    assert prices[best_split(places, cuts)] == pytest.approx(min(prices.values()), rel=1e-12)


def test_equal_boxes_are_split_in_the_middle() -> None:
    cuts = np.arange(2, 9).astype(np.int32)
    _, cut = best_split(np.full((10, 4), 0.5), cuts)
    assert cuts[cut] == 5


def test_rows_are_sorted_by_a_column_and_equal_ones_stay() -> None:
    places = np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 3.0], [0.0, 2.0]])
    order = np.empty(4, np.int32)
    sort_by(places, 1, order)
    assert order.tolist() == [1, 3, 0, 2]


def test_widths_are_shares_of_what_was_seen_on_the_axis() -> None:
    tree = empty_tree(2, 4, 4)
    extend_ranges(tree, np.array([0, 100, -1_000, NO_HIGH]))
    extend_ranges(tree, np.array([NO_LOW, 200, -1_000, 3_000]))
    assert volume(placed(tree, [0, 50, -1_000, 1_000])) == pytest.approx(
        (0.25 + LEAST_WIDTH) * (0.5 + LEAST_WIDTH)
    )
    whole = placed(tree, [NO_LOW, NO_HIGH] * 2)
    assert volume(whole) == pytest.approx((1 + 2 * BEYOND + LEAST_WIDTH) ** 2)


def test_the_whole_of_int64_has_a_finite_volume() -> None:
    tree = empty_tree(40, 4, 4)
    extend_ranges(tree, np.array([NO_LOW + 1, NO_HIGH - 1] * 40))
    for box in ([NO_LOW, NO_HIGH], [NO_LOW + 1, NO_HIGH - 1], [7, 7]):
        assert 0.0 < volume(placed(tree, box * 40)) < np.inf


def test_an_axis_with_one_value_tells_it_from_no_end() -> None:
    tree = empty_tree(1, 4, 4)
    extend_ranges(tree, np.array([1 << 62, 1 << 62]))
    volumes = [volume(placed(tree, box)) for box in ([1 << 62, 1 << 62], [1 << 62, NO_HIGH], [NO_LOW, NO_HIGH])]
    assert volumes == sorted(set(volumes))


def test_an_axis_without_ends_has_a_volume() -> None:
    tree = empty_tree(1, 4, 4)
    extend_ranges(tree, np.array([NO_LOW, NO_HIGH]))
    assert volume(placed(tree, [NO_LOW, NO_HIGH])) == pytest.approx(1 + 2 * BEYOND + LEAST_WIDTH)
