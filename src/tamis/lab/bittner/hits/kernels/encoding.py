"""Subscription trees as bytes, depth first (thesis, 4.2.2), their evaluation, and their minimum predicate count.

    leaf        LEAF | predicate number, 4 bytes, least first                              5 bytes
    AND, OR     code | number of children, 1 byte | children                               2 bytes and the children
    at least k  SOME | number of children | k | children
    wide        WIDE | k, 4 bytes | number of children, 4 bytes | children                 more than 255 children

    a AND (b OR c)   =   1 2  4 #a  2 2  4 #b  4 #c        19 bytes

In the variant with widths each child is preceded by its width in four bytes, so that it can be skipped unread.
Trees
are walked with explicit stacks: numba cannot cache compiled code that calls itself.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.forest import Nodes
from tamis.kernels import kernel

AND, OR, SOME, LEAF, WIDE, PURE = 1, 2, 3, 4, 5, 6
"""Codes. PURE is an AND of leaves at the root, which enough hits make true; WIDE is a node of many children."""
MAX_BYTES = 1 << 16
"""The length of the longest tree."""
MAX_DEPTH = 512
"""The depth of the deepest tree."""
_COUNT = 255


@kernel
def _write_number(data: U8, at: int, number: int) -> None:
    for byte in range(4):
        data[at + byte] = (number >> (8 * byte)) & 255


@kernel
def read_number(data: U8, at: int) -> int:
    place = np.uint64(at)  # an unsigned index needs no check for negative ones
    low = np.int64(data[place]) | np.int64(data[place + np.uint64(1)]) << 8
    return low | np.int64(data[place + np.uint64(2)]) << 16 | np.int64(data[place + np.uint64(3)]) << 24


@kernel
def encode(nodes: Nodes, children: I32, numbers: I32, root: int, widths: bool, data: U8) -> int:
    """Write the tree of a formula; returns its length, 0 if it is too long or too deep.

    Args:
        nodes: The inner nodes of the forest.
        children: Their children, in the order of evaluation.
        numbers: int32[leaves]: the predicate of every leaf.
        root: A node, or the ones' complement of a leaf.
        widths: Whether every child is preceded by its width.
        data: uint8[MAX_BYTES]: the output.
    """
    if root < 0:
        data[0] = LEAF
        _write_number(data, 1, numbers[~root])
        return 5
    # The stack: a node, its next child, where its width goes.
    path = np.empty((MAX_DEPTH, 3), np.int64)
    path[0, 0], path[0, 1], path[0, 2] = root, nodes.firsts[root], -1
    top = 0
    at = _write_header(nodes, root, data, 0)
    is_pure = data[0] == AND and data[1] > 0
    while True:
        node, place = path[top, 0], path[top, 1]
        if place == nodes.firsts[node + 1]:
            if widths and top > 0:
                _write_number(data, path[top, 2], at - path[top, 2] - 4)
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
            _write_number(data, at + 1, numbers[~child])
            at += 5
            if widths:
                _write_number(data, start, 5)
            continue
        is_pure = False
        top += 1
        if top == MAX_DEPTH:
            return 0
        path[top, 0], path[top, 1], path[top, 2] = child, nodes.firsts[child], start
        at = _write_header(nodes, child, data, at)
    if is_pure:
        data[0] = PURE
    return int(at)


@kernel
def _write_header(nodes: Nodes, node: int, data: U8, at: int) -> int:
    """Write what precedes the children of a node; returns where the first child goes."""
    count, least = nodes.firsts[node + 1] - nodes.firsts[node], nodes.least[node]
    if count > _COUNT:
        data[at] = WIDE
        _write_number(data, at + 1, least)
        _write_number(data, at + 5, count)
        return at + 9
    data[at], data[at + 1] = (AND if least == count else OR if least == 1 else SOME), count
    if data[at] == SOME:
        data[at + 2] = least
        return at + 3
    return at + 2


@kernel
def _read_header(data: U8, at: int) -> tuple[int, int, int]:
    """Of an inner node: how many children must be true, how many there are, where the first begins."""
    code = data[at]
    if code == WIDE:
        return read_number(data, at + 1), read_number(data, at + 5), at + 9
    count = int(data[at + 1])
    if code == SOME:
        return int(data[at + 2]), count, at + 3
    return (1 if code == OR else count), count, at + 2


@kernel
def _skip_children(data: U8, at: int, count: int, widths: bool) -> int:
    """Where the next `count` children end: skipped by their widths, or walked."""
    if widths:
        for _ in range(count):
            at += 4 + read_number(data, at)
        return at
    while count:
        count -= 1
        if data[at] == LEAF:
            at += 5
        else:
            _, more, at = _read_header(data, at)
            count += more
    return at


@kernel
def tree_length(data: U8, at: int, widths: bool) -> int:
    """The number of bytes of a tree."""
    if data[at] == LEAF:
        return 5
    _, count, first = _read_header(data, at)
    return _skip_children(data, first, count, widths) - at


@kernel
def gate_size(data: U8, at: int, widths: bool) -> int:
    """How many leaves the first child of an AND at the root has, if it is a leaf or an OR of leaves; else 0."""
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


@kernel
def tree_holds(data: U8, at: int, widths: bool, bits: U8, circuit: bool, path: I64) -> bool:
    """Evaluate the tree of a candidate.

    Args:
        data: The bytes of all trees.
        at: Where this one begins.
        widths: Whether it has widths.
        bits: uint8[...]: one bit for each predicate, set if that is satisfied.
        circuit: Whether to leave a node as soon as it is decided.
        path: int64[MAX_DEPTH, 3]: scratch space for the stack: how many children must be true, how many are left,
            how many were true.
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
            least, count, at = _read_header(data, at)
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
                at = _skip_children(data, at, left, widths)
            top -= 1
        if widths:
            at += 4


@kernel
def write_leaves(data: U8, at: int, widths: bool, found: I32) -> int:
    """Write the predicates of all leaves of a tree, in order; returns how many there are."""
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
            _, more, at = _read_header(data, at)
            left += more
    return count


@kernel
def _hit_bound(data: U8, at: int, widths: bool, costs: I64, wanted: int) -> int:
    """A bound on the true leaves of a tree that is true.

    With `wanted` < 0, the least sum of `costs` (int64[leaves], in order) that makes the tree true: with costs of 1
    this is p_min. Otherwise the greatest number of leaves of the predicate `wanted` that such a sum can count.
    """
    path = np.empty((MAX_DEPTH, 3), np.int64)  # how many must be true, how many children, where their bounds begin
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
            least, children, at = _read_header(data, at)
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


@kernel
def least_hits(data: U8, at: int, widths: bool, leaves: I32, semantic: bool) -> int:
    """The minimum predicate count: how many leaves are true at least when the tree is.

    Args:
        data: The bytes of all trees.
        at: Where this one begins.
        widths: Whether it has widths.
        leaves: int32[leaves]: its predicates, in order.
        semantic: Also count the leaves that are true because an equal one is, not only those that suffice.
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
        # All leaves of a predicate are true together; the counted ones among them share the hits evenly.
        costs[leaf] = max(1, same // max(1, _hit_bound(data, at, widths, costs, leaves[leaf])))
    return _hit_bound(data, at, widths, costs, -1)
