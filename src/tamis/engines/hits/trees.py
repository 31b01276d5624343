"""Formulas as bytes, depth first, and what can be asked of them.

A leaf is its code and the number of its predicate in four bytes, the least first. An inner node is its code, the
number of its children in a byte, and the children. "At least so many of" has its number behind the count; a node
with more than 255 children has both in four bytes. In the variant with widths every child is preceded by its width
in four bytes, so that it can be skipped without being read. Kernels go through a tree with stacks of their own:
numba cannot keep compiled code that calls itself.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.forest import Nodes

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int32]
Ints: TypeAlias = npt.NDArray[np.int64]

AND, OR, SOME, LEAF, WIDE, PURE = 1, 2, 3, 4, 5, 6
"""Codes: PURE is an AND of leaves at the root, WIDE a node of any kind with many children."""
MOST_BYTES = 1 << 16
"""No tree is longer."""
MOST_DEPTH = 512
"""No tree has more nodes above one another."""
_COUNT = 255


@numba.njit(cache=True, nogil=True)
def _write(data: Bytes, at: int, number: int) -> None:
    for byte in range(4):
        data[at + byte] = (number >> (8 * byte)) & 255


@numba.njit(cache=True, nogil=True)
def read_number(data: Bytes, at: int) -> int:
    """Four bytes as a number."""
    place = np.uint64(at)  # a place that can't be negative needs no check
    low = np.int64(data[place]) | np.int64(data[place + np.uint64(1)]) << 8
    return low | np.int64(data[place + np.uint64(2)]) << 16 | np.int64(data[place + np.uint64(3)]) << 24


@numba.njit(cache=True, nogil=True)
def encode(nodes: Nodes, children: Shorts, numbers: Shorts, root: int, widths: bool, data: Bytes) -> int:
    """Write the tree of a formula; gives its length, or 0 if it is too long or too deep.

    Args:
        nodes: Of the forest.
        children: Its children, in the order in which they shall stand.
        numbers: The predicate of every leaf.
        root: A node, or the ones' complement of a leaf.
        widths: Shall every child be preceded by its width?
        data: Where to.
    """
    if root < 0:
        data[0] = LEAF
        _write(data, 1, numbers[~root])
        return 5
    # Of the nodes under way: which, its next child, where its width goes.
    path = np.empty((MOST_DEPTH, 3), np.int64)
    path[0, 0], path[0, 1], path[0, 2] = root, nodes.firsts[root], -1
    top = 0
    at = _write_header(nodes, root, data, 0)
    is_pure = data[0] == AND and data[1] > 0
    while True:
        node, place = path[top, 0], path[top, 1]
        if place == nodes.firsts[node + 1]:
            if widths and top > 0:
                _write(data, path[top, 2], at - path[top, 2] - 4)
            top -= 1
            if top < 0:
                break
            continue
        path[top, 1] += 1
        if at + 4 + 9 > len(data):
            return 0
        start = at
        if widths:
            at += 4
        child = children[place]
        if child < 0:
            data[at] = LEAF
            _write(data, at + 1, numbers[~child])
            at += 5
            if widths:
                _write(data, start, 5)
            continue
        is_pure = False
        top += 1
        if top == MOST_DEPTH:
            return 0
        path[top, 0], path[top, 1], path[top, 2] = child, nodes.firsts[child], start
        at = _write_header(nodes, child, data, at)
    if is_pure:
        data[0] = PURE
    return int(at)


@numba.njit(cache=True, nogil=True)
def _write_header(nodes: Nodes, node: int, data: Bytes, at: int) -> int:
    """Write what stands before the children of a node; gives the place behind it."""
    count, least = nodes.firsts[node + 1] - nodes.firsts[node], nodes.least[node]
    if count > _COUNT:
        data[at] = WIDE
        _write(data, at + 1, least)
        _write(data, at + 5, count)
        return at + 9
    data[at], data[at + 1] = (AND if least == count else OR if least == 1 else SOME), count
    if data[at] == SOME:
        data[at + 2] = least
        return at + 3
    return at + 2


@numba.njit(cache=True, nogil=True)
def _header(data: Bytes, at: int) -> tuple[int, int, int]:
    """Of an inner node: how many must hold, how many children there are, where the first is."""
    code = data[at]
    if code == WIDE:
        return read_number(data, at + 1), read_number(data, at + 5), at + 9
    count = int(data[at + 1])
    if code == SOME:
        return int(data[at + 2]), count, at + 3
    return (1 if code == OR else count), count, at + 2


@numba.njit(cache=True, nogil=True)
def _behind(data: Bytes, at: int, count: int, widths: bool) -> int:
    """The place behind some children: skipped by their widths, or walked."""
    if widths:
        for _ in range(count):
            at += 4 + read_number(data, at)
        return at
    while count:
        count -= 1
        if data[at] == LEAF:
            at += 5
        else:
            _, more, at = _header(data, at)
            count += more
    return at


@numba.njit(cache=True, nogil=True)
def tree_length(data: Bytes, at: int, widths: bool) -> int:
    """How many bytes a tree takes."""
    if data[at] == LEAF:
        return 5
    _, count, first = _header(data, at)
    return _behind(data, first, count, widths) - at


@numba.njit(cache=True, nogil=True)
def gate_of(data: Bytes, at: int, widths: bool) -> int:
    """How many of a tree's first leaves are the first child of an AND at the root: a leaf, or an OR of leaves."""
    if data[at] != AND or data[at + 1] == 0:
        return 0
    skipped = 4 if widths else 0
    first = at + 2 + skipped
    if data[first] == LEAF:
        return 1
    if data[first] != OR:
        return 0
    for child in range(int(data[first + 1])):
        if data[first + 2 + skipped + child * (5 + skipped)] != LEAF:
            return 0
    return int(data[first + 1])


