"""Where to split a set of boxes in two: the decision on which splits and bulk loading rest.

A point query visits every box around the point, so what counts is how often a point lies in both parts. Boxes are
sorted by each end of each side in turn, never by their middles: behind a split by low ends, the bounding box of
    the second part begins later, while wide boxes of any middle reach everywhere. The best split leaves the least
    sum of the volumes of both bounding boxes.

Volumes are products of widths on a common scale: the ends seen on an axis are mapped to 0 to 1, and a side without
an end reaches beyond by `BEYOND`. `LEAST_WIDTH` stands for the width of a single value, so that no product
vanishes.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I32
from tamis.kernels import kernel
from tamis.lab.wang.rtree.kernels.tree import I64, NO_HIGH, NO_LOW, RtreeNodes

BEYOND = 1 / 16
LEAST_WIDTH = 1 / 256


@kernel
def extend_ranges(tree: RtreeNodes, box: I64) -> None:
    """Extend the range of each axis to the ends of a box."""
    for axis in range(tree.dimensions):
        changed = False
        for at in range(2 * axis, 2 * axis + 2):
            if NO_LOW < box[at] < NO_HIGH:
                end = float(box[at])
                changed |= end < tree.least[axis] or end > tree.most[axis]
                tree.least[axis], tree.most[axis] = min(tree.least[axis], end), max(tree.most[axis], end)
        if changed and tree.most[axis] > tree.least[axis]:
            tree.scales[axis] = 1.0 / (tree.most[axis] - tree.least[axis])


@kernel
def scaled_end(least: float, scale: float, end: int) -> float:
    """An end on the scale of its axis."""
    if end == NO_LOW:
        return -BEYOND
    if end == NO_HIGH:
        return 1.0 + BEYOND
    return (float(end) - least) * scale


@kernel
def scale_box(tree: RtreeNodes, bounds: I64, start: int, places: F64) -> None:
    """Write how far a box reaches on each axis, downwards and then upwards; wider is more in both.

    Args:
        tree: The R-tree, which has the scales.
        bounds: int64[...]: low and high end of each side, from `start` on.
        start: Where the box begins.
        places: float64[dimensions * 2]: the output: all downwards, then all upwards.
    """
    for axis in range(tree.dimensions):
        least, scale = tree.least[axis], tree.scales[axis]
        places[axis] = -scaled_end(least, scale, bounds[start + 2 * axis])
        places[tree.dimensions + axis] = scaled_end(least, scale, bounds[start + 2 * axis + 1])


@kernel
def volume(places: F64) -> float:
    """The volume of a box that `scale_box` wrote."""
    dimensions = len(places) // 2
    product = 1.0
    for axis in range(dimensions):
        product *= places[axis] + places[dimensions + axis] + LEAST_WIDTH
    return product


@kernel
def sort_by(places: F64, key: int, order: I32) -> None:
    """Write the order of the rows of `places` by a column, stable; an insertion sort, since rows are few."""
    for row in range(len(order)):
        value = places[row, key]
        at = row
        while at > 0 and places[order[at - 1], key] > value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = row


@kernel
def best_split(places: F64, cuts: I32) -> tuple[int, int]:
    """The column to sort by, and which of the cuts is best; among equals the one nearest to the middle.

    Args:
        places: float64[boxes, dimensions * 2]: as `scale_box` writes them.
        cuts: int32[...]: how many boxes come before each cut; rising, from 1 on.
    """
    count, width = places.shape
    order = np.empty(count, np.int32)
    before = np.empty(len(cuts), np.float64)
    around = np.empty(width, np.float64)
    best_price, best_middle, best = np.inf, count, (0, len(cuts) // 2)
    for key in range(width):
        sort_by(places, key, order)
        around[:] = -np.inf
        done = 0
        for place in range(len(cuts)):
            while done < cuts[place]:
                _enclose_box(around, places[order[done]])
                done += 1
            before[place] = volume(around)
        around[:] = -np.inf
        done = count
        for place in range(len(cuts) - 1, -1, -1):
            while done > cuts[place]:
                done -= 1
                _enclose_box(around, places[order[done]])
            price = before[place] + volume(around)
            middle = abs(count - 2 * done)
            if price < best_price or (price == best_price and middle < best_middle):
                best_price, best_middle, best = price, middle, (key, place)
    return best


@kernel
def _enclose_box(around: F64, places: F64) -> None:
    for at in range(len(around)):
        around[at] = places[at] if places[at] > around[at] else around[at]
