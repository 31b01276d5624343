"""The lines of a binary file in blocks of bytes, read no further than needed.

The buffer holds the lines that were not taken yet. Of a line it keeps at most `limit + 1` bytes: the extra byte
shows that the line is too long, and the rest of it is skipped.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from tamis.arrays import I64, U8

_NEWLINE = 10
_LEAST_READ, _MOST_READ = 1 << 16, 1 << 23
_FIRST_GUESS = 256
_ROOM = 1.25  # bytes to make room for, as a multiple of those expected


class LineBuffer:
    """The part of a file that was read and not yet taken.

    Attributes:
        block: Bytes, of which the first `used` are filled.
        used: The number of bytes that are filled.
        ended: Is the file at its end?
        limit: The greatest length of a line, in bytes.
    """

    __slots__ = ("_ends", "_line_bytes", "_read_into", "_skipping", "block", "ended", "limit", "lines", "used")

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._read_into = _reader(file)
        self.limit = limit
        self.block = np.empty(_LEAST_READ, np.uint8)
        self.used = self.lines = 0
        self.ended = False
        self._ends: list[I64] = []  # places of newlines
        self._skipping = False
        self._line_bytes: float = _FIRST_GUESS

    def fill(self, lines: int, most_bytes: int | None = None) -> None:
        """Read until there are so many lines, or so many bytes, or the end."""
        while self.lines < lines and not self.ended and (most_bytes is None or self.used < most_bytes):
            expected = int((lines - self.lines) * self._line_bytes)
            if most_bytes is not None:
                expected = min(expected, most_bytes - self.used)
            size = min(_MOST_READ, max(_LEAST_READ, expected))
            if self.used + size > len(self.block):
                block = np.empty(int((self.used + max(size, expected)) * _ROOM), np.uint8)
                block[: self.used] = self.block[: self.used]
                self.block = block
            count = self._read_into(self.block[self.used : self.used + size])
            if count:
                self._add(count)
            else:
                self.ended = True
                self.lines += self.used > self._complete()

    def _complete(self) -> int:
        """The number of bytes in complete lines."""
        return int(self._ends[-1][-1]) + 1 if self._ends else 0

    def _add(self, count: int) -> None:
        """Add the bytes that were just read behind those used."""
        ends = np.flatnonzero(self.block[self.used : self.used + count] == _NEWLINE)
        if self._skipping:
            if len(ends) == 0:
                return
            skipped = int(ends[0])
            self.block[self.used : self.used + count - skipped] = self.block[
                self.used + skipped : self.used + count
            ].copy()
            count -= skipped
            ends -= skipped
            self._skipping = False
        if len(ends):
            self._ends.append(ends + self.used)
            self.lines += len(ends)
            self._line_bytes = self._complete() / self.lines
        self.used += count
        longest = self._complete() + self.limit + 1
        if self.used > longest:
            self.used = longest
            self._skipping = True

    def bounds(self, start: int) -> tuple[I64, I64]:
        """First byte, and one past the last without its newline, of every line from byte `start` on."""
        ends = np.concatenate([np.empty(0, np.int64), *self._ends])
        ends = ends[np.searchsorted(ends, start) :]
        starts = np.concatenate([np.array([start], np.int64), ends + 1])
        if self.ended and starts[-1] < self.used:
            return starts, np.append(ends, self.used)
        return starts[:-1], ends

    def take(self, end: int, lines: int) -> U8:
        """Take the bytes up to `end`, which are `lines` lines; the buffer keeps the others in a new block."""
        taken = self.block
        rest = taken[end : self.used]
        self.block = np.empty(max(_LEAST_READ, 2 * len(rest)), np.uint8)
        self.block[: len(rest)] = rest
        self.used = len(rest)
        self.lines -= lines
        ends = np.flatnonzero(self.block[: self.used] == _NEWLINE)
        self._ends = [ends] if len(ends) else []
        return taken[:end]


def _reader(file: IO[bytes]) -> Callable[[U8], int]:
    """The function that reads the bytes available, waits only if there are none, and returns their number."""
    into: Any = getattr(file, "readinto" if isinstance(file, io.BytesIO) else "readinto1", None)
    if into is not None:
        return lambda room: into(room) or 0

    def read_line(room: U8) -> int:
        line = file.readline(len(room))
        room[: len(line)] = np.frombuffer(line, np.uint8)
        return len(line)

    return read_line
