"""Matching with a BE-Tree: the walk of each row, and the terms that it satisfies."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.array_kernels import grow
from tamis.kernels import kernel
from tamis.lab.baselines.betree.kernels.tree import (
    ALWAYS,
    BUCKET,
    COUNT,
    DIRECTORY,
    ENTRY,
    KEY,
    LEFT,
    LOW_BITS,
    MIDDLE,
    NODE,
    PARTITIONS,
    RIGHT,
    ROOT,
    BETreeNodes,
    partition_in,
)
from tamis.lab.boxes.kernels.boxes import Boxes, box_holds, head_at
from tamis.lab.boxes.kernels.rows import RowValues, empty_view, hide_row, show_row
from tamis.lab.dynamic.kernels.predicates import Predicates


@kernel
def match_tree(tree: BETreeNodes, boxes: Boxes, predicates: Predicates, rows: RowValues) -> tuple[I32, I64]:
    """Rows and the heads of the terms that hold in them, the pairs of a row together."""
    empty_values, empty_there, tested = empty_view(boxes, predicates)
    # Indexed by key, an axis plus 1; key 0, of entries without a side, is always present.
    values, there = np.zeros(len(empty_values) + 1, np.int64), np.zeros(len(empty_there) + 1, np.uint8)
    there[0] = 1
    view = values[1:], there[1:], tested
    nodes, cells = tree.nodes, tree.cells
    keys, waiting = np.empty(len(values) + len(tested), np.int64), np.empty(tree.made + 1, np.int32)
    found_rows, found, used = np.empty(1024, np.int32), np.empty(1024, np.int64), 0
    looked, entries, candidates = 0, 0, 0
    for row in range(len(rows.firsts) - 1):
        show_row(rows, row, view)
        held = _keys_of(rows, row, keys)
        waiting[0], waiting[1], top = ROOT, ALWAYS, 2
        while top:
            top -= 1
            at = waiting[top] * NODE
            count, first = nodes[at + COUNT], nodes[at + BUCKET]
            looked += 1
            entries += count
            if used + count > len(found):
                found_rows, found = grow(found_rows, 2 * (used + count)), grow(found, 2 * (used + count))
            for entry in range(first, first + ENTRY * count, ENTRY):
                head = cells[entry]
                key = head >> 32
                if key >= 0:
                    value = values[key]
                    if there[key] == 0 or value < cells[entry + 1] or value > cells[entry + 2]:
                        continue
                elif tested[~key] == 0:
                    continue
                candidates += 1
                sides = boxes.firsts[head & LOW_BITS]
                if box_holds(boxes, predicates, sides, view):
                    found_rows[used], found[used] = row, head_at(boxes, sides)
                    used += 1
            if nodes[at + LEFT] >= 0 or nodes[at + RIGHT] >= 0:
                half = nodes[at + LEFT] if values[nodes[at + KEY]] <= nodes[at + MIDDLE] else nodes[at + RIGHT]
                if half >= 0:
                    waiting[top] = half
                    top += 1
            partitions, first = nodes[at + PARTITIONS], nodes[at + DIRECTORY]
            if partitions > held:
                for each in range(held):
                    partition = partition_in(cells, first, partitions, keys[each])
                    if partition >= 0:
                        waiting[top] = partition
                        top += 1
            else:
                for cell in range(first, first + partitions):
                    key = cells[cell] >> 32
                    if (there[key] if key >= 0 else tested[~key]) != 0:
                        waiting[top] = cells[cell] & LOW_BITS
                        top += 1
        hide_row(rows, row, view)
    for place, done in enumerate((looked, entries, candidates, used)):
        tree.work[place] += done
    return found_rows[:used].copy(), found[:used].copy()


@kernel
def _keys_of(rows: RowValues, row: int, keys: I32) -> int:
    """Write the keys of a row; returns how many there are."""
    count = 0
    for at in range(rows.firsts[row], rows.firsts[row + 1]):
        if rows.axes[at] >= 0:
            keys[count] = rows.axes[at] + 1
            count += 1
    for at in range(rows.test_firsts[row], rows.test_firsts[row + 1]):
        keys[count] = ~rows.tests[at]
        count += 1
    return count
