"""`betree`: every subscription as conjunctions in a BE-Tree, cut apart by attribute and by value in turn.

An event walks down the parts for attributes that it has, and there down the halves that its value lies in; it
looks at the conjunctions of the buckets on its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Stats
from tamis.engines.betree.cutting import put_terms
from tamis.engines.betree.searching import match_tree
from tamis.engines.betree.taking import take_terms
from tamis.engines.betree.tree import clear_tree, tree_figures, tree_of, tree_work
from tamis.engines.boxes import BoxFile
from tamis.engines.boxes.rows import Rows
from tamis.engines.dynamic.index import PredicateIndex
from tamis.engines.dynamic.normal_form import TermIndex
from tamis.language.formula import Formula
from tamis.statistics import Statistics

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

MAX_CAP = 128
"""How many conjunctions a bucket may have before it is cut."""


class BETree:
    """The engine."""

    name = "betree"

    def __init__(self, max_cap: int = MAX_CAP, *, loss: bool = True) -> None:
        """How a tree is cut.

        Args:
            max_cap: How many conjunctions a bucket may have, unless it cannot be cut.
            loss: Whether an attribute that many conjunctions ask for is the worse for it, since many events will
                have it. Otherwise it is the better, as in a tree that knows nothing but its buckets.
        """
        self._max_cap, self._loss = max_cap, loss

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        """An index with formula i in slot i."""
        return TermIndex(TreeFile(self._max_cap, self._loss)).filled(formulas)


class TreeFile(BoxFile):
    """Terms in a tree."""

    def __init__(self, max_cap: int, loss: bool) -> None:
        super().__init__()
        self._tree = tree_of(max_cap, loss)

    def _clear(self, predicates: PredicateIndex) -> None:
        clear_tree(self._tree)

    def _put(self, terms: Shorts) -> None:
        put_terms(self._tree, self._boxes, terms.astype(np.int64))

    def _take(self, terms: Shorts) -> None:
        take_terms(self._tree, self._boxes, terms.astype(np.int64))

    def _match(self, predicates: PredicateIndex, rows: Rows) -> tuple[Shorts, Ints]:
        found, heads = match_tree(self._tree, self._boxes, predicates.predicates, rows)
        return found, heads

    def _stats(self) -> Stats:
        nodes, parts, always, held, homes = tree_figures(self._tree)
        counts = {"nodes": nodes, "parts": parts, "always": always}
        return Stats(counts, {"tree": held, "homes of terms": homes})

    def work(self) -> dict[str, int]:
        """As `TermFile`."""
        names = ("nodes", "looked at", "candidates", "conjunctions")
        return dict(zip(names, tree_work(self._tree).tolist(), strict=True))
