"""The terms that hold in the rows of a batch."""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.betree.tree import (
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
    PARTS,
    RIGHT,
    ROOT,
    Ints,
    Shorts,
    Tree,
    part_in,
)
from tamis.engines.boxes.rows import Rows, empty_view, hide_row, show_row
from tamis.engines.boxes.sides import Boxes, head_at, holds_at
from tamis.engines.dynamic.predicates import Predicates
from tamis.engines.grouping import grown


@numba.njit(cache=True, nogil=True)
def match_tree(tree: Tree, boxes: Boxes, predicates: Predicates, rows: Rows) -> tuple[Shorts, Ints]:
    """Rows and the heads of terms that hold in them, those of one row together."""
    empty_values, empty_there, tested = empty_view(boxes, predicates)
    # By key: an axis is one further, and key 0 is always there.
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
                found_rows, found = grown(found_rows, 2 * (used + count)), grown(found, 2 * (used + count))
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
                if holds_at(boxes, predicates, sides, view):
                    found_rows[used], found[used] = row, head_at(boxes, sides)
                    used += 1
            if nodes[at + LEFT] >= 0 or nodes[at + RIGHT] >= 0:
                half = nodes[at + LEFT] if values[nodes[at + KEY]] <= nodes[at + MIDDLE] else nodes[at + RIGHT]
                if half >= 0:
                    waiting[top] = half
                    top += 1
            parts, first = nodes[at + PARTS], nodes[at + DIRECTORY]
            if parts > held:
                for each in range(held):
                    part = part_in(cells, first, parts, keys[each])
                    if part >= 0:
                        waiting[top] = part
                        top += 1
            else:
                for cell in range(first, first + parts):
                    key = cells[cell] >> 32
                    if (there[key] if key >= 0 else tested[~key]) != 0:
                        waiting[top] = cells[cell] & LOW_BITS
                        top += 1
        hide_row(rows, row, view)
    for place, done in enumerate((looked, entries, candidates, used)):
        tree.work[place] += done
    return found_rows[:used].copy(), found[:used].copy()


@numba.njit(cache=True, nogil=True)
def _keys_of(rows: Rows, row: int, keys: Shorts) -> int:
    """Write the keys that a row has; gives their number."""
    count = 0
    for at in range(rows.firsts[row], rows.firsts[row + 1]):
        if rows.axes[at] >= 0:
            keys[count] = rows.axes[at] + 1
            count += 1
    for at in range(rows.test_firsts[row], rows.test_firsts[row + 1]):
        keys[count] = ~rows.tests[at]
        count += 1
    return count
