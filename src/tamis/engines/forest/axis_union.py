"""The union of the axes of several sources: one axis per attribute, whose scale has the cuts of all sources.

Sources are forests and columns of cuts. First all of them are added, then `rank` ranks all cuts at once; after
that the union has the rank of every cut that was added, and translates the leaves of every forest to the common
axes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.forest import INTERVAL, TEST, Forest, Leaves, Pieces
from tamis.engines.forest.axes import (
    HIGHEST,
    KEY_SCALE,
    LOWEST,
    Axis,
    NumberScale,
    ObjectScale,
    Scale,
    TextScale,
    has_keys,
)
from tamis.engines.forest.ranking import (
    AT,
    DOUBLE_BEYOND,
    INT_BEYOND,
    NumberCuts,
    TextCuts,
    rank_numbers,
    rank_texts,
    take_texts,
)
from tamis.formulas.expression import Typed
from tamis.kernels import kernel
from tamis.values.ranges import Key
from tamis.values.types import BINARY, NUMBER, STRING


@dataclass(frozen=True, slots=True)
class _ForestCuts:
    """A forest's cuts: those of axis a are `[firsts[a], firsts[a + 1])` of `places`."""

    forest: Forest
    axes: I32  # per axis: its number in the union, -1 if no leaf uses it
    firsts: I64
    places: I32  # in the union; known after `rank`
    used: list[tuple[int, int, I64]]  # per batch of cuts: the axis, the batch, where they are in `places`


class AxisUnion:
    """Collects axes and cuts; see the docstring of the module."""

    def __init__(self) -> None:
        self.numbers: dict[Typed, int] = {}
        self._texts: list[TextCuts] = []
        self._numbers: list[NumberCuts] = []
        self._objects: dict[int, set[Key]] = {}
        self._text_places: list[I32] = []
        self._number_places: list[I32] = []
        self._sources: list[_ForestCuts] = []
        self._axes: tuple[Axis, ...] = ()

    def axis(self, attribute: Typed) -> int:
        """The number of an attribute's axis."""
        return self.numbers.setdefault(attribute, len(self.numbers))

    def add_texts(self, cuts: TextCuts) -> int:
        """Add cuts of strings; `text_places` takes the number returned here."""
        self._texts.append(cuts)
        return len(self._texts) - 1

    def add_numbers(self, cuts: NumberCuts) -> int:
        """Add cuts of schemaless numbers; `number_places` takes the number returned here."""
        self._numbers.append(cuts)
        return len(self._numbers) - 1

    def add_forest(self, forest: Forest) -> int:
        """Add the axes and cuts that a forest's leaves use; `translate` takes the number returned here."""
        lengths = [len(axis.scale) for axis in forest.axes]
        firsts = np.cumsum([0, *lengths]).astype(np.int64)
        axis_used, used = np.zeros(len(lengths), np.uint8), np.zeros(int(firsts[-1]), np.uint8)
        _mark_used_cuts(forest.leaves, forest.pieces, firsts, axis_used, used)
        axes = np.full(len(lengths), -1, np.int32)
        for old in np.flatnonzero(axis_used).tolist():
            axes[old] = self.axis(forest.axes[old].attribute)
        batches: list[tuple[int, int, I64]] = []
        for old in np.flatnonzero((np.diff(firsts) > 0) & (axis_used > 0)).tolist():
            here = np.flatnonzero(used[firsts[old] : firsts[old + 1]])
            batch = self._add_cuts(int(axes[old]), forest.axes[old].scale, here)
            batches.append((old, batch, here + firsts[old]))
        self._sources.append(_ForestCuts(forest, axes, firsts, np.zeros(int(firsts[-1]), np.int32), batches))
        return len(self._sources) - 1

    def _add_cuts(self, axis: int, scale: Scale, here: I64) -> int:
        axes = np.full(len(here), axis, np.int32)
        match scale:
            case TextScale():
                return self.add_texts(
                    TextCuts(axes, np.full(len(here), AT, np.uint8), *take_texts(scale.offsets, scale.data, here))
                )
            case NumberScale():
                ints, doubles = here[here < len(scale.ints)], here[here < len(scale.doubles)]
                beyond = np.zeros(len(here), np.uint8)
                beyond[len(ints) :] |= INT_BEYOND
                beyond[len(doubles) :] |= DOUBLE_BEYOND
                return self.add_numbers(
                    NumberCuts(
                        axes,
                        np.concatenate([scale.ints[ints], np.full(len(here) - len(ints), HIGHEST)]),
                        np.concatenate([scale.doubles[doubles], np.full(len(here) - len(doubles), HIGHEST)]),
                        beyond,
                    )
                )
            case _:
                assert isinstance(scale, ObjectScale), "keys have no cuts"
                self._objects.setdefault(axis, set()).update([scale.cuts[place] for place in here.tolist()])
                return axis

    def rank(self) -> tuple[Axis, ...]:
        """Rank all cuts; returns the common axes."""
        self._text_places, texts = rank_texts(self._texts, len(self.numbers))
        self._number_places, numbers = rank_numbers(self._numbers, len(self.numbers))
        axes = []
        for attribute, number in self.numbers.items():
            scale: Scale
            if has_keys(attribute.type):
                scale = KEY_SCALE
            elif attribute.type in (STRING, BINARY):
                scale = texts[number]
            elif attribute.type == NUMBER:
                scale = numbers[number]
            else:
                scale = ObjectScale(tuple(sorted(self._objects.get(number, ()))))
            axes.append(Axis(attribute, scale))
        self._axes = tuple(axes)
        for source in self._sources:
            self._fill(source)
        return self._axes

    def _fill(self, source: _ForestCuts) -> None:
        """Find the places of a forest's cuts."""
        for old, batch, where in source.used:
            scale = source.forest.axes[old].scale
            if isinstance(scale, TextScale):
                source.places[where] = self._text_places[batch]
            elif isinstance(scale, NumberScale):
                source.places[where] = self._number_places[batch]
            elif isinstance(scale, ObjectScale):
                joined = self._axes[batch].scale
                assert isinstance(joined, ObjectScale)
                ranked = {cut: place for place, cut in enumerate(joined.cuts)}
                mine = (where - source.firsts[old]).tolist()
                source.places[where] = [ranked[scale.cuts[place]] for place in mine]

    def text_places(self, batch: int) -> I32:
        """The places of cuts that were added."""
        return self._text_places[batch]

    def number_places(self, batch: int) -> I32:
        """The places of cuts that were added."""
        return self._number_places[batch]

    def translate(self, number: int) -> tuple[Leaves, Pieces]:
        """The leaves of a forest on the common axes."""
        source = self._sources[number]
        old = source.forest.leaves
        leaves = Leaves(old.kinds, old.nulls, np.empty_like(old.axes), old.lows.copy(), old.highs.copy())
        pieces = Pieces(source.forest.pieces.lows.copy(), source.forest.pieces.highs.copy())
        _translate_leaves(old.axes, source.axes, source.firsts, source.places, leaves, pieces)
        return leaves, pieces


