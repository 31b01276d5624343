"""Matching: events find groups, groups find subscriptions.

A group that few events of a batch reach is searched event by event, entry by entry. A group that many reach is
searched with masks: the events are packed together, a table of masks over them is made for the axes that the group
asks, and every entry costs a few words whatever the number of events. Either way an entry that survives its
conjunction of cells is settled exactly: ends of intervals, residual formula, deadness.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import (
    NOTHING,
    Batch,
    Cells,
    Found,
    Groups,
    Index,
    Ints,
    Life,
    Program,
    Shorts,
    Words,
)
from tamis.engines.bitslice.program import Memory, holds
from tamis.engines.bitslice.simd import survivors_1, survivors_2, survivors_4, survivors_8

STRIP_WORDS = 8
"""Words of the longest masks: how many times 64 events are packed together."""
CHUNK = 1_024
"""Entries whose masks are made before any is settled."""
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)


class Visits(NamedTuple):
    """Which event visits which group; those of event e are `groups[firsts[e]:firsts[e + 1]]`."""

    firsts: Ints
    groups: Shorts


class State(NamedTuple):
    """What a search keeps while it runs, and where it stopped if there was no room for more pairs.

    progress: next event, its next visit, next group, number of pairs, next strip of the group, its next run, the
        run's next entry, and 1 if there was no room
    rows: per axis and one more, the row of the current event's cell
    table: masks, for the events of a group
    entries, masks: what survives of a chunk of entries
    memory: of programs
    """

    progress: Ints
    rows: Ints
    table: Words
    entries: Shorts
    masks: Words
    memory: Memory


@numba.njit(cache=True, nogil=True, forceinline=True)
def _point_group(groups: Groups, axis: int, coordinate: int) -> int:
    low, high = groups.point_firsts[axis], groups.point_firsts[axis + 1]
    last = high
    while low < high:
        middle = (low + high) >> 1
        if groups.points[middle] < coordinate:
            low = middle + 1
        else:
            high = middle
    if low < last and groups.points[low] == coordinate:
        return groups.first_point[0] + low
    return -1


@numba.njit(cache=True, nogil=True)
def visits_of(groups: Groups, cells: Cells, batch: Batch, events: int, test_firsts: Ints, test_hits: Shorts, tests: Shorts, firsts: Ints, out: Shorts) -> int:
    """Which groups every event visits; with an empty `out` only counts."""
    # Tests come by test; give each event its own.
    per_event = np.zeros(events + 1, np.int64)
    for place in range(len(tests)):
        if groups.test_groups[tests[place]] >= 0:
            for hit in range(test_firsts[place], test_firsts[place + 1]):
                per_event[test_hits[hit] + 1] += 1
    for event in range(events):
        per_event[event + 1] += per_event[event]
    by_event = np.empty(per_event[events], np.int32)
    cursor = per_event.copy()
    for place in range(len(tests)):
        group = groups.test_groups[tests[place]]
        if group >= 0:
            for hit in range(test_firsts[place], test_firsts[place + 1]):
                event = test_hits[hit]
                by_event[cursor[event]] = group
                cursor[event] += 1
    present = 0
    lines = np.empty(len(batch.columns), np.int32)
    for axis in range(len(batch.columns)):
        if batch.columns[axis] >= 0:
            lines[present] = axis
            present += 1
    write = len(out) > 0
    count = 0
    for event in range(events):
        firsts[event] = count
        for place in range(groups.cell_firsts[0], groups.cell_firsts[1]):
            if write:
                out[count] = groups.cell_groups[place]
            count += 1
        for number in range(len(groups.null_axes)):
            axis = groups.null_axes[number]
            if batch.columns[axis] < 0:
                row = cells.bases[axis]
                for place in range(groups.cell_firsts[row], groups.cell_firsts[row + 1]):
                    if write:
                        out[count] = groups.cell_groups[place]
                    count += 1
        for number in range(present):
            axis = lines[number]
            line = batch.columns[axis]
            row = batch.rows_of[line, event]
            for place in range(groups.cell_firsts[row], groups.cell_firsts[row + 1]):
                if write:
                    out[count] = groups.cell_groups[place]
                count += 1
            if groups.point_firsts[axis + 1] > groups.point_firsts[axis] and batch.valid[line, event]:
                group = _point_group(groups, axis, batch.coordinates[line, event])
                if group >= 0:
                    if write:
                        out[count] = group
                    count += 1
        for place in range(per_event[event], per_event[event + 1]):
            if write:
                out[count] = by_event[place]
            count += 1
    firsts[events] = count
    return count


@numba.njit(cache=True, nogil=True)
def choose(index: Index, visits: Visits, fewest: int, packed: Shorts) -> None:
    """Per group, the number of events that visit it if masks are worth their table, else 0."""
    for place in range(len(visits.groups)):
        packed[visits.groups[place]] += 1
    groups = index.groups
    for group in range(len(packed)):
        events = packed[group]
        if events < fewest:
            packed[group] = 0
            continue
        entries = groups.run_entries[groups.runs[group + 1]] - groups.run_entries[groups.runs[group]]
        rows = groups.test_firsts[group + 1] - groups.test_firsts[group]
        axes = groups.axis_firsts[group + 1] - groups.axis_firsts[group]
        for place in range(groups.axis_firsts[group], groups.axis_firsts[group + 1]):
            rows += index.cells.counts[groups.axes[place]] + 1
        words = (events + 63) >> 6
        table = 1.0 * rows * words + 1.5 * axes * events
        if fewest > 1 and 2.0 * entries * events < table + entries * (5.0 + 2.0 * words):
            packed[group] = 0


@numba.njit(cache=True, nogil=True, forceinline=True)
def _low_end(words: Shorts, place: int, width: int) -> int:
    if width == 2:
        return np.int64(words[place])
    return (np.int64(words[place + 1]) << 32) | (np.int64(words[place]) & 0xFFFFFFFF)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _high_end(words: Shorts, place: int, width: int) -> int:
    return _low_end(words, place + width // 2, width)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _inside(words: Shorts, place: int, width: int, value: int) -> bool:
    """Is a coordinate between the exact ends?"""
    if width == 2:
        value = min(max(value, -(1 << 31)), (1 << 31) - 1)
    return _low_end(words, place, width) <= value <= _high_end(words, place, width)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _passes(index: Index, entry: int, batch: Batch, event: int, memory: Memory) -> bool:
    """Do the residual formula and the earlier entries of the slot let this one report the event?"""
    bodies = index.bodies
    if len(bodies.residuals):
        residual = bodies.residuals[entry]
        if residual != NOTHING and not holds(index.program, residual, batch, event, memory):
            return False
    if len(bodies.unless):
        unless = bodies.unless[entry]
        if unless != NOTHING and holds(index.program, unless, batch, event, memory):
            return False
    return True


@numba.njit(cache=True, nogil=True, forceinline=True)
def _exact(index: Index, entry: int, batch: Batch, event: int) -> bool:
    """Are all intervals of an entry's body satisfied to their exact ends, given that the cells are?"""
    bodies, cells = index.bodies, index.cells
    word = bodies.word_firsts[entry]
    for place in range(bodies.firsts[entry], bodies.firsts[entry + 1]):
        high = np.int64(bodies.highs[place])
        if high >= len(cells.axis_of):
            continue
        axis = cells.axis_of[high]
        width = cells.widths[axis]
        if width:
            line = batch.columns[axis]
            if line >= 0 and batch.valid[line, event]:
                if not _inside(bodies.words, word, width, batch.coordinates[line, event]):
                    return False
            word += width
    return True


