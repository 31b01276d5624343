"""Splitting: a formula that is a small OR of conjunctions stands in the index as these conjunctions.

Each is searched like any other conjunction, by its cells, instead of being walked for every event that comes near.
An event that satisfies several of them is reported by the first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import NOTHING, Bytes, Ints, Shorts
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, Conjunctions, conjunctions_of
from tamis.engines.forest import Forest, Nodes

MOST_CLAUSES = 8
"""Into how many conjunctions a formula is split at most."""


class Split(NamedTuple):
    """A forest whose formulas are whole formulas or conjunctions of one.

    owners: per formula of `forest`, the slot that it is of.
    rivals: per formula, the node or leaf that tells whether an earlier conjunction of the slot holds; or NOTHING.
    """

    forest: Forest
    owners: Shorts
    rivals: Ints


class _Out(NamedTuple):
    roots: Shorts
    owners: Shorts
    rivals: Ints
    least: Shorts
    ends: Ints
    children: Shorts


@numba.njit(cache=True, nogil=True)
def _split(
    given: Conjunctions, counts: Shorts, whole: Bytes, roots: Shorts, offset: int, out: _Out
) -> tuple[int, int, int]:
    """Fill `out`; gives the numbers of formulas, nodes and children."""
    formulas, nodes, edges, clause = 0, 0, 0, 0
    for slot in range(len(roots)):
        if whole[slot]:
            out.roots[formulas], out.owners[formulas], out.rivals[formulas] = roots[slot], slot, NOTHING
            formulas += 1
            clause += counts[slot]
            continue
        first_formula = formulas
        for _ in range(counts[slot]):
            first, last = given.firsts[clause], given.firsts[clause + 1]
            if last - first == 1:
                out.roots[formulas] = ~given.leaves[first]
            else:
                out.roots[formulas] = offset + nodes
                out.least[nodes] = last - first
                for place in range(first, last):
                    out.children[edges] = ~given.leaves[place]
                    edges += 1
                out.ends[nodes] = edges
                nodes += 1
            out.owners[formulas], out.rivals[formulas] = slot, NOTHING
            formulas += 1
            clause += 1
        for formula in range(first_formula + 1, formulas):
            if formula == first_formula + 1:
                out.rivals[formula] = out.roots[first_formula]
                continue
            out.rivals[formula] = offset + nodes
            out.least[nodes] = 1
            for earlier in range(first_formula, formula):
                out.children[edges] = out.roots[earlier]
                edges += 1
            out.ends[nodes] = edges
            nodes += 1
    return formulas, nodes, edges


def split(forest: Forest) -> Split:
    """The forest with what is worth it split."""
    given = conjunctions_of(forest)
    count = len(forest)
    counts = np.bincount(given.slots, minlength=count).astype(np.int32)
    unsure = np.zeros(count, np.bool_)
    unsure[given.slots[(given.flags & UNSURE) != 0]] = True
    unsure[given.slots[np.diff(given.firsts) == 0]] = True
    several = np.zeros(count, np.bool_)
    several[given.slots[(given.flags & SEVERAL) != 0]] = True
    whole = unsure | ~several | (counts > MOST_CLAUSES)
    if whole.all():
        return Split(forest, np.arange(count, dtype=np.int32), np.full(count, NOTHING, np.int64))
    clauses = int(counts[~whole].sum())
    room = int(whole.sum()) + clauses
    out = _Out(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(2 * clauses, np.int32),
        np.empty(2 * clauses, np.int64),
        np.empty(len(given.leaves) + MOST_CLAUSES * clauses, np.int32),
    )
    nodes = forest.nodes
    _, more, edges = _split(given, counts, whole.astype(np.uint8), forest.roots, len(nodes.least), out)
    joined = Nodes(
        np.concatenate([nodes.least, out.least[:more]]),
        np.concatenate([nodes.firsts, nodes.firsts[-1] + out.ends[:more]]),
        np.concatenate([nodes.children, out.children[:edges]]),
    )
    return Split(replace(forest, nodes=joined, roots=out.roots), out.owners, out.rivals)
