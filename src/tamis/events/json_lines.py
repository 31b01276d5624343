"""Batches of scanned JSON lines.

The batches, and the lines that are no events, are those that reading line by line gives: a line is either
scanned, or Python's `json` alone decides what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from tamis.events.json_columns import JsonSource
from tamis.events.json_objects import JsonObjects, scan
from tamis.events.json_scan import BLANK, LEFT, Ints, Scan
from tamis.events.line_buffer import LineBuffer

Read: TypeAlias = "Callable[[int, bytes, bool], dict[str, Any] | None]"
"""From number, bytes and length (is it too long?) of a line to its event, None if it is none."""


def scanned_batches(
    lines: LineBuffer, rows: int, read: Read, decode: Callable[[str], Any]
) -> Iterator[tuple[JsonSource, Ints]]:
    """Batches of so many events, the last one of fewer, with the numbers of their lines, counted from 0.

    Args:
        lines: Where they come from.
        rows: Events in a batch.
        read: Called for every line that was not scanned, in order.
        decode: From JSON to Python values.
    """
    first = 0
    while True:
        scanned: Scan | None = None
        starts = ends = numbers = np.empty(0, np.int64)
        others: dict[int, dict[str, Any]] = {}
        position = taken = 0
        while len(starts) < rows:
            lines.fill(taken + rows - len(starts))
            new_starts, new_ends = lines.bounds(position)
            if len(new_starts) == 0:
                break
            long = new_ends - new_starts > lines.limit
            before = len(starts)
            starts = np.concatenate([starts, new_starts])
            ends = np.concatenate([ends, np.where(long, new_starts, new_ends)])  # blank for the scan
            numbers = np.concatenate([numbers, first + taken + np.arange(len(new_starts))])
            scanned = scan(lines.block, starts, ends, rows, scanned)
            done = int(scanned.counts[0])
            new = done - before
            for at in np.flatnonzero((scanned.states[before:done] == LEFT) | long[:new]).tolist():
                line = lines.block[new_starts[at] : new_ends[at]].tobytes()
                number = first + taken + at
                event = read(number, line, bool(long[at]))
                if event is None:
                    scanned.states[before + at] = BLANK
                else:
                    others[number] = event
            position = min(int(new_ends[new - 1]) + 1, lines.used)
            taken += new
            kept = np.flatnonzero(scanned.states[:done] != BLANK)
            starts, ends, numbers = starts[kept], ends[kept], numbers[kept]
            scanned = _only(scanned, kept)
            if len(kept) == 0:  # no event needs these bytes
                lines.take(position, taken)
                first += taken
                position = taken = 0
                scanned = None
        block = lines.take(position, taken)
        first += taken
        if scanned is None:
            return
        count = len(numbers)
        rows_of = dict(zip(numbers.tolist(), range(count), strict=True)) if others else {}
        by_row = {rows_of[number]: event for number, event in others.items()}
        yield JsonSource(JsonObjects(block, count, scanned, np.arange(count), by_row, decode)), numbers


def _only(scanned: Scan, kept: Ints) -> Scan:
    """The scan of some of its objects; the others must have no cells."""
    done = int(scanned.counts[0])
    if len(kept) == done == len(scanned.states):
        return scanned
    scanned.counts[0] = len(kept)
    firsts = np.append(scanned.firsts[kept], scanned.firsts[done])
    return scanned._replace(states=scanned.states[kept], firsts=firsts)
