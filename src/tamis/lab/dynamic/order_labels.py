"""Order maintenance: integer coordinates for strings, decimals and mixed numbers, which conditions cut one by one.

Each cut (a constant that conditions compare with) has a label, and labels rise as cuts do, with gaps for cuts to
come. The coordinate of a value is the label of the last cut at or below it:

    cuts            "apple"        "kiwi"          "pear"
    labels             0            2^32            2^33
    coordinate of   "banana" = 0   "kiwi" = 2^32   "plum" = 2^33

    insert "fig":      0     2^31   2^32            2^33      intervals that are indexed stay as they are

When a gap has no room, all cuts get labels at even distances (`Relabelling`), and the interval index follows.
Values are found by binary search over static scales, which are merged by size as in `pattern_groups`; the
coordinate is the greatest that any of them gives.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import I64
from tamis.engines.forest.axes import (
    LOWEST,
    NumberScale,
    ObjectScale,
    TextScale,
    number_ends,
    number_scale,
    text_scale,
)
from tamis.values.column import Column, Value
from tamis.values.ranges import Key
from tamis.values.types import BINARY, NUMBER, STRING, Type

_STEP = 1 << 32
"""The distance of a label behind the last one, or before the first."""
_MOST = 1 << 62
"""Labels stay nearer to 0 than this."""


class _Tier(NamedTuple):
    """Sorted cuts with a static scale; `labels[i]` is the label of cut i - 1, `labels[0]` of what is below all."""

    order: list[Any]
    scale: TextScale | NumberScale | ObjectScale
    labels: I64


class Relabelling(NamedTuple):
    """Labels before and after they were redistributed, both rising."""

    old: I64
    new: I64


class OrderLabels:
    """Cuts of one axis and their labels; as a scale it gives the coordinates of values."""

    def __init__(self, type_: Type) -> None:
        self._type = type_
        self._order: list[Any] = []
        self._labels: dict[Any, int] = {}
        self._tiers: list[_Tier] = []
        self._waiting: list[Any] = []

    def __len__(self) -> int:
        return len(self._order)

    def labels(self, cuts: Iterable[Key]) -> tuple[I64, Relabelling | None]:
        """The labels of these cuts, which are added if they are new, and what became of others if labels moved."""
        keys = [self._sort_key(cut) for cut in cuts]
        new = sorted({key for key in keys if key not in self._labels})
        before: list[tuple[Any, int]] | None = None
        for key in new:
            place = bisect_left(self._order, key)
            label = self._between(place)
            if label is None:
                if before is None:
                    before = [(known, self._labels[known]) for known in self._order]
                self._redistribute()
                label = self._between(place)
                assert label is not None, "there is room after redistribution"
            self._order.insert(place, key)
            self._labels[key] = label
        self._waiting += new
        found = np.fromiter((self._labels[key] for key in keys), np.int64, len(keys))
        if before is None:
            return found, None
        moved = [self._labels[key] for key, _ in before]
        self._rebuild()
        return found, Relabelling(np.array([label for _, label in before], np.int64), np.array(moved, np.int64))

    def _sort_key(self, cut: Key) -> Any:
        """A key that sorts as cuts do, and is the same for cuts that divide values in the same way."""
        if self._type == STRING:
            return cut.encode()
        return number_ends(cut) if self._type == NUMBER else cut

    def _between(self, place: int) -> int | None:
        """A label for a new cut at a place of the order; None if the gap is full."""
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

    def _redistribute(self) -> None:
        """Give all cuts labels at even distances."""
        step = _MOST // (len(self._order) + 1)
        middle = len(self._order) // 2
        self._labels = {key: (place - middle) * step for place, key in enumerate(self._order)}

    def _rebuild(self) -> None:
        self._tiers = []
        self._waiting = list(self._order)

    # --- as a scale --------------------------------------------------------------------------------------

    def index_waiting(self) -> None:
        """Make a tier of the cuts that have none yet, together with the tiers that are not much larger."""
        if not self._waiting:
            return
        order = sorted(self._waiting)
        self._waiting = []
        while self._tiers and len(self._tiers[-1].order) < 2 * len(order):
            order = sorted(self._tiers.pop().order + order)  # two sorted runs: linear time
        labels = np.fromiter((self._labels[key] for key in order), np.int64, len(order))
        self._tiers.append(_Tier(order, self._scale(order), np.concatenate([[LOWEST], labels])))

    def _scale(self, order: Sequence[Any]) -> TextScale | NumberScale | ObjectScale:
        if self._type in (STRING, BINARY):
            return text_scale(order)
        return number_scale(order) if self._type == NUMBER else ObjectScale(tuple(order))

    def coordinates(self, column: Column) -> I64:
        """The coordinate of every row; undefined where it is NULL."""
        found = np.full(len(column), LOWEST, np.int64)
        for tier in self._tiers:
            np.maximum(found, tier.labels[tier.scale.coordinates(column)], out=found)
        return found

    def coordinate(self, type_: Type, value: Value) -> int:
        return max([LOWEST, *(int(tier.labels[tier.scale.coordinate(type_, value)]) for tier in self._tiers)])
