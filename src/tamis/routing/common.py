"""What subscriptions have in common: attributes that tell them apart and events hardly are taken for granted.

Whatever is left of a subscription is more general than it was, and the same for many: a title with another price
limit for everybody becomes the title. This is pruning by accuracy and occurrence, in bulk. Attributes are ranked
by what a predicate on them keeps out (few events satisfy it) against what deleting it would save (many different
ones are asked for, each by few), and those of the lowest ranks are deleted everywhere: as many as it takes until
what is left, each once, keeps to a budget. A subscription of which nothing would be left keeps its gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dynamic.chances import leaf_chances
from tamis.engines.forest import PIECES, TEST, Forest, Leaves, Nodes, Pieces
from tamis.events.batch import EventBatch
from tamis.events.compute import BatchFrame
from tamis.language.expression import Typed
from tamis.language.formula import FALSE, TRUE, Formula, at_least, leaf
from tamis.routing.gates import Gates, gates_of
from tamis.routing.measures import Measure
from tamis.routing.pruning import Pruner
from tamis.routing.selectivity import SelectivityTable
from tamis.routing.trees import INNER_BYTES, LEAF_BYTES, is_plain, size
from tamis.statistics import Statistics
from tamis.values.column import Mask

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Hashes: TypeAlias = npt.NDArray[np.uint64]

_TRUE, _FALSE = 1, 2
_ACCURACY = 2.0
"""How much more what a predicate keeps out counts than what deleting it saves."""


class Generalised(NamedTuple):
    """Generalised formulas, each of them once.

    Attributes:
        formulas: What is left.
        of: Which of them each subscription has become.
    """

    formulas: list[Formula]
    of: Shorts

    @property
    def counts(self) -> Ints:
        """How many subscriptions have become each of them."""
        return np.bincount(self.of, minlength=len(self.formulas))

    @property
    def bytes(self) -> int:
        """Of the trees of all that is left."""
        return sum(map(size, self.formulas))


class _Shape(NamedTuple):
    """What becomes of every root: what tells it from others, whether it is a constant, and its bytes."""

    hashes: Hashes
    constants: Shorts
    bytes: Ints


def generalised_to(forest: Forest, budget: int, statistics: Statistics | None = None) -> Generalised:
    """All formulas, generalised so far that those that are left, each once, take no more bytes than the budget.

    >>> from tamis.engines.forest import forest_of
    >>> from tamis.language.condition import normalise
    >>> forest = forest_of([normalise(f"title = 'Emma' AND price < {price}") for price in range(10, 90)])
    >>> generalised_to(forest, 100).formulas
    [Formula(title = 'Emma')]
    """
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    roots = np.ascontiguousarray(forest.roots)
    hashes = _leaf_hashes(
        Leaves(*map(np.ascontiguousarray, forest.leaves)), Pieces(*map(np.ascontiguousarray, forest.pieces))
    )
    ranks = _ranks(forest, hashes, statistics)
    gates = _Gated(gates_of(forest, statistics), _is_true(forest))
    low, high = -1, int(ranks.max(initial=-1)) + 1  # nothing is taken for granted, or all
    shape = _shaped(nodes, roots, hashes, ranks < 0)
    if gates.bytes(shape) <= budget:
        return _made(forest, shape, ranks < 0, gates)
    while high - low > 1:
        middle = (low + high) // 2
        if gates.bytes(_shaped(nodes, roots, hashes, ranks < middle)) > budget:
            low = middle
        else:
            high = middle
    return _made(forest, _shaped(nodes, roots, hashes, ranks < high), ranks < high, gates)


class _Gated:
    """The gates of formulas, for those of which nothing else is left."""

    def __init__(self, gates: Gates, is_true: Mask) -> None:
        self.gates = gates
        self._is_true = is_true
        self._sizes = np.array([size(each) for each in gates.formulas], np.int64)

    def empty(self, shape: _Shape) -> Ints:
        """The formulas of which nothing is left and that were something."""
        return np.flatnonzero((shape.constants == _TRUE) & ~self._is_true)

    def bytes(self, shape: _Shape) -> int:
        """Of what is left, each once, and of the gates."""
        _, firsts = np.unique(_keys(shape), return_index=True)
        used = np.unique(self.gates.of[self.empty(shape)])
        return int(shape.bytes[firsts].sum() + self._sizes[used].sum())


def _keys(shape: _Shape) -> npt.NDArray[np.void]:
    return shape.hashes.view([("one", np.uint64), ("other", np.uint64)]).reshape(-1)


def _ranks(forest: Forest, hashes: Hashes, statistics: Statistics | None) -> Shorts:
    """The rank of the attribute of every leaf: 0 for the one that is deleted first."""
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
    worth = np.log2(uses / totals[attributes]) - _ACCURACY * np.log2(leaf_chances(forest, statistics))
    means = np.bincount(attributes, worth, len(known)) / np.maximum(1, totals)
    means[[place for attribute, place in known.items() if not is_plain(attribute)]] = -np.inf
    ranks = np.empty(len(known), np.int32)
    ranks[np.argsort(means, kind="stable")] = np.arange(len(known))
    return ranks[attributes]


def _made(forest: Forest, shape: _Shape, rare: Mask, gated: _Gated) -> Generalised:
    _, firsts, places = np.unique(_keys(shape), return_index=True, return_inverse=True)
    of = places.reshape(-1).astype(np.int64)
    formulas = [_left(forest, int(forest.roots[slot]), rare, {}) for slot in firsts.tolist()]
    empty = gated.empty(shape)
    of[empty] = len(formulas) + gated.gates.of[empty]
    return numbered(formulas + gated.gates.formulas, of)


def pruned_to(
    forest: Forest, budget: int, measure: Measure, table: SelectivityTable, sample: EventBatch | None = None
) -> Generalised:
    """All formulas, pruned one step after the other until their trees take no more than the budget, or to the end.

    Args:
        forest: The formulas.
        budget: Bytes of all trees; here those that are equal count as often as they are there.
        measure: What is pruned first.
        table: Selectivities of predicates.
        sample: Events to learn those from.
    """
    pruner = Pruner(measure, table)
    for slot, formula in enumerate(forest):
        pruner.register(slot, formula)
    if sample is not None:
        table.observe(BatchFrame(sample))
        pruner.rebuild()
    pruner.prune(until_bytes=budget)
    return numbered([entry.current for entry in pruner], np.arange(len(forest)))


def numbered(formulas: Sequence[Formula], of: Ints) -> Generalised:
    """Each formula once, of those that are used."""
    numbers: dict[Formula, int] = {}
    new = np.zeros(len(formulas), np.int32)
    for place in np.unique(of).tolist():
        new[place] = numbers.setdefault(formulas[place], len(numbers))
    return Generalised(list(numbers), new[of])


def _is_true(forest: Forest) -> Mask:
    """Which formulas are TRUE as they are."""
    nothing = np.append((forest.nodes.least == 0) & (np.diff(forest.nodes.firsts) == 0), False)
    return np.asarray(nothing[np.where(forest.roots >= 0, forest.roots, -1)])


def _left(forest: Forest, number: int, rare: Mask, known: dict[int, Formula]) -> Formula:
    """A formula of the forest with rare leaves taken for granted."""
    if number < 0:
        return TRUE if rare[~number] else leaf(forest.predicate(~number))
    if number not in known:
        first, last = forest.nodes.firsts[number : number + 2].tolist()
        least = int(forest.nodes.least[number])
        children = [_left(forest, child, rare, known) for child in forest.nodes.children[first:last].tolist()]
        known[number] = at_least(least, children) if children else (FALSE if least else TRUE)
    return known[number]


def _shaped(nodes: Nodes, roots: Shorts, hashes: Hashes, rare: Mask) -> _Shape:
    return _Shape(*_shape(nodes, roots, hashes, rare))


@numba.njit(cache=True, nogil=True)
def _mixed(value: np.uint64) -> np.uint64:
    """A number that looks like chance, another one for each."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def _leaf_hashes(leaves: Leaves, pieces: Pieces) -> Hashes:
    """Two numbers a leaf, the same for equal leaves and, but for one chance in 2 to the 128, only for these."""
    found = np.empty((len(leaves.kinds), 2), np.uint64)
    for number in range(len(found)):
        for lane in range(2):
            value = _mixed(np.uint64(lane + 1) * np.uint64(0x9E3779B97F4A7C15))
            value = _mixed(value + np.uint64(leaves.kinds[number] * 2 + leaves.nulls[number]))
            value = _mixed(value + np.uint64(leaves.axes[number] + 2))
            if leaves.kinds[number] == PIECES:
                for piece in range(leaves.lows[number], leaves.highs[number]):
                    value = _mixed(value + np.uint64(pieces.lows[piece]))
                    value = _mixed(value + np.uint64(pieces.highs[piece]))
            else:
                value = _mixed(value + np.uint64(leaves.lows[number]))
                value = _mixed(value + np.uint64(leaves.highs[number]))
            found[number, lane] = value
    return found


