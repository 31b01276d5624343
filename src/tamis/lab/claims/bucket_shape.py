"""What an index of `buckets` looks like: how deep its conjunctions are, and how many of its structures ever split.

A structure has split if it has an index, which it gets when its first bucket overflows and keeps. `Shaped` gives
these counts beside those that the index gives itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numba

from tamis.arrays import I32
from tamis.engines.base import Index, Matches, Stats
from tamis.engines.forest import Forest
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.lab.boxes.kernels.boxes import all_terms
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.lab.mishra_sahni.buckets.kernels.organisation import HEADER
from tamis.lab.mishra_sahni.buckets.kernels.structures import OPEN
from tamis.statistics import Statistics


class Shape(NamedTuple):
    """Of conjunctions that have a bucket: the sum of their depths and the deepest; and how much has split.

    A conjunction in a structure that the header owns has depth 1.
    """

    depths: int
    deepest: int
    split_structures: int
    in_split_structures: int


class Shaped:
    """The engine `buckets`, whose indexes tell their shape."""

    name = Buckets.name
    dynamic = False

    def __init__(self, engine: Buckets) -> None:
        self._engine = engine

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> Index:
        """As the engine."""
        return ShapedIndex(self._engine.build(formulas, statistics))


class ShapedIndex:
    """An index of `buckets`, with more in its statistics."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def match(self, events: EventBatch | Frame) -> Matches:
        """As the index."""
        return Matches(*self._index.match(events))

    def insert_many(self, slots: I32, forest: Forest) -> None:
        """As the index."""
        self._index.insert_many(slots, forest)

    def delete_many(self, slots: I32) -> None:
        """As the index."""
        self._index.delete_many(slots)

    def work(self) -> dict[str, int]:
        """As the index."""
        return dict(self._index.work())

    def stats(self) -> Stats:
        """As the index, with the counts of `Shape`."""
        found = self._index.stats()
        return Stats(found.counts | shape_of(self._index)._asdict(), found.bytes)


def shape_of(index: Any) -> Shape:
    """Of an index of `buckets` that has nothing waiting to be filed."""
    store = index._store
    return Shape(*_shape(store._own, store._boxes, all_terms(store._boxes)))


@numba.njit(cache=True, nogil=True)
def _shape(own: Any, boxes: Any, terms: I32) -> tuple[int, int, int, int]:
    structures, buckets = own.structures.records, own.structures.store.buckets
    depths = deepest = split = inside = 0
    for term in terms:
        if boxes.lengths[term] == 0:
            continue
        bucket = own.structures.store.homes[term]
        if structures[buckets[bucket].home].kind != OPEN:
            inside += 1
        depth = 0
        while bucket != HEADER:
            depth += 1
            bucket = structures[buckets[bucket].home].parent
        depths += depth
        deepest = max(deepest, depth)
    for place in own.structures.owned.places:
        if place.value >= 0 and structures[place.value].kind != OPEN:
            split += 1
    return depths, deepest, split, inside
