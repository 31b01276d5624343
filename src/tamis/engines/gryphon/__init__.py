"""`gryphon`: a matching tree over the equalities of conjunctions, as in Aguilera et al. (1999).

The baseline for conjunctions of equalities, made exact on the whole language: every subscription becomes
conjunctions, the equalities of a conjunction are its path through the tree, and what else it asks is checked for
those conjunctions at which an event arrives. An event follows, at every attribute, the edge of its value and the
edge of "don't care".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.dynamic.index import Event, PredicateIndex
from tamis.engines.dynamic.normal_form import TermFile, TermIndex
from tamis.engines.forest import Forest
from tamis.engines.gryphon.equalities import equalities_of
from tamis.engines.gryphon.filing import delete_terms, insert_terms, match_terms
from tamis.engines.gryphon.tree import tree_bytes, tree_counts, tree_of, tree_work
from tamis.language.formula import Formula
from tamis.statistics import Statistics

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int32]


class Gryphon:
    """The engine."""

    name = "gryphon"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        """An index with formula i in slot i."""
        return TermIndex(TreeFile()).filled(formulas)


class TreeFile(TermFile):
    """Terms at the ends of their paths."""

    def __init__(self) -> None:
        self._tree = tree_of()

    def insert(
        self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: Shorts
    ) -> None:
        """As `TermFile`."""
        equal = equalities_of(forest)
        with predicates.entered(forest) as numbers:
            insert_terms(self._tree, predicates.predicates, conjunctions, numbers, equal, slots)

    def delete(self, predicates: PredicateIndex, slots: Shorts) -> None:
        """As `TermFile`."""
        delete_terms(self._tree, predicates.predicates, slots)

    def match(self, predicates: PredicateIndex, event: Event) -> tuple[Shorts, Shorts, Bytes]:
        """As `TermFile`."""
        rows, slots, sure = match_terms(self._tree, predicates.predicates, event)
        return rows, slots, sure

    def stats(self) -> Stats:
        """As `TermFile`; `plain nodes` are those of a tree that has a node for every "don't care"."""
        counted = ("conjunctions", "always", "levels", "nodes", "tests", "edges", "plain nodes")
        measured = ("nodes", "tests", "value edges", "ends of paths", "residues", "levels", "slots")
        return Stats(
            dict(zip(counted, tree_counts(self._tree), strict=True)),
            dict(zip(measured, tree_bytes(self._tree), strict=True)),
        )

    def work(self) -> dict[str, int]:
        """As `TermFile`."""
        names = ("held", "nodes", "tests", "candidates", "conjunctions")
        return dict(zip(names, tree_work(self._tree).tolist(), strict=True))
