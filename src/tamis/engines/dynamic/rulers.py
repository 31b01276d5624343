"""Rulers: coordinates for values whose order is known by the cuts that conditions make, which come one by one.

Every cut gets a label, a whole number; labels rise as the cuts do, and leave gaps for cuts to come. The coordinate
of a value is the label of the last cut at or below it. So a new cut changes no interval that is there, unless a
gap is full, which gives all cuts new labels.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.forest.axes import LOWEST, Mixed, Objects, Texts, mixed_of, number_ends, texts_of
from tamis.values.column import Column, Value
from tamis.values.ranges import Key
from tamis.values.types import BINARY, NUMBER, STRING, Type

Ints: TypeAlias = npt.NDArray[np.int64]

_STEP = 1 << 32
"""Between labels behind the last and before the first one."""
_MOST = 1 << 62
"""No label is farther from 0."""


class _Tier(NamedTuple):
    """Some cuts: their scale, and the label of each behind that of what is below them all."""

    order: list[Any]
    scale: Texts | Mixed | Objects
    labels: Ints


class Relabelled(NamedTuple):
    """Labels that were given anew, both rising."""

    old: Ints
    new: Ints


class Ruler:
    """Cuts of one axis and their labels; as a scale it gives the coordinates of values."""

    def __init__(self, type_: Type) -> None:
        self._type = type_
        self._order: list[Any] = []
        self._labels: dict[Any, int] = {}
        self._tiers: list[_Tier] = []
        self._waiting: list[Any] = []

    def __len__(self) -> int:
        """Number of cuts."""
        return len(self._order)

    def labels(self, cuts: Iterable[Key]) -> tuple[Ints, Relabelled | None]:
        """The labels of these cuts, and what became of all others if they had to be given anew."""
        keys = [self._sort_key(cut) for cut in cuts]
        new = sorted({key for key in keys if key not in self._labels})
        before: list[tuple[Any, int]] | None = None
        for key in new:
            place = bisect_left(self._order, key)
            label = self._between(place)
            if label is None:
                if before is None:
                    before = [(known, self._labels[known]) for known in self._order]
                self._spread()
                label = self._between(place)
                assert label is not None, "there is room after spreading"
            self._order.insert(place, key)
            self._labels[key] = label
        self._waiting += new
        found = np.fromiter((self._labels[key] for key in keys), np.int64, len(keys))
        if before is None:
            return found, None
        moved = [self._labels[key] for key, _ in before]
        self._rebuild()
        return found, Relabelled(np.array([label for _, label in before], np.int64), np.array(moved, np.int64))

    def _sort_key(self, cut: Key) -> Any:
        """What sorts as the cuts do, the same for cuts that part the same values."""
        if self._type == STRING:
            return cut.encode()
        return number_ends(cut) if self._type == NUMBER else cut

    def _between(self, place: int) -> int | None:
        """A label for a cut at a place of the order; None if there is no room."""
        order, labels = self._order, self._labels
        if not order:
            return 0
        if place == len(order):
            label = labels[order[-1]] + _STEP
        elif place == 0:
            label = labels[order[0]] - _STEP
        else:
            low, high = labels[order[place - 1]], labels[order[place]]
            return (low + high) // 2 if high - low > 1 else None
        return label if abs(label) < _MOST else None

    def _spread(self) -> None:
        """Give all cuts labels at even distances."""
        step = _MOST // (len(self._order) + 1)
        middle = len(self._order) // 2
        self._labels = {key: (place - middle) * step for place, key in enumerate(self._order)}

    def _rebuild(self) -> None:
        self._tiers = []
        self._waiting = list(self._order)

    # --- as a scale --------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Make cuts that wait ready to be looked up: a tier, together with the tiers that are not much larger."""
        if not self._waiting:
            return
        order = sorted(self._waiting)
        self._waiting = []
        while self._tiers and len(self._tiers[-1].order) < 2 * len(order):
            order = sorted(self._tiers.pop().order + order)  # two sorted runs, which take linear time
        labels = np.fromiter((self._labels[key] for key in order), np.int64, len(order))
        self._tiers.append(_Tier(order, self._scale(order), np.concatenate([[LOWEST], labels])))

    def _scale(self, order: Sequence[Any]) -> Texts | Mixed | Objects:
        if self._type in (STRING, BINARY):
            return texts_of(order)
        return mixed_of(order) if self._type == NUMBER else Objects(tuple(order))

    def coordinates(self, column: Column) -> Ints:
        """The coordinate of every row; anything where it is NULL."""
        found = np.full(len(column), LOWEST, np.int64)
        for tier in self._tiers:
            np.maximum(found, tier.labels[tier.scale.coordinates(column)], out=found)
        return found

    def coordinate(self, type_: Type, value: Value) -> int:
        """The coordinate of one value."""
        return max([LOWEST, *(int(tier.labels[tier.scale.coordinate(type_, value)]) for tier in self._tiers)])
