"""The kernel that turns skeletons, conditions in postfix order, into formulas with as few nodes as possible.

A chain of the same connective is one node. Intervals on one axis under one AND become one leaf, and under one OR
where they touch; a connective with one operand left becomes that operand. Leaves and nodes are numbered in the
order in which they are written, so those of a formula are consecutive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.forest import INTERVAL, Leaves, Nodes, empty_leaves
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.kernels import kernel
from tamis.language.skeleton import NODE_AND, NODE_FALSE, Skeletons

HAS_SKELETON = -(1 << 31)
"""In place of a root: the condition has a skeleton."""


class NodeArrays(NamedTuple):
    """The output of `build_nodes`, allocated for the worst case. Numbers count from the bases."""

    leaves: Leaves
    least: I32
    ends: I64  # per node: one past its last child, counted from 0
    children: I32
    roots: I32


class SkeletonInputs(NamedTuple):
    """The input of `build_nodes` beside the skeletons.

    leaves: per atom; their ends are changed when leaves are merged.
    others: per atom, its node if the parser made it, or -1.
    apart: per condition, its root if the parser made it, or HAS_SKELETON.
    known: the nodes that `others` and `apart` refer to.
    """

    leaves: Leaves
    others: I32
    apart: I64
    known: Nodes


class NodeScratch(NamedTuple):
    """Scratch arrays: a stack of operands, each a list of entries that one connective joins.

    entries: of all operands on the stack: a node, or the ones' complement of an atom.
    kinds, starts: per operand on the stack, the connective of its entries, 0 for a single one, and its first
    entry. seen, groups: per axis, the atom that has its interval in the group of this number, which marks stale
    entries. counts: leaves, nodes, children and groups so far.
    """

    entries: I64
    kinds: I64
    starts: I64
    seen: I64
    groups: I64
    counts: I64


def build_nodes(
    skeletons: Skeletons, given: SkeletonInputs, axes: int, first_leaf: int, first_node: int
) -> NodeArrays:
    """The leaves, nodes and roots of all conditions; leaves and nodes are numbered from the given numbers."""
    atoms, texts = len(given.others), len(skeletons.firsts) - 1
    joints = len(skeletons.kinds) - atoms
    longest = int(np.max(np.diff(skeletons.firsts), initial=0)) + 1
    out = NodeArrays(
        empty_leaves(atoms),
        np.empty(joints, np.int32),
        np.empty(joints, np.int64),
        np.empty(atoms + joints, np.int32),
        np.empty(texts, np.int32),
    )
    work = NodeScratch(
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.zeros(axes, np.int64),
        np.zeros(axes, np.int64),
        np.zeros(4, np.int64),
    )
    _build_nodes(skeletons, given, work, out, first_leaf, first_node)
    leaves, nodes, children, _ = work.counts.tolist()
    made = out.leaves
    return NodeArrays(
        Leaves(
            made.kinds[:leaves], made.nulls[:leaves], made.axes[:leaves], made.lows[:leaves], made.highs[:leaves]
        ),
        out.least[:nodes],
        out.ends[:nodes],
        out.children[:children],
        out.roots,
    )


@kernel
def _build_nodes(
    skeletons: Skeletons,
    given: SkeletonInputs,
    work: NodeScratch,
    out: NodeArrays,
    first_leaf: int,
    first_node: int,
) -> None:
    entries, kinds, starts = work.entries, work.kinds, work.starts
    firsts, node_kinds, node_atoms = skeletons.firsts, skeletons.kinds, skeletons.atoms
    others, apart, roots = given.others, given.apart, out.roots
    for text in range(len(roots)):
        if apart[text] != HAS_SKELETON:
            roots[text] = apart[text]
            continue
        height = used = 0
        for node in range(firsts[text], firsts[text + 1]):
            kind = node_kinds[node]
            if kind <= NODE_FALSE:
                atom = node_atoms[node]
                kinds[height], starts[height] = 0, used
                entries[used] = others[atom] if others[atom] >= 0 else ~np.int64(atom)
                height += 1
                used += 1
                continue
            height -= 1
            # An operand of another connective becomes a node, one entry; the entries behind it move up.
            right = starts[height]
            if kinds[height] and kinds[height] != kind:
                entries[right] = _join_entries(
                    int(kinds[height]), int(right), int(used), given, work, out, first_leaf, first_node
                )
                used = right + 1
            left = starts[height - 1]
            if kinds[height - 1] and kinds[height - 1] != kind:
                entries[left] = _join_entries(
                    int(kinds[height - 1]), int(left), int(right), given, work, out, first_leaf, first_node
                )
                for place in range(right, used):
                    entries[left + 1 + place - right] = entries[place]
                used -= right - left - 1
            kinds[height - 1] = kind
        root = entries[0]
        if kinds[0]:
            root = _join_entries(int(kinds[0]), 0, int(used), given, work, out, first_leaf, first_node)
        roots[text] = root if root >= 0 else _write_leaf(~root, given.leaves, work, out.leaves, first_leaf)


@kernel
def _join_entries(
    kind: int,
    first: int,
    last: int,
    given: SkeletonInputs,
    work: NodeScratch,
    out: NodeArrays,
    first_leaf: int,
    first_node: int,
) -> int:
    """Join entries by a connective; returns the entry of the result."""
    # Arrays are taken out of their tuples once, outside of the loop: per entry it would cost more than all the
    # rest.
    entries, counts, seen, groups = work.entries, work.counts, work.seen, work.groups
    kinds, nulls, axes = given.leaves.kinds, given.leaves.nulls, given.leaves.axes
    lows, highs = given.leaves.lows, given.leaves.highs
    known_firsts, known_least = given.known.firsts, given.known.least
    counts[3] += 1
    group = counts[3]
    kept = first
    for place in range(first, last):
        entry = entries[place]
        if entry >= 0:
            if entry < first_node and known_firsts[entry] == known_firsts[entry + 1]:
                # TRUE or FALSE: one of them is neutral, the other decides.
                if (known_least[entry] == 0) == (kind == NODE_AND):
                    continue
                return int(entry)
        elif kinds[~entry] == INTERVAL and not nulls[~entry]:
            atom = ~entry
            axis = axes[atom]
            if groups[axis] != group:
                groups[axis], seen[axis] = group, atom
            else:
                other = seen[axis]
                low, high, other_low, other_high = lows[atom], highs[atom], lows[other], highs[other]
                if kind == NODE_AND:
                    lows[other], highs[other] = max(other_low, low), min(other_high, high)
                    continue
                if low > high:
                    continue
                if other_low > other_high:
                    lows[other], highs[other] = low, high
                    continue
                # Two intervals that touch become one; the test avoids overflow at open ends.
                if (high == HIGHEST or high + 1 >= other_low) and (other_high == HIGHEST or other_high + 1 >= low):
                    lows[other], highs[other] = min(other_low, low), max(other_high, high)
                    continue
        entries[kept] = entry
        kept += 1
    if kept == first + 1:
        return int(entries[first])
    leaf, child = counts[0], counts[2]
    children = out.children
    out_kinds, out_nulls, out_axes = out.leaves.kinds, out.leaves.nulls, out.leaves.axes
    out_lows, out_highs = out.leaves.lows, out.leaves.highs
    for place in range(first, kept):
        entry = entries[place]
        if entry < 0:
            atom = ~entry
            entry = ~(first_leaf + leaf)
            is_empty = kinds[atom] == INTERVAL and lows[atom] > highs[atom]
            out_kinds[leaf], out_nulls[leaf], out_axes[leaf] = kinds[atom], nulls[atom], axes[atom]
            out_lows[leaf] = HIGHEST if is_empty else lows[atom]
            out_highs[leaf] = LOWEST if is_empty else highs[atom]
            leaf += 1
        children[child] = entry
        child += 1
    node = counts[1]
    out.least[node] = kept - first if kind == NODE_AND else 1
    out.ends[node] = child
    counts[0], counts[1], counts[2] = leaf, node + 1, child
    return int(first_node + node)


@kernel
def _write_leaf(atom: int, leaves: Leaves, work: NodeScratch, out: Leaves, first_leaf: int) -> int:
    """Write the leaf of an atom that is a whole condition; returns the ones' complement of its number."""
    at = work.counts[0]
    work.counts[0] += 1
    low, high = leaves.lows[atom], leaves.highs[atom]
    if leaves.kinds[atom] == INTERVAL and low > high:
        low, high = HIGHEST, LOWEST
    out.kinds[at], out.nulls[at], out.axes[at] = leaves.kinds[atom], leaves.nulls[atom], leaves.axes[atom]
    out.lows[at], out.highs[at] = low, high
    return int(~(first_leaf + at))
