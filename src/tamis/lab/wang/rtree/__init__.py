"""`rtree`: BatchSearch on an R-tree (Wang, Zhang and Kitsuregawa, about 2004).

All events of a batch walk down the tree together to a level, which estimates the work of each; then they are
answered one by one, shortest job first. The level adapts itself to the mean response time, counted in tests of
boxes.

- `batch_search` (3): the workload table, the estimate, the search in order;
- `tamis.schedule.controller` (4): the self-adaptive model, a controller for each event count;
- `kernels.tree`, `kernels.updates`, `kernels.split`, `kernels.bulk_load`: the R-tree; `kernels.point_query`: the
  point-enclosed query from any nodes; `kernels.term_boxes`: conjunctions as boxes, events as points.

Corrected against the paper: the estimate does not descend where no event is left, events without any open path are
answered first instead of being lost, and the controller has rules for ties, for both neighbours being better, and
for changes of the height. Added: subscriptions are the whole language. The tree has the attributes that most
conjunctions use, unbounded where a conjunction does not restrict them; the rest is verified for what the tree
finds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.base import Stats
from tamis.formulas.formula import Formula
from tamis.lab.boxes import BoxStore
from tamis.lab.boxes.kernels.boxes import axis_uses
from tamis.lab.boxes.kernels.rows import RowValues, row_values
from tamis.lab.dynamic.predicate_index import EncodedEvents, PredicateIndex
from tamis.lab.dynamic.term_index import TermIndex
from tamis.lab.wang.rtree.batch_search import batch_search, estimate
from tamis.lab.wang.rtree.kernels.bulk_load import bulk_load
from tamis.lab.wang.rtree.kernels.term_boxes import event_points, term_ends, verify_pairs
from tamis.lab.wang.rtree.kernels.tree import empty_tree, height_of, tree_stats
from tamis.lab.wang.rtree.kernels.updates import delete_boxes
from tamis.schedule.controller import ROUNDS, THRESHOLD, Controller, Controllers
from tamis.statistics import Statistics

INNER, LEAF = 10, 20
"""Capacities of inner nodes and of leaves, as in the paper."""
DIMENSIONS = 16
"""How many dimensions the tree has at most."""


class Rtree:
    """The engine `rtree`.

    Args:
        inner: The capacity of an inner node.
        leaf: The capacity of a leaf.
        dimensions: How many attributes the tree has at most: those that most conjunctions use.
        level: How deep the estimate goes, 1 for none; None for a level that adapts itself.
        weighted: Estimate by the boxes below the nodes that an event reaches, instead of the nodes.
        rounds: How often each level is tried before one is chosen.
        threshold: Inserts and deletes after which levels are tried again.
    """

    name = "rtree"
    dynamic = True

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
        return TermIndex(RtreeStore(*self._options)).fill(formulas)


class RtreeStore(BoxStore):
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
        self._tree = empty_tree(0, inner, leaf)
        self._controllers = Controllers(
            lambda _: Controller(1, height_of(self._tree), rounds=rounds, threshold=threshold)
        )
        self._work = dict.fromkeys(("estimate tests", "tests", "visits", "candidates", "conjunctions"), 0)

    def _clear(self, predicates: PredicateIndex) -> None:
        uses = axis_uses(self._boxes)[1:]
        chosen = np.argsort(-uses, kind="stable")[: self._most]
        chosen = chosen[uses[chosen] > 0]
        self._places = np.full(len(uses), -1, np.int32)
        self._places[chosen] = np.arange(len(chosen))
        self._dimensions = len(chosen)
        self._tree = empty_tree(self._dimensions, *self._capacities)

    def _insert_terms(self, terms: I32) -> None:
        lows, highs = term_ends(self._boxes, terms, self._places, self._dimensions)
        bulk_load(self._tree, lows, highs, terms)
        self._count_updates(len(terms))

    def _delete_terms(self, terms: I32) -> None:
        delete_boxes(self._tree, terms)
        self._count_updates(len(terms))

    def _count_updates(self, count: int) -> None:
        self._controllers.update(count)
        self._controllers.resize(1, height_of(self._tree))

    def _match(self, predicates: PredicateIndex, rows: RowValues) -> tuple[I32, I64]:
        points = event_points(rows, self._places, self._dimensions)
        controller = self._controllers.of(len(points))
        level = self._level or (controller.level if len(points) > 1 else 1)
        answers = batch_search(self._tree, points, level, weighted=self._weighted)
        if len(points) > 1:
            controller.observe(level, float(answers.responses.mean()))
        found, heads = verify_pairs(self._boxes, predicates.predicates, rows, answers.rows, answers.payloads)
        done = answers.table.tests, answers.tests, answers.visits
        counts = (*(int(each.sum()) for each in done), len(answers.rows), len(found))
        self._work = {name: self._work[name] + count for name, count in zip(self._work, counts, strict=True)}
        return found, heads

    def estimate(self, predicates: PredicateIndex, event: EncodedEvents) -> I64:
        """The workload of each row at the current level: the nodes that it reaches."""
        points = event_points(row_values(self._boxes, event), self._places, self._dimensions)
        level = self._level or self._controllers.of(len(points)).current
        return estimate(self._tree, points, level, weighted=self._weighted).workloads

    def _stats(self) -> Stats:
        return tree_stats(self._tree)

    def work(self) -> dict[str, int]:
        done = self._work
        self._work = dict.fromkeys(done, 0)
        return done
