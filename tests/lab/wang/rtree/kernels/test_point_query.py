"""A search finds what is in and below its nodes, and counts its visits and tests."""

from __future__ import annotations

import numpy as np

from tamis.lab.wang.rtree.kernels.point_query import search
from tamis.lab.wang.rtree.kernels.tree import empty_tree, root_of
from tests.lab.wang.rtree.boxes import packed, random_boxes, random_points, scan, search_all
from tests.lab.wang.rtree.invariants import tree_arrays


def test_from_any_nodes() -> None:
    """The searches below the children of a node are together the search below it."""
    random = np.random.default_rng(4)
    lows, highs = random_boxes(random, 900, 2)
    tree = packed(lows, highs)
    view = tree_arrays(tree)
    points = random_points(random, 5, 2)
    for node in range(len(view.sizes)):
        children = view.links[node, : view.sizes[node]]
        for point in points:
            found, tests, visits = search(tree, np.array([node], np.int32), point)
            if view.heights[node] == 1:
                assert sorted(found.tolist()) == scan(lows, highs, children.tolist(), point)
                assert (tests, visits) == (len(children), 1)
            else:
                boxes = view.boxes[node, : len(children)]
                inside = ((boxes[:, :, 0] <= point) & (point <= boxes[:, :, 1])).all(axis=1)
                below, more_tests, more_visits = search(tree, children[inside], point)
                assert sorted(found.tolist()) == sorted(below.tolist())
                assert (tests, visits) == (len(children) + more_tests, 1 + more_visits)


def test_from_no_node() -> None:
    lows, highs = random_boxes(np.random.default_rng(1), 50, 2)
    found, tests, visits = search(packed(lows, highs), np.empty(0, np.int32), np.zeros(2, np.int64))
    assert (found.tolist(), tests, visits) == ([], 0, 0)


def test_in_an_empty_tree() -> None:
    tree = empty_tree(3, 10, 20)
    found, tests, visits = search(tree, np.array([root_of(tree)], np.int32), np.zeros(3, np.int64))
    assert (found.tolist(), tests, visits) == ([], 0, 1)
    assert search_all(tree, np.zeros(3, np.int64)).tolist() == []


def test_both_ends_are_inside() -> None:
    tree = packed(np.array([[3, 5]]), np.array([[4, 5]]))
    points = [[3, 5], [4, 5], [2, 5], [5, 5], [3, 4], [3, 6]]
    assert [len(search_all(tree, np.array(point))) for point in points] == [1, 1, 0, 0, 0, 0]


def test_many_boxes_around_a_point() -> None:
    tree = packed(np.zeros((3_000, 1), np.int64), np.zeros((3_000, 1), np.int64))
    assert sorted(search_all(tree, np.zeros(1, np.int64)).tolist()) == [*range(3_000)]
