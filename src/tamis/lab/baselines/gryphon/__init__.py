"""`gryphon`: the matching tree of Aguilera et al. (1999), Jewel's baseline for conjunctions of equalities.

Every subscription becomes conjunctions, and the equalities of a conjunction are its path through the tree. An
event follows, at every attribute, the edge of its value and the don't-care edge. Made exact on the whole language:
what is no equality (`equalities` decides) is a residue, verified for the conjunctions whose paths an event
completes.

`kernels.tree` has nodes and edges, `kernels.updates` insertion and deletion, `kernels.matching` the walk. Changed
against the paper: levels without value edges take no nodes (`plain nodes` in the statistics counts those that the
paper's tree would have), and the tree changes in place, deletion included.
"""

from __future__ import annotations

from collections.abc import Sequence

from tamis.arrays import I32, U8
from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.forest import Forest
from tamis.formulas.formula import Formula
from tamis.lab.baselines.gryphon.equalities import equalities_of
from tamis.lab.baselines.gryphon.kernels.matching import match_terms
from tamis.lab.baselines.gryphon.kernels.tree import empty_tree, take_work, tree_bytes, tree_counts
from tamis.lab.baselines.gryphon.kernels.updates import delete_terms, insert_terms
from tamis.lab.dynamic.predicate_index import EncodedEvents, PredicateIndex
from tamis.lab.dynamic.term_index import TermIndex, TermStore
from tamis.statistics import Statistics


class Gryphon:
    """The engine `gryphon`; it has no settings."""

    name = "gryphon"
    dynamic = True

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        return TermIndex(MatchingTreeStore()).fill(formulas)


class MatchingTreeStore(TermStore):
    """Terms at the ends of their paths in a matching tree."""

    def __init__(self) -> None:
        self._tree = empty_tree()

    def insert(self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: I32) -> None:
        equal = equalities_of(forest)
        with predicates.interned_leaves(forest) as numbers:
            insert_terms(self._tree, predicates.predicates, conjunctions, numbers, equal, slots)

    def delete(self, predicates: PredicateIndex, slots: I32) -> None:
        delete_terms(self._tree, predicates.predicates, slots)

    def match(self, predicates: PredicateIndex, event: EncodedEvents) -> tuple[I32, I32, U8]:
        rows, slots, sure = match_terms(self._tree, predicates.predicates, event)
        return rows, slots, sure

    def stats(self) -> Stats:
        """Counts and bytes; `plain nodes` are those of a tree that has a node for every don't-care edge."""
        counted = ("conjunctions", "always", "levels", "nodes", "tests", "edges", "plain nodes")
        measured = ("nodes", "tests", "value edges", "ends of paths", "residues", "levels", "slots")
        return Stats(
            dict(zip(counted, tree_counts(self._tree), strict=True)),
            dict(zip(measured, tree_bytes(self._tree), strict=True)),
        )

    def work(self) -> dict[str, int]:
        names = ("held", "nodes", "tests", "candidates", "conjunctions")
        return dict(zip(names, take_work(self._tree).tolist(), strict=True))
