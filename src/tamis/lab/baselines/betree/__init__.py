"""`betree`: the BE-Tree of Sadoghi and Jacobsen (SIGMOD 2011), the faster baseline of Mishra and Sahni.

Space partitioning and space clustering take turns: an overfull bucket is partitioned by the attribute that scores
highest, and the bucket of a partition is clustered by value, into halves of its range. An event walks down the
partitions of the attributes that it has and, there, the halves that its value lies in; it verifies the
conjunctions of the buckets on its way.

`kernels.tree` has the nodes (the paper's p-nodes and c-nodes in one), `kernels.insertion` the two ways to split
and the cost model, `kernels.deletion` merges, `kernels.matching` walks. Changed against the paper: values are of
any ordered type, the middle of a range comes from the ends in the bucket instead of a bounded discrete domain, and
an entry repeats one side of its conjunction, so that most of those that do not hold are skipped without a further
load.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.base import Stats
from tamis.formulas.formula import Formula
from tamis.lab.baselines.betree.kernels.deletion import delete_terms
from tamis.lab.baselines.betree.kernels.insertion import insert_terms
from tamis.lab.baselines.betree.kernels.matching import match_tree
from tamis.lab.baselines.betree.kernels.tree import clear_tree, empty_tree, tree_sizes, tree_work
from tamis.lab.boxes import BoxStore
from tamis.lab.boxes.kernels.rows import RowValues
from tamis.lab.dynamic.predicate_index import PredicateIndex
from tamis.lab.dynamic.term_index import TermIndex
from tamis.statistics import Statistics

MAX_CAP = 128
"""How many conjunctions a bucket may have before it is split."""


class BETree:
    """The engine `betree`."""

    name = "betree"
    dynamic = True

    def __init__(self, max_cap: int = MAX_CAP, *, loss: bool = True) -> None:
        """Set how buckets are split.

        Args:
            max_cap: How many conjunctions a bucket may have, unless it cannot be split.
            loss: Whether the score of an attribute falls with the number of conjunctions that restrict it, since
                many
                events will have it; otherwise it rises, as in a tree that knows nothing but its buckets.
        """
        self._max_cap, self._loss = max_cap, loss

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        return TermIndex(BETreeStore(self._max_cap, self._loss)).fill(formulas)


class BETreeStore(BoxStore):
    """Boxes in a BE-Tree."""

    def __init__(self, max_cap: int, loss: bool) -> None:
        super().__init__()
        self._tree = empty_tree(max_cap, loss)

    def _clear(self, predicates: PredicateIndex) -> None:
        clear_tree(self._tree)

    def _insert_terms(self, terms: I32) -> None:
        insert_terms(self._tree, self._boxes, terms.astype(np.int64))

    def _delete_terms(self, terms: I32) -> None:
        delete_terms(self._tree, self._boxes, terms.astype(np.int64))

    def _match(self, predicates: PredicateIndex, rows: RowValues) -> tuple[I32, I64]:
        found, heads = match_tree(self._tree, self._boxes, predicates.predicates, rows)
        return found, heads

    def _stats(self) -> Stats:
        nodes, parts, always, held, homes = tree_sizes(self._tree)
        counts = {"nodes": nodes, "parts": parts, "always": always}
        return Stats(counts, {"tree": held, "homes of terms": homes})

    def work(self) -> dict[str, int]:
        names = ("nodes", "looked at", "candidates", "conjunctions")
        return dict(zip(names, tree_work(self._tree).tolist(), strict=True))
