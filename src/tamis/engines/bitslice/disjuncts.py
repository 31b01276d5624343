"""Disjuncts: a formula that is a small OR of conjunctions stands in the index as these conjunctions.

Each is searched like any other conjunction, by its cells, instead of being evaluated for every event that comes
near. An event that satisfies several disjuncts of a slot must be reported once. So each but the first has a
deduplication guard: the OR of the disjuncts before it, which must not hold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.bitslice.kernels.disjuncts import SplitArrays, fill_split
from tamis.engines.bitslice.layout import NO_NODE
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, conjunctions_of
from tamis.engines.forest import Forest, Nodes

MOST_DISJUNCTS = 8
"""A formula with more of them stays whole."""


class SplitForest(NamedTuple):
    """A forest of whole formulas and of single disjuncts.

    owners: int32[formulas]: the slot in the forest that was split.
    earlier_disjuncts: int64[formulas]: the node or leaf that holds if an earlier disjunct of the slot does, or
        NO_NODE.
    """

    forest: Forest
    owners: I32
    earlier_disjuncts: I64


def split_disjunctions(forest: Forest) -> SplitForest:
    """The forest with small ORs split into their disjuncts; the same object if there are none."""
    given = conjunctions_of(forest)
    count = len(forest)
    counts = np.bincount(given.slots, minlength=count).astype(np.int32)
    # UNSURE conjunctions are necessary, but not sufficient; an empty one is TRUE.
    unsure = np.zeros(count, np.bool_)
    unsure[given.slots[(given.flags & UNSURE) != 0]] = True
    unsure[given.slots[np.diff(given.firsts) == 0]] = True
    several = np.zeros(count, np.bool_)
    several[given.slots[(given.flags & SEVERAL) != 0]] = True
    whole = unsure | ~several | (counts > MOST_DISJUNCTS)
    if whole.all():
        return SplitForest(forest, np.arange(count, dtype=np.int32), np.full(count, NO_NODE, np.int64))
    disjuncts = int(counts[~whole].sum())
    room = int(whole.sum()) + disjuncts
    # At most two nodes a disjunct: its AND, and the OR of those before it.
    out = SplitArrays(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(2 * disjuncts, np.int32),
        np.empty(2 * disjuncts, np.int64),
        np.empty(len(given.leaves) + MOST_DISJUNCTS * disjuncts, np.int32),
    )
    nodes = forest.nodes
    _, more, edges = fill_split(given, counts, whole.astype(np.uint8), forest.roots, len(nodes.least), out)
    joined = Nodes(
        np.concatenate([nodes.least, out.least[:more]]),
        np.concatenate([nodes.firsts, nodes.firsts[-1] + out.ends[:more]]),
        np.concatenate([nodes.children, out.children[:edges]]),
    )
    return SplitForest(replace(forest, nodes=joined, roots=out.roots), out.owners, out.earlier_disjuncts)
