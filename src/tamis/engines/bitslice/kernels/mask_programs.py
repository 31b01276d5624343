"""Mask programs: nested formulas, each node evaluated once for up to 512 events.

A program has one table of masks: those of its cell ranges, which `fill_masks` makes, then those of its nodes.
Nodes of the same operator and number of children stand together (a *run*), so that the loops below have no branch
that depends on the node:

    a AND (b OR c), a AND (c OR d)        position   0  1  2  3    4      5      6      7
                                          mask of    a  b  c  d    b|c    c|d    0&4    0&5
                                          runs                     2 x OR of 2   2 x AND of 2
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.arrays import I32, I64, U16, U64
from tamis.engines.bitslice.kernels.masks import STRIP, MaskTables, axes_and_tests, fill_masks, set_bits_of
from tamis.engines.bitslice.kernels.simd import (
    count_bits,
    load,
    mask_and,
    mask_or,
    mask_without,
    mask_xor,
    no_events,
    no_inline,
    store,
)
from tamis.engines.bitslice.kernels.verify import PairBuffer, room_for
from tamis.engines.bitslice.kernels.visits import batch_of
from tamis.engines.bitslice.layout import AxisCells, CellRanges, MaskPrograms
from tamis.engines.encoding import EncodedBatch
from tamis.engines.forest import PIECES, Leaves
from tamis.kernels import kernel

ALL, ANY, AT_LEAST = 0, 1, 2
"""Operators of runs."""
HEAD = 4
"""Numbers of a head: first formula, first cell range, first run, first child."""
RUN = 4
"""Numbers of a run: operator, how many children must hold, number of children, number of nodes."""
MOST_DIGITS = 20
"""Binary digits of a number of children, at most; a position has two bytes, so 16 would do."""
_NONE, _ONE = np.uint64(0), np.uint64(1)


@kernel
def fill_several(
    several: I32,
    leaves: Leaves,
    ranges: tuple[I32, I32, I32],
    firsts: I64,
    children: I32,
) -> None:
    """Write the children, ~cell range, of the nodes that stand for leaves of several cell ranges.

    `ranges` are `values`, `pieces` and `nulls` of `NumberedRanges`. `firsts` says where the children of each
    belong.
    """
    kinds, nulls, axes, lows, highs = leaves
    values, pieces, of_null = ranges
    for number in range(len(several)):
        leaf = several[number]
        at = firsts[number]
        if kinds[leaf] == PIECES:
            for place in range(lows[leaf], highs[leaf]):
                children[at] = ~pieces[place]
                at += 1
        else:
            children[at] = ~values[leaf]
            at += 1
        if nulls[leaf]:
            children[at] = ~of_null[axes[leaf]]


@kernel
def levels_of(firsts: I64, children: I32) -> I32:
    """How many nodes stand below each node, one above the other; children have lower numbers than parents."""
    levels = np.zeros(len(firsts) - 1, np.int32)
    for node in range(len(levels)):
        for place in range(firsts[node], firsts[node + 1]):
            if children[place] >= 0:
                levels[node] = max(levels[node], levels[children[place]] + 1)
    return levels


@kernel
def write_children(order: I64, positions: I32, firsts: I64, children: I32, out: U16) -> None:
    """Write the children of all nodes, in this order, as positions; `positions` has those of nodes by number."""
    at = 0
    for node in order:
        for place in range(firsts[node], firsts[node + 1]):
            child = children[place]
            out[at] = positions[child] if child >= 0 else ~child
            at += 1


def _evaluate_of(words: int) -> Callable[..., None]:
    """The function `evaluate_W` for masks of so many words."""
    stride = np.uint64(words)

    @kernel
    def evaluate(runs, first_run, last_run, children, first_child, position, full, table, digits):  # type: ignore[no-untyped-def]
        no_inline()
        everyone = load(words, full, _NONE)
        nobody = no_events(words)
        at = np.uint64(first_child)
        out = np.uint64(position) * stride
        for run in range(first_run, last_run):
            operator, least = runs[RUN * run], runs[RUN * run + 1]
            width, count = np.uint64(runs[RUN * run + 2]), runs[RUN * run + 3]
            if operator == ALL:
                for _ in range(count):
                    mask = everyone
                    end = at + width
                    while at < end:
                        mask = mask_and(mask, load(words, table, np.uint64(children[at]) * stride))
                        at += _ONE
                    store(mask, table, out)
                    out += stride
            elif operator == ANY:
                for _ in range(count):
                    mask = nobody
                    end = at + width
                    while at < end:
                        mask = mask_or(mask, load(words, table, np.uint64(children[at]) * stride))
                        at += _ONE
                    store(mask, table, out)
                    out += stride
            else:
                # Count in binary, all events at a time: digit d of the counts of all events is one mask.
                length = 0
                while max(np.int64(width), least) >> length:
                    length += 1
                for _ in range(count):
                    for digit in range(np.uint64(length)):
                        store(nobody, digits, digit * stride)
                    end = at + width
                    while at < end:
                        carry = load(words, table, np.uint64(children[at]) * stride)
                        for digit in range(np.uint64(length)):
                            sum_ = load(words, digits, digit * stride)
                            store(mask_xor(sum_, carry), digits, digit * stride)
                            carry = mask_and(sum_, carry)
                        at += _ONE
                    # Compare with `least`, highest digit first: who is above it already, who is equal so far.
                    above, equal = nobody, everyone
                    for place in range(length):
                        digit = np.uint64(length - 1 - place)
                        sum_ = load(words, digits, digit * stride)
                        if least >> np.int64(digit) & 1:
                            equal = mask_and(equal, sum_)
                        else:
                            above = mask_or(above, mask_and(equal, sum_))
                            equal = mask_without(equal, sum_)
                    store(mask_or(above, equal), table, out)
                    out += stride

    return evaluate  # type: ignore[no-any-return]


evaluate_1, evaluate_4, evaluate_8 = _evaluate_of(1), _evaluate_of(4), _evaluate_of(8)
"""Write the masks of the nodes of some runs into the table, from `position` on.

