"""Covering: of the entries that lead to one neighbour, those are left out that another one implies.

An AND covers another if each of its operands is implied by one of the other's: by an equal operand, or by narrower
ranges on the same attribute. Of equal ones the first covers the others. So covering is an order, and what is not
covered covers everything. `tamis.lab.bittner.covering` decides covering for ORs of ANDs.

All of it is arrays. A formula is a list of *items*, sorted by key:

    price < 9 AND title = 'Emma' AND (used OR new)   ->   (price, ..9)  (title, 'Emma')  (OR 17)
                                                           range         point             other

Formulas are taken in an order in which every one comes after all that may cover it: those with fewer items first,
then those with wider ranges. One that is not covered is filed under a single one of its keys, the rarest: a point
or another operand, which all that it covers have as well, or else an attribute. So a formula is compared with what
is filed under its own keys, and mostly that is next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U64, Bools
from tamis.engines.conjunctions.intervals import intervals_of
from tamis.engines.forest import TEST, Forest, Nodes, forest_of
from tamis.engines.forest.distinct import distinct_predicates
from tamis.formulas.formula import Formula
from tamis.kernels import kernel
from tamis.routing.leaf_sets import mix

_MOST_COMPARED = 4_096
"""Formulas that are tried for a key, the most general first; where more have it, some cover may not be found. That
bounds the worst case, which is a hundred thousand ranges on one attribute of which none covers another."""


class _Predicates(NamedTuple):
    """The distinct predicates of a forest.

    axes: int32[predicates]; -1 for those that are compared for equality only.
    nulls: bool[predicates], do they hold on NULL?
    firsts, lows, highs: the intervals of predicate p are `[firsts[p], firsts[p + 1])`, sorted, both ends inside.
    points: bool[predicates], is it one value?
    widths: int64[predicates], greater for each predicate that another one implies.
    """

    axes: I32
    nulls: Bools
    firsts: I64
    lows: I64
    highs: I64
    points: Bools
    widths: I64


class _Items(NamedTuple):
    """The items of formula f are `[starts[f], starts[f + 1])`, sorted by key.

    keys: an axis, or above all axes the number of an operand that is compared for equality.
    predicates: of an axis; -1 for other operands.
    """

    starts: I64
    keys: I64
    predicates: I64


def uncovered(formulas: Sequence[Formula] | Forest) -> list[int]:
    """The places of formulas that no other covers; of equal ones, the first.

    >>> from tamis.language.condition import normalise
    >>> texts = "a = 1 AND b < 3", "a = 1 AND b < 5", "a = 1 AND b < 4 AND c", "b < 5 OR c"
    >>> [texts[place] for place in uncovered([normalise(text) for text in texts])]
    ['a = 1 AND b < 5', 'b < 5 OR c']
    """
    forest = formulas if isinstance(formulas, Forest) else forest_of(formulas)
    if not len(forest):
        return []
    numbers, predicates = _predicates(forest)
    items = _items(forest, numbers, predicates)
    is_axis = items.predicates >= 0
    widths = np.where(is_axis, predicates.widths[items.predicates], 0)
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    order = np.lexsort((sums[items.starts[:-1]] - sums[items.starts[1:]], np.diff(items.starts)))
    # Beyond the keys of items: one for each predicate that is a point, and one for everything, which TRUE has.
    first_point = int(items.keys.max(initial=-1)) + 1
    is_point = is_axis & predicates.points[items.predicates]
    points = np.where(is_point, first_point + items.predicates, -1)
    anything = first_point + len(predicates.axes)
    uses = np.bincount(items.keys, minlength=anything + 1)
    uses += np.bincount(points[is_point], minlength=anything + 1)
    return np.flatnonzero(_uncovered_kernel(items, predicates, order, points, uses, anything)).tolist()


def _predicates(forest: Forest) -> tuple[I32, _Predicates]:
    """int32[leaves], the predicate of each leaf, and the distinct predicates."""
    leaves = forest.leaves
    distinct = distinct_predicates(leaves, forest.pieces, np.arange(len(leaves.kinds), dtype=np.int32))
    examples = distinct.examples
    found = intervals_of(leaves, forest.pieces, examples)
    # Lengths of intervals in ranks of their ends: exact, and longer for each interval that contains another.
    ends = np.unique(np.concatenate([found.lows, found.highs]))
    lengths = 1 + np.searchsorted(ends, found.highs) - np.searchsorted(ends, found.lows)
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    nulls = np.asarray(leaves.nulls[examples] != 0)
    is_single = np.diff(found.firsts) == 1
    firsts = np.minimum(found.firsts[:-1], max(0, len(found.lows) - 1))
    points = is_single & ~nulls
    points[points] = found.lows[firsts[points]] == found.highs[firsts[points]]
    is_test = leaves.kinds[examples] == TEST
    return distinct.numbers, _Predicates(
        np.where(is_test, -1, leaves.axes[examples]).astype(np.int32),
        nulls,
        found.firsts,
        found.lows,
        found.highs,
        points & ~is_test,
        sums[found.firsts[1:]] - sums[found.firsts[:-1]] + nulls,
    )


def _items(forest: Forest, numbers: I32, predicates: _Predicates) -> _Items:
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    roots = np.ascontiguousarray(forest.roots)
    starts, operands = _operands(nodes, roots)
    leaves = np.where(operands < 0, numbers[np.where(operands < 0, ~operands, 0)], -1).astype(np.int64)
    is_axis = (operands < 0) & (predicates.axes[leaves] >= 0)
    is_node = operands >= 0
    equal = _equal_rows(_node_hashes(nodes, numbers)[operands[is_node]])
    axes, count = len(forest.axes), len(predicates.axes)
    keys = axes + leaves
    keys[is_axis] = predicates.axes[leaves[is_axis]]
    keys[is_node] = axes + count + equal
    order = np.lexsort((keys, np.repeat(np.arange(len(roots)), np.diff(starts))))
    return _Items(starts, keys[order], np.where(is_axis, leaves, -1)[order])


def _equal_rows(hashes: U64) -> I64:
    """int64[rows]: a number for each distinct row of two."""
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    is_new = np.concatenate([np.zeros(1, np.bool_), (hashes[order[1:]] != hashes[order[:-1]]).any(axis=1)])
    found = np.empty(len(hashes), np.int64)
    found[order] = np.cumsum(is_new)[: len(hashes)]
    return found


@kernel
def _node_hashes(nodes: Nodes, numbers: I32) -> U64:
    """uint64[nodes, 2]: equal for equal nodes, whatever the order of their operands; two lanes against chance."""
    found = np.zeros((len(nodes.least), 2), np.uint64)
    for node in range(len(nodes.least)):
        for lane in range(2):
            total = np.uint64(0)
            for place in range(nodes.firsts[node], nodes.firsts[node + 1]):
                child = nodes.children[place]
                if child < 0:
                    number = np.uint64(numbers[~child]) * np.uint64(2) + np.uint64(lane)
                    total += mix(mix(number + np.uint64(0x9E3779B97F4A7C15)))
                else:
                    total += mix(found[child, lane])
            found[node, lane] = mix(total + np.uint64(nodes.least[node]) * np.uint64(0xD1342543DE82EF95))
    return found


@kernel
def _operands(nodes: Nodes, roots: I32) -> tuple[I64, I32]:
    """The operands of each root, [starts[r], starts[r + 1]): of an AND all, of anything else itself."""
    starts = np.zeros(len(roots) + 1, np.int64)
    for number in range(len(roots)):
        root, count = roots[number], 1
        if root >= 0 and nodes.least[root] == nodes.firsts[root + 1] - nodes.firsts[root]:
            count = nodes.least[root]
        starts[number + 1] = starts[number] + count
    found = np.empty(starts[-1], np.int32)
    for number in range(len(roots)):
        root, first = roots[number], starts[number]
        if root >= 0 and nodes.least[root] == nodes.firsts[root + 1] - nodes.firsts[root]:
            found[first : starts[number + 1]] = nodes.children[nodes.firsts[root] : nodes.firsts[root + 1]]
        else:
            found[first] = root
    return starts, found


@kernel
def _uncovered_kernel(
    items: _Items, predicates: _Predicates, order: I64, points: I64, uses: I64, anything: int
) -> Bools:
    """bool[formulas]: those that no other covers.

    heads, tails, nexts: what is filed under each key, as a list, the most general first.
    """
    heads, tails = np.full(anything + 1, -1, np.int64), np.full(anything + 1, -1, np.int64)
    nexts = np.full(len(order), -1, np.int64)
    found = np.zeros(len(order), np.bool_)
    for formula in order:
        first, last = items.starts[formula], items.starts[formula + 1]
        if _is_covered(items, predicates, formula, heads[anything], nexts):
            continue
        is_covered = False
        for place in range(first, last):
            is_covered = _is_covered(items, predicates, formula, heads[items.keys[place]], nexts) or (
                points[place] >= 0 and _is_covered(items, predicates, formula, heads[points[place]], nexts)
            )
            if is_covered:
                break
        if is_covered:
            continue
        found[formula] = True
        rarest = anything
        for place in range(first, last):
            key = points[place] if points[place] >= 0 else items.keys[place]
            if rarest == anything or uses[key] < uses[rarest]:
                rarest = key
        if heads[rarest] < 0:
            heads[rarest] = formula
        else:
            nexts[tails[rarest]] = formula
        tails[rarest] = formula
    return found


@kernel
def _is_covered(items: _Items, predicates: _Predicates, formula: int, head: int, nexts: I64) -> bool:
    """Does one of a list cover the formula?"""
    other, count = head, 0
    while other >= 0 and count < _MOST_COMPARED:
        if _covers(items, predicates, other, formula):
            return True
        other = nexts[other]
        count += 1
    return False


@kernel
def _covers(items: _Items, predicates: _Predicates, wide: int, narrow: int) -> bool:
    """Is each item of the wide formula implied by one of the narrow one? A walk through two sorted lists."""
    at, last = items.starts[narrow], items.starts[narrow + 1]
    for place in range(items.starts[wide], items.starts[wide + 1]):
        while at < last and items.keys[at] < items.keys[place]:
            at += 1
        if at == last or items.keys[at] != items.keys[place]:
            return False
        if items.predicates[place] >= 0 and not _implies(
            predicates, items.predicates[at], items.predicates[place]
        ):
            return False
        at += 1
    return True


@kernel
def _implies(p: _Predicates, narrow: int, wide: int) -> bool:
    """Is each interval of one predicate inside of one of the other?"""
    if narrow == wide:
        return True
    if p.nulls[narrow] and not p.nulls[wide]:
        return False
    at = p.firsts[wide]
    for place in range(p.firsts[narrow], p.firsts[narrow + 1]):
        while at < p.firsts[wide + 1] and p.highs[at] < p.highs[place]:
            at += 1
        if at == p.firsts[wide + 1] or p.lows[at] > p.lows[place]:
            return False
    return True