@numba.njit(cache=True, nogil=True)
def holds(data: Bytes, at: int, widths: bool, bits: Bytes, circuit: bool, path: Ints) -> bool:
    """Does a tree hold that had enough hits?

    Args:
        data: With the tree.
        at: Its place.
        widths: Does it have widths?
        bits: One a predicate, set if that holds.
        circuit: Leave the root as soon as it is decided, and pass over what no longer counts elsewhere?
        path: int64[MOST_DEPTH, 3], to work with: of the nodes under way how many children must hold, how many are
            left, how many held.
    """
    if data[at] == PURE:
        return True
    top = -1
    while True:
        if data[at] == LEAF:
            number = read_number(data, at + 1)
            value = (bits[number >> 3] >> (number & 7)) & 1
            at += 5
        else:
            least, count, at = _header(data, at)
            if count:
                top += 1
                path[top, 0], path[top, 1], path[top, 2] = least, count, 0
                if widths:
                    at += 4
                continue
            value = 1 if least == 0 else 0
        while True:
            if top < 0:
                return value != 0
            path[top, 1] -= 1
            path[top, 2] += value
            least, left, holding = path[top, 0], path[top, 1], path[top, 2]
            if left and not (circuit and (holding >= least or holding + left < least)):
                break
            value = 1 if holding >= least else 0
            if left:
                if top == 0:
                    return value != 0
                at = _behind(data, at, left, widths)
            top -= 1
        if widths:
            at += 4


@numba.njit(cache=True, nogil=True)
def leaves_in(data: Bytes, at: int, widths: bool, found: Shorts) -> int:
    """Write the predicates of all leaves of a tree, in order; gives their number."""
    count, left = 0, 1
    is_root = True
    while left:
        left -= 1
        if widths and not is_root:
            at += 4
        is_root = False
        if data[at] == LEAF:
            found[count] = read_number(data, at + 1)
            count += 1
            at += 5
        else:
            _, more, at = _header(data, at)
            left += more
    return count


@numba.njit(cache=True, nogil=True)
def _bound(data: Bytes, at: int, widths: bool, costs: Ints, wanted: int) -> int:
    """A bound over the leaves that hold when a tree does.

    With `wanted` < 0 the least sum of `costs` (by the order of leaves); else how many leaves of that predicate can
    be among those that were counted, at most.
    """
    path = np.empty((MOST_DEPTH, 3), np.int64)  # how many must hold, how many children, where their bounds begin
    bounds = np.empty(len(costs) + 1, np.int64)
    top, count, leaf = -1, 0, 0
    while True:
        if data[at] == LEAF:
            is_wanted = read_number(data, at + 1) == wanted
            bounds[count] = costs[leaf] if wanted < 0 else 1 if is_wanted else 0
            leaf += 1
            count += 1
            at += 5
        else:
            least, children, at = _header(data, at)
            top += 1
            path[top, 0], path[top, 1], path[top, 2] = least, children, count
        while top >= 0 and count - path[top, 2] == path[top, 1]:
            least, children, first = path[top, 0], path[top, 1], path[top, 2]
            total = 0
            if least > children:
                total = _COUNT if wanted < 0 else 0
            else:
                some = bounds[first:count]
                some.sort()
                for place in range(least):
                    total += some[place] if wanted < 0 else some[children - 1 - place]
            bounds[first] = total
            count = first + 1
            top -= 1
        if top < 0:
            return int(bounds[0])
        if widths:
            at += 4


@numba.njit(cache=True, nogil=True)
def least_hits(data: Bytes, at: int, widths: bool, leaves: Shorts, semantic: bool) -> int:
    """How many leaves hold at least when the tree does.

    Args:
        data: With the tree.
        at: Its place.
        widths: Does it have widths?
        leaves: Its predicates, in order.
        semantic: Count every leaf that holds because an equal one does, not only those that are needed.
    """
    if data[at] == PURE:
        return len(leaves)
    costs = np.ones(len(leaves), np.int64)
    for leaf in range(len(leaves) if semantic else 0):
        same, first = 0, leaf
        for other in range(len(leaves)):
            if leaves[other] == leaves[leaf]:
                same += 1
                first = min(first, other)
        if same < 2:
            continue
        if first < leaf:
            costs[leaf] = costs[first]
            continue
        # All leaves of a predicate hold together; those that are counted share them evenly.
        costs[leaf] = max(1, same // max(1, _bound(data, at, widths, costs, leaves[leaf])))
    return _bound(data, at, widths, costs, -1)
