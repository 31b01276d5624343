"""Formulas as arrays: engines build their indexes from them, and segments keep them.

A forest holds one formula per slot. A leaf is a set of intervals of coordinates on an axis (`axes`), or a test, a
predicate of another kind (`tests`). An inner node is "at least `least` of these children", which is AND, OR and
everything between:

    slot 0:  a < 5 AND s LIKE '%x'     leaves  0: a < 5   1: test 0   2: a >= 9   3: b = 1
    slot 1:  a >= 9 OR b = 1           nodes   0: 2 of (~0, ~1)       1: 1 of (~2, ~3)
                                       roots   [0, 1]

Invariants: a child c >= 0 is node c, a child c < 0 is leaf ~c; children come before their parents. Leaves and
nodes of different formulas are never shared, even where they are equal; a node that one formula uses several times
is there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.forest.axes import HIGHEST, LOWEST, Axis, has_keys, scale_of
from tamis.engines.forest.tests import Tests, tests_of
from tamis.formulas.expression import Path, Typed, walk
from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, leaf
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.quantified import Quantified
from tamis.formulas.predicates.within import Within
from tamis.language.bulk import FormulaColumn
from tamis.values.ranges import Key, Ranges

INTERVAL, PIECES, TEST = 0, 1, 2
"""Kinds of leaves: one interval of its axis, several, or a test."""


class Leaves(NamedTuple):
    """One entry per leaf.

    kinds: INTERVAL, PIECES or TEST.
    nulls: 1 if the leaf holds where its axis is NULL.
    axes: number of the axis; -1 for a TEST.
    lows, highs: of an INTERVAL its ends, both inside, LOWEST and HIGHEST where it is open, low > high if it is
    empty;     of PIECES the range [low, high) of its entries in `Pieces`; of a TEST the number of the test, in
    `lows`.
    """

    kinds: U8
    nulls: U8
    axes: I32
    lows: I64
    highs: I64


def empty_leaves(count: int) -> Leaves:
    """Uninitialised arrays for so many leaves."""
    return Leaves(
        np.empty(count, np.uint8),
        np.empty(count, np.uint8),
        np.empty(count, np.int32),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
    )


class Pieces(NamedTuple):
    """The intervals of the leaves that have several: of each leaf disjoint, not touching, and sorted."""

    lows: I64
    highs: I64


class Nodes(NamedTuple):
    """One entry per inner node: at least `least` of `children[firsts[n]:firsts[n + 1]]` must hold.

    A child c >= 0 is node c, a child c < 0 is leaf ~c. TRUE is 0 of none, FALSE is 1 of none.
    """

    least: I32
    firsts: I64
    children: I32


@dataclass(frozen=True, eq=False)
class Forest(Sequence[Formula]):
    """Formulas by slot; as a sequence, it makes them objects again.

    Attributes:
        axes: The attributes of intervals.
        tests: The predicates of other kinds, each once.
        leaves: All leaves.
        pieces: Of the leaves that have several.
        nodes: All inner nodes.
        roots: int32[slots]: a node, or the ones' complement of a leaf.
    """

    axes: tuple[Axis, ...]
    tests: Tests
    leaves: Leaves
    pieces: Pieces
    nodes: Nodes
    roots: I32

    def __len__(self) -> int:
        return len(self.roots)

    @overload
    def __getitem__(self, at: int) -> Formula: ...
    @overload
    def __getitem__(self, at: slice) -> list[Formula]: ...
    def __getitem__(self, at: int | slice) -> Formula | list[Formula]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        return self._formula(int(self.roots[at]), {})

    def __iter__(self) -> Iterator[Formula]:
        return (self[place] for place in range(len(self)))

    def _formula(self, number: int, known: dict[int, Formula]) -> Formula:
        if number < 0:
            return leaf(self.predicate(~number))
        if number not in known:
            first, last = self.nodes.firsts[number : number + 2].tolist()
            least = int(self.nodes.least[number])
            if first == last:
                return FALSE if least else TRUE
            children = [self._formula(child, known) for child in self.nodes.children[first:last].tolist()]
            known[number] = at_least(least, children)
        return known[number]

    def predicate(self, number: int) -> Predicate:
        """A leaf as a predicate."""
        kind, low, high = (int(each[number]) for each in (self.leaves.kinds, self.leaves.lows, self.leaves.highs))
        if kind == TEST:
            return self.tests[low]
        axis = self.axes[int(self.leaves.axes[number])]
        if kind == INTERVAL:
            intervals = [(low, high)] if low <= high else []
        else:
            lows, highs = self.pieces.lows[low:high].tolist(), self.pieces.highs[low:high].tolist()
            intervals = list(zip(lows, highs, strict=True))
        return Within(axis.attribute, ranges_of(axis, intervals), bool(self.leaves.nulls[number]))


def ranges_of(axis: Axis, intervals: Sequence[tuple[int, int]]) -> Ranges:
    """The set of values whose coordinates are in these intervals."""
    inside = bool(intervals) and intervals[0][0] == LOWEST
    cuts: list[Key] = []
    for low, high in intervals:
        if low != LOWEST:
            cuts.append(axis.scale.cut(axis.attribute.type, low))
        if high != HIGHEST:
            cuts.append(axis.scale.cut(axis.attribute.type, high + 1))
    return Ranges(inside, tuple(cuts))


class ForestBuilder:
    """Collects formulas one by one; `forest` makes the arrays."""

    def __init__(self) -> None:
        self._axes: dict[Typed, int] = {}
        self._cuts: list[dict[Key, int] | None] = []
        self._tests: dict[Predicate, int] = {}
        self._leaves: list[tuple[int, int, int, int, int]] = []
        self._pieces: list[tuple[int, int, int]] = []
        self._least: list[int] = []
        self._firsts: list[int] = [0]
        self._children: list[int] = []
        self._roots: list[int] = []

    def __len__(self) -> int:
        return len(self._roots)

    def add(self, formula: Formula) -> None:
        """Put a formula into the next slot."""
        if formula.predicate is not None:
            self._roots.append(~self._leaf(formula.predicate))
            return
        predicates = [operand.predicate for operand in formula.operands if operand.predicate is not None]
        if len(predicates) == len(formula.operands):
            # The most frequent form, one AND or OR of predicates, needs no walk.
            self._children.extend([~self._leaf(predicate) for predicate in predicates])
            self._firsts.append(len(self._children))
            self._roots.append(len(self._least))
            self._least.append(formula.least)
            return
        numbers: dict[int, int] = {}
        for node in formula.nodes():
            if node.predicate is not None:
                numbers[id(node)] = ~self._leaf(node.predicate)
                continue
            self._children.extend([numbers[id(operand)] for operand in node.operands])
            self._firsts.append(len(self._children))
            numbers[id(node)] = len(self._least)
            self._least.append(node.least)
        self._roots.append(numbers[id(formula)])

    def _leaf(self, predicate: Predicate) -> int:
        number = len(self._leaves)
        if not isinstance(predicate, Within):
            test = self._tests.setdefault(predicate, len(self._tests))
            self._leaves.append((TEST, 0, -1, test, 0))
            return number
        axis = self._axis(predicate.attribute)
        ranges = predicate.ranges
        cuts = ranges.cuts
        places = self._cuts[axis]
        if places is None:
            ends = cuts
        else:
            # Cuts are numbered in the order in which they are met; `forest` turns these numbers into ranks.
            ends = tuple([places.setdefault(cut, len(places)) for cut in cuts])
        null = int(predicate.null)
        if not ranges.inside and len(ends) == 2:
            self._leaves.append((INTERVAL, null, axis, ends[0], ends[1] - 1 if places is None else ends[1]))
            return number
        intervals = _intervals(ranges.inside, ends, 1 if places is None else 0)
        if len(intervals) == 1:
            self._leaves.append((INTERVAL, null, axis, *intervals[0]))
        elif not intervals:
            self._leaves.append((INTERVAL, null, axis, HIGHEST, LOWEST))
        else:
            first = len(self._pieces)
            self._pieces.extend([(axis, low, high) for low, high in intervals])
            self._leaves.append((PIECES, null, axis, first, len(self._pieces)))
        return number

    def _axis(self, attribute: Typed) -> int:
        axis = self._axes.get(attribute)
        if axis is None:
            axis = self._axes[attribute] = len(self._axes)
            self._cuts.append(None if has_keys(attribute.type) else {})
        return axis

    def forest(self) -> Forest:
        """The forest of all formulas added so far."""
        leaves = np.array(self._leaves, np.int64).reshape(-1, 5)
        pieces = np.array(self._pieces, np.int64).reshape(-1, 3)
        kinds, nulls = leaves[:, 0].astype(np.uint8), leaves[:, 1].astype(np.uint8)
        lows, highs = leaves[:, 3].copy(), leaves[:, 4].copy()
        axes: list[Axis] = []
        ranks: list[I64 | None] = []
        for attribute, cuts in zip(self._axes, self._cuts, strict=True):
            scale, places = scale_of(attribute.type, cuts or ())
            axes.append(Axis(attribute, scale))
            ranks.append(None if cuts is None else np.fromiter((places[cut] for cut in cuts), np.int64, len(cuts)))
        _to_ranks(ranks, np.where(kinds == INTERVAL, leaves[:, 2], -1), lows, highs)
        tests, numbers = tests_of(self._tests)
        is_test = kinds == TEST
        lows[is_test] = numbers[lows[is_test]]
        piece_lows, piece_highs = pieces[:, 1].copy(), pieces[:, 2].copy()
        _to_ranks(ranks, pieces[:, 0], piece_lows, piece_highs)
        return Forest(
            tuple(axes),
            tests,
            *_merge_touching_pieces(
                Leaves(kinds, nulls, leaves[:, 2].astype(np.int32), lows, highs), Pieces(piece_lows, piece_highs)
            ),
            Nodes(
                np.array(self._least, np.int32),
                np.array(self._firsts, np.int64),
                np.array(self._children, np.int32),
            ),
            np.array(self._roots, np.int32),
        )


def _intervals(inside: bool, ends: Sequence[int], step: int) -> list[tuple[int, int]]:
    """The closed intervals between cuts; an upper end is `step` less than its cut."""
    if inside:
        ends = (LOWEST, *ends)
    found = [(ends[place], ends[place + 1] - step) for place in range(0, len(ends) - 1, 2)]
    if len(ends) % 2:
        found.append((ends[-1], HIGHEST))
    return found


def _to_ranks(ranks: Sequence[I64 | None], axes: I64, lows: I64, highs: I64) -> None:
    """Turn numbers of cuts into closed intervals of ranks, in place: [cut a, cut b) holds ranks a + 1 to b."""
    for axis, ranked in enumerate(ranks):
        if ranked is None:
            continue
        here = np.flatnonzero(axes == axis)
        some = here[(lows[here] != LOWEST) & (lows[here] != HIGHEST)]
        lows[some] = ranked[lows[some]] + 1
        some = here[(highs[here] != LOWEST) & (highs[here] != HIGHEST)]
        highs[some] = ranked[highs[some]]


def _merge_touching_pieces(leaves: Leaves, pieces: Pieces) -> tuple[Leaves, Pieces]:
    """Remove empty pieces, and merge those without a gap between them: different cuts may have the same rank."""
    several = np.flatnonzero(leaves.kinds == PIECES)
    owners = np.repeat(several, (leaves.highs - leaves.lows)[several])
    touching = (pieces.highs[:-1] + 1 >= pieces.lows[1:]) & (owners[:-1] == owners[1:])
    if not (touching.any() or (pieces.lows > pieces.highs).any()):
        return leaves, pieces
    kept: list[tuple[int, int]] = []
    for number in several.tolist():
        first = len(kept)
        here = slice(leaves.lows.item(number), leaves.highs.item(number))
        for low, high in zip(pieces.lows[here].tolist(), pieces.highs[here].tolist(), strict=True):
            if len(kept) > first and kept[-1][1] + 1 >= low:
                kept[-1] = (kept[-1][0], max(kept[-1][1], high))
            elif low <= high:
                kept.append((low, high))
        if len(kept) - first > 1:
            leaves.lows[number], leaves.highs[number] = first, len(kept)
        else:
            leaves.kinds[number] = INTERVAL
            leaves.lows[number], leaves.highs[number] = kept.pop() if len(kept) > first else (HIGHEST, LOWEST)
    ends = np.array(kept, np.int64).reshape(-1, 2)
    return leaves, Pieces(ends[:, 0].copy(), ends[:, 1].copy())


def forest_of(formulas: Sequence[Formula] | FormulaColumn) -> Forest:
    """These formulas as a forest; FALSE in the slots of a column's refused conditions."""
    from tamis.engines.forest.bulk import forest_of_column  # it imports the classes above

    if isinstance(formulas, Forest):
        return formulas
    if isinstance(formulas, FormulaColumn):
        return forest_of_column(formulas)
    builder = ForestBuilder()
    for formula in formulas:
        builder.add(formula)
    return builder.forest()


def names_read(forest: Forest) -> set[str]:
    """The names of the attributes that formulas read, the first step of each path."""
    read = [axis.attribute for axis in forest.axes] + list(forest.tests.attributes)
    for test in forest.tests.others:
        read.append(test.attribute)
        if isinstance(test, Quantified):
            read += [inner.attribute for inner in test.formula.predicates()]
    return {node.steps[0] for attribute in read for node in walk(attribute) if isinstance(node, Path)}