@numba.njit(cache=True, nogil=True, forceinline=True)
def _has_test(batch: Batch, test: int, event: int) -> bool:
    line = batch.test_lines[test]
    return line >= 0 and (batch.test_bits[line, event >> 6] >> np.uint64(event & 63)) & _ONE != _NONE


@numba.njit(cache=True, nogil=True, forceinline=True)
def _entry_holds(index: Index, entry: int, start: np.uint64, end: np.uint64, batch: Batch, event: int, rows: Ints) -> bool:
    """Is the current event in the cells that an entry's body asks?"""
    cells, bodies = index.cells, index.bodies
    first_test = np.uint64(len(cells.axis_of))
    for place in range(start, end):
        high = np.uint64(bodies.highs[place])
        if high < first_test:
            row = rows[np.uint64(cells.axis_of[high])]
            if row > np.int64(high) or row <= np.int64(bodies.lows[place]):
                return False
        elif not _has_test(batch, high - first_test, event):
            return False
    return True


@numba.njit(cache=True, nogil=True)
def one_by_one(index: Index, batch: Batch, visits: Visits, packed: Shorts, life: Life, state: State, found: Found) -> bool:
    """Search the groups that are not packed, event by event; False if there was no room for more pairs."""
    cells, bodies, groups = index.cells, index.bodies, index.groups
    rows = state.rows
    rows[len(rows) - 1] = 1
    room = len(found.events)
    count = state.progress[3]
    for event in range(state.progress[0], len(visits.firsts) - 1):
        for axis in range(len(rows) - 1):
            line = batch.columns[axis]
            rows[axis] = cells.bases[axis] if line < 0 else np.int64(batch.rows_of[line, event])
        first_visit = visits.firsts[event]
        if event == state.progress[0]:
            first_visit += state.progress[1]
        for visit in range(first_visit, visits.firsts[event + 1]):
            group = visits.groups[visit]
            if packed[group]:
                continue
            first_run, last_run = groups.runs[group], groups.runs[group + 1]
            if count + groups.run_entries[last_run] - groups.run_entries[first_run] > room:
                state.progress[0], state.progress[1] = event, visit - visits.firsts[event]
                state.progress[3] = count
                return False
            for run in range(first_run, last_run):
                high = np.int64(groups.run_highs[run])
                row = rows[cells.axis_of[high]]
                if row > high or row <= np.int64(groups.run_lows[run]):
                    continue
                first_entry, last_entry = groups.run_entries[run], groups.run_entries[run + 1]
                start = np.uint64(bodies.firsts[first_entry])
                for entry in range(first_entry, last_entry):
                    end = np.uint64(bodies.firsts[entry + 1])
                    if _entry_holds(index, entry, start, end, batch, event, rows):
                        slot = bodies.slots[entry]
                        if (
                            (len(life.died) == 0 or life.died[slot] > life.version)
                            and _exact(index, entry, batch, event)
                            and _passes(index, entry, batch, event, state.memory)
                        ):
                            found.events[count] = event
                            found.slots[count] = slot
                            count += 1
                    start = end
    state.progress[0] = len(visits.firsts) - 1
    state.progress[1] = 0
    state.progress[3] = count
    return True


