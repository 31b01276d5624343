"""Random boxes and points for the tests of trees, and the scan that a tree must equal."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tamis.arrays import I32, I64
from tamis.lab.wang.rtree.kernels.bulk_load import bulk_load
from tamis.lab.wang.rtree.kernels.point_query import search
from tamis.lab.wang.rtree.kernels.tree import NO_HIGH, NO_LOW, RtreeNodes, empty_tree, root_of

# Capacities of inner nodes and leaves: the paper's, and the least that make deep trees of few boxes.
CAPACITIES = [(10, 20), (4, 4), (5, 7)]


def random_boxes(random: np.random.Generator, count: int, dimensions: int, *, values: int = 50) -> tuple[I64, I64]:
    """Low and high ends; a quarter of them are none, some sides are single values, and some boxes are equal."""
    one, other = random.integers(0, values, (2, count, dimensions))
    lows, highs = np.minimum(one, other), np.maximum(one, other)
    single = random.random((count, dimensions)) < 0.2
    highs[single] = lows[single]
    lows[random.random((count, dimensions)) < 0.25] = NO_LOW
    highs[random.random((count, dimensions)) < 0.25] = NO_HIGH
    lows[: count // 10], highs[: count // 10] = lows[:1], highs[:1]
    return lows, highs


def random_points(random: np.random.Generator, count: int, dimensions: int, *, values: int = 50) -> I64:
    """Points in and around the boxes, and one at each end of everything."""
    points = random.integers(-2, values + 2, (count, dimensions))
    points[0], points[1] = NO_LOW, NO_HIGH
    return points


def scan(lows: I64, highs: I64, payloads: Iterable[int], point: I64) -> list[int]:
    """Those of the payloads, which number the boxes, whose box is around the point, rising."""
    around = np.flatnonzero(((lows <= point) & (point <= highs)).all(axis=1))
    return sorted(set(payloads) & set(around.tolist()))


def packed(lows: I64, highs: I64, inner: int = 10, leaf: int = 20) -> RtreeNodes:
    """A tree of all boxes, with their numbers as payloads."""
    tree = empty_tree(lows.shape[1], inner, leaf)
    bulk_load(tree, lows, highs, np.arange(len(lows), dtype=np.int32))
    return tree


def search_all(tree: RtreeNodes, point: I64) -> I32:
    """The payloads of all boxes around a point."""
    found: I32 = search(tree, np.array([root_of(tree)], np.int32), point)[0]
    return found
