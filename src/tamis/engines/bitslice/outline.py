"""Outlines: a bit an entry, for few events.

Where many entries stand in a group and none is to be skipped, one event would have to be compared with each. Its
outline tells of each entry, a bit an entry, whether the coarse cell that the event is in is any of the entry's: an
event takes one line of bits an axis, and what is in all of them is left. An outline is never wrong about what it
leaves out; what it leaves in is to be settled.
"""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.bitslice.filing import Weights
from tamis.engines.bitslice.groups import BATCH_EVENTS, MANY_EVENTS, Hulls
from tamis.engines.bitslice.layout import Bodies, Cells, Floats, Groups, Ints, Outline, Shorts, Spans

STEP = 8
"""Words of a line that are taken at a time; lines are so many or a multiple of it."""
LEAST_ENTRIES = 1_024
"""Of a group that has an outline."""
COARSE_CELLS = 12
"""Of an axis, beside NULL."""
MOST_LINES = 256
"""Of a group: so many bits an entry."""
_LEAST_REFUSED = 1 / 16
"""Of entries, by the lines of an axis; fewer are not worth it."""
_MOST_LEFT = 0.25
"""Of entries, by all lines; more would have to be settled one by one anyway."""
_SAMPLE = 512
"""Entries of a group that are looked at."""
_WORD_NS = 0.8
_ENTRY_NS = 60.0
"""What it takes to read a word of a line, and to settle an entry."""


def outline_of(
    cells: Cells, spans: Spans, bodies: Bodies, groups: Groups, hulls: Hulls, first_couple: int, weights: Weights
) -> Outline:
    """The outlines of groups that are worth it; `hulls` has the spans that lead to groups before the couples."""
    lines, counts = _lines(cells, weights)
    firsts, lasts = _span_lines(spans, cells, lines)
    shares = _shares(spans, cells, lines, weights.mass)
    entries = groups.run_entries[groups.runs].astype(np.int64)
    led = weights.mass[hulls.highs] - weights.mass[hulls.lows]
    sizes = np.diff(entries)
    words_of = _words(sizes)
    left, lengths = np.ones(len(led)), np.zeros(len(led), np.int64)
    chosen = [np.empty(0, np.int32)]
    large = (sizes >= LEAST_ENTRIES) & (led * BATCH_EVENTS >= MANY_EVENTS)
    large[first_couple:] = False
    for group in np.flatnonzero(large).tolist():
        own, bounds = int(hulls.axes[group]), (entries[group], entries[group + 1])
        found, left[group] = _choose(bodies, spans.axes, shares, bounds, own, led[group], counts)
        chosen.append(found)
        lengths[group] = len(found)
    costs = 100.0 + _WORD_NS * lengths * words_of + _ENTRY_NS * left * sizes
    axis_firsts = np.concatenate([[0], np.cumsum(lengths)])
    axes = np.concatenate(chosen)
    words = np.repeat(words_of, lengths)
    line_firsts = np.concatenate([[0], np.cumsum(words * counts[axes])])
    bits = np.empty(int(line_firsts[-1]), np.uint64)
    out = Outline(lines, axis_firsts, axes, line_firsts[:-1], costs, bits)
    if len(bits):
        _fill(bodies, spans.axes, entries, counts, (firsts, lasts), out)
    return out


