"""Interning: copy formulas into one program, equal leaves and nodes once, by hash tables with open addressing."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.forest import PIECES
from tamis.engines.formula_program import FormulaGraph
from tamis.kernels import kernel

_FEW_CHILDREN = 32
"""Up to so many are sorted by insertion."""


@kernel
def _mix(hash_: np.uint64, value: int) -> np.uint64:
    """A hash of one more value: multiply by 2**64 / golden ratio, and fold the high bits down."""
    hash_ = (hash_ ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return hash_ ^ (hash_ >> np.uint64(29))


@kernel
def _find_leaf(source: FormulaGraph, leaf: int, out: FormulaGraph, counts: I64, table: I32) -> int:
    """The number in `out` of a leaf of `source`, added if it is new."""
    kind = source.kinds[leaf]
    low, high = source.lows[leaf], source.highs[leaf]
    hash_ = _mix(np.uint64(kind), source.axes[leaf])
    hash_ = _mix(hash_, source.nulls[leaf])
    if kind == PIECES:
        for piece in range(low, high):
            hash_ = _mix(_mix(hash_, source.piece_lows[piece]), source.piece_highs[piece])
    else:
        hash_ = _mix(_mix(hash_, low), high)
    mask = np.uint64(len(table) - 1)
    place = hash_ & mask
    while table[place] >= 0:
        other = table[place]
        if (
            out.kinds[other] == kind
            and out.axes[other] == source.axes[leaf]
            and out.nulls[other] == source.nulls[leaf]
        ):
            if kind != PIECES:
                if out.lows[other] == low and out.highs[other] == high:
                    return other
            elif out.highs[other] - out.lows[other] == high - low:
                equal = True
                for piece in range(high - low):
                    mine = out.lows[other] + piece
                    if (
                        out.piece_lows[mine] != source.piece_lows[low + piece]
                        or out.piece_highs[mine] != source.piece_highs[low + piece]
                    ):
                        equal = False
                        break
                if equal:
                    return other
        place = (place + np.uint64(1)) & mask
    # counts: leaves, pieces, nodes, children in `out` so far.
    number = counts[0]
    table[place] = number
    counts[0] += 1
    out.kinds[number] = kind
    out.nulls[number] = source.nulls[leaf]
    out.axes[number] = source.axes[leaf]
    out.lows[number] = low
    out.highs[number] = high
    if kind == PIECES:  # lows and highs of such a leaf are its part of the pieces, which are copied, too
        out.lows[number] = counts[1]
        for piece in range(low, high):
            out.piece_lows[counts[1]] = source.piece_lows[piece]
            out.piece_highs[counts[1]] = source.piece_highs[piece]
            counts[1] += 1
        out.highs[number] = counts[1]
    return number


@kernel
def _find_node(least: int, children: I32, out: FormulaGraph, counts: I64, table: I32) -> int:
    """The number in `out` of a node with these (sorted) children of `out`, added if it is new."""
    hash_ = np.uint64(least)
    for child in children:
        hash_ = _mix(hash_, child)
    mask = np.uint64(len(table) - 1)
    place = hash_ & mask
    while table[place] >= 0:
        other = table[place]
        first, last = out.firsts[other], out.firsts[other + 1]
        if out.least[other] == least and last - first == len(children):
            equal = True
            for offset in range(len(children)):
                if out.children[first + offset] != children[offset]:
                    equal = False
                    break
            if equal:
                return other
        place = (place + np.uint64(1)) & mask
    number = counts[2]
    table[place] = number
    counts[2] += 1
    out.least[number] = least
    for child in children:
        out.children[counts[3]] = child
        counts[3] += 1
    out.firsts[number + 1] = counts[3]
    return number


@kernel
def _sort(numbers: I32) -> None:
    """Sort in place. Most nodes have few children, for which starting a general sort takes longer than sorting."""
    if len(numbers) > _FEW_CHILDREN:
        numbers.sort()
        return
    for place in range(1, len(numbers)):
        number = numbers[place]
        at = place
        while at > 0 and numbers[at - 1] > number:
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number


@kernel
def intern_nodes(source: FormulaGraph, roots: I64, out: FormulaGraph, leaf_table: I32, node_table: I32) -> I64:
    """Copy everything below some roots into `out`, equal parts once; replace `roots` by the new numbers.

    Returns how many leaves, pieces, nodes and children `out` has then. Children have lower numbers than their
    parents: one pass downwards finds the nodes that are needed, one upwards copies them, children first.
    """
    counts = np.zeros(4, np.int64)
    nodes = len(source.least)
    needed = np.zeros(nodes, np.uint8)
    leaf_numbers = np.full(len(source.kinds), -1, np.int32)
    node_numbers = np.full(nodes, -1, np.int32)
    for root in roots:
        if root >= 0:
            needed[root] = 1
    for node in range(nodes - 1, -1, -1):
        if needed[node]:
            for place in range(source.firsts[node], source.firsts[node + 1]):
                child = source.children[place]
                if child >= 0:
                    needed[child] = 1
    most = 0
    for node in range(nodes):
        most = max(most, source.firsts[node + 1] - source.firsts[node])
    room = np.empty(most, np.int32)
    for node in range(nodes):
        if not needed[node]:
            continue
        first, last = source.firsts[node], source.firsts[node + 1]
        children = room[: last - first]
        for place in range(first, last):
            child = source.children[place]
            if child >= 0:
                children[place - first] = node_numbers[child]
            else:
                if leaf_numbers[~child] < 0:
                    leaf_numbers[~child] = _find_leaf(source, ~child, out, counts, leaf_table)
                children[place - first] = ~leaf_numbers[~child]
        # Equal sets of children must look equal, whatever order the condition was written in.
        _sort(children)
        node_numbers[node] = _find_node(source.least[node], children, out, counts, node_table)
    for place in range(len(roots)):
        root = roots[place]
        if root >= 0:
            roots[place] = node_numbers[root]
        else:
            if leaf_numbers[~root] < 0:
                leaf_numbers[~root] = _find_leaf(source, ~root, out, counts, leaf_table)
            roots[place] = ~leaf_numbers[~root]
    return counts
