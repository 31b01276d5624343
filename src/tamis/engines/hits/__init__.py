"""`hits`: general Boolean filtering, Bittner's way.

An event's predicates give hits to the subscriptions that use them. A subscription with as many hits as its formula
needs at least is a candidate, and the encoded tree of a candidate is evaluated on the predicates that hold.
Nothing is turned into a normal form, so nothing grows; a change touches the lists of a formula's own predicates
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.dynamic.chances import leaf_chances, node_chances, ordered_children
from tamis.engines.dynamic.changing import ChangingIndex
from tamis.engines.dynamic.index import PredicateIndex
from tamis.engines.dynamic.verifier import Verifier
from tamis.engines.forest import Forest, Nodes
from tamis.engines.hits.filing import (
    delete_trees,
    file_bytes,
    file_counts,
    file_of,
    insert_trees,
    match_trees,
    needed_by,
    tree_of,
    work_of,
)
from tamis.events.batch import EventBatch
from tamis.language.formula import Formula
from tamis.predicates.base import Frame
from tamis.statistics import Statistics

Shorts: TypeAlias = npt.NDArray[np.int32]

_EVERYONE = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Hits:
    """The engine.

    Attributes:
        encoding: Of trees: "plain", or with "widths" by which children can be skipped.
        short_circuit: Leave a node as soon as it is decided.
        semantic: Count all hits that a true formula must have, not only those that it needs.
        ordered: Put the children first that are likely to decide.
        weighted: Let the predicates of which one must hold weigh so much that nothing is a candidate without them.
    """

    encoding: Literal["plain", "widths"] = "plain"
    short_circuit: bool = True
    semantic: bool = True
    ordered: bool = True
    weighted: bool = True

    @property
    def name(self) -> str:
        """As users write it."""
        return "hits"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> HitsIndex:
        """An index with formula i in slot i."""
        return HitsIndex(self, statistics).filled(formulas)


class HitsIndex(ChangingIndex):
    """Formulas as trees, under the predicates that they use."""

    def __init__(self, engine: Hits, statistics: Statistics | None) -> None:
        super().__init__()
        self._engine = engine
        self._widths = engine.encoding == "widths"
        self._settings = self._widths, engine.weighted, engine.semantic
        self._statistics = statistics
        self._predicates = PredicateIndex()
        self._file = file_of()
        self._verifier = Verifier()

    def _insert(self, slots: Shorts, forest: Forest) -> None:
        nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
        predicates, children = self._predicates.predicates, self._children(forest, nodes)
        with self._predicates.entered(forest) as numbers:
            given = slots, np.ascontiguousarray(forest.roots), numbers
            refused = insert_trees(self._file, predicates, nodes, children, given, self._settings)
        self._predicates.tidy()  # what was too large to be kept as a tree
        for place in refused.tolist():
            self._verifier.insert(int(slots[place]), forest[place])

    def _children(self, forest: Forest, nodes: Nodes) -> Shorts:
        if not self._engine.ordered:
            return nodes.children
        chances = leaf_chances(forest, self._statistics)
        return np.asarray(ordered_children(nodes, chances, node_chances(nodes, chances)))

    def _delete(self, slots: Shorts) -> None:
        rest = self._verifier.delete_many(slots)
        delete_trees(self._file, self._predicates.predicates, rest, self._settings)
        self._predicates.tidy()

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in the order of rows but for formulas that are too long for a tree."""
        frame = frame_of(events)
        with self._lock:
            return self._verifier.added(frame, self._matched(frame, _EVERYONE))

    def match_owners(self, events: EventBatch | Frame, owners: Shorts) -> Matches:
        """Who is to be told of each event: pairs of a row and an owner, each once.

        As soon as one of an owner's subscriptions holds, his others are passed over.

        Args:
            events: To be matched.
            owners: The owner of every slot, numbered from 0.
        """
        frame = frame_of(events)
        with self._lock:
            found = self._matched(frame, owners)
            rows, slots = self._verifier.match(frame)
        both = np.unique(
            np.concatenate([found.rows, rows]).astype(np.int64) << 32
            | np.concatenate([found.slots, owners[slots]])
        )
        return Matches((both >> 32).astype(np.int32), (both & 0xFFFFFFFF).astype(np.int32))

    def _matched(self, frame: Frame, owners: Shorts) -> Matches:
        """The pairs of trees."""
        self._flush()
        predicates, event = self._predicates.predicates, self._predicates.event(frame)
        circuit = self._engine.short_circuit
        return Matches(*match_trees(self._file, predicates, event, owners, self._widths, circuit))

    def work(self) -> dict[str, int]:
        """What was done since this was asked last: predicates that held, hits, candidates, matches."""
        with self._lock:
            return dict(zip(("held", "hits", "candidates", "matches"), work_of(self._file).tolist(), strict=True))

    def tree(self, slot: int) -> bytes:
        """The encoded tree in a slot."""
        with self._lock:
            self._flush()
            return bytes(tree_of(self._file, slot, self._widths))

    def needed(self, slot: int) -> int:
        """How many hits make the subscription in a slot a candidate; 0 if it always is one."""
        with self._lock:
            self._flush()
            return int(needed_by(self._file, slot, self._settings))

    def stats(self) -> Stats:
        """Subscriptions, predicates, and how many formulas are candidates of every event."""
        with self._lock:
            self._flush()
            count, always = file_counts(self._file)
            names = ("association", "trees", "locations", "needed hits", "hits", "slots")
            sizes = dict(zip(names, file_bytes(self._file), strict=True))
            counts = {
                "subscriptions": count + len(self._verifier),
                "predicates": len(self._predicates),
                "always": always,
                "verified": len(self._verifier),
            }
            return Stats(counts, sizes | {"held": self._predicates.bound // 8 + 1} | self._predicates.bytes())