@numba.njit(cache=True, nogil=True, forceinline=True)
def _fill_axis(rows: Shorts, base: int, cells: int, events: Shorts, words: int, table: Words) -> None:
    """The masks of one axis over these (at most 64 * words) events; `rows` has the row of each event of the batch."""
    for place in range(base * words, (base + cells + 1) * words):
        table[np.uint64(place)] = _NONE
    width = np.uint64(words)
    for place in range(len(events)):
        unsigned = np.uint64(place)
        at = np.uint64(rows[np.uint64(events[unsigned])]) * width + (unsigned >> np.uint64(6))
        table[at] |= _ONE << (unsigned & np.uint64(63))
    for place in range((base + 1) * words, (base + cells + 1) * words):
        table[np.uint64(place)] |= table[np.uint64(place - words)]


@numba.njit(cache=True, nogil=True, forceinline=True)
def _fill_table(index: Index, batch: Batch, group: int, events: Shorts, words: int, table: Words) -> None:
    """Masks over these (at most 64 * words) events for everything that the group's bodies ask."""
    cells, groups = index.cells, index.groups
    for word in range(words):
        table[word] = _NONE
        table[words + word] = _NONE
    for place in range(len(events)):
        table[words + (place >> 6)] |= _ONE << np.uint64(place & 63)
    for number in range(groups.axis_firsts[group], groups.axis_firsts[group + 1]):
        axis = groups.axes[number]
        base, count, line = np.int64(cells.bases[axis]), np.int64(cells.counts[axis]), batch.columns[axis]
        if line >= 0:
            _fill_axis(batch.rows_of[line], base, count, events, words, table)
        else:  # NULL everywhere
            for row in range(base, base + count + 1):
                for word in range(words):
                    table[row * words + word] = table[words + word]
    first_test = len(cells.axis_of)
    for number in range(groups.test_firsts[group], groups.test_firsts[group + 1]):
        test = groups.tests[number]
        row = np.int64(first_test + test) * words
        for word in range(words):
            table[row + word] = _NONE
        if batch.test_lines[test] >= 0:
            for place in range(len(events)):
                if _has_test(batch, test, events[place]):
                    table[row + (place >> 6)] |= _ONE << np.uint64(place & 63)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _settle(index: Index, batch: Batch, entry: int, mask: np.uint64, word: int, words: int, events: Shorts, table: Words, memory: Memory, found: Found, count: int) -> int:
    """Report the events of one word that satisfy an entry exactly; gives the new number of pairs."""
    cells, bodies = index.cells, index.bodies
    first_test = len(cells.axis_of)
    end = np.int64(bodies.word_firsts[entry])
    for place in range(bodies.firsts[entry], bodies.firsts[entry + 1]):
        high = np.int64(bodies.highs[place])
        if high >= first_test:
            continue
        axis = cells.axis_of[high]
        width = cells.widths[axis]
        if width == 0:
            continue
        # Only events in the first or last cell of the interval can be outside of it.
        low = np.int64(bodies.lows[place])
        edge = _NONE
        if high > cells.bases[axis]:
            edge |= table[high * words + word] & ~table[(high - 1) * words + word]
        if low:
            edge |= table[(low + 1) * words + word] & ~table[low * words + word]
        edge &= mask
        while edge:
            bit = edge & (~edge + _ONE)
            edge ^= bit
            event = events[(word << 6) + _place(bit)]
            if not _inside(bodies.words, end, width, batch.coordinates[batch.columns[axis], event]):
                mask ^= bit
        if mask == _NONE:
            return count
        end += width
    slot = bodies.slots[entry]
    special = len(bodies.residuals) > 0 or len(bodies.unless) > 0
    while mask:
        bit = mask & (~mask + _ONE)
        mask ^= bit
        event = events[(word << 6) + _place(bit)]
        if special and not _passes(index, entry, batch, event, memory):
            continue
        found.events[count] = event
        found.slots[count] = slot
        count += 1
    return count


