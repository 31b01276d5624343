"""`cluster`: every subscription as conjunctions, each filed under its most selective predicate.

Only the conjunctions under predicates that hold are looked at; those of the same number of predicates stand
together in rows of equal length, so that looking at them is walking through memory. What a good access predicate
is comes from statistics; an equality is taken for the most selective where nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Stats
from tamis.engines.cluster.filing import (
    cluster_bytes,
    cluster_counts,
    cluster_work,
    clusters_of,
    delete_terms,
    insert_terms,
    match_terms,
)
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.dynamic.chances import leaf_chances
from tamis.engines.dynamic.index import Event, PredicateIndex
from tamis.engines.dynamic.normal_form import TermFile, TermIndex
from tamis.engines.forest import Forest
from tamis.language.formula import Formula
from tamis.statistics import Statistics

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int32]


class Cluster:
    """The engine."""

    name = "cluster"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        """An index with formula i in slot i."""
        return TermIndex(ClusterFile(statistics)).filled(formulas)


class ClusterFile(TermFile):
    """Terms under their access predicates."""

    def __init__(self, statistics: Statistics | None) -> None:
        self._statistics = statistics
        self._clusters = clusters_of()

    def insert(
        self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: Shorts
    ) -> None:
        """As `TermFile`."""
        chances = leaf_chances(forest, self._statistics)
        with predicates.entered(forest) as numbers:
            insert_terms(self._clusters, predicates.predicates, conjunctions, numbers, chances, slots)

    def delete(self, predicates: PredicateIndex, slots: Shorts) -> None:
        """As `TermFile`."""
        delete_terms(self._clusters, predicates.predicates, slots)

    def match(self, predicates: PredicateIndex, event: Event) -> tuple[Shorts, Shorts, Bytes]:
        """As `TermFile`."""
        rows, slots, sure = match_terms(self._clusters, predicates.predicates, event)
        return rows, slots, sure

    def stats(self) -> Stats:
        """As `TermFile`."""
        terms, clusters, always = cluster_counts(self._clusters)
        names = ("clusters", "cluster vector", "clusters of terms", "slots")
        sizes = dict(zip(names, cluster_bytes(self._clusters), strict=True))
        return Stats({"conjunctions": terms, "clusters": clusters, "always": always}, sizes)

    def work(self) -> dict[str, int]:
        """As `TermFile`."""
        names = ("held", "clusters", "looked at", "conjunctions")
        return dict(zip(names, cluster_work(self._clusters).tolist(), strict=True))
