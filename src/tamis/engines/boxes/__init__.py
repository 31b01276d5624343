"""The frame of an engine that files terms by their intervals: everything but how they are filed and found.

Such an engine asks an event's values for boxes that hold them, and looks at the terms that it finds; it needs no
index of predicates. The order of axes is from rare to frequent; it is made anew, and all terms are filed anew,
when there are twice as many as when it was made.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Stats
from tamis.engines.boxes.rows import Rows, rows_of, sides_met
from tamis.engines.boxes.sides import (
    all_terms,
    beginnings,
    box_bytes,
    box_counts,
    boxes_of,
    free_boxes,
    insert_boxes,
    lay_out,
    move_sides,
    pairs_of_boxes,
    rank_axes,
    reserve_box_axes,
    terms_in,
    uses_of,
)
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.dynamic.index import Event, PredicateIndex
from tamis.engines.dynamic.normal_form import TermFile
from tamis.engines.forest import Forest

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


class BoxFile(TermFile):
    """A `TermFile` of boxes."""

    def __init__(self) -> None:
        self._boxes = boxes_of()
        self._ranked = -1

    def insert(
        self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: Shorts
    ) -> None:
        """As `TermFile`."""
        leaves, pieces, relabelled = predicates.moved(forest)
        reserve_box_axes(self._boxes, predicates.axes)
        for axis, old, new in relabelled:
            move_sides(self._boxes, axis, old, new)
        terms = insert_boxes(self._boxes, predicates.predicates, conjunctions, leaves, pieces, slots)
        count = box_counts(self._boxes)[0]
        if relabelled or count > 2 * self._ranked:  # the first time, even if nothing can be satisfied
            rank_axes(self._boxes, self._ranks())
            self._ranked = count
            self._clear(predicates)
            self._put_all(self._laid_out())
        else:
            self._put(terms)

    def delete(self, predicates: PredicateIndex, slots: Shorts) -> None:
        """As `TermFile`."""
        terms = terms_in(self._boxes, slots)
        self._take(terms)
        free_boxes(self._boxes, predicates.predicates, terms)

    def match(self, predicates: PredicateIndex, event: Event) -> tuple[Shorts, Shorts, Bytes]:
        """As `TermFile`."""
        rows, heads = self._match(predicates, rows_of(self._boxes, event))
        found, slots, sure = pairs_of_boxes(self._boxes, rows, heads)
        return found, slots, sure

    def estimate(self, predicates: PredicateIndex, event: Event) -> Ints:
        """As `TermFile`: the sides on the axes that have a value."""
        return np.asarray(sides_met(rows_of(self._boxes, event), uses_of(self._boxes)))

    def stats(self) -> Stats:
        """As `TermFile`."""
        terms, sides = box_counts(self._boxes)
        sizes = dict(zip(("sides", "predicates of terms", "slots"), box_bytes(self._boxes), strict=True))
        found = self._stats()
        return Stats({"conjunctions": terms, "sides": sides} | found.counts, sizes | found.bytes)

    def _ranks(self) -> Shorts:
        """The place of each axis in the order, from the rarest to the most frequent."""
        uses = uses_of(self._boxes)
        ranks = np.empty(len(uses), np.int32)
        ranks[np.argsort(uses, kind="stable")] = np.arange(len(uses), dtype=np.int32)
        return ranks

    def _laid_out(self) -> Shorts:
        """All terms in the order in which they stand in memory, those next to each other that are met together."""
        terms = all_terms(self._boxes)
        firsts, seconds, lows = beginnings(self._boxes, terms)
        ordered = terms[np.lexsort((lows, seconds, firsts))]
        lay_out(self._boxes, ordered)
        return ordered

    @abstractmethod
    def _clear(self, predicates: PredicateIndex) -> None:
        """Forget all that is filed; what follows may have another order of axes and other coordinates."""

    def _put_all(self, terms: Shorts) -> None:
        """File terms, which are all that there are, where nothing is filed."""
        self._put(terms)

    @abstractmethod
    def _put(self, terms: Shorts) -> None:
        """File terms."""

    @abstractmethod
    def _take(self, terms: Shorts) -> None:
        """Take terms out, whose boxes are still there."""

    @abstractmethod
    def _match(self, predicates: PredicateIndex, rows: Rows) -> tuple[Shorts, Ints]:
        """Rows and the heads of terms that hold in them, each pair once, those of one row together."""

    @abstractmethod
    def _stats(self) -> Stats:
        """What the engine holds besides boxes."""
