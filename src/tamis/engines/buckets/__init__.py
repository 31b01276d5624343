"""`buckets`: PUBSUB, conjunctions in buckets below the structures of their attributes, after Mishra and Sahni.

A conjunction is filed under its rarest attribute, in a structure that finds ranges by a value, and only where a
bucket is full and cannot be divided under its next attribute, too. An event asks the structures of the attributes
that it has, looks through the buckets they name, and goes on below those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Stats
from tamis.engines.boxes import BoxFile
from tamis.engines.boxes.rows import Rows
from tamis.engines.boxes.sides import TESTS, points_on, uses_of
from tamis.engines.buckets.filing import (
    Organisation,
    lay_out_filed,
    match_terms,
    organisation_bytes,
    organisation_counts,
    organisation_of,
    organisation_work,
    put_terms,
    set_kinds,
    take_terms,
)
from tamis.engines.buckets.structures import KINDS
from tamis.engines.dynamic.index import PredicateIndex
from tamis.engines.dynamic.normal_form import TermIndex
from tamis.errors import TamisError
from tamis.language.expression import Path
from tamis.language.formula import Formula
from tamis.statistics import Statistics

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Structure: TypeAlias = Literal["auto", "hash", "it-node", "it-range", "rbpst-range", "rbpst-hull"]
Order: TypeAlias = Literal["rare first", "frequent first", "as they come"]

_LARGE = 1_000
"""Buckets of more than so many terms are sorted."""
_MOSTLY = 0.9
"""An attribute with such a share of equalities gets a hash table."""
_RANGES = "rbpst-hull"


class StructureError(TamisError):
    """There is no such structure."""


class Buckets:
    """The engine.

    Args:
        capacity: How many conjunctions a bucket has before it is divided.
        structure: Of all attributes that `structures` does not name: a "hash" table, for equalities; an interval
            tree with a bucket for each "it-node" or each range ("it-range"); a red-black priority search tree with
            a bucket for each range ("rbpst-range") or for ranges that follow each other ("rbpst-hull"); or "auto".
        structures: Of some attributes, by name.
        order: Of attributes along the way down.
    """

    name = "buckets"

    def __init__(
        self,
        capacity: int = 5_000,
        structure: Structure = "auto",
        structures: Mapping[str, Structure] | None = None,
        order: Order = "rare first",
    ) -> None:
        self._options = capacity, structure, dict(structures or {}), order
        for each in (structure, *self._options[2].values()):
            if each != "auto" and each not in KINDS:
                message = f"there is no structure {each!r}; known are auto, {', '.join(KINDS)}"
                raise StructureError(message)

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        """An index with formula i in slot i."""
        return TermIndex(BucketFile(*self._options)).filled(formulas)


class BucketFile(BoxFile):
    """Boxes in buckets; for the arguments see `Buckets`."""

    def __init__(
        self, capacity: int, structure: Structure, structures: Mapping[str, Structure], order: Order
    ) -> None:
        super().__init__()
        self._capacity, self._structure, self._structures, self._order = capacity, structure, structures, order
        self._predicates = PredicateIndex()
        self._kinds = np.empty(0, np.uint8)
        self._own = self._organised()

    def _ranks(self) -> Shorts:
        ranks = super()._ranks()
        if self._order == "frequent first":
            return (len(ranks) - 1 - ranks).astype(np.int32)
        return np.arange(len(ranks), dtype=np.int32) if self._order == "as they come" else ranks

    def _organised(self) -> Organisation:
        return organisation_of(self._capacity, int(self._capacity > _LARGE), self._kinds)

    def _clear(self, predicates: PredicateIndex) -> None:
        self._predicates = predicates
        self._kinds = np.empty(0, np.uint8)
        self._own = self._organised()

    def _choose(self, terms: Shorts) -> None:
        """Kinds for axes that have none; all sides on them are those of new terms."""
        uses = uses_of(self._boxes)
        if len(uses) > len(self._kinds):
            points = points_on(self._boxes, terms)
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

    def _put_all(self, terms: Shorts) -> None:
        super()._put_all(terms)
        lay_out_filed(self._own, self._boxes)

    def _put(self, terms: Shorts) -> None:
        self._choose(terms)
        put_terms(self._own, self._boxes, terms)

    def _take(self, terms: Shorts) -> None:
        take_terms(self._own, self._boxes, terms)

    def _match(self, predicates: PredicateIndex, rows: Rows) -> tuple[Shorts, Ints]:
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
        """As `TermFile`."""
        names = ("entries", "candidates", "structures", "steps", "buckets", "conjunctions")
        return dict(zip(names, organisation_work(self._own).tolist(), strict=True))
