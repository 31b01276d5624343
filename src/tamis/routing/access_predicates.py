"""Access predicates: for each formula a small set of predicates, one of which holds wherever the formula does.

The set is what complete pruning leaves of a formula, chosen so that few events satisfy it: of an AND the operand
with the lowest selectivity, of an OR all operands, of "at least k of n" all but the k - 1 most frequent
operands. A `Pruner` goes step by step and ranks every step; this goes to the end at once, for all formulas of a
segment in one pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, Bools, Integers
from tamis.engines.forest import PIECES, TEST, Forest, Nodes
from tamis.engines.selectivity import leaf_selectivities
from tamis.formulas.formula import FALSE, TRUE, Formula, disjunction, leaf
from tamis.formulas.predicates.base import Predicate
from tamis.kernels import kernel
from tamis.routing.trees import is_opaque, is_plain
from tamis.statistics import Statistics

_COMPUTED_SELECTIVITY = 1.0
"""Assumed for a predicate that must be computed, so that any other one is preferred."""


class AccessPredicates(NamedTuple):
    """The access predicate sets of some formulas, each distinct set once.

    Attributes:
        predicates: All predicates that occur in sets.
        selectivities: In which share of events each of them is expected to hold.
        sets: Indices into `predicates`; empty for TRUE and FALSE.
        formulas: Every set as a formula, the OR of its predicates.
        of: int32[formulas], the set of each formula.
    """

    predicates: list[Predicate]
    selectivities: F64
    sets: list[tuple[int, ...]]
    formulas: list[Formula]
    of: I32


def find_access_predicates(forest: Forest, statistics: Statistics | None = None) -> AccessPredicates:
    """The access predicates of all formulas.

    >>> from tamis.engines.forest import forest_of
    >>> from tamis.language.condition import normalise
    >>> conditions = ["a = 1 AND b < 3", "a = 1 AND c < 5 AND (d = 2 OR e > 3)", "a = 1 AND b < 3 OR f = 2"]
    >>> find_access_predicates(forest_of([normalise(text) for text in conditions])).formulas
    [Formula(a = 1), Formula(a = 1 OR f = 2)]
    """
    selectivities = _leaf_selectivities(forest, statistics)
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    roots = np.ascontiguousarray(forest.roots)
    by_node = _node_selectivities(nodes, selectivities)
    firsts, selected = _select_leaves(nodes, roots, selectivities, by_node)
    leaves, places = np.unique(selected, return_inverse=True)
    same, numbers = _distinct_leaves(forest, leaves)
    of, sets = _distinct_sets(firsts, numbers[places.reshape(-1)].astype(np.int32), _is_false(nodes, roots))
    predicates = [forest.predicate(int(leaves[place])) for place in same]
    formulas = [
        (FALSE if number else TRUE) if not each else disjunction(leaf(predicates[one]) for one in each)
        for number, each in enumerate(sets)
    ]
    return _without_unused_constants(AccessPredicates(predicates, selectivities[leaves[same]], sets, formulas, of))


def _without_unused_constants(access: AccessPredicates) -> AccessPredicates:
    """Drop the sets of TRUE and FALSE if no formula has them."""
    used = np.unique(access.of)
    numbers = np.cumsum(np.isin(np.arange(len(access.formulas)), used)) - 1
    kept = used.tolist()
    return access._replace(
        sets=[access.sets[each] for each in kept],
        formulas=[access.formulas[each] for each in kept],
        of=numbers[access.of].astype(np.int32),
    )


def _leaf_selectivities(forest: Forest, statistics: Statistics | None) -> F64:
    """The selectivity of every leaf; leaves that must be computed count as always true."""
    selectivities = leaf_selectivities(forest, statistics)
    leaves, tests = forest.leaves, forest.tests
    is_test = leaves.kinds == TEST
    is_computed = np.array([*(not is_plain(axis.attribute) for axis in forest.axes), False])
    selectivities[~is_test & is_computed[leaves.axes]] = _COMPUTED_SELECTIVITY
    used = np.unique(leaves.lows[is_test])
    opaque = np.array([number for number in used.tolist() if is_opaque(tests[number])], np.int64)
    selectivities[is_test & np.isin(leaves.lows, opaque)] = _COMPUTED_SELECTIVITY
    return selectivities


@kernel
def _node_selectivities(nodes: Nodes, selectivities: F64) -> F64:
    """An upper bound of the selectivity of the set of every node; infinite if the node has none."""
    found = np.empty(len(nodes.least), np.float64)
    for node in range(len(found)):
        first, last, least = nodes.firsts[node], nodes.firsts[node + 1], nodes.least[node]
        if least <= 0:
            found[node] = np.inf
            continue
        costs = np.empty(last - first, np.float64)
        for place in range(first, last):
            child = nodes.children[place]
            costs[place - first] = found[child] if child >= 0 else selectivities[~child]
        costs.sort()
        # If k of n operands hold, one of any n - k + 1 does: take those with the lowest selectivities.
        found[node] = costs[: max(0, last - first - least + 1)].sum()
    return found


@kernel
def _select_leaves(nodes: Nodes, roots: I32, selectivities: F64, by_node: F64) -> tuple[I64, I32]:
    """The leaves in the set of every root: those of root r are `leaves[firsts[r]:firsts[r + 1]]`."""
    firsts = np.zeros(len(roots) + 1, np.int64)
    leaves = np.empty(2 * len(roots) + 64, np.int32)
    seen = np.full(len(by_node), -1, np.int32)
    stack = np.empty(len(nodes.children) + 1, np.int32)
    used = 0
    for root in range(len(roots)):
        stack[0] = roots[root]
        top = 0 if roots[root] >= 0 and by_node[roots[root]] == np.inf else 1
        while top:
            top -= 1
            child = stack[top]
            if child < 0:
                if used == len(leaves):
                    longer = np.empty(2 * used, np.int32)
                    longer[:used] = leaves
                    leaves = longer
                leaves[used] = ~child
                used += 1
                continue
            if seen[child] == root:
                continue
            seen[child] = root
            first, last, least = nodes.firsts[child], nodes.firsts[child + 1], nodes.least[child]
            if least <= 0 or last - first < least:
                continue
            costs = np.empty(last - first, np.float64)
            for place in range(first, last):
                other = nodes.children[place]
                costs[place - first] = by_node[other] if other >= 0 else selectivities[~other]
            order = np.argsort(costs, kind="mergesort")
            for place in range(last - first - least + 1):
                stack[top] = nodes.children[first + order[place]]
                top += 1
        firsts[root + 1] = used
    return firsts, leaves[:used].copy()


def _is_false(nodes: Nodes, roots: I32) -> Bools:
    """Which roots are FALSE; used only where the set is empty."""
    counts = np.diff(nodes.firsts)
    is_false = np.append((counts < nodes.least) & (counts == 0), False)
    return np.asarray(is_false[np.where(roots >= 0, roots, -1)])


def _distinct_leaves(forest: Forest, leaves: Integers) -> tuple[list[int], I64]:
    """One example of each group of equal leaves, and the group of each leaf."""
    columns = [np.asarray(each[leaves], np.int64) for each in forest.leaves]
    kinds, _, _, lows, highs = columns
    pieces: dict[bytes, int] = {}
    for place in np.flatnonzero(kinds == PIECES).tolist():
        here = slice(int(lows[place]), int(highs[place]))
        content = forest.pieces.lows[here].tobytes() + forest.pieces.highs[here].tobytes()
        lows[place], highs[place] = pieces.setdefault(content, len(pieces)), 0
    _, firsts, numbers = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    return firsts.tolist(), np.asarray(numbers.reshape(-1), np.int64)


def _distinct_sets(firsts: I64, numbers: I32, is_false: Bools) -> tuple[I32, list[tuple[int, ...]]]:
    """The set of each formula, and the members of every set; sets 0 and 1 are those of TRUE and FALSE."""
    lengths = np.diff(firsts)
    of = np.where(is_false, 1, 0).astype(np.int32)
    members: list[tuple[int, ...]] = [(), ()]
    known: dict[tuple[int, ...], int] = {}
    for length in np.unique(lengths[lengths > 0]).tolist():
        here = np.flatnonzero(lengths == length)
        rows = np.sort(numbers[firsts[here][:, None] + np.arange(length)], axis=1)
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        made = []
        for row in distinct.tolist():
            key = tuple(dict.fromkeys(row))
            if key not in known:
                known[key] = len(members)
                members.append(key)
            made.append(known[key])
        of[here] = np.array(made, np.int32)[inverse.reshape(-1)]
    return of, members