@numba.njit(cache=True, nogil=True)
def _shape(nodes: Nodes, roots: Shorts, hashes: Hashes, rare: Mask) -> tuple[Hashes, Shorts, Ints]:
    """What becomes of every root when rare leaves are taken for granted; see `_Shape`."""
    count = len(nodes.least)
    found, constants = np.zeros((count, 2), np.uint64), np.zeros(count, np.int32)
    sizes = np.zeros(count, np.int64)
    for node in range(count):
        left, some = int(nodes.least[node]), 0
        one, other, size = np.uint64(0), np.uint64(0), INNER_BYTES
        for place in range(nodes.firsts[node], nodes.firsts[node + 1]):
            child = nodes.children[place]
            if rare[~child] if child < 0 else constants[child] == _TRUE:
                left -= 1
                continue
            some += 1
            one += _mixed(hashes[~child, 0] if child < 0 else found[child, 0])
            other += _mixed(hashes[~child, 1] if child < 0 else found[child, 1])
            size += LEAF_BYTES if child < 0 else sizes[child]
        if left <= 0:
            constants[node] = _TRUE
        elif some == 0:
            constants[node] = _FALSE
        rest = _mixed(np.uint64(max(left, 0)) * np.uint64(4) + np.uint64(constants[node]))
        found[node, 0], found[node, 1] = _mixed(one + rest), _mixed(other + rest)
        sizes[node] = 0 if constants[node] else size
    root_hashes, root_constants = np.zeros((len(roots), 2), np.uint64), np.zeros(len(roots), np.int32)
    root_sizes = np.zeros(len(roots), np.int64)
    for number in range(len(roots)):
        root = roots[number]
        if root >= 0:
            root_hashes[number] = found[root]
            root_constants[number], root_sizes[number] = constants[root], sizes[root]
        elif rare[~root]:
            root_constants[number] = _TRUE
        else:
            root_hashes[number], root_sizes[number] = hashes[~root], LEAF_BYTES
    return root_hashes, root_constants, root_sizes