@numba.njit(cache=True, nogil=True, forceinline=True)
def _place(bit: np.uint64) -> int:
    """The number of the only bit that is set."""
    place = 0
    if bit & np.uint64(0xFFFFFFFF00000000):
        place += 32
    if bit & np.uint64(0xFFFF0000FFFF0000):
        place += 16
    if bit & np.uint64(0xFF00FF00FF00FF00):
        place += 8
    if bit & np.uint64(0xF0F0F0F0F0F0F0F0):
        place += 4
    if bit & np.uint64(0xCCCCCCCCCCCCCCCC):
        place += 2
    if bit & np.uint64(0xAAAAAAAAAAAAAAAA):
        place += 1
    return place


@numba.njit(cache=True, nogil=True)
def _words_for(events: int) -> int:
    if events <= 64:
        return 1
    if events <= 128:
        return 2
    return 4 if events <= 256 else 8


@numba.njit(cache=True, nogil=True, forceinline=True)
def _run(index: Index, batch: Batch, run: int, events: Shorts, full: Words, words: int, table: Words, life: Life, state: State, found: Found, count: int) -> int:
    """Search the entries of a run with the masks of a table; gives the new number of pairs."""
    bodies, groups = index.bodies, index.groups
    entries, masks = state.entries, state.masks
    last = groups.run_entries[run + 1]
    for first in range(max(groups.run_entries[run], state.progress[6]), last, CHUNK):
        stop = min(first + CHUNK, last)
        if words == 1:
            left = survivors_1(bodies.firsts, bodies.lows, bodies.highs, first, stop, table, full, entries, masks)
        elif words == 2:
            left = survivors_2(bodies.firsts, bodies.lows, bodies.highs, first, stop, table, full, entries, masks)
        elif words == 4:
            left = survivors_4(bodies.firsts, bodies.lows, bodies.highs, first, stop, table, full, entries, masks)
        else:
            left = survivors_8(bodies.firsts, bodies.lows, bodies.highs, first, stop, table, full, entries, masks)
        if count + left * words * 64 > len(found.events):
            state.progress[5], state.progress[6], state.progress[7] = run, first, 1
            return count
        for number in range(left):
            entry = entries[number]
            if len(life.died) and life.died[bodies.slots[entry]] <= life.version:
                continue
            for word in range(words):
                mask = masks[number * words + word]
                if mask:
                    count = _settle(
                        index, batch, entry, mask, word, words, events, table, state.memory, found, count
                    )
    state.progress[6] = 0
    return count


