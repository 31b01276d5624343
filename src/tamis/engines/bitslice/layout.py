"""The arrays of a bitslice index, and how they refer to each other.

*Rows.* Everything that an event can satisfy is a row of one table of masks, with one bit for each event of a
batch:

    row 0                    no event
    row 1                    every event
    rows base ... base + C   an axis with C cells: row `base` has the events in which the axis is NULL,
                             row `base + c` those whose value is in cell c, c = 1 ... C
    one row for each test    patterns and other tests that are no intervals, after the rows of all axes

*Cell ranges.* A predicate is a cell range (low, high]: an event is in it if its row of that axis is above low and
at most high. A range that admits NULL has low = 0, below all rows. Equal ranges are stored once, and entries refer
to them by number.

*Entries.* A subscription stands in the index as one entry, or as several if it is placed under several predicates.
An entry is a conjunction of cell ranges, then perhaps a residual formula. A *group* is the set of entries that one
access predicate leads to; within a group, entries that need similar second predicates form a *run*.

Offsets are stored as in Arrow: `firsts` has one element more than there are owners, and owner i has the elements
`firsts[i]` up to, but without, `firsts[i + 1]`.

`docs/bitslice.md` draws these arrays for one small example.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from tamis.arrays import F64, I32, I64, U8, U16, U32, U64
from tamis.engines.formula_program import FormulaProgram

RangeNumbers: TypeAlias = U16 | U32
"""Numbers of cell ranges, in two bytes where there are few enough."""

NO_NODE = (1 << 31) - 1
"""In place of the number of a node or leaf: there is none."""


class AxisCells(NamedTuple):
    """The cells of every axis.

    bases: int32[axes + 1]: the axis' first row, that of NULL; at the end, the first row of the tests.
    counts: int32[axes]: number of cells.
    cut_firsts: int64[axes + 1]: the axis' part of `cuts`.
    cuts: int64[...]: rising in each axis; a value is in cell 1 + the number of cuts at or below its coordinate.
    widths: uint8[axes + 1]: how many 32-bit words the exact bounds of an interval take in an entry: 0 where all
        bounds are cuts, so that cells are exact; else 1, 2 or 4. The last element belongs to no axis and is 0.
    axis_of: int32[rows of axes]: the axis of a row; the number of axes for rows 0 and 1.
    floors: int64[rows of axes]: the coordinate from which bounds of one word count: the cut at which a cell
        begins, for the first cell of an axis one less than its lowest bound; 0 for rows of no cell.
    """

    bases: I32
    counts: I32
    cut_firsts: I64
    cuts: I64
    widths: U8
    axis_of: I32
    floors: I64


class CellRanges(NamedTuple):
    """The different cell ranges, sorted by axis.

    lows, highs: int32[ranges]: rows.
    axes: int32[ranges]: whose rows; of test t that is the number of axes + t.
    inner_lows, inner_highs: int32[ranges]: an event whose row is in (inner_low, inner_high] satisfies every
        interval with this cell range. An event in the range, but not there, is in one of its outermost cells and
        must be compared with the exact bounds of the interval.
    """

    lows: I32
    highs: I32
    axes: I32
    inner_lows: I32
    inner_highs: I32


class EntryArrays(NamedTuple):
    """The entries, those of a group next to each other.

    slots: int32[entries]: the subscription.
    firsts: [entries + 1]: the entry's part of `ranges`.
    ranges: [...]: the conjunction, most selective range first.
    bound_firsts: [entries]: the entry's first word in `bounds`; or one element, the words of a range, if that is
        the same for all ranges.
    bounds: int32[...]: the exact bounds of intervals, in the order of the ranges: low and high, both inside, in as
        many words as `AxisCells.widths` says (`tamis.engines.bitslice.kernels.verify.narrow_bounds`).
    residuals: int32[entries]: a node or leaf of the program that must hold, too, or NO_NODE; empty if no entry has
        one.
    guards: int32[entries]: a node or leaf that holds if an earlier entry of the same slot reports the event, so
        that this one must not (deduplication guard), or NO_NODE; empty if no entry has one.
    """

    slots: I32
    firsts: I32 | I64
    ranges: RangeNumbers
    bound_firsts: I32 | I64
    bounds: I32
    residuals: I32
    guards: I32


class Groups(NamedTuple):
    """How an event finds the groups to visit, and what a group consists of.

    runs: int32[groups + 1]: the group's part of the runs.
    run_entries: int32[runs + 1]: the run's part of the entries.
    run_lows, run_highs, run_axes: int32[runs]: a cell range that contains the second range of every entry of the
        run, and its axis; (0, 1] and the number of axes and tests if there is none.
    cell_firsts: int32[rows of axes + 1]: the row's part of `cell_groups`.
    cell_groups: int32[...]: the groups that an event in that row visits; under row 0 those that all events visit.
    point_firsts: int32[axes + 1]: the axis' part of `points`.
    points: int64[...]: coordinates, rising in each axis; the group of point i is `first_point + i`.
    first_point: int32[1].
    test_groups: int32[tests]: the group of a test, or -1.
    null_axes: int32[...]: the axes that have groups for NULL.
    range_firsts: int64[groups + 1]: the group's part of `ranges`.
    ranges: [...]: the cell ranges that the group's entries refer to, each once, by axis.
    """

    runs: I32
    run_entries: I32
    run_lows: I32
    run_highs: I32
    run_axes: I32
    cell_firsts: I32
    cell_groups: I32
    point_firsts: I32
    points: I64
    first_point: I32
    test_groups: I32
    null_axes: I32
    range_firsts: I64
    ranges: RangeNumbers


class CoarseBitmaps(NamedTuple):
    """Bits of entries of large groups, to search for one event (`tamis.engines.bitslice.coarse_bitmaps`).

    coarse_cells: int32[rows of axes]: the coarse cell of a row, counted from 0 for NULL in each axis.
    firsts: int64[groups + 1]: the group's part of `axes`; a group without axes has no bitmaps.
    axes: int32[...]: the axes that have bitmaps.
    bitmap_firsts: int64[len(axes)]: the first word of that axis' bitmap of coarse cell 0; the others follow.
    costs: float64[groups]: what it takes to search the group for one event, in ns.
    bits: uint64[...]: a bitmap has one bit for each entry of the group, 1 if an event in that coarse cell may
        satisfy the entry.
    """

    coarse_cells: I32
    firsts: I64
    axes: I32
    bitmap_firsts: I64
    costs: F64
    bits: U64


class AttributePairs(NamedTuple):
    """Groups that two attributes lead to (`tamis.engines.bitslice.attribute_pairs`).

    first_group: int32[1]: the group of pair 0; the groups of pairs are the last ones.
    partners: uint64[axes * words]: a bit for each axis with a higher number that forms a pair with this one.
    ranks: int32[axes * words]: the pair of the first bit of that word of `partners`.
    heads: int32[4 * (pairs + 1)]: first block, first entry, first axis and second axis of each pair.
    lanes: uint8[64 * blocks]: 16 lows and 16 highs of cells on the first axis, then 16 of each on the second, for
        16 entries. Cell 0 is NULL. An event is inside if its cell is above low and at most high.
    further: uint32[2 * entries of pairs]: two more ranges of an entry: axis in the lower two bytes, then low, then
        high.
    """

    first_group: I32
    partners: U64
    ranks: I32
    heads: I32
    lanes: U8
    further: U32


class MaskPrograms(NamedTuple):
    """Formulas that are evaluated for all events of a batch (`tamis.engines.bitslice.mask_programs`).

    heads: int64[4 * (programs + 1)]: first formula, cell range, run and child of each program.
    slots: int32[formulas]: the subscription.
    roots: uint16[formulas]: the position of its root: cell ranges are counted first, then nodes.
    bases: int32[programs * (axes + 1)]: as in `AxisCells`.
    cut_firsts: int64[programs * (axes + 1)]: the axis' part of `cuts`.
    cuts: int64[...]: as in `AxisCells`; all bounds of the program's formulas.
    range_lows, range_highs, range_axes: int32[...]: as in `CellRanges`.
    runs: int32[4 * runs]: operator, how many children must hold, children of a node, number of nodes.
    children: uint16[...]: positions; children come before their parents.
    """

    heads: I64
    slots: I32
    roots: U16
    bases: I32
    cut_firsts: I64
    cuts: I64
    range_lows: I32
    range_highs: I32
    range_axes: I32
    runs: I32
    children: U16


class IndexArrays(NamedTuple):
    """All that matching reads. `program` has the residual formulas and guards, equal nodes and leaves once."""

    cells: AxisCells
    ranges: CellRanges
    entries: EntryArrays
    groups: Groups
    bitmaps: CoarseBitmaps
    attribute_pairs: AttributePairs
    program: FormulaProgram
    mask_programs: MaskPrograms


PARTS: tuple[Any, ...] = (
    AxisCells,
    CellRanges,
    EntryArrays,
    Groups,
    CoarseBitmaps,
    AttributePairs,
    FormulaProgram,
    MaskPrograms,
)
"""The types of the fields of `IndexArrays`."""

# Arrays are stored in segments as `part.field`. Segments that were written before a part or field was renamed must
# still open, so what has another name in files than in `IndexArrays` is translated here, and new names are never
# stored.
_STORED_PARTS = {"ranges": "spans", "entries": "bodies", "bitmaps": "outline", "attribute_pairs": "couples"}
_STORED_FIELDS = {
    "entries.ranges": "spans",
    "entries.bound_firsts": "word_firsts",
    "entries.bounds": "words",
    "entries.guards": "unless",
    "groups.range_firsts": "span_firsts",
    "groups.ranges": "spans",
    "bitmaps.coarse_cells": "lines",
    "bitmaps.bitmap_firsts": "line_firsts",
}


def stored_name(part: str, field: str) -> str:
    """The name under which a field of a part of `IndexArrays` is stored in segments.

    >>> stored_name("entries", "guards"), stored_name("cells", "cuts")
    ('bodies.unless', 'cells.cuts')
    """
    return f"{_STORED_PARTS.get(part, part)}.{_STORED_FIELDS.get(f'{part}.{field}', field)}"


class CellBatch(NamedTuple):
    """A batch of events, encoded for one index; event by event, because that is how most kernels read it.

    columns: int32[axes]: the axis' column in `values` and `rows`; -1 if it is NULL in every event.
    values: int64[events, columns, rounded up to LANES]: coordinates; anything where NULL.
    narrow: int32[events, columns, rounded up to NARROW_LANES]: the same, what is beyond 32 bits replaced by the
        lowest or the highest number; empty if bounds may be beyond.
    rows: int32[events, columns]: the event's row of the axis.
    bases: int32[axes + 1]: as in `AxisCells`.
    test_lines: int32[tests]: the test's line in `test_bits`, or -1 if it holds in no event.
    test_bits: uint64[lines, words]: bit e of a line is 1 if the test holds in event e.
    """

    columns: I32
    values: I64
    narrow: I32
    rows: I32
    bases: I32
    test_lines: I32
    test_bits: U64
