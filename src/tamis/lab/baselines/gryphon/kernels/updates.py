"""Updates of a matching tree: terms in and out, and the levels of attributes."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, Bools
from tamis.engines.array_kernels import grow
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.kernels import kernel
from tamis.lab.baselines.gryphon.kernels.tree import (
    ROOT,
    MatchingTree,
    grow_child,
    prune,
)
from tamis.lab.dynamic.kernels.posting_lists import (
    add_posting,
    postings_in,
    remove_posting,
)
from tamis.lab.dynamic.kernels.predicates import (
    Predicates,
    release_predicate,
    retain_predicate,
)
from tamis.lab.dynamic.kernels.terms import free_term, new_term, term_predicates


@kernel
def insert_terms(
    tree: MatchingTree, predicates: Predicates, conjunctions: Conjunctions, numbers: I32, equal: Bools, slots: I32
) -> None:
    """Insert the conjunctions of formulas into empty slots.

    Args:
        tree: The matching tree.
        predicates: The interned predicates.
        conjunctions: Those of the formulas.
        numbers: int32[leaves]: the predicate of every leaf.
        equal: bool[leaves]: whether a leaf is an equality.
        slots: The empty slot of each formula.
    """
    _assign_levels(tree, predicates, numbers, equal)
    longest = 0
    for conjunction in range(len(conjunctions.slots)):
        longest = max(longest, conjunctions.firsts[conjunction + 1] - conjunctions.firsts[conjunction])
    path, rest = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for conjunction in range(len(conjunctions.slots)):
        mine = numbers[
            conjunctions.leaves[conjunctions.firsts[conjunction] : conjunctions.firsts[conjunction + 1]]
        ]
        steps, others = _split_path(tree.levels, mine, path, rest)
        node = ROOT
        for step in range(steps):
            node = grow_child(tree, predicates, node, path[step])
        slot, flags = slots[conjunctions.slots[conjunction]], conjunctions.flags[conjunction]
        term = new_term(tree.terms, slot, flags, rest[:others])
        for number in rest[:others]:
            retain_predicate(predicates, number)
        if term >= len(tree.homes):
            tree.homes = grow(tree.homes, term + term // 2 + 16)
        tree.homes[term] = node
        add_posting(tree.ends, node, term)


@kernel
def _assign_levels(tree: MatchingTree, predicates: Predicates, numbers: I32, equal: Bools) -> None:
    """Set the levels of predicates; axes without a level get the next ones, those with most equalities first."""
    old = len(tree.axis_levels)
    axes = len(predicates.intervals.axes)
    if axes > old:
        tree.axis_levels = grow(tree.axis_levels, axes)
        tree.axis_levels[old:] = -1
    if len(predicates.axes) > len(tree.levels):
        tree.levels = grow(tree.levels, len(predicates.axes))
    uses = np.zeros(axes, np.int64)
    is_new = False
    for leaf in range(len(numbers)):
        axis = predicates.axes[numbers[leaf]]
        if equal[leaf] and tree.axis_levels[axis] < 0:
            uses[axis] += 1
            is_new = True
    if is_new:
        for axis in np.argsort(-uses, kind="mergesort"):
            if uses[axis] == 0:
                break
            tree.axis_levels[axis] = tree.depth
            tree.depth += 1
    for leaf in range(len(numbers)):
        number = numbers[leaf]
        tree.levels[number] = tree.axis_levels[predicates.axes[number]] if equal[leaf] else -1


@kernel
def _split_path(levels: I32, mine: I32, path: I32, rest: I32) -> tuple[int, int]:
    """Split predicates into a path, by rising level, and the residue; returns how many there are of each.

    Of several equalities at a level one is on the path; if the others differ from it, the term never holds.
    """
    steps, others = 0, 0
    for number in mine:
        level = levels[number]
        at = steps
        while level >= 0 and at > 0 and levels[path[at - 1]] > level:
            at -= 1
        if level < 0 or (at > 0 and levels[path[at - 1]] == level):
            rest[others] = number
            others += 1
            continue
        for place in range(steps, at, -1):
            path[place] = path[place - 1]
        path[at] = number
        steps += 1
    return steps, others


@kernel
def delete_terms(tree: MatchingTree, predicates: Predicates, slots: I32) -> None:
    for slot in slots:
        if slot >= len(tree.terms.slot_terms.counts):
            continue  # FALSE has no terms
        for term in postings_in(tree.terms.slot_terms, slot):
            node = tree.homes[term]
            remove_posting(tree.ends, node, term)
            for number in term_predicates(tree.terms, term):
                release_predicate(predicates, number)
            free_term(tree.terms, term)
            prune(tree, predicates, node)
