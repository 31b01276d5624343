"""Groups and runs: entries that are found, or skipped, together."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.bodies import Ranges
from tamis.engines.bitslice.cells import interval_rows
from tamis.engines.bitslice.filing import ALWAYS, CELLS, POINT, TESTED, Atoms, Weights
from tamis.engines.bitslice.layout import Bodies, Cells, Groups, Ints, Shorts
from tamis.engines.forest import Forest, Leaves

BATCH_EVENTS = 1_024
"""The size of batches that groups are cut for."""
FEW_EVENTS = 16
"""A group that fewer events of such a batch reach is searched event by event, and the finer it is the better."""
GROUP_ENTRIES = 2_000
"""Entries from which a table of masks is a small part of the work."""
RUN_ENTRIES = 8
"""Entries that are worth a look whether any of them can hold, for one event."""
LONG_RUN_ENTRIES = 250
"""The same for many events."""
LONG_RUN_EVENTS = 64


class Keys(NamedTuple):
    """What an entry is filed under, comparable; equal keys are one group."""

    majors: Ints  # kind and axis
    minors: Ints  # point, test, or range of cells


@numba.njit(cache=True, nogil=True)
def _atom_rows(atoms: Atoms, leaves: Leaves, cells: Cells, lows: Ints, highs: Ints) -> None:
    """The rows of every atom that is a range of cells."""
    for atom in range(len(atoms.slots)):
        lows[atom], highs[atom] = 0, 1
        if atoms.kinds[atom] == CELLS:
            axis = leaves.axes[atoms.leaves[atom]]
            lows[atom], highs[atom] = interval_rows(
                cells, axis, atoms.lows[atom], atoms.highs[atom], atoms.nulls[atom]
            )


def keys_of(atoms: Atoms, forest: Forest, cells: Cells, weights: Weights) -> tuple[Keys, Ranges]:
    """Keys of all atoms, and their rows, coarse enough for groups of some size."""
    count = len(atoms.slots)
    ranges = Ranges(np.empty(count, np.int64), np.empty(count, np.int64))
    _atom_rows(atoms, forest.leaves, cells, *ranges)
    axes = cells.axis_of[ranges.highs].astype(np.int64)
    is_cells = atoms.kinds == CELLS
    # One cell of an axis whose cells are exact is as good as a point, and stays as it is.
    coarse = is_cells & ~((ranges.highs - ranges.lows == 1) & (cells.widths[axes] == 0))
    for here in _by_value(axes, np.flatnonzero(coarse)):
        share = (weights.mass[ranges.highs[here]] - weights.mass[ranges.lows[here]]).mean()
        if share * BATCH_EVENTS >= FEW_EVENTS:
            coarsen(ranges, here, cells, max(1, len(here) // GROUP_ENTRIES))
    is_point = atoms.kinds == POINT
    if is_point.any():
        axes[is_point] = forest.leaves.axes[atoms.leaves[is_point]]
    majors = atoms.kinds.astype(np.int64) << 32 | axes
    minors = np.where(is_cells, ranges.lows << 32 | ranges.highs, np.where(atoms.kinds == ALWAYS, 0, atoms.lows))
    return Keys(majors, minors), ranges


def _by_value(values: Ints, some: Ints) -> list[Ints]:
    """Some places, in lists of equal values."""
    order = some[np.argsort(values[some], kind="stable")]
    bounds = np.flatnonzero(np.diff(values[order])) + 1
    return np.split(order, bounds) if len(order) else []


def coarsen(ranges: Ranges, here: Ints, cells: Cells, most: int) -> None:
    """Widen the ranges of cells `here`, all of one axis, in place, until at most so many are different."""
    axis = cells.axis_of[ranges.highs[here[0]]]
    base, count = int(cells.bases[axis]), int(cells.counts[axis])
    with_null = ranges.lows[here] == 0
    first = np.where(with_null, 0, ranges.lows[here] - base)
    last = ranges.highs[here] - base
    step = 1
    while True:
        low = first // step * step
        high = np.minimum(-(-last // step) * step, count)
        codes = np.where(with_null, count + 1, low) * (count + 2) + high
        if np.count_nonzero(np.bincount(codes)) <= most or step > count:
            break
        step *= 2
    ranges.lows[here] = np.where(with_null, 0, base + low)
    ranges.highs[here] = base + high


def runs_of(keys: Keys, groups: Ranges, seconds: Ranges, cells: Cells, weights: Weights) -> Ranges:
    """The run of every atom, made from its second predicate."""
    events = BATCH_EVENTS * (weights.mass[groups.highs] - weights.mass[groups.lows])
    runs = Ranges(seconds.lows.copy(), seconds.highs.copy())
    axes = cells.axis_of[runs.highs].astype(np.int64)
    order = np.lexsort((axes, keys.minors, keys.majors))
    begins = np.ones(len(order), np.bool_)
    begins[1:] = False
    for each in (axes, keys.minors, keys.majors):
        begins[1:] |= each[order[1:]] != each[order[:-1]]
    firsts = np.append(np.flatnonzero(begins), len(order))
    sizes = np.diff(firsts)
    # Few entries tell only whether the second attribute is there at all.
    few = np.empty(len(order), np.bool_)
    few[order] = np.repeat(sizes < 4 * RUN_ENTRIES, sizes)
    some = few & (axes < len(cells.counts))
    runs.lows[some & (runs.lows > 0)] = cells.bases[axes[some & (runs.lows > 0)]]
    runs.highs[some] = cells.bases[axes[some] + 1] - 1
    for place in np.flatnonzero(sizes >= 4 * RUN_ENTRIES).tolist():
        here = order[firsts[place] : firsts[place + 1]]
        if axes[here[0]] < len(cells.counts):
            size = LONG_RUN_ENTRIES if events[here[0]] > LONG_RUN_EVENTS else RUN_ENTRIES
            coarsen(runs, here, cells, max(1, len(here) // size))
    return runs


@numba.njit(cache=True, nogil=True)
def _uses(bodies: Bodies, firsts: Ints, axis_of: Shorts, wanted: int, count: int, out: Ints, uses: Shorts) -> None:
    """Per group, the axes (or with `wanted` = 1, the tests) that its bodies ask; with empty `uses` only counts."""
    seen = np.full(count + 1, -1, np.int64)
    written = 0
    first_test = len(axis_of)
    for group in range(len(firsts) - 1):
        out[group] = written
        for place in range(bodies.firsts[firsts[group]], bodies.firsts[firsts[group + 1]]):
            row = np.int64(bodies.highs[place])
            if wanted == 1:
                number = row - first_test
            else:
                number = np.int64(axis_of[row]) if row < first_test else -1
            if 0 <= number < count and seen[number] != group:
                seen[number] = group
                if len(uses):
                    uses[written] = number
                written += 1
    out[len(firsts) - 1] = written


def groups_of(
    forest: Forest, atoms: Atoms, keys: Keys, ranges: Ranges, runs: Ranges, order: Ints, bodies: Bodies, cells: Cells
) -> Groups:
    """How events find the groups, and what they are made of; entries stand in `order`."""
    majors, minors = keys.majors[order], keys.minors[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (majors[1:] != majors[:-1]) | (minors[1:] != minors[:-1])
    run_lows, run_highs = runs.lows[order], runs.highs[order]
    begins_run = is_first.copy()
    begins_run[1:] |= (run_lows[1:] != run_lows[:-1]) | (run_highs[1:] != run_highs[:-1])
    firsts, run_firsts = np.flatnonzero(is_first), np.flatnonzero(begins_run)
    heads = order[firsts]
    kinds = atoms.kinds[heads]
    groups = np.arange(len(heads))
    axes = majors[firsts] & 0xFFFFFFFF
    # For each row of an axis, the groups whose range of cells has it; row 0 has those that every event visits.
    is_cells = kinds == CELLS
    low, high = ranges.lows[heads[is_cells]], ranges.highs[heads[is_cells]]
    first_row = np.where(low == 0, cells.bases[axes[is_cells]], low + 1)
    spans = high - first_row + 1
    rows = np.repeat(first_row - np.cumsum(spans) + spans, spans) + np.arange(int(spans.sum()))
    always = groups[kinds == ALWAYS]
    rows = np.concatenate([np.zeros(len(always), np.int64), rows])
    members = np.concatenate([always, np.repeat(groups[is_cells], spans)])
    by_row = np.argsort(rows, kind="stable")
    cell_firsts = np.searchsorted(rows[by_row], np.arange(len(cells.axis_of) + 1))
    is_point = kinds == POINT
    test_groups = np.full(len(forest.tests), -1, np.int32)
    test_groups[minors[firsts][kinds == TESTED]] = groups[kinds == TESTED]
    null_rows = cells.bases[:-1]
    null_axes = np.flatnonzero(cell_firsts[null_rows + 1] > cell_firsts[null_rows])
    entries = np.append(firsts, len(order))
    uses: list[Ints | Shorts] = []
    for wanted, count in ((0, len(forest.axes)), (1, len(forest.tests))):
        use_firsts = np.empty(len(heads) + 1, np.int64)
        _uses(bodies, entries, cells.axis_of, wanted, count, use_firsts, np.empty(0, np.int32))
        use = np.empty(int(use_firsts[-1]), np.int32)
        _uses(bodies, entries, cells.axis_of, wanted, count, use_firsts, use)
        uses += [use_firsts, use]
    return Groups(
        np.searchsorted(run_firsts, entries),
        np.append(run_firsts, len(order)),
        run_lows[run_firsts].astype(bodies.lows.dtype),
        run_highs[run_firsts].astype(bodies.lows.dtype),
        cell_firsts.astype(np.int64),
        members[by_row].astype(np.int32),
        np.searchsorted(axes[is_point], np.arange(len(forest.axes) + 1)).astype(np.int64),
        minors[firsts][is_point],
        np.array([groups[is_point][0] if is_point.any() else 0], np.int32),
        test_groups,
        null_axes.astype(np.int32),
        *uses,
    )