@kernel
def _mark_used_cuts(leaves: Leaves, pieces: Pieces, firsts: I64, axis_used: U8, used: U8) -> None:
    """Mark the axes and the cuts that the leaves use."""
    kinds, axes, lows, highs = leaves.kinds, leaves.axes, leaves.lows, leaves.highs
    piece_lows, piece_highs = pieces.lows, pieces.highs
    for number in range(len(kinds)):
        if kinds[number] == TEST:
            continue
        axis = axes[number]
        axis_used[axis] = 1
        first = firsts[axis]
        if firsts[axis + 1] == first:
            continue
        is_interval = kinds[number] == INTERVAL
        for piece in range(0 if is_interval else lows[number], 1 if is_interval else highs[number]):
            low = lows[number] if is_interval else piece_lows[piece]
            high = highs[number] if is_interval else piece_highs[piece]
            # Ranks a + 1 to b are between cut a and cut b.
            if low <= high:
                if low != LOWEST:
                    used[first + low - 1] = 1
                if high != HIGHEST:
                    used[first + high] = 1


@kernel
def _translate_leaves(axes: I32, numbers: I32, firsts: I64, places: I32, leaves: Leaves, pieces: Pieces) -> None:
    """Translate leaves to the axes of the union, in place."""
    kinds, new_axes, lows, highs = leaves.kinds, leaves.axes, leaves.lows, leaves.highs
    piece_lows, piece_highs = pieces.lows, pieces.highs
    for number in range(len(axes)):
        if kinds[number] == TEST:
            new_axes[number] = -1
            continue
        axis = axes[number]
        new_axes[number] = numbers[axis]
        first = firsts[axis]
        has_cuts = firsts[axis + 1] > first
        if kinds[number] != INTERVAL:
            if has_cuts:
                for piece in range(lows[number], highs[number]):
                    if piece_lows[piece] != LOWEST:
                        piece_lows[piece] = places[first + piece_lows[piece] - 1] + 1
                    if piece_highs[piece] != HIGHEST:
                        piece_highs[piece] = places[first + piece_highs[piece]]
        elif lows[number] > highs[number]:
            lows[number], highs[number] = HIGHEST, LOWEST
        elif has_cuts:
            if lows[number] != LOWEST:
                lows[number] = places[first + lows[number] - 1] + 1
            if highs[number] != HIGHEST:
                highs[number] = places[first + highs[number]]
