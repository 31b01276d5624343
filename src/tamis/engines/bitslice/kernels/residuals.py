"""Residuals and guards: the nodes that join what an entry asks beyond its conjunction."""

from __future__ import annotations

from typing import NamedTuple

from tamis.arrays import I32, I64
from tamis.engines.bitslice.kernels.entries import WrittenEntries
from tamis.engines.bitslice.kernels.placement import PlacedFormulas
from tamis.engines.bitslice.layout import NO_NODE
from tamis.kernels import kernel


class NewNodes(NamedTuple):
    """Nodes that are added to those of a forest: `least`, the end of their children, the children."""

    least: I32
    ends: I64
    children: I32


@kernel
def residual_nodes(
    written: WrittenEntries,
    placed: PlacedFormulas,
    earlier_disjuncts: I64,
    offset: int,
    out: NewNodes,
    residuals: I64,
    guards: I64,
) -> tuple[int, int]:
    """Fill residuals and guards of all entries; returns the numbers of new nodes and of their children.

    A residual is the AND of the residual parts of the entry. A guard is the OR of all that reports the event
    before this entry does: the leaves of the cover before its own, and earlier disjuncts of the slot. New nodes
    are numbered from `offset`.
    """
    # Numba counts references of an array that it takes out of a tuple: once here, not in each turn of the loop.
    least, ends, children = out.least, out.ends, out.children
    placements, covers, cover_firsts = placed.placements, placed.covers, placed.cover_firsts
    nodes, edges = 0, 0
    for entry in range(len(written.order)):
        first, last = written.residual_firsts[entry], written.residual_firsts[entry + 1]
        # A part alone stands for itself: a node of one child would be one step more for every event that comes
        # near.
        residuals[entry] = NO_NODE
        if last - first == 1:
            residuals[entry] = written.residual_parts[first]
        elif last > first:
            residuals[entry] = offset + nodes
            least[nodes] = last - first  # all of them: AND
            for place in range(first, last):
                children[edges] = written.residual_parts[place]
                edges += 1
            ends[nodes] = edges
            nodes += 1
        # A slot with a cover of several leaves has an entry for each. An event may satisfy more than one of these
        # leaves and would be reported by each entry: so the entry of leaf k is silent where one of leaves 0 to k -
        # 1 holds, since that leaf's entry has seen the event, and decides the same formula.
        placement = written.order[entry]
        earlier = placements.earlier[placement]
        start = cover_firsts[placements.slots[placement]]
        guards[entry] = NO_NODE
        if earlier == 1:
            guards[entry] = ~covers[start]
        elif earlier > 1:
            guards[entry] = offset + nodes
            least[nodes] = 1  # one is enough: OR
            for place in range(start, start + earlier):
                children[edges] = ~covers[place]
                edges += 1
            ends[nodes] = edges
            nodes += 1
        # A disjunct of a split formula is silent where one before it holds as well
        # (`disjuncts.split_disjunctions`).
        disjuncts = earlier_disjuncts[placements.slots[placement]]
        if disjuncts != NO_NODE and guards[entry] == NO_NODE:
            guards[entry] = disjuncts
        elif disjuncts != NO_NODE:
            least[nodes] = 1  # silent for either reason
            children[edges], children[edges + 1] = disjuncts, guards[entry]
            edges += 2
            ends[nodes] = edges
            guards[entry] = offset + nodes
            nodes += 1
    return nodes, edges
