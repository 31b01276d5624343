"""From a forest to an index: the steps in order, each in a module of its name."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I64
from tamis.engines.bitslice.attribute_pairs import attribute_pairs_of
from tamis.engines.bitslice.cell_ranges import number_ranges
from tamis.engines.bitslice.cells import cells_of
from tamis.engines.bitslice.coarse_bitmaps import coarse_bitmaps_of
from tamis.engines.bitslice.disjuncts import split_disjunctions
from tamis.engines.bitslice.entries import measure_entries, write_entries
from tamis.engines.bitslice.groups import arrange, groups_of
from tamis.engines.bitslice.kernels.entries import EntrySource, WrittenEntries
from tamis.engines.bitslice.kernels.placement import PlacedFormulas
from tamis.engines.bitslice.kernels.residuals import NewNodes, residual_nodes
from tamis.engines.bitslice.layout import NO_NODE, EntryArrays, IndexArrays
from tamis.engines.bitslice.mask_programs import formulas_for_masks, mask_programs_of
from tamis.engines.bitslice.placement import place_formulas
from tamis.engines.bitslice.residual_graph import residual_graph_of
from tamis.engines.bitslice.selectivity import cell_selectivities
from tamis.engines.forest import Forest
from tamis.engines.forest.selection import select_formulas
from tamis.engines.formula_program import FormulaProgram, lay_out
from tamis.statistics import Statistics


def build_index(given: Forest, statistics: Statistics | None = None) -> IndexArrays:
    """The index of a forest's formulas. Statistics make it faster to search, and never change what it finds."""
    masked = formulas_for_masks(given, statistics)
    rest = np.setdiff1d(np.arange(len(given), dtype=np.int32), masked, assume_unique=True)
    forest, owners, earlier_disjuncts = split_disjunctions(select_formulas(given, rest) if len(masked) else given)
    cells = cells_of(forest)
    numbered = number_ranges(forest, cells)
    ranges = numbered.ranges
    selectivities = cell_selectivities(forest, cells, statistics)
    placed = place_formulas(forest, cells, numbered, selectivities)
    placements = placed.placements
    source = EntrySource(
        placements,
        forest.leaves,
        forest.nodes,
        forest.roots,
        cells.widths,
        cells.floors,
        ranges,
        numbered.leaves,
        placed.range_costs,
    )
    sizes, residual_parts = measure_entries(source, forest)
    arrangement = arrange(placements, sizes, ranges, cells, selectivities)
    order = arrangement.order
    run_axes = arrangement.runs.axes[np.cumsum(arrangement.run_begins) - 1]
    written = write_entries(source, forest, sizes, residual_parts, order, run_axes)
    groups = groups_of(forest, placements, arrangement, written.entries, ranges, cells)
    pairs = attribute_pairs_of(placements, order, arrangement.group_begins, written.entries, ranges, cells)
    bitmaps = coarse_bitmaps_of(
        cells, ranges, written.entries, groups, arrangement.groups, int(pairs.first_group[0]), selectivities
    )
    program, entries = _with_residuals(forest, written, placed, earlier_disjuncts)
    # Until here a slot is a disjunct; from here on it is the subscription that the disjunct belongs to.
    entries = entries._replace(slots=rest[owners[entries.slots]])
    masks = mask_programs_of(given, masked)
    return IndexArrays(cells, ranges, entries, groups, bitmaps, pairs, program, masks)


def _with_residuals(
    forest: Forest, written: WrittenEntries, placed: PlacedFormulas, earlier_disjuncts: I64
) -> tuple[FormulaProgram, EntryArrays]:
    """The program of all that is more than a conjunction, and the entries, with residuals and guards in it."""
    count = len(written.order)
    # At most three nodes an entry: its residual, the guard of its cover, and that joined with earlier disjuncts.
    room = len(written.residual_parts) + int(placed.placements.earlier.sum()) + 2 * count
    new = NewNodes(np.empty(3 * count, np.int32), np.empty(3 * count, np.int64), np.empty(room, np.int32))
    roots = np.empty(2 * count, np.int64)
    nodes = forest.nodes
    more, edges = residual_nodes(
        written, placed, earlier_disjuncts, len(nodes.least), new, roots[:count], roots[count:]
    )
    some = np.flatnonzero(roots != NO_NODE)
    graph, numbers = residual_graph_of(
        forest,
        np.concatenate([nodes.least, new.least[:more]]),
        np.concatenate([nodes.firsts, nodes.firsts[-1] + new.ends[:more]]),
        np.concatenate([nodes.children, new.children[:edges]]),
        roots[some],
    )
    program, roots[some] = lay_out(graph, numbers)
    residuals, guards = roots[:count].astype(np.int32), roots[count:].astype(np.int32)
    none = np.empty(0, np.int32)
    return program, written.entries._replace(
        residuals=residuals if (residuals != NO_NODE).any() else none,
        guards=guards if (guards != NO_NODE).any() else none,
    )
