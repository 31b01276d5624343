"""Generalisation of all subscriptions at once, until the distinct results keep to a budget of bytes.

Whole attributes are deleted: conditions on one title with many price limits become the title alone, one entry
for all of them. This is pruning by accuracy and occurrence, in bulk. Attributes are ranked by the selectivity of
their predicates (a predicate that few events satisfy is worth keeping) against the number of distinct predicates
(many distinct ones, each used by few subscriptions, are worth deleting). The lowest ranks are deleted
everywhere, as many as the budget asks for. A subscription of which nothing would be left keeps its access
predicates. `tamis.routing.pruning` deletes operands one by one instead, by a measure.

Before that, formulas of one form may be merged (`tamis.routing.merging`), as far as the budget asks for.

The budget is of bytes that are stored: distinct formulas count once, with the values of their lists. What cannot
be generalised further is widened (`tamis.routing.widening`), in the end to TRUE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U64, Mask, Structs
from tamis.engines.forest import TEST, Forest, Nodes, forest_of
from tamis.engines.selectivity import leaf_selectivities
from tamis.formulas.expression import Typed
from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, leaf
from tamis.kernels import kernel
from tamis.routing import stored_bytes
from tamis.routing.access_predicates import AccessPredicates, find_access_predicates
from tamis.routing.decayed_events import Sample, frames_of
from tamis.routing.leaf_sets import axis_facts, leaf_sets, mix, set_hashes
from tamis.routing.merging import merge
from tamis.routing.pruning import MEASURES, EntryPruner
from tamis.routing.trees import is_plain
from tamis.routing.widening import stored_sizes, widen
from tamis.statistics import Statistics

COMMON = "common"
"""The measure that deletes whole attributes; all others prune step by step."""
_TRUE, _FALSE = 1, 2
_ENTRY_BYTES, _NODE_BYTES = stored_bytes.ENTRY_BYTES, stored_bytes.NODE_BYTES
_CHILD_BYTES, _TERM_BYTES = stored_bytes.CHILD_BYTES, stored_bytes.TERM_BYTES
_ACCURACY = 2.0
"""The weight of selectivity against the bytes that deleting an attribute saves."""


class Generalisation(NamedTuple):
    """Generalised formulas, each distinct one once.

    Attributes:
        formulas: The distinct formulas.
        of: int32[subscriptions], the formula of each.
    """

    formulas: list[Formula]
    of: I32

    @property
    def counts(self) -> I64:
        """How many subscriptions each formula stands for."""
        return np.bincount(self.of, minlength=len(self.formulas))

    @property
    def bytes(self) -> float:
        """Of the entries with these formulas, as `tamis.routing.stored_bytes` estimates them; FALSE needs none."""
        return float(stored_sizes([each for each in self.formulas if each is not FALSE]).sum())


class _RootShapes(NamedTuple):
    """What is left of every root.

    hashes: uint64[roots, 2], equal for equal formulas.
    constants: 0, or `_TRUE` or `_FALSE`.
    bytes: Of the entry.
    """

    hashes: U64
    constants: I32
    bytes: F64


def known_measures() -> tuple[str, ...]:
    """What may be generalised first."""
    return (COMMON, *MEASURES)


def generalise(
    forest: Forest,
    budget: float,
    measure: str = COMMON,
    statistics: Statistics | None = None,
    sample: Sample = None,
    groups: I32 | None = None,
    *,
    merging: bool = False,
) -> Generalisation:
    """All formulas, generalised by a measure until the distinct ones take no more bytes than the budget.

    >>> from tamis.engines.forest import forest_of
    >>> from tamis.language.condition import normalise
    >>> forest = forest_of([normalise(f"title = 'Emma' AND price < {price}") for price in range(10, 90)])
    >>> generalise(forest, 1_000).formulas
    [Formula(title = 'Emma')]

    Args:
        forest: The formulas.
        budget: Bytes of the entries with the results, as `tamis.routing.stored_bytes` estimates them. It is
            exceeded only if not even TRUE keeps to it.
        measure: One of `known_measures()`.
        statistics: Of attributes.
        sample: Events from which measures learn selectivities.
        groups: int32[subscriptions]: equal formulas of different groups are stored each.
        merging: Merge formulas of one form first, within their group, if the budget asks for it?
    """
    if merging:
        formulas, merged_of, groups = _merge_groups(forest, budget, groups)
        found = generalise(forest_of(formulas), budget, measure, statistics, sample, groups)
        return Generalisation(found.formulas, found.of[merged_of])
    if measure == COMMON:
        found = _delete_attributes(forest, budget, statistics, groups)
    else:
        pruner = EntryPruner(forest, measure, statistics, sample=frames_of(sample), groups=groups)
        pruner.prune(budget)
        found = distinct_formulas(*pruner.formulas())
    wider = widen(found.formulas, found.of, budget, statistics, groups)
    return distinct_formulas(wider, found.of.astype(np.int64))


def _merge_groups(forest: Forest, budget: float, groups: I32 | None) -> tuple[list[Formula], I64, I32]:
    """Merged formulas of each group, the number of that of each subscription, and the group of each formula.

    A group has its share of the budget. What keeps to it is not merged.
    """
    given = np.zeros(len(forest), np.int32) if groups is None else groups
    merged: list[Formula] = []
    of, sizes = np.zeros(len(forest), np.int64), []
    numbers = np.unique(given)
    for group in numbers.tolist():
        members = np.flatnonzero(given == group)
        share = budget * len(members) / len(forest)
        exact = distinct_formulas([forest[slot] for slot in members.tolist()], np.arange(len(members)))
        mergers, places = exact.formulas, exact.of.astype(np.int64)
        if exact.bytes > share:
            found = merge(forest_of(exact.formulas), share, lambda some: float(stored_sizes(some).sum()))
            mergers, places = found.formulas, found.of[places]
        of[members] = len(merged) + places
        merged += mergers
        sizes.append(len(mergers))
    return merged, of, np.repeat(numbers, sizes).astype(np.int32)


def _delete_attributes(
    forest: Forest, budget: float, statistics: Statistics | None, groups: I32 | None
) -> Generalisation:
    """All formulas without the attributes of the lowest ranks, as many as the budget asks for."""
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    roots = np.ascontiguousarray(forest.roots)
    facts = axis_facts(forest, statistics)
    leaves = leaf_sets(forest, facts)
    hashes = np.stack([set_hashes(leaves, lane) for lane in range(2)], axis=1)
    cuts = np.append(facts.cuts, 0.0)[np.maximum(leaves.axes, -1)]
    sizes = stored_bytes.leaf_bytes(leaves.lasts - leaves.firsts, cuts)
    sizes[leaves.axes < 0] = stored_bytes.test_bytes(forest)
    ranks = _ranks(forest, hashes, statistics)
    fallback = _AccessFallback(find_access_predicates(forest, statistics), _is_true(forest), groups)
    low, high = -1, int(ranks.max(initial=-1)) + 1  # delete nothing, or everything

    def shape_below(rank: int) -> _RootShapes:
        return _RootShapes(*_shape_kernel(nodes, roots, hashes, sizes, ranks < rank))

    if fallback.bytes(shape_below(0)) <= budget:
        high = 0
    while high - low > 1:
        middle = (low + high) // 2
        if fallback.bytes(shape_below(middle)) > budget:
            low = middle
        else:
            high = middle
    return _generalisation_of(forest, shape_below(high), ranks < high, fallback)


class _AccessFallback:
    """The access predicates of formulas, for those of which nothing else is left."""

    def __init__(self, access: AccessPredicates, is_true: Mask, groups: I32 | None) -> None:
        self.access = access
        self._is_true = is_true
        self._groups = np.zeros(len(is_true), np.int32) if groups is None else groups
        self._sizes = stored_sizes(access.formulas)

    def empty(self, shape: _RootShapes) -> I64:
        """The formulas that became TRUE and were not."""
        return np.flatnonzero((shape.constants == _TRUE) & ~self._is_true)

    def bytes(self, shape: _RootShapes) -> float:
        """Of the distinct formulas that are left, and of the access predicates of the others."""
        empty = self.empty(shape)
        left = np.delete(np.arange(len(self._is_true)), empty)
        _, numbers = np.unique(_keys(shape)[left], return_inverse=True)
        _, firsts = np.unique(numbers.astype(np.int64) << 32 | self._groups[left], return_index=True)
        used = np.unique(self.access.of[empty].astype(np.int64) << 32 | self._groups[empty]) >> 32
        return float(shape.bytes[left[firsts]].sum() + self._sizes[used].sum())


def _keys(shape: _RootShapes) -> Structs:
    return shape.hashes.view([("one", np.uint64), ("other", np.uint64)]).reshape(-1)


def _ranks(forest: Forest, hashes: U64, statistics: Statistics | None) -> I32:
    """int32[leaves]: the rank of the attribute of each; rank 0 is deleted first."""
    leaves = forest.leaves
    known: dict[Typed, int] = {}
    axes = [known.setdefault(axis.attribute, len(known)) for axis in forest.axes]
    attributes = np.array([*axes, 0], np.int64)[leaves.axes]
    is_test = leaves.kinds == TEST
    for number in np.unique(leaves.lows[is_test]).tolist():
        place = known.setdefault(forest.tests[number].attribute, len(known))
        attributes[is_test & (leaves.lows == number)] = place
    if not known:
        return np.zeros(0, np.int32)
    _, places, counts = np.unique(hashes[:, 0], return_inverse=True, return_counts=True)
    uses, totals = counts[places.reshape(-1)], np.bincount(attributes, minlength=len(known))
    worth = np.log2(uses / totals[attributes]) - _ACCURACY * np.log2(leaf_selectivities(forest, statistics))
    means = np.bincount(attributes, worth, len(known)) / np.maximum(1, totals)
    means[[place for attribute, place in known.items() if not is_plain(attribute)]] = -np.inf
    ranks = np.empty(len(known), np.int32)
    ranks[np.argsort(means, kind="stable")] = np.arange(len(known))
    return ranks[attributes]


def _generalisation_of(
    forest: Forest, shape: _RootShapes, deleted: Mask, fallback: _AccessFallback
) -> Generalisation:
    _, firsts, places = np.unique(_keys(shape), return_index=True, return_inverse=True)
    of = places.reshape(-1).astype(np.int64)
    formulas = [_remaining_formula(forest, int(forest.roots[slot]), deleted, {}) for slot in firsts.tolist()]
    empty = fallback.empty(shape)
    of[empty] = len(formulas) + fallback.access.of[empty]
    return distinct_formulas(formulas + fallback.access.formulas, of)


def distinct_formulas(formulas: Sequence[Formula], of: I64) -> Generalisation:
    """Each formula that `of` uses once, with `of` renumbered."""
    numbers: dict[Formula, int] = {}
    new = np.zeros(len(formulas), np.int32)
    for place in np.unique(of).tolist():
        new[place] = numbers.setdefault(formulas[place], len(numbers))
    return Generalisation(list(numbers), new[of])


def _is_true(forest: Forest) -> Mask:
    """bool[roots]: which formulas are TRUE before anything is deleted."""
    nothing = np.append((forest.nodes.least == 0) & (np.diff(forest.nodes.firsts) == 0), False)
    return np.asarray(nothing[np.where(forest.roots >= 0, forest.roots, -1)])


def _remaining_formula(forest: Forest, number: int, deleted: Mask, known: dict[int, Formula]) -> Formula:
    """A formula of the forest with deleted leaves taken as true."""
    if number < 0:
        return TRUE if deleted[~number] else leaf(forest.predicate(~number))
    if number not in known:
        first, last = forest.nodes.firsts[number : number + 2].tolist()
        least = int(forest.nodes.least[number])
        numbers = forest.nodes.children[first:last].tolist()
        children = [_remaining_formula(forest, child, deleted, known) for child in numbers]
        known[number] = at_least(least, children) if children else (FALSE if least else TRUE)
    return known[number]


@kernel
def _shape_kernel(nodes: Nodes, roots: I32, hashes: U64, bytes_: F64, deleted: Mask) -> tuple[U64, I32, F64]:
    """What is left of every root when deleted leaves are taken as true; see `_RootShapes`.

    The hash of a node adds up the mixed hashes of its operands, so that their order does not matter.
    """
    count = len(nodes.least)
    found, constants = np.zeros((count, 2), np.uint64), np.zeros(count, np.int32)
    sizes = np.zeros(count, np.float64)
    for node in range(count):
        left, some = int(nodes.least[node]), 0
        one, other, size = np.uint64(0), np.uint64(0), _NODE_BYTES
        for place in range(nodes.firsts[node], nodes.firsts[node + 1]):
            child = nodes.children[place]
            if deleted[~child] if child < 0 else constants[child] == _TRUE:
                left -= 1
                continue
            some += 1
            one += mix(hashes[~child, 0] if child < 0 else found[child, 0])
            other += mix(hashes[~child, 1] if child < 0 else found[child, 1])
            size += bytes_[~child] if child < 0 else sizes[child]
        if left <= 0:
            constants[node] = _TRUE
        elif some == 0:
            constants[node] = _FALSE
        kind = mix(np.uint64(max(left, 0)) * np.uint64(4) + np.uint64(constants[node]))
        found[node, 0], found[node, 1] = mix(one + kind), mix(other + kind)
        sizes[node] = _NODE_BYTES if constants[node] else size + some * (_CHILD_BYTES + (left == 1) * _TERM_BYTES)
    root_hashes, root_constants = np.zeros((len(roots), 2), np.uint64), np.zeros(len(roots), np.int32)
    root_sizes = np.full(len(roots), _ENTRY_BYTES)
    for number in range(len(roots)):
        root = roots[number]
        if root >= 0:
            root_hashes[number] = found[root]
            root_constants[number] = constants[root]
            root_sizes[number] += sizes[root]
        elif deleted[~root]:
            root_constants[number] = _TRUE
        else:
            root_hashes[number] = hashes[~root]
            root_sizes[number] += bytes_[~root]
    return root_hashes, root_constants, root_sizes
