"""What the engines share that index a term by its intervals (`betree`, `buckets`, `rtree`): terms as boxes.

A term is a box with a side for each axis that it restricts (`kernels.boxes`); an event is a point with the values
that it has (`kernels.rows`). An engine finds boxes that may contain a point, by its own index of sides, and
verifies them here. It needs no index of predicates; what is no interval is a residue of predicates, verified last.

Sides stand in the order of axes from rare to frequent, so that verification fails early. The order is computed
again, and all terms are inserted again, whenever their number has doubled.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.forest import Forest
from tamis.lab.boxes.kernels.boxes import (
    all_terms,
    axis_uses,
    box_bytes,
    box_counts,
    box_pairs,
    empty_boxes,
    free_boxes,
    insert_boxes,
    layout_keys,
    rank_axes,
    relabel_sides,
    reorder_boxes,
    reserve_box_axes,
    terms_in,
)
from tamis.lab.boxes.kernels.rows import RowValues, row_values, sides_on_present_axes
from tamis.lab.dynamic.predicate_index import EncodedEvents, PredicateIndex
from tamis.lab.dynamic.term_index import TermStore


class BoxStore(TermStore):
    """Terms as boxes; an engine adds the index that finds them."""

    def __init__(self) -> None:
        self._boxes = empty_boxes()
        self._ranked = -1

    def insert(self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: I32) -> None:
        leaves, pieces, relabelled = predicates.translate(forest)
        reserve_box_axes(self._boxes, predicates.axes)
        for axis, old, new in relabelled:
            relabel_sides(self._boxes, axis, old, new)
        terms = insert_boxes(self._boxes, predicates.predicates, conjunctions, leaves, pieces, slots)
        count = box_counts(self._boxes)[0]
        if relabelled or count > 2 * self._ranked:  # also the first time, even if no term is satisfiable
            rank_axes(self._boxes, self._ranks())
            self._ranked = count
            self._clear(predicates)
            self._insert_all(self._reorder())
        else:
            self._insert_terms(terms)

    def delete(self, predicates: PredicateIndex, slots: I32) -> None:
        terms = terms_in(self._boxes, slots)
        self._delete_terms(terms)
        free_boxes(self._boxes, predicates.predicates, terms)

    def match(self, predicates: PredicateIndex, event: EncodedEvents) -> tuple[I32, I32, U8]:
        rows, heads = self._match(predicates, row_values(self._boxes, event))
        found, slots, sure = box_pairs(self._boxes, rows, heads)
        return found, slots, sure

    def estimate(self, predicates: PredicateIndex, event: EncodedEvents) -> I64:
        """The work of each row: the sides on the axes on which it has a value."""
        return np.asarray(sides_on_present_axes(row_values(self._boxes, event), axis_uses(self._boxes)))

    def stats(self) -> Stats:
        terms, sides = box_counts(self._boxes)
        sizes = dict(zip(("sides", "predicates of terms", "slots"), box_bytes(self._boxes), strict=True))
        found = self._stats()
        return Stats({"conjunctions": terms, "sides": sides} | found.counts, sizes | found.bytes)

    def _ranks(self) -> I32:
        """int32[axes + 1]: the rank of axis a at a + 1, from the rarest to the most frequent."""
        uses = axis_uses(self._boxes)
        ranks = np.empty(len(uses), np.int32)
        ranks[np.argsort(uses, kind="stable")] = np.arange(len(uses), dtype=np.int32)
        return ranks

    def _reorder(self) -> I32:
        """Sort all boxes by their first two axes, so that those verified together are neighbours."""
        terms = all_terms(self._boxes)
        firsts, seconds, lows = layout_keys(self._boxes, terms)
        ordered = terms[np.lexsort((lows, seconds, firsts))]
        reorder_boxes(self._boxes, ordered)
        return ordered

    @abstractmethod
    def _clear(self, predicates: PredicateIndex) -> None:
        """Empty the index; terms inserted next may have another order of axes and other coordinates."""

    def _insert_all(self, terms: I32) -> None:
        """Insert all terms into the empty index."""
        self._insert_terms(terms)

    @abstractmethod
    def _insert_terms(self, terms: I32) -> None: ...

    @abstractmethod
    def _delete_terms(self, terms: I32) -> None:
        """Delete terms from the index, before their boxes are freed."""

    @abstractmethod
    def _match(self, predicates: PredicateIndex, rows: RowValues) -> tuple[I32, I64]:
        """Rows and the heads of the terms that hold in them, each pair once, the pairs of a row together."""

    @abstractmethod
    def _stats(self) -> Stats:
        """Counts and bytes of the index."""
