"""The arrays of a bitslice index, and what they say to each other.

Everything is about *rows* of a table of masks, one bit an event. Row 0 holds no event, row 1 all. An axis with C
cells owns rows base ... base + C: row base holds the events in which it is NULL, row base + c those and the ones whose value
is in cells 1 to c. So an interval of cells is one row without another: `mask[high] & ~mask[low]`. Each test of
another kind owns one row behind those of the axes.

A subscription stands in the index as one entry, or as several if it is filed under several predicates. An entry
is a conjunction of (low, high) rows, its body, then perhaps a residual formula. A group is the set of entries that
one access predicate leads to; within a group, entries that need much the same second predicate are a run.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]
Rows: TypeAlias = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
Floats: TypeAlias = npt.NDArray[np.float64]

NOTHING = (1 << 31) - 1
"""In place of a node: there is none."""


class Cells(NamedTuple):
    """The cells of every axis.

    bases: per axis and one more, its first row. The one more stands for rows 0 and 1.
    counts: per axis, its number of cells.
    cut_firsts: per axis and one more, its part of `cuts`.
    cuts: rising per axis; a value is in cell 1 + the number of cuts at or below its coordinate.
    widths: per axis and one more, how many words an interval's exact ends take in a body: 0 if cells say it all.
    axis_of: per row of an axis, the axis.
    """

    bases: Shorts
    counts: Shorts
    cut_firsts: Ints
    cuts: Ints
    widths: Bytes
    axis_of: Shorts


class Bodies(NamedTuple):
    """The entries, those of a group beside each other.

    slots: per entry, whose it is.
    firsts: per entry and one more, its part of `lows` and `highs`.
    lows, highs: the conjunction's rows, most selective first.
    word_firsts: per entry, its first word.
    words: the exact ends of intervals, in the order of the rows: low and high, in 32 or 64 bits each.
    residuals: per entry, a node or leaf of the program that must hold too, or NOTHING; empty if no entry has one.
    unless: per entry, a node or leaf that tells that an earlier entry of the slot reports the event; see above.
    """

    slots: Shorts
    firsts: Ints
    lows: Rows
    highs: Rows
    word_firsts: Ints
    words: Shorts
    residuals: Shorts
    unless: Shorts


class Groups(NamedTuple):
    """How an event finds the groups to visit, and what a group is made of.

    runs: per group and one more, its part of the runs.
    run_entries: per run and one more, its part of the entries.
    run_lows, run_highs: the range of cells that all entries of the run need too; (0, 1) if there is none.
    cell_firsts: per row of an axis and one more, its part of `cell_groups`: the groups to visit for an event whose
        value is in that cell; row 0 has the groups that every event visits.
    cell_groups: groups.
    point_firsts: per axis and one more, its part of `points`.
    points: rising per axis; the group of point i is `first_point + i`.
    first_point: one number.
    test_groups: per test, its group, or -1.
    null_axes: the axes that have groups for NULL.
    axis_firsts, axes: per group, the axes that its bodies ask.
    test_firsts, tests: per group, the tests that its bodies ask.
    """

    runs: Ints
    run_entries: Ints
    run_lows: Rows
    run_highs: Rows
    cell_firsts: Ints
    cell_groups: Shorts
    point_firsts: Ints
    points: Ints
    first_point: Shorts
    test_groups: Shorts
    null_axes: Shorts
    axis_firsts: Ints
    axes: Shorts
    test_firsts: Ints
    tests: Shorts


class Program(NamedTuple):
    """Formulas beyond conjunctions; equal nodes and leaves are one.

    The meaning of the arrays is that of `tamis.engines.forest`.
    """

    kinds: Bytes
    nulls: Bytes
    axes: Shorts
    lows: Ints
    highs: Ints
    piece_lows: Ints
    piece_highs: Ints
    least: Shorts
    firsts: Ints
    children: Shorts


class Index(NamedTuple):
    """All that matching reads."""

    cells: Cells
    bodies: Bodies
    groups: Groups
    program: Program


class Batch(NamedTuple):
    """A batch of events, encoded for one index.

    columns, coordinates, valid: as in `tamis.engines.encoding`.
    rows_of: uint32[lines, events], the row of the axis' cell that the event is in.
    test_lines: int32[tests], the test's line in `test_bits`, or -1 if it holds nowhere.
    test_bits: uint64[lines, words].
    """

    columns: Shorts
    coordinates: Ints
    valid: Bytes
    rows_of: npt.NDArray[np.uint32]
    test_lines: Shorts
    test_bits: Words


class Life(NamedTuple):
    """Which slots are alive: slot s is, in version v, if `died[s] > v`; all are if `died` is empty."""

    died: Ints
    version: int


class Found(NamedTuple):
    """Where pairs go."""

    events: Shorts
    slots: Shorts
