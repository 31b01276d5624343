"""Disjuncts: writing them, and the nodes of their guards, behind the nodes of a forest."""

from __future__ import annotations

from typing import NamedTuple

from tamis.arrays import I32, I64, U8
from tamis.engines.bitslice.layout import NO_NODE
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.kernels import kernel


class SplitArrays(NamedTuple):
    """What `fill_split` writes: roots and the arrays of `SplitForest`; least, ends and children of new nodes."""

    roots: I32
    owners: I32
    earlier_disjuncts: I64
    least: I32
    ends: I64
    children: I32


@kernel
def fill_split(
    given: Conjunctions, counts: I32, whole: U8, roots: I32, offset: int, out: SplitArrays
) -> tuple[int, int, int]:
    """Fill `out`; returns the numbers of formulas, nodes and children.

    `given` has the conjunctions of all slots, in order, `counts` how many each slot has; `whole` is 1 for slots
    that are not split. New nodes are numbered from `offset`.
    """
    formulas, nodes, edges, conjunction = 0, 0, 0, 0
    for slot in range(len(roots)):
        if whole[slot]:
            out.roots[formulas], out.owners[formulas] = roots[slot], slot
            out.earlier_disjuncts[formulas] = NO_NODE
            formulas += 1
            conjunction += counts[slot]
            continue
        first_formula = formulas
        for _ in range(counts[slot]):
            first, last = given.firsts[conjunction], given.firsts[conjunction + 1]
            if last - first == 1:  # a single leaf needs no node
                out.roots[formulas] = ~given.leaves[first]
            else:
                out.roots[formulas] = offset + nodes
                out.least[nodes] = last - first
                for place in range(first, last):
                    out.children[edges] = ~given.leaves[place]
                    edges += 1
                out.ends[nodes] = edges
                nodes += 1
            out.owners[formulas], out.earlier_disjuncts[formulas] = slot, NO_NODE
            formulas += 1
            conjunction += 1
        # Guards come after all disjuncts of the slot, because children must have lower numbers than their parents.
        for formula in range(first_formula + 1, formulas):
            if formula == first_formula + 1:
                out.earlier_disjuncts[formula] = out.roots[first_formula]
                continue
            out.earlier_disjuncts[formula] = offset + nodes
            out.least[nodes] = 1
            for earlier in range(first_formula, formula):
                out.children[edges] = out.roots[earlier]
                edges += 1
            out.ends[nodes] = edges
            nodes += 1
    return formulas, nodes, edges
