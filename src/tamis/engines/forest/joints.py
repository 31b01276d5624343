"""The kernel from skeletons to nodes: conditions in postfix order become formulas with as few nodes as possible.

A run of one joint is one node. Intervals of one axis under one AND are one leaf, and so under one OR where they
touch; a joint that has one operand left is that operand. Leaves and nodes are numbered as they are written, so
every formula has its own, side by side.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.forest import INTERVAL, Leaves, Nodes, empty_leaves
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.language.skeleton import NODE_AND, NODE_FALSE, Skeletons

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

NOWHERE = -(1 << 31)
"""Instead of a root: the text has a skeleton."""


class Grown(NamedTuple):
    """What `grow` writes; there is room for the worst case. Numbers count from the bases."""

    leaves: Leaves
    least: Shorts
    ends: Ints  # per node: one past its last child, counted from 0
    children: Shorts
    roots: Shorts


class Given(NamedTuple):
    """What `grow` is told beside the skeletons.

    leaves: per atom.
    others: per atom, the node that stands for it, or -1.
    apart: per text, its root, or NOWHERE.
    known: nodes that are there already; `others` and `apart` are about these.
    """

    leaves: Leaves
    others: Shorts
    apart: Ints
    known: Nodes


class Work(NamedTuple):
    """Space to work in.

    entries: what waits: a node, or the ones' complement of an atom.
    kinds, starts: per operand that waits for its joint, the joint of its entries, and its first entry.
    seen, groups: per axis, the atom that has its interval in the group of this number.
    counts: leaves, nodes, children and groups so far.
    """

    entries: Ints
    kinds: Ints
    starts: Ints
    seen: Ints
    groups: Ints
    counts: Ints


def grown(skeletons: Skeletons, given: Given, axes: int, first_leaf: int, first_node: int) -> Grown:
    """The leaves, nodes and roots of all texts; their numbers begin with those given."""
    atoms, texts = len(given.others), len(skeletons.firsts) - 1
    joints = len(skeletons.kinds) - atoms
    longest = int(np.max(np.diff(skeletons.firsts), initial=0)) + 1
    out = Grown(
        empty_leaves(atoms),
        np.empty(joints, np.int32),
        np.empty(joints, np.int64),
        np.empty(atoms + joints, np.int32),
        np.empty(texts, np.int32),
    )
    work = Work(
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.zeros(axes, np.int64),
        np.zeros(axes, np.int64),
        np.zeros(4, np.int64),
    )
    _grow(skeletons, given, work, out, first_leaf, first_node)
    leaves, nodes, children, _ = work.counts.tolist()
    made = out.leaves
    return Grown(
        Leaves(
            made.kinds[:leaves], made.nulls[:leaves], made.axes[:leaves], made.lows[:leaves], made.highs[:leaves]
        ),
        out.least[:nodes],
        out.ends[:nodes],
        out.children[:children],
        out.roots,
    )


@numba.njit(cache=True, nogil=True)
def _grow(skeletons: Skeletons, given: Given, work: Work, out: Grown, first_leaf: int, first_node: int) -> None:
    entries, kinds, starts = work.entries, work.kinds, work.starts
    firsts, node_kinds, node_atoms = skeletons.firsts, skeletons.kinds, skeletons.atoms
    others, apart, roots = given.others, given.apart, out.roots
    for text in range(len(roots)):
        if apart[text] != NOWHERE:
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
            # What was joined in another way becomes one entry; entries behind it move up.
            right = starts[height]
            if kinds[height] and kinds[height] != kind:
                entries[right] = _joined(
                    int(kinds[height]), int(right), int(used), given, work, out, first_leaf, first_node
                )
                used = right + 1
            left = starts[height - 1]
            if kinds[height - 1] and kinds[height - 1] != kind:
                entries[left] = _joined(
                    int(kinds[height - 1]), int(left), int(right), given, work, out, first_leaf, first_node
                )
                for place in range(right, used):
                    entries[left + 1 + place - right] = entries[place]
                used -= right - left - 1
            kinds[height - 1] = kind
        root = entries[0]
        if kinds[0]:
            root = _joined(int(kinds[0]), 0, int(used), given, work, out, first_leaf, first_node)
        roots[text] = root if root >= 0 else _leaf(~root, given.leaves, work, out.leaves, first_leaf)


@numba.njit(cache=True, nogil=True)
def _joined(
    kind: int, first: int, last: int, given: Given, work: Work, out: Grown, first_leaf: int, first_node: int
) -> int:
    """Join some entries; gives the entry that stands for them."""
    # Arrays are taken out of their tuples once, not once an entry: that costs more than the rest.
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
                # TRUE or FALSE: one of them says nothing here, the other says everything.
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
                # Two that touch are one; an open end has no neighbours.
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


@numba.njit(cache=True, nogil=True)
def _leaf(atom: int, leaves: Leaves, work: Work, out: Leaves, first_leaf: int) -> int:
    """Write the leaf of an atom that is a whole condition; gives the ones' complement of its number."""
    at = work.counts[0]
    work.counts[0] += 1
    low, high = leaves.lows[atom], leaves.highs[atom]
    if leaves.kinds[atom] == INTERVAL and low > high:
        low, high = HIGHEST, LOWEST
    out.kinds[at], out.nulls[at], out.axes[at] = leaves.kinds[atom], leaves.nulls[atom], leaves.axes[atom]
    out.lows[at], out.highs[at] = low, high
    return int(~(first_leaf + at))
