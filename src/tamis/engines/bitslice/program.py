"""Programs: formulas beyond conjunctions, evaluated for one event at a time.

Only events that passed a conjunction get here, so these kernels walk a formula with short circuits instead of
computing masks.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import Batch, Ints, Program, Shorts
from tamis.engines.forest import INTERVAL, PIECES, Forest

_FEW_CHILDREN = 32


class Memory(NamedTuple):
    """What was found lately: of node n for event `events[n]`; and stacks for the walk.

    Events are numbered on from batch to batch; `passed` is one number, that of the batch's first event.
    """

    passed: Ints
    events: Ints
    values: Shorts
    nodes: Shorts
    places: Ints
    needs: Shorts
    slacks: Shorts


def new_memory(program: Program) -> Memory:
    """Nothing is known yet."""
    nodes = len(program.least)
    height = depth(program) + 1
    return Memory(
        np.zeros(1, np.int64),
        np.full(nodes, -1, np.int64),
        np.zeros(nodes, np.int32),
        np.zeros(height, np.int32),
        np.zeros(height, np.int64),
        np.zeros(height, np.int32),
        np.zeros(height, np.int32),
    )


@numba.njit(cache=True, nogil=True)
def depth(program: Program) -> int:
    """How many nodes stand below each other at most; children have lower numbers."""
    depths = np.ones(len(program.least), np.int32)
    deepest = 0
    for node in range(len(depths)):
        for place in range(program.firsts[node], program.firsts[node + 1]):
            child = program.children[place]
            if child >= 0 and depths[child] >= depths[node]:
                depths[node] = depths[child] + 1
        deepest = max(deepest, depths[node])
    return deepest


@numba.njit(cache=True, nogil=True, forceinline=True)
def leaf_holds(program: Program, leaf: int, batch: Batch, event: int) -> bool:
    """Does a leaf hold for an event?"""
    kind = program.kinds[leaf]
    if kind > PIECES:
        line = batch.test_lines[program.lows[leaf]]
        return line >= 0 and (batch.test_bits[line, event >> 6] >> np.uint64(event & 63)) & np.uint64(1) != 0
    axis = program.axes[leaf]
    line = batch.columns[axis]
    if line < 0 or batch.rows[event, line] == batch.bases[axis]:
        return program.nulls[leaf] != 0
    value = batch.values[event, line]
    low, high = program.lows[leaf], program.highs[leaf]
    if kind == INTERVAL:
        return low <= value <= high
    while low < high:  # the first piece that ends at or above the value
        middle = (low + high) >> 1
        if program.piece_highs[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < program.highs[leaf] and program.piece_lows[low] <= value


@numba.njit(cache=True, nogil=True, forceinline=True)
def holds(program: Program, root: int, batch: Batch, event: int, memory: Memory) -> bool:
    """Does a node (or, if negative, a leaf) hold for an event?"""
    if root < 0:
        return leaf_holds(program, ~root, batch, event)
    number = memory.passed[0] + event
    if memory.events[root] == number:
        return memory.values[root] != 0
    height = 0
    node = root
    entering = True
    result = False
    while True:
        if entering:
            first, last = program.firsts[node], program.firsts[node + 1]
            memory.nodes[height] = node
            memory.places[height] = first
            memory.needs[height] = program.least[node]
            memory.slacks[height] = last - first - program.least[node]
            height += 1
            entering = False
        top = height - 1
        # Ask children until the node is decided or a child must be entered.
        while memory.needs[top] > 0 and memory.slacks[top] >= 0:
            child = program.children[memory.places[top]]
            memory.places[top] += 1
            if child < 0:
                result = leaf_holds(program, ~child, batch, event)
            elif memory.events[child] == number:
                result = memory.values[child] != 0
            else:
                node = child
                entering = True
                break
            if result:
                memory.needs[top] -= 1
            else:
                memory.slacks[top] -= 1
        if entering:
            continue
        result = memory.needs[top] <= 0
        decided = memory.nodes[top]
        memory.events[decided] = number
        memory.values[decided] = result
        height -= 1
        if height == 0:
            return result
        if result:
            memory.needs[height - 1] -= 1
        else:
            memory.slacks[height - 1] -= 1


@numba.njit(cache=True, nogil=True)
def _mixed(hash_: np.uint64, value: int) -> np.uint64:
    hash_ = (hash_ ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return hash_ ^ (hash_ >> np.uint64(29))


@numba.njit(cache=True, nogil=True)
def _find_leaf(source: Program, leaf: int, out: Program, counts: Ints, table: Shorts) -> int:
    """The number in `out` of a leaf of `source`, added if it is new."""
    kind = source.kinds[leaf]
    low, high = source.lows[leaf], source.highs[leaf]
    hash_ = _mixed(np.uint64(kind), source.axes[leaf])
    hash_ = _mixed(hash_, source.nulls[leaf])
    if kind == PIECES:
        for piece in range(low, high):
            hash_ = _mixed(_mixed(hash_, source.piece_lows[piece]), source.piece_highs[piece])
    else:
        hash_ = _mixed(_mixed(hash_, low), high)
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
    number = counts[0]
    table[place] = number
    counts[0] += 1
    out.kinds[number] = kind
    out.nulls[number] = source.nulls[leaf]
    out.axes[number] = source.axes[leaf]
    out.lows[number] = low
    out.highs[number] = high
    if kind == PIECES:
        out.lows[number] = counts[1]
        for piece in range(low, high):
            out.piece_lows[counts[1]] = source.piece_lows[piece]
            out.piece_highs[counts[1]] = source.piece_highs[piece]
            counts[1] += 1
        out.highs[number] = counts[1]
    return number


@numba.njit(cache=True, nogil=True)
def _find_node(least: int, children: Shorts, out: Program, counts: Ints, table: Shorts) -> int:
    """The number in `out` of a node with these (sorted) children of `out`, added if it is new."""
    hash_ = np.uint64(least)
    for child in children:
        hash_ = _mixed(hash_, child)
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


@numba.njit(cache=True, nogil=True)
def _sort(numbers: Shorts) -> None:
    """In place; most are few, and a general sort takes longer to begin than those take."""
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


@numba.njit(cache=True, nogil=True)
def _intern(source: Program, wanted: Ints, out: Program, leaf_table: Shorts, node_table: Shorts) -> Ints:
    """Copy everything below the wanted nodes into `out`, equal things once; `wanted` gets the new numbers.

    Nodes of a forest stand behind their children, so one pass in order is enough once the needed are known.
    Gives how many leaves, pieces, nodes and children there are.
    """
    counts = np.zeros(4, np.int64)
    nodes = len(source.least)
    needed = np.zeros(nodes, np.uint8)
    leaf_numbers = np.full(len(source.kinds), -1, np.int32)
    node_numbers = np.full(nodes, -1, np.int32)
    for root in wanted:
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
        _sort(children)
        node_numbers[node] = _find_node(source.least[node], children, out, counts, node_table)
    for place in range(len(wanted)):
        root = wanted[place]
        if root >= 0:
            wanted[place] = node_numbers[root]
        else:
            if leaf_numbers[~root] < 0:
                leaf_numbers[~root] = _find_leaf(source, ~root, out, counts, leaf_table)
            wanted[place] = ~leaf_numbers[~root]
    return counts


def program_of(
    forest: Forest, least: Shorts, firsts: Ints, children: Shorts, wanted: Ints
) -> tuple[Program, Ints]:
    """The program with everything below the wanted nodes, and their numbers in it.

    The nodes are given apart from the forest, which has the leaves, because a builder makes some of its own.
    """
    source = Program(*forest.leaves, *forest.pieces, least, firsts, children)
    if not len(wanted):
        return _empty(), wanted
    leaves, nodes = len(source.kinds), len(least)
    out = Program(
        *(np.empty(leaves, each.dtype) for each in forest.leaves),
        *(np.empty(len(each), np.int64) for each in forest.pieces),
        np.empty(nodes, np.int32),
        np.zeros(nodes + 1, np.int64),
        np.empty(len(children), np.int32),
    )
    numbers = wanted.astype(np.int64)
    counts = _intern(source, numbers, out, _table(leaves), _table(nodes))
    leaves, pieces, nodes, edges = counts.tolist()
    sizes = (leaves,) * 5 + (pieces,) * 2 + (nodes, nodes + 1, edges)
    return Program(*(each[:size].copy() for each, size in zip(out, sizes, strict=True))), numbers


def _table(entries: int) -> Shorts:
    return np.full(1 << max(4, int(2 * entries).bit_length()), -1, np.int32)


def _empty() -> Program:
    bytes_, shorts, ints = np.empty(0, np.uint8), np.empty(0, np.int32), np.empty(0, np.int64)
    return Program(bytes_, bytes_, shorts, ints, ints, ints, ints, shorts, np.zeros(1, np.int64), shorts)
