"""The predicates of an index that changes in place: from leaves to numbers, from events to what holds in them.

Engines hand in forests and get a predicate's number for each leaf; when a formula goes, they let go of its numbers
in their kernels (`tamis.engines.dynamic.predicates.let_go`) and call `tidy` then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from tamis.engines.conjunctions.formula_program import RowTests
from tamis.engines.dynamic.predicates import (
    axes_with_nulls,
    dropped_tests,
    enter_leaves,
    let_go_all,
    move_axis,
    predicate_bytes,
    predicate_counts,
    predicates_of,
    reserve_predicates,
)
from tamis.engines.dynamic.probing import Probing
from tamis.engines.dynamic.rulers import Ruler
from tamis.engines.encoding import Encoded, Encoder
from tamis.engines.forest import INTERVAL, PIECES, TEST, Forest, Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, KEYS, LOWEST, Axis, Scale, has_keys
from tamis.engines.forest.tests import tests_of
from tamis.language.expression import Typed
from tamis.predicates.base import Frame

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


class Event(NamedTuple):
    """A batch as `held_in` wants it."""

    encoded: Encoded
    tests: RowTests
    with_null: Shorts


class Moved(NamedTuple):
    """Leaves with the axes, coordinates and tests of an index, which may have got other coordinates for it.

    relabelled: axes, old ends of intervals, and what they are instead; both rise.
    """

    leaves: Leaves
    pieces: Pieces
    relabelled: list[tuple[int, Ints, Ints]]


class PredicateIndex:
    """Predicates by number; whoever changes or asks it holds a lock of his own.

    Attributes:
        predicates: What kernels work on.
    """

    def __init__(self) -> None:
        self.predicates = predicates_of()
        self._numbers: dict[Typed, int] = {}
        self._axes: list[Axis] = []
        self._rulers: list[Ruler | None] = []
        self._probing = Probing()
        self._encoder = Encoder((), tests_of(())[0])

    def __len__(self) -> int:
        """Number of predicates in use."""
        return int(predicate_counts(self.predicates)[0])

    @property
    def bound(self) -> int:
        """One more than the greatest number ever given."""
        return int(predicate_counts(self.predicates)[1])

    @property
    def axes(self) -> int:
        """How many axes there are."""
        return len(self._axes)

    def enter(self, forest: Forest) -> Shorts:
        """The predicate of each leaf of a forest, which has a use more for every leaf that says it."""
        moved = self.moved(forest)
        return np.asarray(enter_leaves(self.predicates, moved.leaves, moved.pieces))

    @contextmanager
    def entered(self, forest: Forest) -> Iterator[Shorts]:
        """As `enter`, for as long as the block runs: who keeps a number holds on to it himself."""
        numbers = self.enter(forest)
        yield numbers
        let_go_all(self.predicates, numbers)

    def tidy(self) -> None:
        """Forget the tests whose predicates are gone."""
        for test in dropped_tests(self.predicates).tolist():
            self._probing.forget(test)

    def event(self, frame: Frame) -> Event:
        """The rows of a frame."""
        for ruler in self._rulers:
            if ruler is not None:
                ruler.settle()
        self._probing.settle()
        if len(self._encoder.axes) != len(self._axes):
            self._encoder = Encoder(self._axes, tests_of(())[0])
        return Event(self._encoder.encode(frame), self._probing.held(frame), axes_with_nulls(self.predicates))

    def attribute(self, axis: int) -> Typed:
        """What an axis is about."""
        return self._axes[axis].attribute

    def bytes(self) -> dict[str, int]:
        """By structure; cuts of strings and the like, and tests, are not counted."""
        own, by_value, by_null = predicate_bytes(self.predicates)
        return {"predicates": own, "predicate index": by_value + by_null}

    def _axis(self, attribute: Typed) -> int:
        number = self._numbers.get(attribute)
        if number is None:
            number = self._numbers[attribute] = len(self._axes)
            ruler = None if has_keys(attribute.type) else Ruler(attribute.type)
            self._rulers.append(ruler)
            # Encoders ask a scale for coordinates only, which a ruler gives as well.
            self._axes.append(Axis(attribute, KEYS if ruler is None else cast(Scale, ruler)))
        return number

    def moved(self, forest: Forest) -> Moved:
        """The leaves of a forest with the axes, coordinates and tests of this index."""
        given, pieces = forest.leaves, forest.pieces
        relabelled: list[tuple[int, Ints, Ints]] = []
        axes = np.array([self._axis(axis.attribute) for axis in forest.axes], np.int32)
        labels = [
            self._labels(axis, number, relabelled) for axis, number in zip(forest.axes, axes.tolist(), strict=True)
        ]
        lows, highs = given.lows.copy(), given.highs.copy()
        piece_lows, piece_highs = pieces.lows.copy(), pieces.highs.copy()
        owners = _piece_axes(given, len(pieces.lows))
        for axis, label in enumerate(labels):
            if label is not None:
                here = np.flatnonzero((given.kinds == INTERVAL) & (given.axes == axis) & (lows <= highs))
                _relabel(lows, highs, here, label)
                _relabel(piece_lows, piece_highs, np.flatnonzero(owners == axis), label)
        is_test = given.kinds == TEST
        if is_test.any():
            used = np.unique(lows[is_test])
            numbers = np.full(len(forest.tests), -1, np.int64)
            numbers[used] = [self._probing.number(forest.tests[test]) for test in used.tolist()]
            lows[is_test] = numbers[lows[is_test]]
        named = np.where(is_test, np.int32(-1), axes[given.axes] if len(axes) else np.int32(-1))
        leaves = Leaves(
            np.ascontiguousarray(given.kinds),
            np.ascontiguousarray(given.nulls),
            named.astype(np.int32),
            lows,
            highs,
        )
        reserve_predicates(self.predicates, len(self._axes), len(self._probing))
        return Moved(leaves, Pieces(piece_lows, piece_highs), relabelled)

    def _labels(self, axis: Axis, number: int, relabelled: list[tuple[int, Ints, Ints]]) -> Ints | None:
        """The label of each cut of an axis that has cuts."""
        ruler = self._rulers[number]
        if ruler is None:
            return None
        cuts = [axis.scale.cut(axis.attribute.type, place) for place in range(1, len(axis.scale) + 1)]
        labels, moved = ruler.labels(cuts)
        if moved is not None:
            move_axis(self.predicates, number, moved.old, moved.new)
            relabelled.append((number, moved.old, moved.new))
        return labels


def _piece_axes(leaves: Leaves, count: int) -> Shorts:
    """The axis of every piece, which may stand in any order; -1 if no leaf has it."""
    several = np.flatnonzero(leaves.kinds == PIECES)
    lengths = (leaves.highs - leaves.lows)[several]
    firsts = np.cumsum(lengths) - lengths
    places = np.repeat(leaves.lows[several] - firsts, lengths) + np.arange(lengths.sum())
    axes = np.full(count, -1, np.int32)
    axes[places] = np.repeat(leaves.axes[several], lengths)
    return axes


def _relabel(lows: Ints, highs: Ints, here: Ints, labels: Ints) -> None:
    """Turn ranks into labels, in place: the ranks from a + 1 to b lie between cut a and cut b."""
    some = here[lows[here] != LOWEST]
    lows[some] = labels[lows[some] - 1]
    some = here[highs[here] != HIGHEST]
    highs[some] = labels[highs[some]] - 1
