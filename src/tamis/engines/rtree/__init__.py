"""`rtree`: conjunctions as boxes in an R-tree, and BatchSearch, after Wang, Zhang and Kitsuregawa.

All events of a batch go down the tree together as far as a level; then they are answered one by one, those with
the least work left first. The level turns itself, by what the mean event waits, in counted tests. Conjunctions are
boxes in the attributes that most of them use, without bounds where they ask nothing; whatever else they ask is
looked at for those that the tree finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Stats
from tamis.engines.boxes import BoxFile
from tamis.engines.boxes.rows import Rows, rows_of
from tamis.engines.boxes.sides import uses_of
from tamis.engines.dynamic.index import Event, PredicateIndex
from tamis.engines.dynamic.normal_form import TermIndex
from tamis.engines.rtree.batch_search import batch_search, estimate
from tamis.engines.rtree.changing import delete_all
from tamis.engines.rtree.filing import ends_of, points_of, verified
from tamis.engines.rtree.packing import pack
from tamis.engines.rtree.tree import height_of, tree_of, tree_stats
from tamis.language.formula import Formula
from tamis.schedule.controller import ROUNDS, THRESHOLD, Controller, Controllers
from tamis.statistics import Statistics

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

INNER, LEAF = 10, 20
"""Entries of inner nodes and of leaves, as in the paper."""
DIMENSIONS = 16
"""Attributes that the tree knows, at most."""


class Rtree:
    """The engine.

    Args:
        inner: Entries of an inner node, at most.
        leaf: Entries of a leaf, at most.
        dimensions: Attributes that the tree knows, at most: those that most conjunctions use.
        level: How deep the estimate goes, 1 for not at all; None to find out.
        weighted: Estimate by the boxes below the nodes that an event reaches, not by the nodes.
        rounds: How often each level is tried before one is taken.
        threshold: Inserts and deletes after which the level is looked at again.
    """

    name = "rtree"

    def __init__(
        self,
        inner: int = INNER,
        leaf: int = LEAF,
        dimensions: int = DIMENSIONS,
        *,
        level: int | None = None,
        weighted: bool = False,
        rounds: int = ROUNDS,
        threshold: int = THRESHOLD,
    ) -> None:
        self._options = inner, leaf, dimensions, level, weighted, rounds, threshold

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        """An index with formula i in slot i."""
        return TermIndex(RtreeFile(*self._options)).filled(formulas)


class RtreeFile(BoxFile):
    """Boxes in an R-tree; for the arguments see `Rtree`."""

    def __init__(
        self,
        inner: int,
        leaf: int,
        dimensions: int,
        level: int | None,
        weighted: bool,
        rounds: int,
        threshold: int,
    ) -> None:
        super().__init__()
        self._capacities, self._most = (inner, leaf), dimensions
        self._level, self._weighted = level, weighted
        self._places = np.empty(0, np.int32)
        self._dimensions = 0
        self._tree = tree_of(0, inner, leaf)
        self._controllers = Controllers(
            lambda _: Controller(1, height_of(self._tree), rounds=rounds, threshold=threshold)
        )
        self._work = dict.fromkeys(("estimate tests", "tests", "visits", "candidates", "conjunctions"), 0)

    def _clear(self, predicates: PredicateIndex) -> None:
        uses = uses_of(self._boxes)[1:]
        chosen = np.argsort(-uses, kind="stable")[: self._most]
        chosen = chosen[uses[chosen] > 0]
        self._places = np.full(len(uses), -1, np.int32)
        self._places[chosen] = np.arange(len(chosen))
        self._dimensions = len(chosen)
        self._tree = tree_of(self._dimensions, *self._capacities)

    def _put(self, terms: Shorts) -> None:
        lows, highs = ends_of(self._boxes, terms, self._places, self._dimensions)
        pack(self._tree, lows, highs, terms)
        self._changed(len(terms))

    def _take(self, terms: Shorts) -> None:
        delete_all(self._tree, terms)
        self._changed(len(terms))

    def _changed(self, count: int) -> None:
        self._controllers.update(count)
        self._controllers.resize(1, height_of(self._tree))

    def _match(self, predicates: PredicateIndex, rows: Rows) -> tuple[Shorts, Ints]:
        points = points_of(rows, self._places, self._dimensions)
        controller = self._controllers.of(len(points))
        level = self._level or (controller.level if len(points) > 1 else 1)
        answers = batch_search(self._tree, points, level, weighted=self._weighted)
        if len(points) > 1:
            controller.observe(level, float(answers.responses.mean()))
        found, heads = verified(self._boxes, predicates.predicates, rows, answers.rows, answers.payloads)
        done = answers.table.tests, answers.tests, answers.visits
        counts = (*(int(each.sum()) for each in done), len(answers.rows), len(found))
        self._work = {name: self._work[name] + count for name, count in zip(self._work, counts, strict=True)}
        return found, heads

    def estimate(self, predicates: PredicateIndex, event: Event) -> Ints:
        """The nodes that each row reaches at the level of the moment."""
        points = points_of(rows_of(self._boxes, event), self._places, self._dimensions)
        level = self._level or self._controllers.of(len(points)).current
        return estimate(self._tree, points, level, weighted=self._weighted).workloads

    def _stats(self) -> Stats:
        return tree_stats(self._tree)

    def work(self) -> dict[str, int]:
        """As `TermFile`."""
        done = self._work
        self._work = dict.fromkeys(done, 0)
        return done
