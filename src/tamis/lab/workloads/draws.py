"""Reproducible random numbers: streams by seed, family, part and block.

All numbers are made from uniform doubles of PCG64, seeded through `SeedSequence`; numpy guarantees both to stay
the same, but not its distributions. A stream serves one block of rows, so a row depends neither on the number of
rows nor on other blocks.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
import numpy.typing as npt

from tamis.arrays import F64, I64

BLOCK_CONDITIONS = 16_384
BLOCK_EVENTS = 1_024


class Draws:
    """One stream, for block number `block`, of `rows` rows."""

    __slots__ = ("_generator", "block", "rows")

    def __init__(self, seed: int, name: str, part: str, block: int, rows: int) -> None:
        """Open the stream.

        Args:
            seed: Of the workload; not negative.
            name: Of the family, so that families do not repeat each other's numbers.
            part: What it is for, as `events`.
            block: Number of the block.
            rows: Rows of the block.
        """
        entropy = [seed, crc32(f"{name}/{part}".encode()), block]
        self._generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
        self.block = block
        self.rows = rows

    def uniform(self, *columns: int) -> F64:
        """Numbers in [0, 1), one a row, or `columns` of them."""
        return self._generator.random((self.rows, *columns))

    def below(self, bounds: int | I64, *columns: int) -> I64:
        """Uniform integers from 0 to just below `bounds`."""
        return np.floor(self.uniform(*columns) * bounds).astype(np.int64)

    def pick(self, shares: F64, *columns: int) -> I64:
        """Indices into `shares` (see `cumulate`), each with the probability of its share."""
        return shares.searchsorted(self.uniform(*columns), side="right")

    def subset(self, size: int, count: int) -> I64:
        """`count` different numbers below `size` a row, in random order: shape (rows, count)."""
        deck = np.tile(np.arange(size), (self.rows, 1))
        every = np.arange(self.rows)
        for place in range(count):
            other = place + self.below(size - place)
            taken = deck[every, other]
            deck[every, other] = deck[:, place]
            deck[:, place] = taken
        return deck[:, :count]

    def different(self, shares: F64, count: int, beside: I64 | None = None) -> I64:
        """`count` different indices into `shares` a row: as `pick`, one after the other, repetitions drawn again.

        None is among those of its row of `beside`, which are different, too.
        """
        before = 0 if beside is None else beside.shape[1]
        chosen = np.empty((self.rows, before + count), np.int64)
        if beside is not None:
            chosen[:, :before] = beside
        for place in range(before, before + count):
            waiting = np.arange(self.rows)
            while len(waiting):
                chosen[waiting, place] = shares.searchsorted(self._generator.random(len(waiting)), side="right")
                earlier = chosen[waiting, :place] == chosen[waiting, place, None]
                waiting = waiting[earlier.any(axis=1)]
        return chosen[:, before:]


class Dice:
    """A stream read one number at a time, for what is built step by step and once."""

    __slots__ = ("_at", "_draws", "_numbers")

    def __init__(self, seed: int, name: str, part: str) -> None:
        """Open the stream; the arguments are those of `Draws`."""
        self._draws = Draws(seed, name, part, 0, 4_096)
        self._numbers: list[float] = []
        self._at = 0

    def uniform(self) -> float:
        """A number in [0, 1)."""
        if self._at == len(self._numbers):
            self._numbers, self._at = self._draws.uniform().tolist(), 0
        self._at += 1
        return self._numbers[self._at - 1]

    def below(self, bound: int) -> int:
        """A whole number from 0 to just below `bound`."""
        return int(self.uniform() * bound)

    def between(self, least: int, most: int) -> int:
        """A whole number from `least` to `most`."""
        return least + self.below(most - least + 1)

    def bernoulli(self, share: float) -> bool:
        """True with the probability `share`."""
        return self.uniform() < share

    def pick(self, shares: F64) -> int:
        """An index into `shares` (see `cumulate`), each with the probability of its share."""
        return int(shares.searchsorted(self.uniform(), side="right"))


def cumulate(weights: npt.ArrayLike) -> F64:
    """Running sums of `weights`, as shares of the whole."""
    sums = np.cumsum(np.asarray(weights, np.float64))
    shares: F64 = sums / sums[-1]
    shares[np.flatnonzero(np.asarray(weights))[-1] :] = 1.0
    return shares


def zipf(size: int, exponent: float) -> F64:
    """Cumulated shares of `size` ranks, rank r (from 1) with weight `r ** -exponent`."""
    return cumulate(np.arange(1, size + 1, dtype=np.float64) ** -exponent)
