"""Static posting lists by value: which conjunctions have a leaf that a value satisfies.

The cuts of an axis divide it into positions, and runs of 2^shift positions are cells. Over the cells stands a
binary tree; an interval is listed at the few nodes that together are the cells it fills, and as a part in the
cells that it fills only partly:

    node 1                 (whole axis)
    nodes 2, 3             |  cells 0-1   |  cells 2-3   |
    nodes 4-7              | c0   | c1    | c2    | c3   |
    interval                  ======================        part of c0, list of c1, list of c2, part of c3

So the path from the cell of a value to the top meets every interval that contains the value once. A predicate that
many conjunctions share has a list of its own, and the tree refers to it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I32, I64, U16, U32
from tamis.engines.array_kernels import group_by_number
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.conjunctions.intervals import LeafIntervals, intervals_of
from tamis.engines.forest import TEST, Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.forest.distinct import distinct_predicates
from tamis.kernels import kernel

Offsets: TypeAlias = U16

_SHARED = 8  # a predicate of so many conjunctions has a list of its own
_DEEPEST = 16
_CELL_BITS = 16
_LEAST_CELLS = 64
_CELL_LEAVES = 8  # so many a cell, if the tree need not be deeper for it
_LISTINGS = 10.0  # so many nodes an interval, on average


class Scales(NamedTuple):
    """Positions and cells of the axes.

    cut_firsts: int64[axes + 1], cuts: int64[...]: the cuts of axis a are `cuts[cut_firsts[a]:cut_firsts[a + 1]]`,
        rising; the position of a value is the number of cuts at or below it.
    shifts: int64[axes]: 2^shift positions are a cell.
    cells: int64[axes]: how many, a power of 2.
    bases: int64[axes + 1]: the first key of an axis. Key 0 of it is for NULL, key 1 for the top of the tree, the
        children of key n are 2 n and 2 n + 1, so that cell c has key `cells + c`. Behind the axes come the tests.
    """

    cut_firsts: I64
    cuts: I64
    shifts: I64
    cells: I64
    bases: I64


class CellPostings(NamedTuple):
    """The lists.

    firsts: int64[lists + 1], ids: uint32[...]: list l is `ids[firsts[l]:firsts[l + 1]]`, rising. There is a list
        for every key and, behind those, for every shared predicate.
    ref_firsts: int64[keys + 1], refs: int32[...]: of a key, the shared lists that hold there.
    part_firsts: int64[keys + 1], part_lows, part_highs: uint16[...], part_targets: int32[...]: of the key of a
        cell, from where to where within the cell an interval holds, and the conjunction, or ~list of a shared one.
    """

    scales: Scales
    firsts: I64
    ids: U32
    ref_firsts: I64
    refs: I32
    part_firsts: I64
    part_lows: Offsets
    part_highs: Offsets
    part_targets: I32


def postings_of(
    leaves: Leaves, pieces: Pieces, axes: int, tests: int, conjunctions: Conjunctions
) -> tuple[CellPostings, int]:
    """The lists for these conjunctions, and how many distinct predicates they have."""
    distinct = distinct_predicates(leaves, pieces, conjunctions.leaves)
    intervals = intervals_of(leaves, pieces, distinct.examples)
    weights = np.bincount(distinct.numbers[conjunctions.leaves], minlength=len(distinct.examples))
    scales = _scales(intervals, leaves.axes[distinct.examples], weights, axes)
    keys = int(scales.bases[-1]) + tests
    lists, shared = _shared_lists(leaves, distinct.examples, intervals, scales, weights, keys)
    counted = _count(leaves, distinct.examples, intervals, scales, weights, lists, keys + shared, keys)
    firsts, ref_firsts, part_firsts = (_offsets(counts) for counts in counted)
    postings = CellPostings(
        scales,
        firsts,
        np.empty(firsts[-1], np.uint32),
        ref_firsts,
        np.empty(ref_firsts[-1], np.int32),
        part_firsts,
        np.empty(part_firsts[-1], np.uint16),
        np.empty(part_firsts[-1], np.uint16),
        np.empty(part_firsts[-1], np.int32),
    )
    _fill(leaves, distinct.numbers, intervals, conjunctions, lists, postings)
    return postings, len(distinct.examples)


def _offsets(counts: I64) -> I64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _scales(intervals: LeafIntervals, axis_of: I32, weights: I64, axes: int) -> Scales:
    """Cuts and cells; turns the ends of the intervals into positions, in place."""
    lengths = np.diff(intervals.firsts)
    loads = np.repeat(weights, lengths)
    firsts, order = group_by_number(np.repeat(axis_of, lengths), axes)
    found: list[I64] = []
    shifts, cells = np.zeros(axes, np.int64), np.ones(axes, np.int64)
    for axis in range(axes):
        here = order[firsts[axis] : firsts[axis + 1]]
        cuts, lows, highs = _positions(intervals.lows[here], intervals.highs[here])
        intervals.lows[here], intervals.highs[here] = lows, highs
        found.append(cuts)
        bits = len(cuts).bit_length()
        depth = _depth(bits, highs - lows, int(loads[here].sum()))
        shifts[axis], cells[axis] = bits - depth, 1 << depth
    cut_firsts = _offsets(np.array([len(cuts) for cuts in found], np.int64))
    cuts = np.concatenate([np.empty(0, np.int64), *found])
    return Scales(cut_firsts, cuts, shifts, cells, _offsets(2 * cells))


def _positions(lows: I64, highs: I64) -> tuple[I64, I64, I64]:
    """The cuts that these intervals make, and the positions of their ends."""
    has_low, has_high = lows != LOWEST, highs != HIGHEST
    # A cut stands at a low end and just behind a high end.
    cuts, places = np.unique(np.concatenate([lows[has_low], highs[has_high] + 1]), return_inverse=True)
    first, last = np.zeros(len(lows), np.int64), np.full(len(highs), len(cuts), np.int64)
    split = np.count_nonzero(has_low)
    first[has_low], last[has_high] = places[:split] + 1, places[split:]
    return cuts, first, last


def _depth(bits: int, widths: I64, leaves: int) -> int:
    """Of an axis' tree: its cells shall be small, its lists not too many."""
    wanted = max(_LEAST_CELLS, leaves // _CELL_LEAVES)
    depth = min(bits, _DEEPEST, wanted.bit_length() - 1)
    least = max(0, bits - _CELL_BITS)
    depth = max(depth, least)
    while depth > least and len(widths):
        if np.mean(np.log2(np.maximum(widths >> (bits - depth), 1))) < _LISTINGS - 1:
            break
        depth -= 1
    return depth


@kernel
def _listings(scales: Scales, axis: int, low: int, high: int, nodes: I64, parts: I64) -> tuple[int, int]:
    """The nodes and the partly filled cells of an interval of positions.

    `kernels.nodes` gets keys; `parts` gets triples: key, first and last position within the cell.
    """
    shift, cells, base = scales.shifts[axis], scales.cells[axis], scales.bases[axis]
    mask = (1 << shift) - 1
    first, last = low >> shift, high >> shift
    part_count = 0
    starts_whole = low & mask == 0
    # Behind the last cut there is nothing to tell apart, so the last position fills its cell.
    cuts = scales.cut_firsts[axis + 1] - scales.cut_firsts[axis]
    ends_whole = high & mask == mask or high == cuts
    if first == last and not (starts_whole and ends_whole):
        parts[0], parts[1], parts[2] = base + cells + first, low & mask, high & mask
        return 0, 1
    if not starts_whole:
        parts[0], parts[1], parts[2] = base + cells + first, low & mask, mask
        part_count += 1
        first += 1
    if not ends_whole:
        at = 3 * part_count
        parts[at], parts[at + 1], parts[at + 2] = base + cells + last, 0, high & mask
        part_count += 1
        last -= 1
    count = 0
    left, right = first + cells, last + cells + 1
    while left < right:
        if left & 1:
            nodes[count] = base + left
            count += 1
            left += 1
        if right & 1:
            right -= 1
            nodes[count] = base + right
            count += 1
        left >>= 1
        right >>= 1
    return count, part_count


@kernel
def _shared_lists(
    leaves: Leaves, examples: I32, intervals: LeafIntervals, scales: Scales, weights: I64, keys: int
) -> tuple[I32, int]:
    """The list of every predicate that has one of its own, -1 of the others; and how many have one."""
    nodes, parts = np.empty(64, np.int64), np.empty(6, np.int64)
    lists = np.full(len(examples), -1, np.int32)
    count = 0
    for predicate in range(len(examples)):
        leaf = examples[predicate]
        if weights[predicate] < _SHARED or leaves.kinds[leaf] == TEST:
            continue
        places = 1 if leaves.nulls[leaf] else 0
        for at in range(intervals.firsts[predicate], intervals.firsts[predicate + 1]):
            low, high = intervals.lows[at], intervals.highs[at]
            node_count, part_count = _listings(scales, leaves.axes[leaf], low, high, nodes, parts)
            # Parts are tested one by one, so a part counts for two.
            places += node_count + 2 * part_count
            if places > 1:
                break
        if places > 1:
            lists[predicate] = keys + count
            count += 1
    return lists, count


@kernel
def _count(
    leaves: Leaves,
    examples: I32,
    intervals: LeafIntervals,
    scales: Scales,
    weights: I64,
    lists: I32,
    list_count: int,
    keys: int,
) -> tuple[I64, I64, I64]:
    """How long every list, every list of references and every list of parts will be."""
    nodes, parts = np.empty(64, np.int64), np.empty(6, np.int64)
    lengths = np.zeros(list_count, np.int64)
    refs, part_lengths = np.zeros(keys, np.int64), np.zeros(keys, np.int64)
    for predicate in range(len(lists)):
        leaf = examples[predicate]
        counts, by = lengths, weights[predicate]
        if lists[predicate] >= 0:
            lengths[lists[predicate]] = weights[predicate]
            counts, by = refs, 1
        if leaves.kinds[leaf] == TEST:
            lengths[scales.bases[-1] + leaves.lows[leaf]] += weights[predicate]
            continue
        if leaves.nulls[leaf]:
            counts[scales.bases[leaves.axes[leaf]]] += by
        for at in range(intervals.firsts[predicate], intervals.firsts[predicate + 1]):
            low, high = intervals.lows[at], intervals.highs[at]
            node_count, part_count = _listings(scales, leaves.axes[leaf], low, high, nodes, parts)
            for place in range(node_count):
                counts[nodes[place]] += by
            for place in range(part_count):
                part_lengths[parts[3 * place]] += by
    return lengths, refs, part_lengths


@kernel
def _fill(
    leaves: Leaves,
    numbers: I32,
    intervals: LeafIntervals,
    conjunctions: Conjunctions,
    lists: I32,
    postings: CellPostings,
) -> None:
    """Write all lists; conjunction by conjunction, so that every list rises."""
    scales = postings.scales
    ends, ref_ends, part_ends = postings.firsts.copy(), postings.ref_firsts.copy(), postings.part_firsts.copy()
    nodes, parts = np.empty(64, np.int64), np.empty(6, np.int64)
    for conjunction in range(len(conjunctions.slots)):
        for literal in range(conjunctions.firsts[conjunction], conjunctions.firsts[conjunction + 1]):
            leaf = conjunctions.leaves[literal]
            predicate = numbers[leaf]
            target = lists[predicate]
            if target >= 0:
                postings.ids[ends[target]] = conjunction
                ends[target] += 1
                if ends[target] > postings.firsts[target] + 1:
                    continue  # the first to use it wrote the references
            if leaves.kinds[leaf] == TEST:
                key = scales.bases[-1] + leaves.lows[leaf]
                postings.ids[ends[key]] = conjunction
                ends[key] += 1
                continue
            if leaves.nulls[leaf]:
                key = scales.bases[leaves.axes[leaf]]
                if target >= 0:
                    postings.refs[ref_ends[key]] = target
                    ref_ends[key] += 1
                else:
                    postings.ids[ends[key]] = conjunction
                    ends[key] += 1
            for at in range(intervals.firsts[predicate], intervals.firsts[predicate + 1]):
                low, high = intervals.lows[at], intervals.highs[at]
                node_count, part_count = _listings(scales, leaves.axes[leaf], low, high, nodes, parts)
                for place in range(node_count):
                    key = nodes[place]
                    if target >= 0:
                        postings.refs[ref_ends[key]] = target
                        ref_ends[key] += 1
                    else:
                        postings.ids[ends[key]] = conjunction
                        ends[key] += 1
                for place in range(part_count):
                    key = parts[3 * place]
                    end = part_ends[key]
                    postings.part_lows[end] = parts[3 * place + 1]
                    postings.part_highs[end] = parts[3 * place + 2]
                    postings.part_targets[end] = ~target if target >= 0 else conjunction
                    part_ends[key] += 1
