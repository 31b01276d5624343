"""Search with masks: groups that many events of a batch reach.

Events are packed together, a table with the mask of every span that the group names is made, and every entry costs
a few words whatever the number of events. What survives its conjunction of spans is settled exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import Batch, Index, Numbers, Shorts, Spans, Words
from tamis.engines.bitslice.simd import (
    apart,
    bits_of,
    finish_1,
    finish_4,
    finish_8,
    place_of,
    survivors_1,
    survivors_4,
    survivors_8,
)
from tamis.engines.bitslice.verify import NO_ENDS, WIDEST, Pairs, ask_early, ends_of, is_exact, room_for
from tamis.engines.bitslice.visits import Packed

STRIP = 512
"""Events that are searched at a time: eight words."""
CHUNK = 1_024
"""Entries whose masks are made at a time; so many that survive are settled together."""
_SOME = 3
"""Events of a word that are taken out of it without a look whether they are there."""
_ONE = np.uint64(1)
_NONE = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Tables(NamedTuple):
    """What a search with masks writes.

    rows: masks of rows; an axis' rows get the events of all its rows before too.
    spans: masks of spans.
    full: the mask to start with.
    places: of the bits of a mask, with room for some more.
    entries, masks: what survives, with room for two chunks.
    """

    rows: Words
    spans: Words
    full: Words
    places: Shorts
    entries: Shorts
    masks: Words


@numba.njit(cache=True, nogil=True)
def _asked(spans: Numbers, axes: Shorts, columns: Shorts) -> tuple[Shorts, Shorts, Shorts, Shorts]:
    """What these spans, which are sorted by axis, ask: all axes, their lines, axes without a line, tests."""
    asked, lines = np.empty(len(spans), np.int32), np.empty(len(spans), np.int32)
    absent, tests = np.empty(len(spans), np.int32), np.empty(len(spans), np.int32)
    counts = np.zeros(4, np.int64)
    before = -1
    for span in spans:
        axis = axes[span]
        if axis == before:
            continue
        before = axis
        if axis >= len(columns):
            tests[counts[3]] = axis - len(columns)
            counts[3] += 1
            continue
        asked[counts[0]] = axis
        counts[0] += 1
        if columns[axis] >= 0:
            lines[counts[1]] = columns[axis]
            counts[1] += 1
        else:
            absent[counts[2]] = axis
            counts[2] += 1
    return asked[: counts[0]], lines[: counts[1]], absent[: counts[2]], tests[: counts[3]]


@numba.njit(cache=True, nogil=True)
def _fill(
    asked: tuple[Shorts, Shorts, Shorts, Shorts],
    named: Numbers,
    spans: Spans,
    batch: Batch,
    events: Shorts,
    tables: Tables,
) -> int:
    """Make the masks of the spans that are named, over these events; gives the words of a mask, 1, 4 or 8."""
    apart()
    axes, lines, absent, tests = asked
    words, shift = np.uint64(1), np.uint64(0)
    if len(events) > 64:
        words, shift = (np.uint64(4), np.uint64(2)) if len(events) <= 256 else (np.uint64(8), np.uint64(3))
    rows = tables.rows
    for axis in axes:
        for place in range(np.uint64(batch.bases[axis]) * words, np.uint64(batch.bases[axis + 1]) * words):
            rows[place] = _NONE
    for word in range(words):
        left = min(max(len(events) - 64 * np.int64(word), 0), 64)
        tables.full[word] = _ALL if left == 64 else (_ONE << np.uint64(left)) - _ONE
        rows[word] = _NONE
        rows[words + word] = tables.full[word]
        for axis in absent:
            rows[np.uint64(batch.bases[axis]) * words + word] = tables.full[word]
    for place in range(np.uint64(len(events))):
        event = np.uint64(events[place])
        word, bit = place >> np.uint64(6), _ONE << (place & np.uint64(63))
        if len(lines) == batch.rows.shape[1]:
            for line in range(np.uint64(len(lines))):
                rows[(np.uint64(batch.rows[event, line]) << shift) + word] |= bit
        else:
            for number in range(np.uint64(len(lines))):
                rows[(np.uint64(batch.rows[event, np.uint64(lines[number])]) << shift) + word] |= bit
    first_test = batch.bases[len(batch.bases) - 1]
    for test in tests:
        start = np.uint64(first_test + test) * words
        for word in range(words):
            rows[start + word] = _NONE
        line = batch.test_lines[test]
        if line >= 0:
            for place in range(np.uint64(len(events))):
                event = np.uint64(events[place])
                held = batch.test_bits[line, event >> np.uint64(6)] >> (event & np.uint64(63)) & _ONE
                rows[start + (place >> np.uint64(6))] |= held << (place & np.uint64(63))
    if words == 1:
        finish_1(axes, batch.bases, named, spans.lows, spans.highs, rows, tables.spans)
    elif words == 4:
        finish_4(axes, batch.bases, named, spans.lows, spans.highs, rows, tables.spans)
    else:
        finish_8(axes, batch.bases, named, spans.lows, spans.highs, rows, tables.spans)
    return np.int64(words)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _places(masks: Words, first: int, words: int, places: Shorts) -> int:
    """Write the places of the bits of a mask that are set; gives how many there are.

    Some are written whether they are there or not: a jump for each bit would mostly be predicted wrongly.
    """
    count = 0
    for word in range(words):
        mask = masks[first + word]
        more = count + bits_of(mask)
        for _ in range(_SOME):
            places[count] = (word << 6) + place_of(mask)
            count += 1
            mask &= mask - _ONE
        while count < more:
            places[count] = (word << 6) + place_of(mask)
            count += 1
            mask &= mask - _ONE
        count = more
    return count


@numba.njit(cache=True, nogil=True)
def _report(
    index: Index,
    widths: Shorts,
    batch: Batch,
    left: int,
    words: int,
    events: Shorts,
    tables: Tables,
    pairs: Pairs,
    count: int,
) -> tuple[Pairs, int]:
    """Settle what survived; gives the pairs and their new number."""
    apart()
    bodies, spans = index.bodies, index.spans
    has_program = len(bodies.residuals) + len(bodies.unless) > 0
    most = 0
    for place in range(left * words):
        most += bits_of(tables.masks[place])
    pairs = room_for(pairs, count, most + 1)
    ask_early(bodies, tables.entries, left)
    values, places = batch.values.reshape(-1), tables.places
    stride = batch.values.shape[1]
    lines, lows, highs = np.empty(WIDEST, np.int64), np.empty(WIDEST, np.int64), np.empty(WIDEST, np.int64)
    for number in range(left):
        entry = tables.entries[number]
        name = entry if has_program else bodies.slots[entry]
        found = _places(tables.masks, number * words, words, places)
        ends = ends_of(bodies, spans, widths, batch.columns, entry, (lines, lows, highs))
        if ends == NO_ENDS:
            for place in range(found):
                event = events[places[place]]
                if is_exact(bodies, spans.axes, widths, entry, batch, event):
                    pairs.events[count] = event
                    pairs.numbers[count] = name
                    count += 1
            continue
        for place in range(found):
            event = events[places[place]]
            start = stride * event
            inside = True
            for end in range(ends):
                value = values[start + lines[end]]
                inside &= (lows[end] <= value) & (value <= highs[end])
            pairs.events[count] = event
            pairs.numbers[count] = name
            count += inside
    return pairs, count


@numba.njit(cache=True, nogil=True)
def by_masks(
    index: Index,
    widths: Shorts,
    batch: Batch,
    packed: Packed,
    tables: Tables,
    pairs: Pairs,
    count: int,
) -> tuple[Pairs, int]:
    """Search the packed groups; gives the pairs and their new number."""
    apart()
    bodies, groups, spans = index.bodies, index.groups, index.spans
    rows, full = tables.rows, tables.full
    for number in range(len(packed.groups)):
        group = packed.groups[number]
        events = packed.events[packed.firsts[number] : packed.firsts[number + 1]]
        named = groups.spans[groups.span_firsts[group] : groups.span_firsts[group + 1]]
        asked = _asked(named, spans.axes, batch.columns)
        for first_event in range(0, len(events), STRIP):
            strip = events[first_event : first_event + STRIP]
            words = _fill(asked, named, spans, batch, strip, tables)
            left = 0
            for run in range(groups.runs[group], groups.runs[group + 1]):
                low, high = np.int64(groups.run_lows[run]) * words, np.int64(groups.run_highs[run]) * words
                some = _NONE
                for word in range(words):
                    full[word] = rows[high + word] & ~rows[low + word]
                    some |= full[word]
                if some == _NONE:
                    continue
                last = groups.run_entries[run + 1]
                for first in range(groups.run_entries[run], last, CHUNK):
                    stop = min(first + CHUNK, last)
                    if left > CHUNK:
                        pairs, count = _report(index, widths, batch, left, words, strip, tables, pairs, count)
                        left = 0
                    ask = (bodies.firsts, bodies.spans, first, stop, tables.spans, full)
                    entries, masks = tables.entries[left:], tables.masks[left * words :]
                    if words == 1:
                        left += survivors_1(*ask, entries, masks)
                    elif words == 4:
                        left += survivors_4(*ask, entries, masks)
                    else:
                        left += survivors_8(*ask, entries, masks)
            if left:
                pairs, count = _report(index, widths, batch, left, words, strip, tables, pairs, count)
    return pairs, count