def _words(entries: Ints) -> Ints:
    """Words of a line."""
    return -(-entries // (64 * STEP)) * STEP


def _lines(cells: Cells, weights: Weights) -> tuple[Shorts, Shorts]:
    """Per row its line, counted from that of NULL of its axis, and per axis how many there are."""
    lines, counts = np.zeros(len(cells.axis_of), np.int32), np.zeros(len(cells.counts), np.int32)
    for axis, base in enumerate(cells.bases[:-1].tolist()):
        count = int(cells.counts[axis])
        up_to = weights.mass[base : base + count + 1]
        middles = ((up_to[1:] + up_to[:-1]) / 2 - up_to[0]) / max(up_to[-1] - up_to[0], 1e-9)
        if count <= COARSE_CELLS:
            middles = (np.arange(count) + 0.5) / count
        coarse = np.minimum(COARSE_CELLS - 1, (middles * COARSE_CELLS).astype(np.int32))
        number = np.unique(coarse, return_inverse=True)[1] + 1
        lines[base + 1 : base + count + 1] = number
        counts[axis] = number.max() + 1
    return lines, counts


def _span_lines(spans: Spans, cells: Cells, lines: Shorts) -> tuple[Shorts, Shorts]:
    """The first and the last line of every span; of tests, nothing that means anything."""
    is_axis = spans.axes < len(cells.counts)
    lows, highs = np.where(is_axis, spans.lows, 0), np.where(is_axis, spans.highs, 0)
    firsts = np.where(lows == 0, 0, lines[np.minimum(lows + 1, len(lines) - 1)])
    return firsts.astype(np.int32), lines[highs].astype(np.int32)


def _shares(spans: Spans, cells: Cells, lines: Shorts, mass: Floats) -> Floats:
    """The share of events that is expected in the lines of every span; 1 for tests."""
    changes = np.flatnonzero((np.diff(lines) != 0) | (np.diff(cells.axis_of) != 0)) + 1
    begins = np.concatenate([[0], changes])
    place = np.searchsorted(begins, np.arange(len(lines)), side="right") - 1
    last_rows = np.append(begins[1:], len(lines))[place] - 1
    is_axis = spans.axes < len(cells.counts)
    lows, highs = np.where(is_axis, spans.lows, 0), np.where(is_axis, spans.highs, 1)
    low_rows = np.where(lows == 0, 0, begins[place[np.minimum(lows + 1, len(lines) - 1)]] - 1)
    shares = mass[last_rows[highs]] - mass[low_rows]
    return np.where(is_axis & (highs > lows), shares, np.where(is_axis, 0.0, 1.0))


def _choose(
    bodies: Bodies,
    span_axes: Shorts,
    shares: Floats,
    entries: tuple[int, int],
    own: int,
    led: float,
    counts: Shorts,
) -> tuple[Shorts, float]:
    """The axes of a group's outline, those that refuse most first, and the share of entries that they leave."""
    some = np.unique(np.linspace(entries[0], entries[1] - 1, _SAMPLE).astype(np.int64))
    passing = np.ones((len(some), len(counts)))
    _pass(bodies, span_axes, shares, some, passing)
    # Who is led here by an axis is in the hull of its spans.
    if own < len(counts):
        passing[:, own] = np.minimum(1.0, passing[:, own] / led)
    refused = 1.0 - passing.mean(0)
    axes = np.argsort(-refused, kind="stable")
    axes = axes[(refused[axes] >= _LEAST_REFUSED)]
    axes = axes[np.cumsum(counts[axes]) <= MOST_LINES]
    left = float(passing[:, axes].prod(1).mean())
    if not len(axes) or left > _MOST_LEFT:
        return np.empty(0, np.int32), 1.0
    return axes.astype(np.int32), left


@numba.njit(cache=True, nogil=True)
def _pass(bodies: Bodies, span_axes: Shorts, shares: Floats, entries: Ints, passing: Floats) -> None:
    """Which share of events some entries' spans let pass, by axis."""
    for number in range(len(entries)):
        for place in range(bodies.firsts[entries[number]], bodies.firsts[entries[number] + 1]):
            span = bodies.spans[place]
            if span_axes[span] < passing.shape[1]:
                passing[number, span_axes[span]] *= shares[span]


@numba.njit(cache=True, nogil=True)
def _fill(
    bodies: Bodies, span_axes: Shorts, entries: Ints, counts: Shorts, ends: tuple[Shorts, Shorts], out: Outline
) -> None:
    """Write the bits."""
    firsts, lasts = ends
    axes = len(counts)
    offsets = np.full(axes, -1, np.int64)
    for group in range(len(entries) - 1):
        first_axis, last_axis = out.firsts[group], out.firsts[group + 1]
        if first_axis == last_axis:
            continue
        total = 0
        for place in range(first_axis, last_axis):
            offsets[out.axes[place]] = total
            total += counts[out.axes[place]]
        lines = np.empty(total, np.uint64)
        start = out.line_firsts[first_axis]
        first, last = entries[group], entries[group + 1]
        words = (last - first + 64 * STEP - 1) // (64 * STEP) * STEP
        for word in range(words):
            left = min(max(last - first - 64 * word, 0), 64)
            lines[:] = ~np.uint64(0) if left == 64 else (np.uint64(1) << np.uint64(left)) - np.uint64(1)
            for bit in range(left):
                others = ~(np.uint64(1) << np.uint64(bit))
                entry = first + 64 * word + bit
                for place in range(bodies.firsts[entry], bodies.firsts[entry + 1]):
                    span = bodies.spans[place]
                    axis = span_axes[span]
                    if axis < axes and offsets[axis] >= 0:
                        own = offsets[axis]
                        for line in range(own, own + firsts[span]):
                            lines[line] &= others
                        for line in range(own + max(lasts[span] + 1, firsts[span]), own + counts[axis]):
                            lines[line] &= others
            for line in range(total):
                out.bits[start + line * words + word] = lines[line]
        for place in range(first_axis, last_axis):
            offsets[out.axes[place]] = -1
