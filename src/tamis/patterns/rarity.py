"""How rare a literal is: a guess at how few texts contain it, by how few patterns do.

Whoever writes patterns asks for words that texts have, so a word that many patterns contain is in many texts, too.
A pattern is verified wherever its literal occurs; it is found under its rarest one.

Counted are all windows of one, two, four, six and eight bytes of all literals, in one table by hash. A literal of
such a length occurs as often as its own window, any other at most as often as the rarest of its windows.
"""

from __future__ import annotations

import math

import numpy as np

from tamis.arrays import I64, U8, U32
from tamis.kernels import kernel

WINDOW = 8
"""Bytes of the longest windows."""
_LEAST_BITS, _MOST_BITS = 12, 22  # of the number of counters
_TEXT_BYTES = 64.0  # of a text in which a literal may occur
_BYTE_BITS = 4.0  # by which one more byte makes a literal rarer, if nothing else is known


class Rarity:
    """Counts of the windows of some literals.

    Args:
        data: The literals: number i is `data[offsets[i]:offsets[i + 1]]`.
        offsets: One more than there are literals.
    """

    def __init__(self, data: U8, offsets: I64) -> None:
        bits = min(_MOST_BITS, max(_LEAST_BITS, len(data).bit_length() + 3))
        self.counts = np.zeros(1 << bits, np.uint32)
        self.literals = len(offsets) - 1
        count_windows(data, offsets, self.counts)

    def bits(self, literal: bytes) -> float:
        """The binary logarithm of how many texts there are for one that contains the literal."""
        if not self.literals:
            return _BYTE_BITS * len(literal)
        data = np.frombuffer(literal, np.uint8)
        return math.log2(self.literals / expected_count(self.counts, self.literals, data, 0, len(data)))


@kernel(forceinline=True)
def _place(window: np.uint64, length: int, counts: U32) -> np.uint64:
    """Where the count of a window is."""
    mixed = (window ^ np.uint64(length) * np.uint64(0xD6E8FEB86659FD93)) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(40) & np.uint64(
        len(counts) - 1
    )


@kernel
def count_windows(data: U8, offsets: I64, counts: U32) -> None:
    """Count the windows of all literals."""
    for literal in range(len(offsets) - 1):
        for start in range(offsets[literal], offsets[literal + 1]):
            window = np.uint64(0)
            for at in range(start, min(start + WINDOW, offsets[literal + 1])):
                window = window << np.uint64(8) | np.uint64(data[at])
                length = at + 1 - start
                if length == 1 or length & 1 == 0:
                    counts[_place(window, length, counts)] += np.uint32(1)


@kernel
def expected_count(counts: U32, literals: int, data: U8, start: int, end: int) -> float:
    """In how many of so many texts `data[start:end]` may be expected: where it was counted, and by chance."""
    length = min(end - start, WINDOW)
    length = max(1, length & ~1)
    least = np.int64(literals)
    for first in range(start, end - length + 1):
        window = np.uint64(0)
        for at in range(first, first + length):
            window = window << np.uint64(8) | np.uint64(data[at])
        least = min(least, np.int64(counts[_place(window, length, counts)]))
    by_chance: float = 2.0 ** (-_BYTE_BITS * (end - start))
    return least + literals * _TEXT_BYTES * by_chance


@kernel
def rarest_pieces(counts: U32, literals: int, data: U8, bounds: I64, firsts: I64) -> tuple[U8, I64]:
    """Of the pieces of each pattern the rarest, as bytes and offsets; nothing where a pattern has none.

    Piece i is `data[bounds[i]:bounds[i + 1]]`; a pattern p has the pieces from `firsts[p]` to `firsts[p + 1]`.
    """
    out, ends = np.empty(len(data), np.uint8), np.zeros(len(firsts), np.int64)
    count = 0
    for pattern in range(len(firsts) - 1):
        best, best_cost = firsts[pattern], np.inf
        if firsts[pattern + 1] - firsts[pattern] > 1:
            for piece in range(firsts[pattern], firsts[pattern + 1]):
                cost = expected_count(counts, literals, data, bounds[piece], bounds[piece + 1])
                if cost < best_cost:
                    best, best_cost = piece, cost
        if firsts[pattern] < firsts[pattern + 1]:
            for at in range(bounds[best], bounds[best + 1]):
                out[count] = data[at]
                count += 1
        ends[pattern + 1] = count
    return out[:count].copy(), ends
