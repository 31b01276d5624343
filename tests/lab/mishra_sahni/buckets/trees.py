"""What the priority search trees and interval trees of a pool must be like, looked at node by node."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

LEAST, GREATEST = -(2**63), 2**63 - 1
EXTREMES = [LEAST, LEAST + 1, -1, 0, 1, GREATEST - 1, GREATEST]

Point = tuple[int, int, int, int]
"""End, start, low, bucket."""


class Counts(NamedTuple):
    made: int
    free: int
    used: int
    rotations: int
    steps: int


@numba.njit(cache=True, nogil=True)
def nodes_of(pool: Any) -> npt.NDArray[np.void]:
    nodes: npt.NDArray[np.void] = pool.nodes
    return nodes


@numba.njit(cache=True, nogil=True)
def _numbers(pool: Any) -> tuple[int, int, int]:
    return pool.made, pool.free, pool.count


@numba.njit(cache=True, nogil=True)
def _work(points: Any) -> tuple[int, int]:
    return points.rotations, points.steps


@numba.njit(cache=True, nogil=True)
def ranges_of(intervals: Any) -> Any:
    return intervals.ranges


def counts_of(points: Any) -> Counts:
    return Counts(*_numbers(points), *_work(points))


def check_free(pool: Any, used: set[int]) -> None:
    """Every node is either in one of the trees or free, once."""
    made, free, count = _numbers(pool)
    nodes = nodes_of(pool)
    unused = []
    while free >= 0:
        unused.append(free)
        free = int(nodes[free]["left"])
    assert len(unused) == len(set(unused)) == made - count
    assert used.isdisjoint(unused)
    assert len(used) == count


def check_points(points: Any, root: int) -> tuple[dict[tuple[int, int], tuple[int, int]], set[int]]:
    """Check a priority search tree; gives its points, (end, start) to (low, bucket), and its nodes."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    leaves: list[tuple[int, int]] = []
    used: set[int] = set()
    if root < 0:
        return found, used
    nodes = nodes_of(points)
    below, above = (LEAST - 1, 0), (GREATEST + 1, 0)
    # A node, what its x are above, what they are not above, the low and the colour above it, black nodes above it.
    stack = [(root, below, above, LEAST, True, False, 0)]
    heights = set()
    while stack:
        number, floor, ceiling, low_above, filled_above, red_above, blacks = stack.pop()
        assert number not in used
        used.add(number)
        end, start, point_end, point_start, low, bucket, left, right, red = nodes[number].tolist()
        key, point = (end, start), (point_end, point_start)
        assert not (red and red_above)
        assert floor < key <= ceiling
        if bucket >= 0:
            assert filled_above
            assert low >= low_above
            assert floor < point <= ceiling
            assert point not in found
            found[point] = low, bucket
        else:
            low = low_above
        blacks += not red
        if left < 0:
            assert right < 0
            assert not red
            leaves.append(key)
            heights.add(blacks)
            assert bucket < 0 or point == key
        else:
            stack.append((right, key, ceiling, low, bucket >= 0, bool(red), blacks))
            stack.append((left, floor, key, low, bucket >= 0, bool(red), blacks))
    assert not nodes[root]["red"]
    assert len(heights) == 1
    assert leaves == sorted(found)
    return found, used
