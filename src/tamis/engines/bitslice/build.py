"""From a forest to an index."""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.bitslice.bodies import Source, Written, measured, written
from tamis.engines.bitslice.cells import cells_of
from tamis.engines.bitslice.couples import couples_of
from tamis.engines.bitslice.filing import Atoms, filed
from tamis.engines.bitslice.groups import arranged, groups_of
from tamis.engines.bitslice.layout import NOTHING, Bodies, Index, Ints, Program, Shorts
from tamis.engines.bitslice.outline import outline_of
from tamis.engines.bitslice.program import program_of
from tamis.engines.bitslice.spans import spans_of
from tamis.engines.bitslice.splitting import split
from tamis.engines.bitslice.weights import weights_of
from tamis.engines.forest import Forest
from tamis.statistics import Statistics


def build_index(given: Forest, statistics: Statistics | None = None) -> Index:
    """The index of a forest's formulas; what is known of events makes it quicker."""
    forest, owners, rivals = split(given)
    cells = cells_of(forest)
    numbered = spans_of(forest, cells)
    spans = numbered.spans
    weights = weights_of(forest, cells, statistics)
    atoms, covers, cover_firsts, *costs = filed(forest, cells, numbered, weights)
    source = Source(atoms, forest.leaves, forest.nodes, forest.roots, cells.widths, spans, numbered.leaves, *costs)
    sizes, others = measured(source, forest)
    places = arranged(atoms, sizes, spans, cells, weights)
    run_axes = places.runs.axes[np.cumsum(places.run_begins) - 1]
    parts = written(source, forest, sizes, others, places.order, run_axes)
    groups = groups_of(forest, atoms, places, parts.bodies, spans, cells)
    couples = couples_of(atoms, places.order, places.group_begins, parts.bodies, spans, cells)
    first_couple = int(couples.first_group[0])
    outline = outline_of(cells, spans, parts.bodies, groups, places.groups, first_couple, weights)
    program, bodies = _programs(forest, parts, atoms, covers, cover_firsts, rivals)
    return Index(cells, spans, bodies._replace(slots=owners[bodies.slots]), groups, outline, couples, program)


@numba.njit(cache=True, nogil=True)
def _extra_nodes(
    parts: Written,
    atoms: Atoms,
    covers: Shorts,
    cover_firsts: Ints,
    rivals: Ints,
    offset: int,
    least: Shorts,
    ends: Ints,
    children: Shorts,
    residuals: Ints,
    unless: Ints,
) -> tuple[int, int]:
    """Join several parts of an entry beyond its conjunction by AND, and what reports an event before it by OR."""
    nodes, edges = 0, 0
    for entry in range(len(parts.order)):
        first, last = parts.other_firsts[entry], parts.other_firsts[entry + 1]
        residuals[entry] = NOTHING
        if last - first == 1:
            residuals[entry] = parts.others[first]
        elif last > first:
            residuals[entry] = offset + nodes
            least[nodes] = last - first
            for place in range(first, last):
                children[edges] = parts.others[place]
                edges += 1
            ends[nodes] = edges
            nodes += 1
        atom = parts.order[entry]
        earlier = atoms.earlier[atom]
        start = cover_firsts[atoms.slots[atom]]
        unless[entry] = NOTHING
        if earlier == 1:
            unless[entry] = ~covers[start]
        elif earlier > 1:
            unless[entry] = offset + nodes
            least[nodes] = 1
            for place in range(start, start + earlier):
                children[edges] = ~covers[place]
                edges += 1
            ends[nodes] = edges
            nodes += 1
        rival = rivals[atoms.slots[atom]]
        if rival != NOTHING and unless[entry] == NOTHING:
            unless[entry] = rival
        elif rival != NOTHING:
            least[nodes] = 1
            children[edges], children[edges + 1] = rival, unless[entry]
            edges += 2
            ends[nodes] = edges
            unless[entry] = offset + nodes
            nodes += 1
    return nodes, edges


def _programs(
    forest: Forest, parts: Written, atoms: Atoms, covers: Shorts, cover_firsts: Ints, rivals: Ints
) -> tuple[Program, Bodies]:
    """The program of all that is more than a conjunction, and the bodies with their places in it."""
    entries = len(parts.order)
    room = len(parts.others) + int(atoms.earlier.sum()) + 2 * entries
    least, ends, children = (
        np.empty(3 * entries, np.int32),
        np.empty(3 * entries, np.int64),
        np.empty(room, np.int32),
    )
    wanted = np.empty(2 * entries, np.int64)
    nodes = forest.nodes
    more, edges = _extra_nodes(
        parts,
        atoms,
        covers,
        cover_firsts,
        rivals,
        len(nodes.least),
        least,
        ends,
        children,
        wanted[:entries],
        wanted[entries:],
    )
    some = np.flatnonzero(wanted != NOTHING)
    program, wanted[some] = program_of(
        forest,
        np.concatenate([nodes.least, least[:more]]),
        np.concatenate([nodes.firsts, nodes.firsts[-1] + ends[:more]]),
        np.concatenate([nodes.children, children[:edges]]),
        wanted[some],
    )
    residuals, unless = wanted[:entries].astype(np.int32), wanted[entries:].astype(np.int32)
    none = np.empty(0, np.int32)
    return program, parts.bodies._replace(
        residuals=residuals if (residuals != NOTHING).any() else none,
        unless=unless if (unless != NOTHING).any() else none,
    )
