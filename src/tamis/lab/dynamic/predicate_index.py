"""The predicates of an index that changes in place: leaves to predicate numbers, events to satisfied predicates.

An engine interns the leaves of a forest and gets a predicate number for each; equal leaves get the same number,
with a use count. When a subscription is deleted, the engine's kernels release its predicates
(`kernels.predicates.release_predicate`), and the engine calls `drop_unused_tests` afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.encoding import EncodedBatch, Encoder
from tamis.engines.forest import INTERVAL, PIECES, TEST, Forest, Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, KEY_SCALE, LOWEST, Axis, Scale, has_keys
from tamis.engines.forest.tests import tests_of
from tamis.engines.formula_program import RowTests
from tamis.formulas.expression import Typed
from tamis.formulas.predicates.base import Frame
from tamis.lab.dynamic.kernels.predicates import (
    axes_with_nulls,
    empty_predicates,
    intern_leaves,
    predicate_bytes,
    predicate_counts,
    relabel_axis,
    release_predicates,
    reserve_predicates,
    take_dropped_tests,
)
from tamis.lab.dynamic.order_labels import OrderLabels
from tamis.lab.dynamic.pattern_groups import PatternGroups


class EncodedEvents(NamedTuple):
    """A batch as `kernels.predicates.satisfied_in` reads it.

    encoded: the coordinates of each row.
    tests: the tests that each row satisfies.
    with_null: int32[...]: the axes on which NULL satisfies some predicate.
    """

    encoded: EncodedBatch
    tests: RowTests
    with_null: I32


class TranslatedLeaves(NamedTuple):
    """Leaves in the axes, coordinates and test numbers of an index.

    relabelled: axes whose labels moved to make room, with old labels and new ones; both rise.
    """

    leaves: Leaves
    pieces: Pieces
    relabelled: list[tuple[int, I64, I64]]


class PredicateIndex:
    """Predicates by number; the caller holds a lock.

    Attributes:
        predicates: The arrays that kernels read and change.
    """

    def __init__(self, patterns: PatternGroups | None = None) -> None:
        """No predicates; `patterns`, which is empty, finds those that are no intervals."""
        self.predicates = empty_predicates()
        self._numbers: dict[Typed, int] = {}
        self._axes: list[Axis] = []
        self._labels: list[OrderLabels | None] = []
        self._patterns = PatternGroups() if patterns is None else patterns
        self._encoder = Encoder((), tests_of(())[0])

    def __len__(self) -> int:
        return int(predicate_counts(self.predicates)[0])

    @property
    def number_limit(self) -> int:
        """One more than the greatest number ever given."""
        return int(predicate_counts(self.predicates)[1])

    @property
    def axes(self) -> int:
        return len(self._axes)

    def intern(self, forest: Forest) -> I32:
        """The predicate number of each leaf of a forest; a use of it is counted for each leaf."""
        translated = self.translate(forest)
        return np.asarray(intern_leaves(self.predicates, translated.leaves, translated.pieces))

    @contextmanager
    def interned_leaves(self, forest: Forest) -> Iterator[I32]:
        """As `intern`, but the uses end with the block: kernels retain the predicates that they keep."""
        numbers = self.intern(forest)
        yield numbers
        release_predicates(self.predicates, numbers)

    def drop_unused_tests(self) -> None:
        """Remove the tests whose predicates have no use left."""
        for test in take_dropped_tests(self.predicates).tolist():
            self._patterns.remove(test)

    def encode(self, frame: Frame) -> EncodedEvents:
        for labels in self._labels:
            if labels is not None:
                labels.index_waiting()
        self._patterns.index_waiting()
        if len(self._encoder.axes) != len(self._axes):
            self._encoder = Encoder(self._axes, tests_of(())[0])
        return EncodedEvents(
            self._encoder.encode(frame), self._patterns.satisfied_tests(frame), axes_with_nulls(self.predicates)
        )

    def attribute(self, axis: int) -> Typed:
        """The attribute of an axis."""
        return self._axes[axis].attribute

    def bytes(self) -> dict[str, int]:
        """Bytes by structure; labelled cuts and tests are not counted."""
        own, by_value, by_null = predicate_bytes(self.predicates)
        return {"predicates": own, "predicate index": by_value + by_null}

    def axis(self, attribute: Typed) -> int:
        """The axis of an attribute, made if it is missing."""
        number = self._numbers.get(attribute)
        if number is None:
            number = self._numbers[attribute] = len(self._axes)
            labels = None if has_keys(attribute.type) else OrderLabels(attribute.type)
            self._labels.append(labels)
            # Of a scale, encoders use the coordinates only, which labels give as well.
            self._axes.append(Axis(attribute, KEY_SCALE if labels is None else cast(Scale, labels)))
        return number

    def translate(self, forest: Forest) -> TranslatedLeaves:
        """The leaves of a forest in the axes, coordinates and test numbers of this index."""
        given, pieces = forest.leaves, forest.pieces
        relabelled: list[tuple[int, I64, I64]] = []
        axes = np.array([self.axis(axis.attribute) for axis in forest.axes], np.int32)
        labels = [
            self._cut_labels(axis, number, relabelled)
            for axis, number in zip(forest.axes, axes.tolist(), strict=True)
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
            numbers[used] = [self._patterns.number(forest.tests[test]) for test in used.tolist()]
            lows[is_test] = numbers[lows[is_test]]
        named = np.where(is_test, np.int32(-1), axes[given.axes] if len(axes) else np.int32(-1))
        leaves = Leaves(
            np.ascontiguousarray(given.kinds),
            np.ascontiguousarray(given.nulls),
            named.astype(np.int32),
            lows,
            highs,
        )
        reserve_predicates(self.predicates, len(self._axes), len(self._patterns))
        return TranslatedLeaves(leaves, Pieces(piece_lows, piece_highs), relabelled)

    def _cut_labels(self, axis: Axis, number: int, relabelled: list[tuple[int, I64, I64]]) -> I64 | None:
        """The label of each cut of an axis of a forest; None if its values are coordinates themselves."""
        known = self._labels[number]
        if known is None:
            return None
        cuts = [axis.scale.cut(axis.attribute.type, place) for place in range(1, len(axis.scale) + 1)]
        labels, moved = known.labels(cuts)
        if moved is not None:
            relabel_axis(self.predicates, number, moved.old, moved.new)
            relabelled.append((number, moved.old, moved.new))
        return labels


def _piece_axes(leaves: Leaves, count: int) -> I32:
    """int32[count]: the axis of every piece, -1 if it belongs to no leaf."""
    several = np.flatnonzero(leaves.kinds == PIECES)
    lengths = (leaves.highs - leaves.lows)[several]
    firsts = np.cumsum(lengths) - lengths
    places = np.repeat(leaves.lows[several] - firsts, lengths) + np.arange(lengths.sum())
    axes = np.full(count, -1, np.int32)
    axes[places] = np.repeat(leaves.axes[several], lengths)
    return axes


def _relabel(lows: I64, highs: I64, here: I64, labels: I64) -> None:
    """Turn ranks of cuts into labels, in place: the ranks from a + 1 to b lie between cut a and cut b."""
    some = here[lows[here] != LOWEST]
    lows[some] = labels[lows[some] - 1]
    some = here[highs[here] != HIGHEST]
    highs[some] = labels[highs[some]] - 1
