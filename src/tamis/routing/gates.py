"""Gates: for each formula a few predicates, one of which holds wherever the formula does.

A gate is what complete pruning leaves of a formula, with the fewest events: of an AND the operand that is the
rarest, of an OR all operands, of "at least k of n" all but the k - 1 most frequent ones. Where a pruner goes step
by step and says what each step loses, this goes to the end at once, for all formulas of a segment in one pass.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dynamic.chances import leaf_chances
from tamis.engines.forest import PIECES, TEST, Forest, Nodes
from tamis.language.formula import FALSE, TRUE, Formula, disjunction, leaf
from tamis.predicates.base import Predicate
from tamis.routing.trees import is_opaque, is_plain
from tamis.statistics import Statistics

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]

_DEAR = 1.0
"""What is taken for the chance of a predicate that has to be computed, so that another one is the gate."""


class Gates(NamedTuple):
    """The gates of some formulas, each of them once.

    Attributes:
        predicates: That gates are made of.
        chances: In which share of events each of them is expected to hold.
        members: The predicates of every gate, none for TRUE and FALSE.
        formulas: Every gate as a formula.
        of: The gate of each formula.
    """

    predicates: list[Predicate]
    chances: Floats
    members: list[tuple[int, ...]]
    formulas: list[Formula]
    of: Shorts


def gates_of(forest: Forest, statistics: Statistics | None = None) -> Gates:
    """The gates of all formulas.

    >>> from tamis.engines.forest import forest_of
    >>> from tamis.language.condition import normalise
    >>> conditions = ["a = 1 AND b < 3", "a = 1 AND c < 5 AND (d = 2 OR e > 3)", "a = 1 AND b < 3 OR f = 2"]
    >>> gates_of(forest_of([normalise(text) for text in conditions])).formulas
    [Formula(a = 1), Formula(a = 1 OR f = 2)]
    """
    chances = _chances(forest, statistics)
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    roots = np.ascontiguousarray(forest.roots)
    weights = _weights(nodes, chances)
    firsts, found = _walk(nodes, roots, chances, weights)
    leaves, places = np.unique(found, return_inverse=True)
    same, numbers = _same_leaves(forest, leaves)
    of, members = _distinct(firsts, numbers[places.reshape(-1)].astype(np.int32), _constants(nodes, roots))
    predicates = [forest.predicate(int(leaves[place])) for place in same]
    formulas = [
        (FALSE if number else TRUE) if not each else disjunction(leaf(predicates[one]) for one in each)
        for number, each in enumerate(members)
    ]
    return _tidied(Gates(predicates, chances[leaves[same]], members, formulas, of))


def _tidied(gates: Gates) -> Gates:
    """Without the constants, if no formula is one."""
    used = np.unique(gates.of)
    numbers = np.cumsum(np.isin(np.arange(len(gates.formulas)), used)) - 1
    kept = used.tolist()
    return gates._replace(
        members=[gates.members[each] for each in kept],
        formulas=[gates.formulas[each] for each in kept],
        of=numbers[gates.of].astype(np.int32),
    )


def _chances(forest: Forest, statistics: Statistics | None) -> Floats:
    """The chance of every leaf; those that must be computed come last."""
    chances = leaf_chances(forest, statistics)
    leaves, tests = forest.leaves, forest.tests
    is_test = leaves.kinds == TEST
    dear = np.array([*(not is_plain(axis.attribute) for axis in forest.axes), False])
    chances[~is_test & dear[leaves.axes]] = _DEAR
    asked = np.unique(leaves.lows[is_test])
    opaque = np.array([number for number in asked.tolist() if is_opaque(tests[number])], np.int64)
    chances[is_test & np.isin(leaves.lows, opaque)] = _DEAR
    return chances


@numba.njit(cache=True, nogil=True)
def _weights(nodes: Nodes, chances: Floats) -> Floats:
    """The chance of the gate of every node, at most; infinite if it has none."""
    found = np.empty(len(nodes.least), np.float64)
    for node in range(len(found)):
        first, last, least = nodes.firsts[node], nodes.firsts[node + 1], nodes.least[node]
        if least <= 0:
            found[node] = np.inf
            continue
        weights = np.empty(last - first, np.float64)
        for place in range(first, last):
            child = nodes.children[place]
            weights[place - first] = found[child] if child >= 0 else chances[~child]
        weights.sort()
        found[node] = weights[: max(0, last - first - least + 1)].sum()
    return found


@numba.njit(cache=True, nogil=True)
def _walk(nodes: Nodes, roots: Shorts, chances: Floats, weights: Floats) -> tuple[Ints, Shorts]:
    """The leaves of the gate of every root: those of root r are `leaves[firsts[r]:firsts[r + 1]]`."""
    firsts = np.zeros(len(roots) + 1, np.int64)
    leaves = np.empty(2 * len(roots) + 64, np.int32)
    seen = np.full(len(weights), -1, np.int32)
    stack = np.empty(len(nodes.children) + 1, np.int32)
    used = 0
    for root in range(len(roots)):
        stack[0] = roots[root]
        top = 0 if roots[root] >= 0 and weights[roots[root]] == np.inf else 1
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
                costs[place - first] = weights[other] if other >= 0 else chances[~other]
            order = np.argsort(costs, kind="mergesort")
            for place in range(last - first - least + 1):
                stack[top] = nodes.children[first + order[place]]
                top += 1
        firsts[root + 1] = used
    return firsts, leaves[:used].copy()


def _constants(nodes: Nodes, roots: Shorts) -> npt.NDArray[np.bool_]:
    """Which roots are FALSE; only asked where a gate is empty."""
    counts = np.diff(nodes.firsts)
    is_false = np.append((counts < nodes.least) & (counts == 0), False)
    return np.asarray(is_false[np.where(roots >= 0, roots, -1)])


def _same_leaves(forest: Forest, leaves: npt.NDArray[np.integer]) -> tuple[list[int], Ints]:
    """One of each sort among some leaves, and the number of the sort of each."""
    columns = [np.asarray(each[leaves], np.int64) for each in forest.leaves]
    kinds, _, _, lows, highs = columns
    pieces: dict[bytes, int] = {}
    for place in np.flatnonzero(kinds == PIECES).tolist():
        here = slice(int(lows[place]), int(highs[place]))
        content = forest.pieces.lows[here].tobytes() + forest.pieces.highs[here].tobytes()
        lows[place], highs[place] = pieces.setdefault(content, len(pieces)), 0
    _, firsts, numbers = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    return firsts.tolist(), np.asarray(numbers.reshape(-1), np.int64)


def _distinct(
    firsts: Ints, numbers: Shorts, is_false: npt.NDArray[np.bool_]
) -> tuple[Shorts, list[tuple[int, ...]]]:
    """The gate of each formula, and the members of every gate; gates 0 and 1 are TRUE and FALSE."""
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
