"""`hits`: general Boolean filtering (S. Bittner, thesis 2008, chapter 4).

A subscription is never converted to a normal form. The predicates that an event satisfies count hits for the
subscriptions that use them; a subscription with at least as many hits as its minimum predicate count is a
candidate, and the encoded tree of a candidate is evaluated on the satisfied predicates. A change touches only the
posting lists of the subscription's own predicates.

- `kernels.encoding`: subscription trees as bytes (4.2.2), the variant with widths included, and p_min (4.2.3);
- `kernels.subscriptions`: the association, location and minimum count tables (4.2.3), and the three steps of
  matching (4.3);
- `kernels.child_order`: the order of children in a tree, an addition.

Corrected and added: trees may be longer than 255 children, or have "at least k of"; p_min counts repeated
predicates exactly (`semantic`); a predicate without which nothing can be true is a *gate* that outweighs all other
hits (`weighted`), so that fewer subscriptions become candidates; trees that are too long are evaluated as
formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tamis.arrays import I32
from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.forest import Forest, Nodes
from tamis.engines.selectivity import leaf_selectivities, node_selectivities
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.lab.bittner.hits.kernels.child_order import ordered_children
from tamis.lab.bittner.hits.kernels.subscriptions import (
    delete_trees,
    empty_table,
    encoded_tree,
    insert_trees,
    match_trees,
    required_hits,
    table_bytes,
    table_counts,
    take_work,
)
from tamis.lab.dynamic.fallback import FallbackFormulas
from tamis.lab.dynamic.mutable_index import MutableIndex
from tamis.lab.dynamic.predicate_index import PredicateIndex
from tamis.statistics import Statistics

_NO_OWNERS = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Hits:
    """The engine `hits`.

    Attributes:
        encoding: Of trees: "plain", or with "widths" by which children can be skipped.
        short_circuit: Leave a node as soon as it is decided.
        semantic: Require all hits that a true formula must have, not only those that make it true.
        ordered: Evaluate the children first that are likely to decide.
        weighted: Weigh predicates of which one must hold so much that no subscription is a candidate without them.
    """

    encoding: Literal["plain", "widths"] = "plain"
    short_circuit: bool = True
    semantic: bool = True
    ordered: bool = True
    weighted: bool = True

    @property
    def dynamic(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return "hits"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> HitsIndex:
        return HitsIndex(self, statistics).fill(formulas)


class HitsIndex(MutableIndex):
    """Subscriptions as encoded trees, listed under the predicates that they use."""

    def __init__(self, engine: Hits, statistics: Statistics | None) -> None:
        super().__init__()
        self._engine = engine
        self._widths = engine.encoding == "widths"
        self._settings = self._widths, engine.weighted, engine.semantic
        self._statistics = statistics
        self._predicates = PredicateIndex()
        self._table = empty_table()
        self._fallback = FallbackFormulas()

    def _insert(self, slots: I32, forest: Forest) -> None:
        nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
        predicates, children = self._predicates.predicates, self._children(forest, nodes)
        with self._predicates.interned_leaves(forest) as numbers:
            given = slots, np.ascontiguousarray(forest.roots), numbers
            refused = insert_trees(self._table, predicates, nodes, children, given, self._settings)
        self._predicates.drop_unused_tests()  # those of trees that are too long
        for place in refused.tolist():
            self._fallback.insert(int(slots[place]), forest[place])

    def _children(self, forest: Forest, nodes: Nodes) -> I32:
        if not self._engine.ordered:
            return nodes.children
        selectivities = leaf_selectivities(forest, self._statistics)
        return np.asarray(ordered_children(nodes, selectivities, node_selectivities(nodes, selectivities)))

    def _delete(self, slots: I32) -> None:
        rest = self._fallback.delete_many(slots)
        delete_trees(self._table, self._predicates.predicates, rest, self._settings)
        self._predicates.drop_unused_tests()

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in the order of rows, but for formulas that are too long for a tree, which come last."""
        frame = frame_of(events)
        with self._lock:
            return self._fallback.append_matches(frame, self._match_trees(frame, _NO_OWNERS))

    def match_owners(self, events: EventBatch | Frame, owners: I32) -> Matches:
        """The owners to be notified of each event: pairs of a row and an owner, each once.

        As soon as one subscription of an owner holds, the others are skipped.

        Args:
            events: The batch.
            owners: int32[slots]: the owner of every slot, numbered from 0.
        """
        frame = frame_of(events)
        with self._lock:
            found = self._match_trees(frame, owners)
            rows, slots = self._fallback.match(frame)
        both = np.unique(
            np.concatenate([found.rows, rows]).astype(np.int64) << 32
            | np.concatenate([found.slots, owners[slots]])
        )
        return Matches((both >> 32).astype(np.int32), (both & 0xFFFFFFFF).astype(np.int32))

    def _match_trees(self, frame: Frame, owners: I32) -> Matches:
        self._flush()
        predicates, event = self._predicates.predicates, self._predicates.encode(frame)
        circuit = self._engine.short_circuit
        return Matches(*match_trees(self._table, predicates, event, owners, self._widths, circuit))

    def work(self) -> dict[str, int]:
        """Counts since the last call: satisfied predicates, hits, candidates, matches."""
        with self._lock:
            return dict(
                zip(("held", "hits", "candidates", "matches"), take_work(self._table).tolist(), strict=True)
            )

    def tree(self, slot: int) -> bytes:
        """The encoded tree of the subscription in a slot."""
        with self._lock:
            self._flush()
            return bytes(encoded_tree(self._table, slot, self._widths))

    def required_hits(self, slot: int) -> int:
        """How many hits make the subscription in a slot a candidate (p_min); 0 if it always is one."""
        with self._lock:
            self._flush()
            return int(required_hits(self._table, slot, self._settings))

    def stats(self) -> Stats:
        """Subscriptions, predicates, and how many subscriptions are candidates of every event."""
        with self._lock:
            self._flush()
            count, always = table_counts(self._table)
            names = ("association", "trees", "locations", "needed hits", "hits", "slots")
            sizes = dict(zip(names, table_bytes(self._table), strict=True))
            counts = {
                "subscriptions": count + len(self._fallback),
                "predicates": len(self._predicates),
                "always": always,
                "verified": len(self._fallback),
            }
            return Stats(
                counts, sizes | {"held": self._predicates.number_limit // 8 + 1} | self._predicates.bytes()
            )
