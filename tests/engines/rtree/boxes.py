"""Random boxes and points for the tests of trees, and the scan that a tree must equal."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tamis.engines.rtree.packing import pack
from tamis.engines.rtree.tree import NO_HIGH, NO_LOW, Tree, tree_of

Ends = npt.NDArray[np.int64]

# Capacities of inner nodes and leaves: the paper's, and the least that make deep trees of few boxes.
CAPACITIES = [(10, 20), (4, 4), (5, 7)]


def random_boxes(
    random: np.random.Generator, count: int, dimensions: int, *, values: int = 50
) -> tuple[Ends, Ends]:
    """Low and high ends; a quarter of them are none, some sides are single values, and some boxes are equal."""
    one, other = random.integers(0, values, (2, count, dimensions))
    lows, highs = np.minimum(one, other), np.maximum(one, other)
    single = random.random((count, dimensions)) < 0.2
    highs[single] = lows[single]
    lows[random.random((count, dimensions)) < 0.25] = NO_LOW
    highs[random.random((count, dimensions)) < 0.25] = NO_HIGH
    lows[: count // 10], highs[: count // 10] = lows[:1], highs[:1]
    return lows, highs


def random_points(random: np.random.Generator, count: int, dimensions: int, *, values: int = 50) -> Ends:
    """Points in and around the boxes, and one at each end of everything."""
    points = random.integers(-2, values + 2, (count, dimensions))
    points[0], points[1] = NO_LOW, NO_HIGH
    return points


def scan(lows: Ends, highs: Ends, payloads: Iterable[int], point: Ends) -> list[int]:
    """Those of the payloads, which number the boxes, whose box is around the point, rising."""
    around = np.flatnonzero(((lows <= point) & (point <= highs)).all(axis=1))
    return sorted(set(payloads) & set(around.tolist()))


def packed(lows: Ends, highs: Ends, inner: int = 10, leaf: int = 20) -> Tree:
    """A tree of all boxes, with their numbers as payloads."""
    tree = tree_of(lows.shape[1], inner, leaf)
    pack(tree, lows, highs, np.arange(len(lows), dtype=np.int32))
    return tree