@numba.njit(cache=True, nogil=True, forceinline=True)
def _group(index: Index, batch: Batch, group: int, events: Shorts, life: Life, state: State, found: Found, count: int) -> int:
    """Search a group for a strip of events; gives the new number of pairs."""
    groups, table = index.groups, state.table
    words = _words_for(len(events))
    _fill_table(index, batch, group, events, words, table)
    mask = np.zeros(STRIP_WORDS, np.uint64)
    for run in range(max(groups.runs[group], state.progress[5]), groups.runs[group + 1]):
        low, high = np.int64(groups.run_lows[run]) * words, np.int64(groups.run_highs[run]) * words
        left = _NONE
        for word in range(words):
            mask[word] = table[high + word] & ~table[low + word]
            left |= mask[word]
        if left != _NONE:
            count = _run(index, batch, run, events, mask, words, table, life, state, found, count)
            if state.progress[7]:
                return count
    state.progress[5] = 0
    return count


@numba.njit(cache=True, nogil=True)
def by_masks(index: Index, batch: Batch, packed: Shorts, firsts: Ints, events: Shorts, life: Life, state: State, found: Found) -> bool:
    """Search the packed groups; the events of group g are `events[firsts[g]:firsts[g + 1]]`.

    False if there was no room for more pairs.
    """
    count = state.progress[3]
    strip = 64 * STRIP_WORDS
    for group in range(state.progress[2], len(packed)):
        for first in range(max(firsts[group], state.progress[4]), firsts[group + 1], strip):
            here = events[first : min(first + strip, firsts[group + 1])]
            count = _group(index, batch, group, here, life, state, found, count)
            if state.progress[7]:
                state.progress[2], state.progress[3], state.progress[4] = group, count, first
                state.progress[7] = 0
                return False
    state.progress[2] = len(packed)
    state.progress[3] = count
    return True


@numba.njit(cache=True, nogil=True)
def events_of_groups(visits: Visits, packed: Shorts, firsts: Ints, events: Shorts) -> None:
    """The events of every packed group, in order."""
    total = 0
    for group in range(len(packed)):
        firsts[group] = total
        total += packed[group]
    firsts[len(packed)] = total
    cursor = firsts[:-1].copy()
    for event in range(len(visits.firsts) - 1):
        for visit in range(visits.firsts[event], visits.firsts[event + 1]):
            group = visits.groups[visit]
            if packed[group]:
                events[cursor[group]] = event
                cursor[group] += 1


@numba.njit(cache=True, nogil=True)
def sort_by_event(events: Shorts, slots: Shorts, count: int, out_events: Shorts, out_slots: Shorts) -> None:
    """Order pairs by event, those of an event as they were found."""
    firsts = np.zeros(count + 1, np.int64)
    for place in range(len(events)):
        firsts[events[place] + 1] += 1
    for event in range(count):
        firsts[event + 1] += firsts[event]
    for place in range(len(events)):
        at = firsts[events[place]]
        firsts[events[place]] += 1
        out_events[at] = events[place]
        out_slots[at] = slots[place]
