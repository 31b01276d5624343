"""Whatever is inserted and deleted, a tree stays as it must be and finds what a scan finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.arrays import I64
from tamis.lab.wang.rtree.kernels.tree import NO_HIGH, NO_LOW, RtreeNodes, empty_tree, height_of, tree_stats
from tamis.lab.wang.rtree.kernels.updates import delete_box, insert_box
from tests.lab.wang.rtree.boxes import CAPACITIES, packed, random_boxes, random_points, scan, search_all
from tests.lab.wang.rtree.invariants import check_tree, tree_arrays


def check(tree: RtreeNodes, lows: I64, highs: I64, living: set[int], points: I64) -> None:
    check_tree(tree)
    assert tree_stats(tree).counts["boxes"] == len(living)
    for point in points:
        assert sorted(search_all(tree, point).tolist()) == scan(lows, highs, living, point)


@pytest.mark.slow
@pytest.mark.parametrize(("inner", "leaf"), CAPACITIES)
@pytest.mark.parametrize("dimensions", [1, 3])
def test_random_changes(inner: int, leaf: int, dimensions: int) -> None:
    random = np.random.default_rng(inner * dimensions)
    lows, highs = random_boxes(random, 700, dimensions)
    points = random_points(random, 10, dimensions)
    tree = packed(lows[:300], highs[:300], inner, leaf)
    living = set(range(300))
    for step in range(2_000):
        payload = int(random.integers(700))
        # It grows for a while and shrinks for a while.
        grows = random.random() < (0.9 if (step // 500) % 2 == 0 else 0.1)
        if payload not in living and grows:
            insert_box(tree, lows[payload], highs[payload], payload)
            living.add(payload)
        elif payload in living and not grows:
            assert delete_box(tree, payload)
            living.remove(payload)
        if step % 250 == 0:
            check(tree, lows, highs, living, points)
    check(tree, lows, highs, living, points)


@pytest.mark.parametrize(("inner", "leaf"), CAPACITIES)
def test_filled_and_emptied(inner: int, leaf: int) -> None:
    random = np.random.default_rng(leaf)
    lows, highs = random_boxes(random, 400, 2)
    points = random_points(random, 10, 2)
    tree = empty_tree(2, inner, leaf)
    sizes = []
    for _ in range(3):
        for payload in random.permutation(400).tolist():
            insert_box(tree, lows[payload], highs[payload], payload)
        check(tree, lows, highs, set(range(400)), points)
        assert height_of(tree) > 2
        for payload in random.permutation(400).tolist():
            assert delete_box(tree, payload)
            assert not delete_box(tree, payload)
        check(tree, lows, highs, set(), points)
        assert height_of(tree) == 1
        assert tree_stats(tree).counts == {"boxes": 0, "height": 1, "leaves": 1, "inner nodes": 0}
        sizes.append(len(tree_arrays(tree).sizes))
    # Numbers of nodes are used again.
    assert sizes[-1] < 1.3 * sizes[0]


def test_what_is_not_there_is_not_deleted() -> None:
    tree = empty_tree(1, 4, 4)
    assert not delete_box(tree, 0)
    insert_box(tree, np.array([1]), np.array([2]), 5)
    assert not delete_box(tree, 4)
    assert not delete_box(tree, 100_000)
    assert delete_box(tree, 5)


ENDS = st.sampled_from([NO_LOW, NO_LOW + 1, -1, 0, 1, 7, NO_HIGH - 1, NO_HIGH])
SIDES = st.tuples(ENDS, ENDS).map(sorted)


@pytest.mark.slow
@given(
    st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=60),
    st.lists(st.integers(0, 59), max_size=90),
    st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=5),
)
def test_any_boxes_in_any_order(
    boxes: list[tuple[list[int], list[int]]], turns: list[int], points: list[list[int]]
) -> None:
    """Each turn inserts a box, or deletes it if it is there; ends are anywhere in int64."""
    ends = np.array(boxes, np.int64)
    lows, highs = np.ascontiguousarray(ends[:, :, 0]), np.ascontiguousarray(ends[:, :, 1])
    tree = packed(lows, highs, 4, 4)
    living = set(range(len(boxes)))
    for turn in turns:
        payload = turn % len(boxes)
        if payload in living:
            assert delete_box(tree, payload)
        else:
            insert_box(tree, lows[payload], highs[payload], payload)
        living ^= {payload}
    check(tree, lows, highs, living, np.array(points, np.int64))


def test_a_node_is_split_where_boxes_part() -> None:
    tree = empty_tree(2, 4, 4)
    for payload, left in enumerate([0, 100, 1, 101, 2]):
        insert_box(tree, np.array([left, 0]), np.array([left + 3, 9]), payload)
    view = tree_arrays(tree)
    leaves = {
        frozenset(view.links[node, : view.sizes[node]].tolist()) for node in np.flatnonzero(view.heights == 1)
    }
    assert leaves == {frozenset({0, 2, 4}), frozenset({1, 3})}
