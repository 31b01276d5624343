"""The arrays of a bitslice index, and what they say to each other.

Events have *rows*: an axis with C cells owns rows base ... base + C; an event is in row base if the axis is NULL,
in row base + c if its value is in cell c. Row 0 holds no event, row 1 all; each test of another kind owns one row
behind those of the axes. A *span* (low, high) is what a predicate is to an index: an event is in it if its row of
that axis is above low and not above high. Equal spans are one, so bodies name spans by number.

A subscription stands in the index as one entry, or as several if it is filed under several predicates. An entry
is a conjunction of spans, its body, then perhaps a residual formula. A group is the set of entries that one access
predicate leads to; within a group, entries that need much the same second predicate are a run.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
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


class Spans(NamedTuple):
    """The different spans.

    lows, highs: rows.
    axes: whose rows; of test t that is the number of axes + t.
    inner_lows, inner_highs: the rows between which an event is inside of every interval that this is the span of;
        events between them and the ends of the span must be compared with the interval's exact ends.
    """

    lows: Shorts
    highs: Shorts
    axes: Shorts
    inner_lows: Shorts
    inner_highs: Shorts


class Bodies(NamedTuple):
    """The entries, those of a group beside each other.

    slots: per entry, whose it is.
    firsts: per entry and one more, its part of `spans`.
    spans: the conjunction, most selective first.
    word_firsts: per entry, its first word.
    words: the exact ends of intervals, in the order of the spans: low and high, in 32 or 64 bits each.
    residuals: per entry, a node or leaf of the program that must hold too, or NOTHING; empty if no entry has one.
    unless: per entry, a node or leaf that tells that an earlier entry of the slot reports the event, or NOTHING;
        empty if no entry has one.
    """

    slots: Shorts
    firsts: Shorts | Ints
    spans: Numbers
    word_firsts: Shorts | Ints
    words: Shorts
    residuals: Shorts
    unless: Shorts


class Groups(NamedTuple):
    """How an event finds the groups to visit, and what a group is made of.

    runs: per group and one more, its part of the runs.
    run_entries: per run and one more, its part of the entries.
    run_lows, run_highs, run_axes: per run, the rows of a span that all its entries need too, and whose rows they
        are; (0, 1) and the number of axes and tests if there is none.
    cell_firsts: per row of an axis and one more, its part of `cell_groups`: the groups to visit for an event in
        that row; row 0 has the groups that every event visits.
    cell_groups: groups.
    point_firsts: per axis and one more, its part of `points`.
    points: rising per axis; the group of point i is `first_point + i`.
    first_point: one number.
    test_groups: per test, its group, or -1.
    null_axes: the axes that have groups for NULL.
    span_firsts, spans: per group and one more, its part of the spans that its bodies name, by axis.
    """

    runs: Shorts
    run_entries: Shorts
    run_lows: Shorts
    run_highs: Shorts
    run_axes: Shorts
    cell_firsts: Shorts
    cell_groups: Shorts
    point_firsts: Shorts
    points: Ints
    first_point: Shorts
    test_groups: Shorts
    null_axes: Shorts
    span_firsts: Ints
    spans: Numbers


class Outline(NamedTuple):
    """Bits of entries, for one event at a time; `tamis.engines.bitslice.outline` says of which groups.

    lines: per row of an axis, which line of the axis it is in; that of NULL is 0.
    firsts: per group and one more, its part of `axes`; a group without axes has no outline.
    axes: the axes that tell something.
    line_firsts: per element of `axes`, the first word of line 0 of that axis.
    costs: per group, what it takes to search it for one event, in ns.
    bits: a line is a bit for each entry of the group, 1 if events in that line may satisfy it.
    """

    lines: Shorts
    firsts: Ints
    axes: Shorts
    line_firsts: Ints
    costs: Floats
    bits: Words


class Couples(NamedTuple):
    """Groups that two attributes lead to; `tamis.engines.bitslice.couples` says what for.

    first_group: one number, the group of couple 0.
    partners: per axis as many words as there are bits of axes: with which axes above it, it is a couple.
    ranks: per word of `partners`, the couple of its first bit.
    heads: per couple and one more, four numbers: its first block, its first entry, and its two axes.
    lanes: blocks of 4 x 16: lows and highs of 16 entries on the first axis, then those on the second; as cells,
        of which 0 is NULL. An event is in them if its cell is above low and not above high.
    further: per entry twice a further axis, and in the third and fourth byte low and high there.
    """

    first_group: Shorts
    partners: Words
    ranks: Shorts
    heads: Shorts
    lanes: Bytes
    further: npt.NDArray[np.uint32]


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
    spans: Spans
    bodies: Bodies
    groups: Groups
    outline: Outline
    couples: Couples
    program: Program


class Batch(NamedTuple):
    """A batch of events, encoded for one index.

    columns: int32[axes], the axis' line; -1 if it is NULL in every event.
    values: int64[events, lines], coordinates; anything where NULL.
    rows: int32[events, lines], the event's row of the axis.
    bases: int32[axes + 1], the row of each axis that NULL is in.
    test_lines: int32[tests], the test's line in `test_bits`, or -1 if it holds nowhere.
    test_bits: uint64[lines, words].
    """

    columns: Shorts
    values: Ints
    rows: Shorts
    bases: Shorts
    test_lines: Shorts
    test_bits: Words
