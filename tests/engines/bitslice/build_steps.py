"""A small random index with its batch, and every intermediate result of building it, for tests of single steps."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tamis.engines.bitslice import BitsliceIndex
from tamis.engines.bitslice.build import build_index
from tamis.engines.bitslice.cell_ranges import number_ranges
from tamis.engines.bitslice.cells import cells_of
from tamis.engines.bitslice.kernels.cell_ranges import NumberedRanges
from tamis.engines.bitslice.kernels.entries import EntrySource
from tamis.engines.bitslice.kernels.placement import PlacedFormulas
from tamis.engines.bitslice.layout import AxisCells
from tamis.engines.bitslice.placement import place_formulas
from tamis.engines.bitslice.selectivity import cell_selectivities
from tamis.engines.encoding import EncodedBatch, Encoder
from tamis.engines.forest import INTERVAL, Forest, Leaves, Nodes, Pieces
from tamis.engines.forest.axes import KEY_SCALE, Axis
from tamis.engines.forest.tests import tests_of
from tamis.formulas.expression import Path
from tamis.frames import BatchFrame
from tamis.values.types import BIGINT
from tests.engines.naive import Pair, leaf_holds, node_holds, random_events, random_forest

AXES, DOMAIN = 4, 50


@dataclass(frozen=True)
class Steps:
    forest: Forest
    cells: AxisCells
    numbered: NumberedRanges
    placed: PlacedFormulas
    index: BitsliceIndex
    encoded: EncodedBatch
    events: list[list[int | None]]

    @property
    def source(self) -> EntrySource:
        """What `build_index` makes entries from."""
        return entry_source(self.forest, self.cells, self.numbered, self.placed)

    @cached_property
    def truths(self) -> list[list[bool]]:
        """By event, which leaves hold."""
        axes = self.forest.leaves.axes.tolist()
        return [
            [leaf_holds(self.forest, leaf, event[axis]) for leaf, axis in enumerate(axes)] for event in self.events
        ]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every event and slot whose formula holds, in order."""
        roots = list(enumerate(self.forest.roots.tolist()))
        return [
            (event, slot) for event in range(len(self.events)) for slot, root in roots if self.holds(root, event)
        ]

    def holds(self, root: int, event: int) -> bool:
        return node_holds(self.forest, root, self.truths[event])


def build_steps(seed: int, slots: int = 60, rows: int = 30, *, domain: int = DOMAIN, depth: int = 2) -> Steps:
    random_ = random.Random(seed)
    forest = random_forest(random_, slots, axes=AXES, domain=domain, depth=depth)
    batch = random_events(random_, AXES, domain, rows)
    cells = cells_of(forest)
    numbered = number_ranges(forest, cells)
    placed = place_formulas(forest, cells, numbered, cell_selectivities(forest, cells))
    encoded = Encoder(forest.axes, forest.tests).encode(BatchFrame(batch))
    events = [[_value(encoded, axis, row) for axis in range(AXES)] for row in range(rows)]
    return Steps(forest, cells, numbered, placed, BitsliceIndex(forest, build_index(forest)), encoded, events)


def entry_source(
    forest: Forest, cells: AxisCells, numbered: NumberedRanges, placed: PlacedFormulas
) -> EntrySource:
    return EntrySource(
        placed.placements,
        forest.leaves,
        forest.nodes,
        forest.roots,
        cells.widths,
        cells.floors,
        numbered.ranges,
        numbered.leaves,
        placed.range_costs,
    )


def interval_forest(intervals: Sequence[tuple[int, int]], *, null: bool = False, axes: int = 1) -> Forest:
    """Formulas that are one interval of coordinates each, on the first axis; with `null`, they admit NULL."""
    count = len(intervals)
    bounds = np.array(intervals, np.int64).reshape(-1, 2)
    leaves = Leaves(
        np.full(count, INTERVAL, np.uint8),
        np.full(count, null, np.uint8),
        np.zeros(count, np.int32),
        bounds[:, 0].copy(),
        bounds[:, 1].copy(),
    )
    none = np.empty(0, np.int64)
    return Forest(
        tuple(Axis(Path((f"a{axis}",), BIGINT), KEY_SCALE) for axis in range(axes)),
        tests_of(())[0],
        leaves,
        Pieces(none, none),
        Nodes(none.astype(np.int32), np.zeros(1, np.int64), none.astype(np.int32)),
        ~np.arange(count, dtype=np.int32),
    )


def _value(encoded: EncodedBatch, axis: int, row: int) -> int | None:
    column = encoded.columns[axis]
    return int(encoded.coordinates[column, row]) if column >= 0 and encoded.valid[column, row] else None
