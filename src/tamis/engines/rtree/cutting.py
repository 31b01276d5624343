"""Where to cut a set of boxes in two: the choice on which packing and splitting rest.

A point asks for every box around it, so what counts is how often a point lies in both parts. The boxes are put in
the order of each end of each side in turn, never of their middles: behind a cut by low ends, the box around the
second part begins later, while wide boxes of any middle reach everywhere. The best cut leaves the least sum of the
volumes of the boxes around both parts.

Volumes are products of widths on a common scale: an axis goes from 0 to 1 over the ends seen on it, and a side
without an end reaches beyond by `BEYOND`. `LEAST_WIDTH` stands for the width of a single value, so that no product
vanishes.
"""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.rtree.tree import NO_HIGH, NO_LOW, Ends, Floats, Shorts, Tree

BEYOND = 1 / 16
LEAST_WIDTH = 1 / 256


@numba.njit(cache=True, nogil=True)
def widen(tree: Tree, box: Ends) -> None:
    """Let the scale of each axis cover the ends of a box."""
    for axis in range(tree.dimensions):
        changed = False
        for at in range(2 * axis, 2 * axis + 2):
            if NO_LOW < box[at] < NO_HIGH:
                end = float(box[at])
                changed |= end < tree.least[axis] or end > tree.most[axis]
                tree.least[axis], tree.most[axis] = min(tree.least[axis], end), max(tree.most[axis], end)
        if changed and tree.most[axis] > tree.least[axis]:
            tree.scales[axis] = 1.0 / (tree.most[axis] - tree.least[axis])


@numba.njit(cache=True, nogil=True)
def position(least: float, scale: float, end: int) -> float:
    """Where an end is on the scale of its axis."""
    if end == NO_LOW:
        return -BEYOND
    if end == NO_HIGH:
        return 1.0 + BEYOND
    return (float(end) - least) * scale


@numba.njit(cache=True, nogil=True)
def place_box(tree: Tree, bounds: Ends, start: int, places: Floats) -> None:
    """Write how far a box reaches on each axis, downwards and then upwards; wider is more in both.

    Args:
        tree: Has the scales.
        bounds: The box begins at `start`: low and high end of each side.
        start: Where.
        places: float64[dimensions * 2]: all downwards, then all upwards.
    """
    for axis in range(tree.dimensions):
        least, scale = tree.least[axis], tree.scales[axis]
        places[axis] = -position(least, scale, bounds[start + 2 * axis])
        places[tree.dimensions + axis] = position(least, scale, bounds[start + 2 * axis + 1])


@numba.njit(cache=True, nogil=True)
def volume(places: Floats) -> float:
    """Of a box, as `place_box` writes it."""
    dimensions = len(places) // 2
    product = 1.0
    for axis in range(dimensions):
        product *= places[axis] + places[dimensions + axis] + LEAST_WIDTH
    return product


@numba.njit(cache=True, nogil=True)
def sort_by(places: Floats, key: int, order: Shorts) -> None:
    """Put the rows of `places` in the order of a column, equal ones as they are; meant for few."""
    for row in range(len(order)):
        value = places[row, key]
        at = row
        while at > 0 and places[order[at - 1], key] > value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = row


@numba.njit(cache=True, nogil=True)
def best_cut(places: Floats, cuts: Shorts) -> tuple[int, int]:
    """The column to sort by, and which of the cuts to make; among equals the one nearest to the middle.

    Args:
        places: float64[boxes, dimensions * 2]: as `place_box` writes them.
        cuts: int32[...]: how many boxes come before a cut; rising, from 1 on.
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
                _widen_by(around, places[order[done]])
                done += 1
            before[place] = volume(around)
        around[:] = -np.inf
        done = count
        for place in range(len(cuts) - 1, -1, -1):
            while done > cuts[place]:
                done -= 1
                _widen_by(around, places[order[done]])
            price = before[place] + volume(around)
            middle = abs(count - 2 * done)
            if price < best_price or (price == best_price and middle < best_middle):
                best_price, best_middle, best = price, middle, (key, place)
    return best


@numba.njit(cache=True, nogil=True)
def _widen_by(around: Floats, places: Floats) -> None:
    for at in range(len(around)):
        around[at] = places[at] if places[at] > around[at] else around[at]
