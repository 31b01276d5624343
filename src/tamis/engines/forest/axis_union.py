"""Axes of several sources made one: an attribute has one axis, whose scale has the cuts of all that ask about it.

Sources are whole forests and columns of cuts. First everything is added, then `settle` ranks all cuts at once;
after that the union tells the place of every cut that was added, and gives the leaves of every forest on the
common axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.forest import INTERVAL, TEST, Forest, Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, KEYS, LOWEST, Axis, Mixed, Objects, Scale, Texts, has_keys
from tamis.engines.forest.ranking import (
    AT,
    DOUBLE_BEYOND,
    INT_BEYOND,
    NumberCuts,
    TextCuts,
    rank_numbers,
    rank_texts,
    taken_texts,
)
from tamis.language.expression import Typed
from tamis.values.ranges import Key
from tamis.values.types import BINARY, NUMBER, STRING

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Source:
    """A forest's cuts: those of axis a are `[firsts[a], firsts[a + 1])` of `places`."""

    forest: Forest
    axes: Shorts  # per axis: its number in the union, -1 if no leaf asks about it
    firsts: Ints
    places: Shorts  # in the union; known when it is settled
    used: list[tuple[int, int, Ints]]  # per batch of cuts: the axis, the batch, where they are in `places`


class AxisUnion:
    """Collects axes and cuts; see the module."""

    def __init__(self) -> None:
        self.numbers: dict[Typed, int] = {}
        self._texts: list[TextCuts] = []
        self._numbers: list[NumberCuts] = []
        self._objects: dict[int, set[Key]] = {}
        self._text_places: list[Shorts] = []
        self._number_places: list[Shorts] = []
        self._sources: list[_Source] = []
        self._axes: tuple[Axis, ...] = ()

    def axis(self, attribute: Typed) -> int:
        """The number of an attribute's axis."""
        return self.numbers.setdefault(attribute, len(self.numbers))

    def add_texts(self, cuts: TextCuts) -> int:
        """Add cuts of strings; `text_places` tells their places by the number given here."""
        self._texts.append(cuts)
        return len(self._texts) - 1

    def add_numbers(self, cuts: NumberCuts) -> int:
        """Add cuts of schemaless numbers; `number_places` tells their places by the number given here."""
        self._numbers.append(cuts)
        return len(self._numbers) - 1

    def add_forest(self, forest: Forest) -> int:
        """Add the axes and cuts that a forest's leaves use; `moved` gives the leaves by the number given here."""
        lengths = [len(axis.scale) for axis in forest.axes]
        firsts = np.cumsum([0, *lengths]).astype(np.int64)
        axis_used, used = np.zeros(len(lengths), np.uint8), np.zeros(int(firsts[-1]), np.uint8)
        _mark(forest.leaves, forest.pieces, firsts, axis_used, used)
        axes = np.full(len(lengths), -1, np.int32)
        for old in np.flatnonzero(axis_used).tolist():
            axes[old] = self.axis(forest.axes[old].attribute)
        batches: list[tuple[int, int, Ints]] = []
        for old in np.flatnonzero((np.diff(firsts) > 0) & (axis_used > 0)).tolist():
            here = np.flatnonzero(used[firsts[old] : firsts[old + 1]])
            batch = self._add_cuts(int(axes[old]), forest.axes[old].scale, here)
            batches.append((old, batch, here + firsts[old]))
        self._sources.append(_Source(forest, axes, firsts, np.zeros(int(firsts[-1]), np.int32), batches))
        return len(self._sources) - 1

    def _add_cuts(self, axis: int, scale: Scale, here: Ints) -> int:
        axes = np.full(len(here), axis, np.int32)
        match scale:
            case Texts():
                return self.add_texts(
                    TextCuts(axes, np.full(len(here), AT, np.uint8), *taken_texts(scale.offsets, scale.data, here))
                )
            case Mixed():
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
                assert isinstance(scale, Objects), "keys have no cuts"
                self._objects.setdefault(axis, set()).update([scale.cuts[place] for place in here.tolist()])
                return axis

    def settle(self) -> tuple[Axis, ...]:
        """Rank all cuts; gives the common axes."""
        self._text_places, texts = rank_texts(self._texts, len(self.numbers))
        self._number_places, numbers = rank_numbers(self._numbers, len(self.numbers))
        axes = []
        for attribute, number in self.numbers.items():
            scale: Scale
            if has_keys(attribute.type):
                scale = KEYS
            elif attribute.type in (STRING, BINARY):
                scale = texts[number]
            elif attribute.type == NUMBER:
                scale = numbers[number]
            else:
                scale = Objects(tuple(sorted(self._objects.get(number, ()))))
            axes.append(Axis(attribute, scale))
        self._axes = tuple(axes)
        for source in self._sources:
            self._fill(source)
        return self._axes

    def _fill(self, source: _Source) -> None:
        """Find the places of a forest's cuts."""
        for old, batch, where in source.used:
            scale = source.forest.axes[old].scale
            if isinstance(scale, Texts):
                source.places[where] = self._text_places[batch]
            elif isinstance(scale, Mixed):
                source.places[where] = self._number_places[batch]
            elif isinstance(scale, Objects):
                joined = self._axes[batch].scale
                assert isinstance(joined, Objects)
                ranked = {cut: place for place, cut in enumerate(joined.cuts)}
                mine = (where - source.firsts[old]).tolist()
                source.places[where] = [ranked[scale.cuts[place]] for place in mine]

    def text_places(self, batch: int) -> Shorts:
        """The places of cuts that were added."""
        return self._text_places[batch]

    def number_places(self, batch: int) -> Shorts:
        """The places of cuts that were added."""
        return self._number_places[batch]

    def moved(self, number: int) -> tuple[Leaves, Pieces]:
        """The leaves of a forest on the common axes."""
        source = self._sources[number]
        old = source.forest.leaves
        leaves = Leaves(old.kinds, old.nulls, np.empty_like(old.axes), old.lows.copy(), old.highs.copy())
        pieces = Pieces(source.forest.pieces.lows.copy(), source.forest.pieces.highs.copy())
        _move(old.axes, source.axes, source.firsts, source.places, leaves, pieces)
        return leaves, pieces


@numba.njit(cache=True, nogil=True)
def _mark(leaves: Leaves, pieces: Pieces, firsts: Ints, axis_used: Bytes, used: Bytes) -> None:
    """Which axes and which cuts the leaves use."""
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
            # The ranks from a + 1 to b lie between cut a and cut b.
            if low <= high:
                if low != LOWEST:
                    used[first + low - 1] = 1
                if high != HIGHEST:
                    used[first + high] = 1


@numba.njit(cache=True, nogil=True)
def _move(axes: Shorts, numbers: Shorts, firsts: Ints, places: Shorts, leaves: Leaves, pieces: Pieces) -> None:
    """Put leaves on the axes of the union, in place."""
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
