"""A packed tree is as low as can be, well filled, and finds what a scan finds."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.lab.wang.rtree.kernels.bulk_load import REBUILD_FACTOR, bulk_load
from tamis.lab.wang.rtree.kernels.tree import empty_tree, height_of, tree_stats
from tests.lab.wang.rtree.boxes import CAPACITIES, packed, random_boxes, random_points, scan, search_all
from tests.lab.wang.rtree.invariants import check_tree, tree_arrays


def lowest(count: int, inner: int, leaf: int) -> int:
    """The height formula: each level above the leaves has room for `inner` times as many boxes."""
    height, room = 1, leaf
    while room < count:
        height, room = height + 1, room * inner
    return height


@pytest.mark.parametrize(("inner", "leaf"), CAPACITIES)
@pytest.mark.parametrize("count", [0, 1, 4, 5, 20, 21, 80, 81, 401, 1_234])
def test_packed(count: int, inner: int, leaf: int) -> None:
    random = np.random.default_rng(count)
    lows, highs = random_boxes(random, count, 3)
    tree = packed(lows, highs, inner, leaf)
    check_tree(tree)
    assert height_of(tree) == lowest(count, inner, leaf)
    for point in random_points(random, 20, 3):
        assert sorted(search_all(tree, point).tolist()) == scan(lows, highs, range(count), point)


def test_height_by_arithmetic() -> None:
    lows, highs = random_boxes(np.random.default_rng(1), 2_001, 2)
    assert height_of(packed(lows[:2_000], highs[:2_000])) == 3
    assert height_of(packed(lows, highs)) == 4
    assert lowest(1_500_000, 10, 20) == 6
    # Nodes filled as in a tree that has grown, 70%.
    assert lowest(1_500_000, 7, 14) == 7


def test_every_node_is_at_least_half_full() -> None:
    for count in range(100, 1_000, 37):
        lows, highs = random_boxes(np.random.default_rng(count), count, 2)
        view = tree_arrays(packed(lows, highs))
        for node, size in enumerate(view.sizes.tolist()):
            if node != view.root:
                assert size * 2 >= (20 if view.heights[node] == 1 else 10)


@pytest.mark.parametrize("dimensions", [1, 2, 12, 40])
def test_any_number_of_dimensions(dimensions: int) -> None:
    random = np.random.default_rng(dimensions)
    lows, highs = random_boxes(random, 300, dimensions)
    tree = packed(lows, highs)
    check_tree(tree)
    points = random_points(random, 10, dimensions)
    points[2:] = np.clip(0, lows[2:10], highs[2:10])
    found = [sorted(search_all(tree, point).tolist()) for point in points]
    assert found == [scan(lows, highs, range(300), point) for point in points]
    assert all(found[2:])


@pytest.mark.parametrize("share", [REBUILD_FACTOR - 1, REBUILD_FACTOR + 1])
def test_more_boxes_into_a_tree(share: int) -> None:
    """A large lot makes a new tree, a small one is inserted; both find everything."""
    random = np.random.default_rng(share)
    count = 600 + 600 // share
    lows, highs = random_boxes(random, count, 3)
    tree = packed(lows[:600], highs[:600])
    bulk_load(tree, lows[600:], highs[600:], np.arange(600, count, dtype=np.int32))
    check_tree(tree)
    at_once = packed(lows, highs)
    assert (tree_stats(tree).counts == tree_stats(at_once).counts) == (share < REBUILD_FACTOR)
    for point in random_points(random, 30, 3):
        assert sorted(search_all(tree, point).tolist()) == scan(lows, highs, range(count), point)


def test_equal_boxes() -> None:
    lows, highs = np.zeros((500, 2), np.int64), np.ones((500, 2), np.int64)
    tree = packed(lows, highs)
    check_tree(tree)
    assert sorted(search_all(tree, np.array([0, 1])).tolist()) == [*range(500)]
    assert search_all(tree, np.array([0, 2])).tolist() == []


def test_separate_boxes_are_found_with_few_tests() -> None:
    """Packing does its work: a grid of disjoint boxes leaves one way down to almost every point."""
    grid = np.stack(np.meshgrid(np.arange(40), np.arange(40)), axis=-1).reshape(-1, 2) * 10
    tree = empty_tree(2, 10, 20)
    order = np.random.default_rng(1).permutation(len(grid))
    bulk_load(tree, grid[order], grid[order] + 5, np.arange(len(grid), dtype=np.int32))
    assert height_of(tree) == 3
    for box in range(0, len(grid), 50):
        assert search_all(tree, grid[order[box]]).tolist() == [box]
