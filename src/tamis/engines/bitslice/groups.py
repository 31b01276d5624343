"""Groups and runs: entries that are found, or skipped, together.

Entries of a group or run need not ask the same: they are led to by the hull of their spans. Sets that are large
and wide are halved where their ends differ most, until they are as small as it pays.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.bitslice.bodies import Measured
from tamis.engines.bitslice.filing import ALWAYS, CELLS, COUPLE, POINT, TESTED, Atoms, Weights
from tamis.engines.bitslice.layout import Bodies, Cells, Groups, Ints, Numbers, Shorts, Spans
from tamis.engines.forest import Forest

BATCH_EVENTS = 1_024
"""The size of batches that groups are cut for."""
FEW_EVENTS = 16
"""A group that fewer events of such a batch reach is searched event by event, and the finer it is the better."""
MANY_EVENTS = 64
"""A group that more reach has long runs."""
GROUP_ENTRIES = 4_000
"""Entries from which a table of masks is a small part of the work."""
GROUPS = 8
"""Groups of an attribute from which finer ones lead away few events more."""
LONG_RUN_ENTRIES = 500
"""Entries that are worth a look whether any of them can hold, for many events."""
SHORT_RUN_ENTRIES = 8
"""The same for one event."""
LEAST_ENTRIES = 60
"""Where runs are long, fewer entries with the same second attribute are no run of their own."""

Flags = npt.NDArray[np.bool_]
_EXACT = 4  # beside the kinds of atoms: one cell that says it all


class Hulls(NamedTuple):
    """Per set of entries, the hull of some spans of theirs: rows, and whose they are."""

    lows: Shorts
    highs: Shorts
    axes: Shorts


class Arrangement(NamedTuple):
    """Entries in order, and where groups and runs begin.

    order: atoms.
    group_begins, run_begins: per entry.
    groups: per group, the hull of the spans that lead to it.
    runs: per run, the hull of the second spans.
    """

    order: Ints
    group_begins: Flags
    run_begins: Flags
    groups: Hulls
    runs: Hulls


@numba.njit(cache=True, nogil=True)
def _sorted_by(order: Ints, keys: Shorts, count: int) -> Ints:
    """A stable sort by keys in [0, count); `keys` are those of the elements, not of their places."""
    firsts = np.zeros(count + 1, np.int64)
    for element in order:
        firsts[keys[element] + 1] += 1
    for key in range(count):
        firsts[key + 1] += firsts[key]
    out = np.empty_like(order)
    for element in order:
        key = keys[element]
        out[firsts[key]] = element
        firsts[key] += 1
    return out


@numba.njit(cache=True, nogil=True)
def halve(
    order: Ints, firsts: Ints, limits: Ints, bases: Ints, lows: Shorts, highs: Shorts, begins: Flags
) -> None:
    """Reorder each segment of `order`, stably, and mark where sets of similar spans begin.

    The spans of a segment are of one axis, whose base is given. A set has at most `limits` elements or all its
    spans are equal.
    """
    spare = np.empty_like(order)
    histogram = np.zeros(512, np.int64)
    stack = np.empty((1_024, 2), np.int64)
    for segment in range(len(limits)):
        base = bases[segment]
        stack[0, 0], stack[0, 1] = firsts[segment], firsts[segment + 1]
        height = 1
        while height:
            height -= 1
            first, last = stack[height]
            begins[first] = True
            if last - first <= limits[segment]:
                continue
            least_low, most_low, least_high, most_high = 1 << 40, 0, 1 << 40, 0
            for place in range(first, last):
                low, high = max(lows[order[place]] - base + 1, 0), max(highs[order[place]] - base, 0)
                least_low, most_low = min(least_low, low), max(most_low, low)
                least_high, most_high = min(least_high, high), max(most_high, high)
            by_low = most_low - least_low >= most_high - least_high
            least, most = (least_low, most_low) if by_low else (least_high, most_high)
            if least == most:
                continue
            # The end at which the halves differ least in size.
            ends, shift = (lows, 1) if by_low else (highs, 0)
            histogram[: most - least + 1] = 0
            for place in range(first, last):
                histogram[max(ends[order[place]] - base + shift, 0) - least] += 1
            left, border = histogram[0], 0
            while border + 1 < most - least and abs(2 * (left + histogram[border + 1]) - (last - first)) < abs(
                2 * left - (last - first)
            ):
                border += 1
                left += histogram[border]
            at, behind = first, first + left
            for place in range(first, last):
                element = order[place]
                if max(ends[element] - base + shift, 0) - least <= border:
                    spare[at] = element
                    at += 1
                else:
                    spare[behind] = element
                    behind += 1
            order[first:last] = spare[first:last]
            stack[height, 0], stack[height, 1] = first + left, last
            stack[height + 1, 0], stack[height + 1, 1] = first, first + left
            height += 2


def arranged(atoms: Atoms, sizes: Measured, spans: Spans, cells: Cells, weights: Weights) -> Arrangement:
    """Which entries stand together."""
    axes = len(cells.counts)
    order = _sorted_by(np.arange(len(atoms.slots)), sizes.counts, int(sizes.counts.max(initial=0)) + 1)
    rows = _rows(atoms.spans, spans, axes)
    exact = (atoms.kinds == CELLS) & (rows.highs - rows.lows == 1) & (cells.widths[rows.axes] == 0)
    kinds = np.where(exact, _EXACT, atoms.kinds).astype(np.int32)
    majors = kinds * np.int32(axes + 1) + rows.axes
    order = _sorted_by(order, majors, (COUPLE + 1) * (axes + 1))
    firsts = _changes(majors[order])
    begins = np.zeros(len(order), np.bool_)
    _by_value(order, atoms, firsts, begins)
    mass = weights.mass[rows.highs] - weights.mass[rows.lows]
    limits = np.full(len(firsts) - 1, len(order), np.int64)
    for place, kind in enumerate(kinds[order[firsts[:-1]]].tolist()):
        if kind in (CELLS, _EXACT):
            here = order[firsts[place] : firsts[place + 1]]
            is_large = kind == CELLS and mass[here].mean() * BATCH_EVENTS >= FEW_EVENTS
            limits[place] = max(GROUP_ENTRIES, len(here) // GROUPS) if is_large else 1
    halve(order, firsts, limits, _bases(cells, rows, order, firsts), rows.lows, rows.highs, begins)
    hulls = _hulls(rows, order, begins)
    expected = BATCH_EVENTS * (weights.mass[hulls.highs] - weights.mass[hulls.lows])
    # Tests, points and couples are expected to be rare.
    expected[np.isin(kinds[order[begins]], (TESTED, POINT, COUPLE))] = 0.0
    order, run_begins, runs = _by_second(order, begins, expected >= MANY_EVENTS, sizes.seconds, spans, cells)
    return Arrangement(order, begins, run_begins, hulls, runs)


def _bases(cells: Cells, rows: Hulls, order: Ints, firsts: Ints) -> Ints:
    """The base of the axis of each segment of `order`."""
    return cells.bases[rows.axes[order[firsts[:-1]]]].astype(np.int64)


def _hulls(rows: Hulls, order: Ints, begins: Flags) -> Hulls:
    """The hulls of the sets of elements that begin at `begins`; the rows of a set have one axis."""
    heads = np.flatnonzero(begins)
    if not len(heads):
        return rows
    return Hulls(
        np.minimum.reduceat(rows.lows[order], heads),
        np.maximum.reduceat(rows.highs[order], heads),
        rows.axes[order[heads]],
    )


def _rows(some: Shorts, spans: Spans, axes: int) -> Hulls:
    """The rows and axes of some spans; those of tests, and of -1, are (0, 1) and `axes`."""
    lows, highs, own = (np.append(each, np.int32(0))[some] for each in (spans.lows, spans.highs, spans.axes))
    none = (some < 0) | (own >= axes)
    lows[none], highs[none], own[none] = 0, 1, axes
    return Hulls(lows, highs, own)


def _changes(values: npt.NDArray[np.integer]) -> Ints:
    """Where another value begins, and the end."""
    return (
        np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1, [len(values)]])
        if len(values)
        else (np.zeros(1, np.int64))
    )


def _by_value(order: Ints, atoms: Atoms, firsts: Ints, begins: Flags) -> None:
    """Sort points, tests and couples by value; each value is a group."""
    for first, last in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        if atoms.kinds[order[first]] in (TESTED, POINT, COUPLE):
            here = order[first:last]
            here[:] = here[np.argsort(atoms.lows[here], kind="stable")]
            begins[first + _changes(atoms.lows[here])[:-1]] = True


def _by_second(
    order: Ints, begins: Flags, is_large: Flags, seconds: Shorts, spans: Spans, cells: Cells
) -> tuple[Ints, Flags, Hulls]:
    """The final order, where runs begin, and their second spans; groups begin at `begins`."""
    axes = len(cells.counts)
    groups = np.empty(len(order), np.int32)
    groups[order] = np.cumsum(begins) - 1
    rows = _rows(seconds, spans, axes)

    def sorted_() -> tuple[Ints, Ints, Flags]:
        order_ = _sorted_by(_sorted_by(order, rows.axes, axes + 1), groups, len(is_large))
        segments = _changes(groups[order_].astype(np.int64) * (axes + 1) + rows.axes[order_])
        return order_, segments, is_large[groups[order_[segments[:-1]]]]

    by_axis, segments, large = sorted_()
    small = large & (np.diff(segments) < LEAST_ENTRIES)
    if small.any():
        rest = by_axis[np.repeat(small, np.diff(segments))]
        rows.lows[rest], rows.highs[rest], rows.axes[rest] = 0, 1, axes
        by_axis, segments, large = sorted_()
    run_begins = np.zeros(len(order), np.bool_)
    limits = np.where(large, LONG_RUN_ENTRIES, SHORT_RUN_ENTRIES)
    halve(by_axis, segments, limits, _bases(cells, rows, by_axis, segments), rows.lows, rows.highs, run_begins)
    return by_axis, run_begins, _hulls(rows, by_axis, run_begins)


@numba.njit(cache=True, nogil=True)
def _uses(bodies: Bodies, entries: Ints, count: int, groups: Shorts, spans: Shorts) -> int:
    """Pairs of a group and a span that its bodies name, each once; gives their number."""
    seen = np.full(count, -1, np.int32)
    written = 0
    for group in range(len(entries) - 1):
        for place in range(bodies.firsts[entries[group]], bodies.firsts[entries[group + 1]]):
            span = bodies.spans[place]
            if seen[span] != group:
                seen[span] = group
                groups[written], spans[written] = group, span
                written += 1
    return written


def _spans_of_groups(bodies: Bodies, entries: Ints, count: int) -> tuple[Ints, Numbers]:
    """Per group, the spans that its bodies name, rising."""
    groups, spans = (np.empty(len(bodies.spans), np.int32) for _ in range(2))
    written = _uses(bodies, entries, count, groups, spans)
    order = _sorted_by(_sorted_by(np.arange(written), spans, count), groups, len(entries) - 1)
    firsts = np.searchsorted(groups[:written], np.arange(len(entries)))
    return firsts.astype(np.int64), spans[order].astype(bodies.spans.dtype)


def groups_of(
    forest: Forest, atoms: Atoms, arranged: Arrangement, bodies: Bodies, spans: Spans, cells: Cells
) -> Groups:
    """How events find the groups, and what they are made of."""
    order = arranged.order
    firsts, run_firsts = np.flatnonzero(arranged.group_begins), np.flatnonzero(arranged.run_begins)
    entries = np.append(firsts, len(order))
    heads = order[firsts]
    kinds = atoms.kinds[heads]
    groups = np.arange(len(heads))
    axes = len(cells.counts)
    # For each row of an axis, the groups whose span has it; row 0 has those that every event visits.
    is_cells = kinds == CELLS
    low, high = (each[is_cells].astype(np.int64) for each in arranged.groups[:2])
    first_row = np.where(low == 0, cells.bases[cells.axis_of[high]], low + 1)
    sizes = high - first_row + 1
    rows = np.repeat(first_row - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    always = groups[kinds == ALWAYS]
    rows = np.concatenate([np.zeros(len(always), np.int64), rows])
    members = np.concatenate([always, np.repeat(groups[is_cells], sizes)])
    by_row = np.argsort(rows, kind="stable")
    cell_firsts = np.searchsorted(rows[by_row], np.arange(len(cells.axis_of) + 1))
    is_point = kinds == POINT
    point_axes = spans.axes[atoms.spans[heads[is_point]]]
    test_groups = np.full(len(forest.tests), -1, np.int32)
    test_groups[atoms.lows[heads[kinds == TESTED]]] = groups[kinds == TESTED]
    null_rows = cells.bases[:-1]
    null_axes = np.flatnonzero(cell_firsts[null_rows + 1] > cell_firsts[null_rows])
    arranged.runs.axes[arranged.runs.axes == axes] += len(forest.tests)
    return Groups(
        np.searchsorted(run_firsts, entries).astype(np.int32),
        np.append(run_firsts, len(order)).astype(np.int32),
        *arranged.runs,
        cell_firsts.astype(np.int32),
        members[by_row].astype(np.int32),
        np.searchsorted(point_axes, np.arange(axes + 1)).astype(np.int32),
        atoms.lows[heads[is_point]],
        np.array([groups[is_point][0] if is_point.any() else 0], np.int32),
        test_groups,
        null_axes.astype(np.int32),
        *_spans_of_groups(bodies, entries, len(spans.lows)),
    )