The arguments are `runs`, the first and last of them, `children`, the first of them, the first node's position; the
mask of all events, the table, and room for MOST_DIGITS masks.
"""


@kernel
def report_formulas(
    slots: I32,
    roots: U16,
    first_event: int,
    words: int,
    table: U64,
    set_bits: I32,
    pairs: PairBuffer,
    count: int,
) -> tuple[PairBuffer, int]:
    """Append the pairs of formulas: the events in the masks of their roots. Returns them and their number."""
    no_inline()
    more = 0
    for number in range(len(slots)):
        for place in range(np.int64(roots[number]) * words, (np.int64(roots[number]) + 1) * words):
            more += count_bits(table[place])
    pairs = room_for(pairs, count, more)
    events, numbers = pairs.events, pairs.numbers
    for number in range(len(slots)):
        found = set_bits_of(table, np.int64(roots[number]) * words, words, set_bits)
        for place in range(found):
            events[count + place] = first_event + set_bits[place]
            numbers[count + place] = slots[number]
        count += found
    return pairs, count


@kernel
def search_mask_programs(
    programs: MaskPrograms,
    cells: AxisCells,
    encoded: EncodedBatch,
    test_lines: I32,
    tables: MaskTables,
    digits: U64,
    pairs: PairBuffer,
    count: int,
) -> tuple[PairBuffer, int]:
    """Evaluate all programs; returns the pairs and their new number.

    Of `cells`, which are those of entries, only the arrays are taken that programs do not have and nobody reads.
    """
    no_inline()
    heads, runs, children = programs.heads, programs.runs, programs.children
    axes = len(encoded.columns)
    everyone = np.arange(encoded.rows).astype(np.int32)
    for program in range(len(heads) // HEAD - 1):
        first_formula, first_range, first_run, first_child = heads[HEAD * program : HEAD * program + HEAD]
        last_formula, last_range, last_run, _ = heads[HEAD * program + HEAD : HEAD * program + 2 * HEAD]
        first_base, last_base = program * (axes + 1), (program + 1) * (axes + 1)
        own_cells = AxisCells(
            programs.bases[first_base:last_base],
            cells.counts,
            programs.cut_firsts[first_base:last_base],
            programs.cuts,
            cells.widths,
            cells.axis_of,
            cells.floors,
        )
        lows = programs.range_lows[first_range:last_range]
        highs = programs.range_highs[first_range:last_range]
        ranges = CellRanges(lows, highs, programs.range_axes[first_range:last_range], lows, highs)
        named = np.arange(len(lows)).astype(np.uint16)
        batch = batch_of(own_cells, encoded, test_lines, False)
        asked = axes_and_tests(named, ranges.axes, batch.columns)
        slots = programs.slots[first_formula:last_formula]
        roots = programs.roots[first_formula:last_formula]
        for first_event in range(0, encoded.rows, STRIP):
            events = everyone[first_event : first_event + STRIP]
            words = fill_masks(asked, named, ranges, batch, events, tables)
            ask = (runs, first_run, last_run, children, first_child, len(lows), tables.full, tables.ranges, digits)
            if words == 1:
                evaluate_1(*ask)
            elif words == 4:
                evaluate_4(*ask)
            else:
                evaluate_8(*ask)
            pairs, count = report_formulas(
                slots, roots, first_event, words, tables.ranges, tables.set_bits, pairs, count
            )
    return pairs, count
