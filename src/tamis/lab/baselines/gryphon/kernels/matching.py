"""Matching with a matching tree: the walk of each row, and the pairs of a batch."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, U8
from tamis.engines.array_kernels import grow
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE
from tamis.kernels import kernel
from tamis.lab.baselines.gryphon.kernels.tree import (
    CANDIDATES,
    FIRST,
    FOUND,
    HELD,
    LEVEL,
    NEXT,
    NODES,
    ROOT,
    TESTS,
    MatchingTree,
    child_of,
)
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    run_bounds,
    run_count,
)
from tamis.lab.dynamic.kernels.predicates import (
    Predicates,
    satisfied_buffer,
    satisfied_in,
)
from tamis.lab.dynamic.predicate_index import EncodedEvents


@kernel
def _all_hold(lists: PostingLists, which: int, bits: U8) -> bool:
    """Do all predicates of a list hold?"""
    counts, heads, cells = lists.counts, lists.heads, lists.cells
    for run in range(run_count(counts, heads, cells, which)):
        start, end = run_bounds(counts, heads, cells, which, run)
        for place in range(start, end):
            if bits[cells[place] >> 3] >> (cells[place] & 7) & 1 == 0:
                return False
    return True


@kernel
def match_terms(tree: MatchingTree, predicates: Predicates, event: EncodedEvents) -> tuple[I32, I32, U8]:
    """Rows and slots of the candidate pairs, and 1 for those that need no verification."""
    held = satisfied_buffer(predicates)
    bits = np.zeros(len(held) // 8 + 1, np.uint8)
    # The equalities that hold at each level, as a chain. It has more than one only if two predicates are
    # equivalent
    # without being equal.
    first, following = np.full(tree.depth, -1, np.int32), np.empty(len(held), np.int32)
    waiting = np.empty(tree.nodes_count, np.int32)
    seen = np.zeros(len(tree.terms.slot_terms.counts), np.uint8)
    nodes, tests, table, levels, terms = tree.nodes, tree.tests, tree.table, tree.levels, tree.terms
    counts, heads, cells = tree.ends.counts, tree.ends.heads, tree.ends.cells
    rests, term_slots, term_flags = terms.predicates.counts, terms.slots, terms.flags
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.encoded.rows):
        holding = satisfied_in(predicates, event.encoded, event.tests, event.with_null, row, held)
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
                    rows, slots, sure = grow(rows, length), grow(slots, length), grow(sure, length)
                for run in range(run_count(counts, heads, cells, node)):
                    start, end = run_bounds(counts, heads, cells, node, run)
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
