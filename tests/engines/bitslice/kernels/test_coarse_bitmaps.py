"""Coarse bitmaps against sets of entries."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.bitslice.kernels.coarse_bitmaps import (
    STEP_WORDS,
    bitmap_candidates,
    bitmap_words,
    fill_bitmaps,
    passing_shares,
)
from tamis.engines.bitslice.layout import CoarseBitmaps, EntryArrays

NONE = np.empty(0, np.int32)
# Five entries on one axis with NULL and three coarse cells, as the module draws them. Range 0 has the coarse cells
# 1-2, range 1 has 3, range 2 has 1-3; entry 2 does not ask for the axis.
ENTRIES = EntryArrays(
    np.arange(5, dtype=np.int32),
    np.array([0, 1, 2, 2, 3, 4], np.int32),
    np.array([0, 1, 0, 2], np.uint16),
    NONE,
    NONE,
    NONE,
    NONE,
)
COARSE = (np.array([1, 3, 1], np.int32), np.array([2, 3, 3], np.int32))
AXES = np.zeros(3, np.int32)


def test_bitmaps_are_as_the_module_draws_them() -> None:
    words = bitmap_words(5)
    assert words == STEP_WORDS
    bits = np.full(4 * words, 99, np.uint64)
    out = CoarseBitmaps(NONE, np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.int64), np.zeros(1), bits)
    fill_bitmaps(ENTRIES, AXES, np.array([0, 5]), np.array([4], np.int32), COARSE, out)
    assert bits.reshape(4, words)[:, 0].tolist() == [0b00100, 0b11101, 0b11101, 0b10110]
    assert not bits.reshape(4, words)[:, 1:].any()


def test_shares_multiply_by_axis() -> None:
    passing = np.ones((2, 1))
    passing_shares(ENTRIES, AXES, np.array([0.5, 0.25, 1.0]), np.array([1, 2]), passing)
    assert passing.tolist() == [[0.25], [1.0]]


@pytest.mark.parametrize("bitmaps", [1, 2, 5])
@pytest.mark.parametrize("room", [600, 4_000])
def test_candidates_are_in_all_bitmaps(bitmaps: int, room: int) -> None:
    random_ = np.random.default_rng(bitmaps)
    words = 5 * STEP_WORDS
    bits = random_.integers(0, 1 << 64, (6, words), np.uint64)
    chosen = random_.permutation(6)[:bitmaps]
    wanted = np.bitwise_and.reduce(bits[chosen])
    entries = [100 + bit for bit in range(64 * words) if int(wanted[bit >> 6]) >> (bit & 63) & 1]
    starts, mask = (chosen * words).astype(np.uint64), np.zeros(STEP_WORDS, np.uint64)
    candidates, found, word = np.zeros(room, np.int32), list[int](), 0
    while word < words:
        left, word = bitmap_candidates(bits.reshape(-1), starts, 100, (word, words), mask, candidates, 0)
        found += candidates[:left].tolist()
    assert found == entries
