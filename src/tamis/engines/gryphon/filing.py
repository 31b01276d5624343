"""The kernels of `gryphon`: terms in and out, and the pairs of a batch."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, Conjunctions
from tamis.engines.dynamic.bags import Bags, numbers_in, put_in, run_of, runs_of, take_out
from tamis.engines.dynamic.index import Event
from tamis.engines.dynamic.predicates import Predicates, held_in, hold_on, let_go, room_for_held
from tamis.engines.dynamic.terms import free_term, new_term, predicates_of_term
from tamis.engines.grouping import grown
from tamis.engines.gryphon.tree import (
    CANDIDATES,
    FIRST,
    FOUND,
    HELD,
    LEVEL,
    NEXT,
    NODES,
    ROOT,
    TESTS,
    Tree,
    child_of,
    grow_child,
    prune,
)

Bytes: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]
Shorts: TypeAlias = npt.NDArray[np.int32]


@numba.njit(cache=True, nogil=True)
def insert_terms(
    tree: Tree, predicates: Predicates, conjunctions: Conjunctions, numbers: Shorts, equal: Flags, slots: Shorts
) -> None:
    """Put the conjunctions of formulas into empty slots.

    Args:
        tree: Of the index.
        predicates: Of the index.
        conjunctions: Of the formulas.
        numbers: The predicate of every leaf.
        equal: Whether a leaf is an equality.
        slots: Of the formulas.
    """
    _give_levels(tree, predicates, numbers, equal)
    longest = 0
    for conjunction in range(len(conjunctions.slots)):
        longest = max(longest, conjunctions.firsts[conjunction + 1] - conjunctions.firsts[conjunction])
    path, rest = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for conjunction in range(len(conjunctions.slots)):
        mine = numbers[
            conjunctions.leaves[conjunctions.firsts[conjunction] : conjunctions.firsts[conjunction + 1]]
        ]
        steps, others = _split(tree.levels, mine, path, rest)
        node = ROOT
        for step in range(steps):
            node = grow_child(tree, predicates, node, path[step])
        slot, flags = slots[conjunctions.slots[conjunction]], conjunctions.flags[conjunction]
        term = new_term(tree.terms, slot, flags, rest[:others])
        for number in rest[:others]:
            hold_on(predicates, number)
        if term >= len(tree.homes):
            tree.homes = grown(tree.homes, term + term // 2 + 16)
        tree.homes[term] = node
        put_in(tree.ends, node, term)


@numba.njit(cache=True, nogil=True)
def _give_levels(tree: Tree, predicates: Predicates, numbers: Shorts, equal: Flags) -> None:
    """Levels for predicates: axes that have none yet get the next ones, those with most equalities first."""
    old = len(tree.axis_levels)
    axes = len(predicates.intervals.axes)
    if axes > old:
        tree.axis_levels = grown(tree.axis_levels, axes)
        tree.axis_levels[old:] = -1
    if len(predicates.axes) > len(tree.levels):
        tree.levels = grown(tree.levels, len(predicates.axes))
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


@numba.njit(cache=True, nogil=True)
def _split(levels: Shorts, mine: Shorts, path: Shorts, rest: Shorts) -> tuple[int, int]:
    """Part predicates into a path, by rising level, and the rest; gives how many there are of each.

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


@numba.njit(cache=True, nogil=True)
def delete_terms(tree: Tree, predicates: Predicates, slots: Shorts) -> None:
    """Empty some slots."""
    for slot in slots:
        if slot >= len(tree.terms.filled.counts):
            continue  # FALSE has no terms
        for term in numbers_in(tree.terms.filled, slot):
            node = tree.homes[term]
            take_out(tree.ends, node, term)
            for number in predicates_of_term(tree.terms, term):
                let_go(predicates, number)
            free_term(tree.terms, term)
            prune(tree, predicates, node)


@numba.njit(cache=True, nogil=True)
def _all_hold(bags: Bags, bag: int, bits: Bytes) -> bool:
    """Do all predicates of a bag hold?"""
    counts, heads, cells = bags.counts, bags.heads, bags.cells
    for run in range(runs_of(counts, heads, cells, bag)):
        start, end = run_of(counts, heads, cells, bag, run)
        for place in range(start, end):
            if bits[cells[place] >> 3] >> (cells[place] & 7) & 1 == 0:
                return False
    return True


@numba.njit(cache=True, nogil=True)
def match_terms(tree: Tree, predicates: Predicates, event: Event) -> tuple[Shorts, Shorts, Bytes]:
    """The pairs that hold, and those that may: rows, slots, and 1 for those that do."""
    held = room_for_held(predicates)
    bits = np.zeros(len(held) // 8 + 1, np.uint8)
    # The equalities that hold at each level: the first, and after each the next. There is one at most, unless two
    # predicates say the same in different words.
    first, following = np.full(tree.depth, -1, np.int32), np.empty(len(held), np.int32)
    waiting = np.empty(tree.nodes_count, np.int32)
    seen = np.zeros(len(tree.terms.filled.counts), np.uint8)
    nodes, tests, table, levels, terms = tree.nodes, tree.tests, tree.table, tree.levels, tree.terms
    counts, heads, cells = tree.ends.counts, tree.ends.heads, tree.ends.cells
    rests, term_slots, term_flags = terms.predicates.counts, terms.slots, terms.flags
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.encoded.rows):
        holding = held_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        for each in range(holding):
            number = held[each]
            bits[number >> 3] |= 1 << (number & 7)
            if levels[number] >= 0:
                following[number] = first[levels[number]]
                first[levels[number]] = number
        before, visits, tested, looked, found = used, 0, 0, 0, 0
        waiting[0] = ROOT
        ahead = 1
        while ahead:
            ahead -= 1
            node = waiting[ahead]
            visits += 1
            mine = counts[node]
            if mine:
                looked += mine
                if used + mine > len(rows):
                    length = 2 * (used + mine)
                    rows, slots, sure = grown(rows, length), grown(slots, length), grown(sure, length)
                for run in range(runs_of(counts, heads, cells, node)):
                    start, end = run_of(counts, heads, cells, node, run)
                    for place in range(start, end):
                        term = cells[place]
                        if term < len(rests) and rests[term] and not _all_hold(terms.predicates, term, bits):
                            continue
                        found += 1
                        slot, flags = term_slots[term], term_flags[term]
                        if flags & SEVERAL:
                            if seen[slot]:
                                continue
                            seen[slot] = 1
                        rows[used], slots[used], sure[used] = row, slot, flags & UNSURE == 0
                        used += 1
            test = nodes[node, FIRST]
            while test >= 0:
                tested += 1
                number = first[tests[test, LEVEL]]
                while number >= 0:
                    child = child_of(nodes, table, node, number)
                    if child >= 0:
                        waiting[ahead] = child
                        ahead += 1
                    number = following[number]
                test = tests[test, NEXT]
        for place in range(before, used):
            seen[slots[place]] = 0
        for each in range(holding):
            number = held[each]
            bits[number >> 3] = 0
            if levels[number] >= 0:
                first[levels[number]] = -1
        tree.work[HELD] += holding
        tree.work[NODES] += visits
        tree.work[TESTS] += tested
        tree.work[CANDIDATES] += looked
        tree.work[FOUND] += found
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()
