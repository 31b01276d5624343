"""`buckets`: PUBSUB (T. Banerjee Mishra and S. Sahni, about 2012).

A conjunction is in a bucket below the attribute structure of its rarest attribute, which finds ranges by a value;
only where a bucket is full and cannot be split does it go on to its next attribute. An event queries the
structures of the attributes that it has, verifies the buckets that they name, and goes on below those.

- `kernels.organisation` (3.1): search, insertion, deletion, from the header bucket down;
- `kernels.structures` (3.2.3): attribute structures D, found by a `kernels.hash_table` of (bucket, attribute);
- `kernels.interval_tree` (IT), `kernels.priority_search_tree` (RBPST): how a structure finds ranges;
- `suffix_patterns`, `kernels.suffix_tree`: D for strings, as the paper plans it;
- `kernels.bucket_pool` (3.2.2): small and large buckets.

Corrected against the paper: the search goes on with the next attribute instead of the first; only a bucket that
can never be split again (*frozen*) may own structures; the scan of a large bucket has the group of conjunctions
without a further attribute. The paper does not say how D forms buckets nor how deletion works: each tree comes
with a bucket for each distinct range or with fewer, fuller ones, and deletion removes what became empty. Added:
hash tables for equalities, and NULL, sets and patterns by verification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.base import Stats
from tamis.errors import TamisError
from tamis.formulas.expression import Path
from tamis.formulas.formula import Formula
from tamis.lab.boxes import BoxStore
from tamis.lab.boxes.kernels.boxes import TESTS, axis_uses, point_sides
from tamis.lab.boxes.kernels.rows import RowValues
from tamis.lab.dynamic.predicate_index import PredicateIndex
from tamis.lab.dynamic.term_index import TermIndex
from tamis.lab.mishra_sahni.buckets.kernels.organisation import (
    Organisation,
    delete_terms,
    empty_organisation,
    insert_terms,
    match_terms,
    organisation_bytes,
    organisation_counts,
    reorder_by_bucket,
    set_kinds,
    take_work,
)
from tamis.lab.mishra_sahni.buckets.kernels.structures import KINDS
from tamis.lab.mishra_sahni.buckets.suffix_patterns import SuffixPatterns
from tamis.statistics import Statistics

Structure: TypeAlias = Literal["auto", "hash", "it-node", "it-range", "rbpst-range", "rbpst-hull"]
Order: TypeAlias = Literal["rare first", "frequent first", "as they come"]

_LARGE = 1_000
"""Buckets of a greater capacity are large ones, which are sorted."""
_MOSTLY = 0.9
"""An attribute with this fraction of equalities gets a hash table."""
_RANGES: Final = "rbpst-hull"


class StructureError(TamisError):
    """A name is not one of an attribute structure."""


class Buckets:
    """The engine `buckets`.

    Args:
        capacity: How many conjunctions a bucket holds before it is split.
        structure: For all attributes that `structures` does not name: a "hash" table, for equalities; an interval
            tree with a bucket for each "it-node" or each range ("it-range"); a red-black priority search tree with
            a bucket for each range ("rbpst-range") or for ranges that follow each other ("rbpst-hull"); or "auto".
        structures: For some attributes, by name.
        order: The order of attributes from the header down.
        strings: How patterns are found: by the "automaton" that all patterns of tamis share, or those that ask
            for a suffix or for a part of a string by a "suffix" structure, which needs not be built again.
    """

    name = "buckets"
    dynamic = True

    def __init__(
        self,
        capacity: int = 5_000,
        structure: Structure = "auto",
        structures: Mapping[str, Structure] | None = None,
        order: Order = "rare first",
        strings: Literal["automaton", "suffix"] = "automaton",
    ) -> None:
        self._options = capacity, structure, dict(structures or {}), order
        self._strings = strings
        for each in (structure, *self._options[2].values()):
            if each != "auto" and each not in KINDS:
                message = f"there is no structure {each!r}; known are auto, {', '.join(KINDS)}"
                raise StructureError(message)

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        patterns = SuffixPatterns() if self._strings == "suffix" else None
        return TermIndex(BucketStore(*self._options), PredicateIndex(patterns)).fill(formulas)


class BucketStore(BoxStore):
    """Boxes in buckets; for the arguments see `Buckets`."""

    def __init__(
        self, capacity: int, structure: Structure, structures: Mapping[str, Structure], order: Order
    ) -> None:
        super().__init__()
        self._capacity, self._structure, self._structures, self._order = capacity, structure, structures, order
        self._predicates = PredicateIndex()
        self._kinds = np.empty(0, np.uint8)
        self._own = self._new_organisation()

    def _ranks(self) -> I32:
        ranks = super()._ranks()
        if self._order == "frequent first":
            return (len(ranks) - 1 - ranks).astype(np.int32)
        return np.arange(len(ranks), dtype=np.int32) if self._order == "as they come" else ranks

    def _new_organisation(self) -> Organisation:
        return empty_organisation(self._capacity, int(self._capacity > _LARGE), self._kinds)

    def _clear(self, predicates: PredicateIndex) -> None:
        self._predicates = predicates
        self._kinds = np.empty(0, np.uint8)
        self._own = self._new_organisation()

    def _choose(self, terms: I32) -> None:
        """Choose the kinds of structures of new axes; all sides on them belong to the new terms."""
        uses = axis_uses(self._boxes)
        if len(uses) > len(self._kinds):
            points = point_sides(self._boxes, terms)
            new = [
                self._kind(place - 1, uses[place], points[place]) for place in range(len(self._kinds), len(uses))
            ]
            self._kinds = np.concatenate([self._kinds, np.array(new, np.uint8)])
            set_kinds(self._own, self._kinds)

    def _kind(self, axis: int, uses: int, points: int) -> int:
        if axis == TESTS:
            return KINDS["hash"]
        attribute = self._predicates.attribute(axis)
        name = ".".join(attribute.steps) if isinstance(attribute, Path) else ""
        chosen = self._structures.get(name, self._structure)
        if chosen == "auto":
            chosen = "hash" if uses and points >= _MOSTLY * uses else _RANGES
        return KINDS[chosen]

    def _insert_all(self, terms: I32) -> None:
        super()._insert_all(terms)
        reorder_by_bucket(self._own, self._boxes)

    def _insert_terms(self, terms: I32) -> None:
        self._choose(terms)
        insert_terms(self._own, self._boxes, terms)

    def _delete_terms(self, terms: I32) -> None:
        delete_terms(self._own, self._boxes, terms)

    def _match(self, predicates: PredicateIndex, rows: RowValues) -> tuple[I32, I64]:
        found, heads = match_terms(self._own, self._boxes, predicates.predicates, rows)
        return found, heads

    def _stats(self) -> Stats:
        counted = ("always", "structures", "buckets", "room")
        measured = ("structures", "structure tables", "trees", "buckets", "bucket entries")
        return Stats(
            dict(zip(counted, organisation_counts(self._own), strict=True)),
            dict(zip(measured, organisation_bytes(self._own), strict=True)),
        )

    def work(self) -> dict[str, int]:
        names = ("entries", "candidates", "structures", "steps", "buckets", "conjunctions")
        return dict(zip(names, take_work(self._own).tolist(), strict=True))
