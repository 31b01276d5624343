"""`cluster`: conjunctions clustered by an access predicate (Fabret et al. 2001; Bittner, section 5.3).

Every subscription becomes conjunctions; each is in the cluster of its most selective predicate, the access
predicate. An event verifies the conjunctions in the clusters of the predicates that it satisfies. The thesis
models
this algorithm for its memory only and leaves the choice of access predicates open: here it is the predicate of the
least selectivity, by statistics if there are some, and any predicate may be one, not only an equality.

The thesis's structures in `kernels`: `firsts` is the cluster vector, a cluster is a line of terms with an array of
their other predicates, `homes` is the subscription cluster table.
"""

from __future__ import annotations

from collections.abc import Sequence

from tamis.arrays import I32, U8
from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.forest import Forest
from tamis.engines.selectivity import leaf_selectivities
from tamis.formulas.formula import Formula
from tamis.lab.baselines.cluster.kernels import (
    cluster_bytes,
    cluster_counts,
    delete_terms,
    empty_clusters,
    insert_terms,
    match_terms,
    take_work,
)
from tamis.lab.dynamic.predicate_index import EncodedEvents, PredicateIndex
from tamis.lab.dynamic.term_index import TermIndex, TermStore
from tamis.statistics import Statistics


class Cluster:
    """The engine `cluster`; it has no settings."""

    name = "cluster"
    dynamic = True

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        return TermIndex(ClusterStore(statistics)).fill(formulas)


class ClusterStore(TermStore):
    """Terms under their access predicates."""

    def __init__(self, statistics: Statistics | None) -> None:
        self._statistics = statistics
        self._clusters = empty_clusters()

    def insert(self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: I32) -> None:
        selectivities = leaf_selectivities(forest, self._statistics)
        with predicates.interned_leaves(forest) as numbers:
            insert_terms(self._clusters, predicates.predicates, conjunctions, numbers, selectivities, slots)

    def delete(self, predicates: PredicateIndex, slots: I32) -> None:
        delete_terms(self._clusters, predicates.predicates, slots)

    def match(self, predicates: PredicateIndex, event: EncodedEvents) -> tuple[I32, I32, U8]:
        rows, slots, sure = match_terms(self._clusters, predicates.predicates, event)
        return rows, slots, sure

    def stats(self) -> Stats:
        terms, clusters, always = cluster_counts(self._clusters)
        names = ("clusters", "cluster vector", "clusters of terms", "slots")
        sizes = dict(zip(names, cluster_bytes(self._clusters), strict=True))
        return Stats({"conjunctions": terms, "clusters": clusters, "always": always}, sizes)

    def work(self) -> dict[str, int]:
        names = ("held", "clusters", "looked at", "conjunctions")
        return dict(zip(names, take_work(self._clusters).tolist(), strict=True))
