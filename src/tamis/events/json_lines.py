"""Batches of scanned JSON lines.

Batches and dead letters are the same as in reading line by line: a line is either scanned, or Python's `json`
alone decides what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from tamis.arrays import I64
from tamis.events.json_columns import JsonSource
from tamis.events.json_objects import JsonObjects, scan, select_objects
from tamis.events.json_scan import BLANK, LEFT, ObjectScan
from tamis.events.line_buffer import LineBuffer

_BATCH_BYTES = 1 << 28
"""Of lines that are read before a batch is given, however few they are."""

ReadLine: TypeAlias = "Callable[[int, bytes, bool], dict[str, Any] | None]"
"""The function from the number and bytes of a line, and whether it is too long, to its event or None."""


def scanned_batches(
    lines: LineBuffer,
    rows: int,
    read: ReadLine,
    decode: Callable[[str], Any],
    batch_bytes: int = _BATCH_BYTES,
) -> Iterator[tuple[JsonSource, I64]]:
    """Batches of `rows` events, or of fewer where lines are long, with the numbers of their lines, counted from 0.

    Args:
        lines: The input.
        rows: Events in a batch.
        read: Called for every line that was not scanned, in order.
        decode: From JSON to Python values.
        batch_bytes: A batch whose lines have so many bytes is given at once.
    """
    first = 0
    ahead = max(batch_bytes, lines.limit + 2)  # at least one whole line
    while True:
        scanned: ObjectScan | None = None
        starts = ends = numbers = np.empty(0, np.int64)
        others: dict[int, dict[str, Any]] = {}
        position = taken = 0
        while len(starts) < rows and (position < batch_bytes or not len(starts)):
            lines.fill(taken + rows - len(starts), position + ahead)
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
            scanned = select_objects(scanned, kept)
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
