"""Generalisation of all subscriptions at once, until the distinct results keep to a budget of bytes.

Whole attributes are deleted: conditions on one title with many price limits become the title alone, one entry
for all of them. This is pruning by accuracy and occurrence, in bulk. Attributes are ranked by the selectivity of
their predicates (a predicate that few events satisfy is worth keeping) against the number of distinct predicates
(many distinct ones, each used by few subscriptions, are worth deleting). The lowest ranks are deleted
everywhere, as many as the budget asks for. A subscription of which nothing would be left keeps its access
predicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import I32, I64, U64, Mask
from tamis.engines import LABORATORY
from tamis.engines.forest import PIECES, TEST, Forest, Leaves, Nodes, Pieces
from tamis.engines.selectivity import leaf_selectivities
from tamis.events.batch import EventBatch
from tamis.formulas.expression import Typed
from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, leaf
from tamis.kernels import kernel
from tamis.routing.access_predicates import AccessPredicates, find_access_predicates
from tamis.routing.trees import INNER_BYTES, LEAF_BYTES, is_plain, size
from tamis.statistics import Statistics

COMMON = "common"
"""The measure that deletes whole attributes; those of the laboratory prune step by step."""
_TRUE, _FALSE = 1, 2
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
    def bytes(self) -> int:
        """Of the encoded trees of all formulas."""
        return sum(map(size, self.formulas))


class _RootShapes(NamedTuple):
    """What is left of every root.

    hashes: uint64[roots, 2], equal for equal formulas.
    constants: 0, or `_TRUE` or `_FALSE`.
    bytes: Of the encoded tree; 0 for a constant.
    """

    hashes: U64
    constants: I32
    bytes: I64


def known_measures() -> tuple[str, ...]:
    """What may be generalised first: `COMMON`, and the measures of the laboratory."""
    return (COMMON, *import_module(LABORATORY).MEASURES)


def generalise(
    forest: Forest, budget: int, measure: str, statistics: Statistics | None, sample: EventBatch | None
) -> Generalisation:
    """All formulas, generalised by a measure until they take no more bytes than the budget.

    Args:
        forest: The formulas.
        budget: Bytes of the results; those of the laboratory count equal ones each time.
        measure: One of `known_measures()`.
        statistics: Of attributes.
        sample: Events that measures of the laboratory learn selectivities from.
    """
    if measure == COMMON:
        return generalise_to_budget(forest, budget, statistics)
    module, _, function = import_module(LABORATORY).MEASURES[measure].partition(":")
    pruned = getattr(import_module(module), function)(forest, budget, measure, statistics, sample)
    return distinct_formulas(pruned, np.arange(len(forest)))


def generalise_to_budget(forest: Forest, budget: int, statistics: Statistics | None = None) -> Generalisation:
    """All formulas, generalised until the distinct ones take no more bytes than the budget.

    >>> from tamis.engines.forest import forest_of
    >>> from tamis.language.condition import normalise
    >>> forest = forest_of([normalise(f"title = 'Emma' AND price < {price}") for price in range(10, 90)])
    >>> generalise_to_budget(forest, 100).formulas
    [Formula(title = 'Emma')]
    """
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    roots = np.ascontiguousarray(forest.roots)
    hashes = _leaf_hashes(
        Leaves(*map(np.ascontiguousarray, forest.leaves)), Pieces(*map(np.ascontiguousarray, forest.pieces))
    )
    ranks = _ranks(forest, hashes, statistics)
    fallback = _AccessFallback(find_access_predicates(forest, statistics), _is_true(forest))
    low, high = -1, int(ranks.max(initial=-1)) + 1  # delete nothing, or everything
    shape = _root_shapes(nodes, roots, hashes, ranks < 0)
    if fallback.bytes(shape) <= budget:
        return _generalisation_of(forest, shape, ranks < 0, fallback)
    while high - low > 1:
        middle = (low + high) // 2
        if fallback.bytes(_root_shapes(nodes, roots, hashes, ranks < middle)) > budget:
            low = middle
        else:
            high = middle
    return _generalisation_of(forest, _root_shapes(nodes, roots, hashes, ranks < high), ranks < high, fallback)


class _AccessFallback:
    """The access predicates of formulas, for those of which nothing else is left."""

    def __init__(self, access: AccessPredicates, is_true: Mask) -> None:
        self.access = access
        self._is_true = is_true
        self._sizes = np.array([size(each) for each in access.formulas], np.int64)

    def empty(self, shape: _RootShapes) -> I64:
        """The formulas that became TRUE and were not."""
        return np.flatnonzero((shape.constants == _TRUE) & ~self._is_true)

    def bytes(self, shape: _RootShapes) -> int:
        """Of the distinct formulas that are left, and of the access predicates of the others."""
        _, firsts = np.unique(_keys(shape), return_index=True)
        used = np.unique(self.access.of[self.empty(shape)])
        return int(shape.bytes[firsts].sum() + self._sizes[used].sum())


def _keys(shape: _RootShapes) -> npt.NDArray[np.void]:
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


def _root_shapes(nodes: Nodes, roots: I32, hashes: U64, deleted: Mask) -> _RootShapes:
    return _RootShapes(*_shape_kernel(nodes, roots, hashes, deleted))


@kernel
def _mix(value: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: a bijection whose bits look random."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def _leaf_hashes(leaves: Leaves, pieces: Pieces) -> U64:
    """uint64[leaves, 2]: equal for equal leaves; two others collide with a probability of 2 to the -128."""
    found = np.empty((len(leaves.kinds), 2), np.uint64)
    for number in range(len(found)):
        for lane in range(2):
            value = _mix(np.uint64(lane + 1) * np.uint64(0x9E3779B97F4A7C15))
            value = _mix(value + np.uint64(leaves.kinds[number] * 2 + leaves.nulls[number]))
            value = _mix(value + np.uint64(leaves.axes[number] + 2))
            if leaves.kinds[number] == PIECES:
                for piece in range(leaves.lows[number], leaves.highs[number]):
                    value = _mix(value + np.uint64(pieces.lows[piece]))
                    value = _mix(value + np.uint64(pieces.highs[piece]))
            else:
                value = _mix(value + np.uint64(leaves.lows[number]))
                value = _mix(value + np.uint64(leaves.highs[number]))
            found[number, lane] = value
    return found


@kernel
def _shape_kernel(nodes: Nodes, roots: I32, hashes: U64, deleted: Mask) -> tuple[U64, I32, I64]:
    """What is left of every root when deleted leaves are taken as true; see `_RootShapes`.

    The hash of a node adds up the mixed hashes of its operands, so that their order does not matter.
    """
    count = len(nodes.least)
    found, constants = np.zeros((count, 2), np.uint64), np.zeros(count, np.int32)
    sizes = np.zeros(count, np.int64)
    for node in range(count):
        left, some = int(nodes.least[node]), 0
        one, other, size = np.uint64(0), np.uint64(0), INNER_BYTES
        for place in range(nodes.firsts[node], nodes.firsts[node + 1]):
            child = nodes.children[place]
            if deleted[~child] if child < 0 else constants[child] == _TRUE:
                left -= 1
                continue
            some += 1
            one += _mix(hashes[~child, 0] if child < 0 else found[child, 0])
            other += _mix(hashes[~child, 1] if child < 0 else found[child, 1])
            size += LEAF_BYTES if child < 0 else sizes[child]
        if left <= 0:
            constants[node] = _TRUE
        elif some == 0:
            constants[node] = _FALSE
        kind = _mix(np.uint64(max(left, 0)) * np.uint64(4) + np.uint64(constants[node]))
        found[node, 0], found[node, 1] = _mix(one + kind), _mix(other + kind)
        sizes[node] = 0 if constants[node] else size
    root_hashes, root_constants = np.zeros((len(roots), 2), np.uint64), np.zeros(len(roots), np.int32)
    root_sizes = np.zeros(len(roots), np.int64)
    for number in range(len(roots)):
        root = roots[number]
        if root >= 0:
            root_hashes[number] = found[root]
            root_constants[number], root_sizes[number] = constants[root], sizes[root]
        elif deleted[~root]:
            root_constants[number] = _TRUE
        else:
            root_hashes[number], root_sizes[number] = hashes[~root], LEAF_BYTES
    return root_hashes, root_constants, root_sizes
