"""Masks as values of compiled code do what integers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from tamis.arrays import I32, I64, U8, U64
from tamis.engines.bitslice.kernels import simd as module

simd: Any = module  # intrinsics take one argument less than they are written with
FINISH = {1: simd.finish_1, 4: simd.finish_4, 8: simd.finish_8}
SURVIVORS = {1: simd.survivors_1, 4: simd.survivors_4, 8: simd.survivors_8}
ONE = np.uint64(1)


@numba.njit(nogil=True)
def operate(a: U64, b: U64, out: U64) -> Any:
    both = simd.mask_and(simd.load(4, a, np.uint64(1)), simd.load(4, b, np.uint64(0)))
    simd.store(both, out, np.uint64(0))
    simd.store(simd.mask_or(simd.no_events(4), simd.load(4, a, np.uint64(1))), out, np.uint64(4))
    simd.store(simd.mask_without(simd.load(4, a, np.uint64(1)), simd.load(4, b, np.uint64(0))), out, np.uint64(8))
    return simd.has_events(both), simd.has_events(simd.no_events(4))


@numba.njit(nogil=True)
def differing(a: U64, b: U64, out: U64) -> None:
    simd.store(simd.mask_xor(simd.load(4, a, np.uint64(0)), simd.load(4, b, np.uint64(0))), out, np.uint64(0))


@numba.njit(nogil=True)
def bytes_of(lanes: U8, at: Any, value: Any) -> Any:
    return simd.bytes_below(lanes, at, value), simd.bytes_not_below(lanes, at, value)


@numba.njit(nogil=True)
def between(values: I64, at: Any, lows: I64, highs: I64, place: Any) -> Any:
    return simd.is_between(values, at, lows, highs, place)


@numba.njit(nogil=True)
def between_narrow(values: I32, at: Any, lows: I32, highs: I32, place: Any) -> Any:
    return simd.is_between_narrow(values, at, lows, highs, place)


@numba.njit(nogil=True)
def bits_of(words: U64, out: I64) -> None:
    for place in range(len(words)):
        simd.prefetch(words, np.uint64(place))
        out[2 * place], out[2 * place + 1] = simd.lowest_bit(words[place]), simd.count_bits(words[place])


def words(random_: np.random.Generator, count: int) -> U64:
    return random_.integers(0, 1 << 64, count, np.uint64)


def test_operations_on_masks() -> None:
    random_ = np.random.default_rng(1)
    a, b, out = words(random_, 5), words(random_, 4), np.zeros(12, np.uint64)
    assert operate(a, b, out) == (True, False)
    assert out.tolist() == [*(a[1:] & b).tolist(), *a[1:].tolist(), *(a[1:] & ~b).tolist()]
    assert operate(a, np.zeros(4, np.uint64), out) == (False, False)
    last = np.array([0, 0, 0, 1 << 63], np.uint64)
    assert operate(np.full(5, ~np.uint64(0)), last, out) == (True, False), "one bit in the last word"


def test_events_of_one_of_two_masks() -> None:
    random_ = np.random.default_rng(4)
    a, b, out = words(random_, 4), words(random_, 4), np.zeros(4, np.uint64)
    differing(a, b, out)
    assert out.tolist() == (a ^ b).tolist()


def test_lowest_bit_and_number_of_bits() -> None:
    given = [0, 1, 6, 1 << 63, (1 << 64) - 1, 0b1011000]
    out = np.zeros(2 * len(given), np.int64)
    bits_of(np.array(given, np.uint64), out)
    lowest = [(each & -each).bit_length() - 1 if each else 64 for each in given]
    assert out.reshape(-1, 2).tolist() == [
        [low, each.bit_count()] for low, each in zip(lowest, given, strict=True)
    ]


def test_sixteen_bytes_against_one() -> None:
    lanes = np.random.default_rng(2).integers(0, 256, 40).astype(np.uint8)
    lanes[5], lanes[6] = 0, 255
    for at in (0, 3, 24):
        for value in (0, 1, 127, 128, 255, int(lanes[10])):
            below, not_below = bytes_of(lanes, np.uint64(at), np.uint8(value))
            wanted = sum(1 << place for place in range(16) if lanes[at + place] < value)
            assert (below, not_below) == (wanted, wanted ^ 0xFFFF)


@pytest.mark.parametrize("width", [1, 4, 8])
def test_masks_of_ranges(width: int) -> None:
    random_ = np.random.default_rng(width)
    bases = np.array([2, 7, 12, 15], np.int32)
    axes, named = np.array([0, 2], np.int32), np.array([0, 2, 3], np.uint16)
    lows, highs = np.array([0, 3, 2, 13], np.int32), np.array([4, 5, 6, 14], np.int32)
    rows, table = words(random_, 15 * width), np.zeros(4 * width, np.uint64)
    rows[:width] = 0  # row 0 has no event
    up_to = rows.reshape(15, width).copy()
    for axis in axes.tolist():
        for row in range(bases[axis] + 1, bases[axis + 1]):
            up_to[row] |= up_to[row - 1]
    FINISH[width](axes, bases, named, lows, highs, rows, table)
    assert np.array_equal(rows.reshape(15, width), up_to)
    for number in range(4):
        wanted = up_to[highs[number]] & ~up_to[lows[number]] if number in named else 0
        assert np.all(table.reshape(4, width)[number] == wanted)


@pytest.mark.parametrize("width", [1, 4, 8])
@pytest.mark.parametrize("most", [0, 7, 8, 9, 30])
@pytest.mark.parametrize("room", [1, 10, 200])
def test_survivors(width: int, most: int, room: int) -> None:
    """Entries around and beyond a block of eight ranges, in runs, with room for all of them or for few."""
    random_ = np.random.default_rng(most)
    sizes = random_.integers(0, most + 1, 200)
    firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    ranges = random_.integers(0, 50, firsts[-1]).astype(np.uint16)
    # Nearly full masks, so that long conjunctions survive, too.
    table = words(random_, 50 * width) | words(random_, 50 * width) | words(random_, 50 * width)
    rows = np.sort(words(random_, 6 * width).reshape(6, width), axis=0).reshape(-1)
    rows[:width], rows[-width:] = 0, rows[-2 * width : -width]
    run_entries = np.array([0, 3, 90, 90, 120, 190, 200], np.int32)
    run_ranges = np.array([[0, 0, 1, 4, 1, 2], [1, 3, 4, 5, 5, 3]], np.int32)  # the fourth has no event
    out, masks = np.zeros(room, np.int32), np.zeros(room * width, np.uint64)
    found, run, entry = [], 1, 3
    while run < 5:
        at = (run, entry, 5)
        count, run, entry = SURVIVORS[width](
            firsts, ranges, run_entries, tuple(run_ranges), at, rows, table, out, masks
        )
        found += list(zip(out[:count].tolist(), masks.reshape(room, width)[:count].tolist(), strict=True))
    assert entry == 190
    wanted = []
    for entry in range(3, 190):
        low, high = run_ranges[:, np.searchsorted(run_entries, entry, side="right") - 1]
        of_run = rows.reshape(6, width)[high] & ~rows.reshape(6, width)[low]
        own = table.reshape(50, width)[ranges[firsts[entry] : firsts[entry + 1]]]
        mask = np.bitwise_and.reduce(np.vstack([of_run, own]))
        if mask.any():
            wanted.append((entry, mask.tolist()))
    assert found == wanted


@pytest.mark.parametrize(("is_between", "lanes", "bits"), [(between, 8, 64), (between_narrow, 16, 32)])
def test_values_between_bounds(is_between: Callable[..., bool], lanes: int, bits: int) -> None:
    random_ = np.random.default_rng(5)
    dtype = np.int64 if bits == 64 else np.int32
    values = random_.integers(-9, 10, 40).astype(dtype)
    values[20:] = np.clip(values[20:], -5, 5)
    lows, highs = np.full(28, -5, dtype), np.full(28, 5, dtype)
    found = []
    for at in range(40 - lanes):
        for place in range(28 - lanes):
            wanted = all(-5 <= value <= 5 for value in values[at : at + lanes].tolist())
            found.append(is_between(values, np.uint64(at), lows, highs, np.uint64(place)))
            assert found[-1] == wanted
    assert len(set(found)) == 2
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1
    values[:lanes], lows[:lanes], highs[:lanes] = [lowest, highest, *[0] * (lanes - 2)], lowest, highest
    assert is_between(values, np.uint64(0), lows, highs, np.uint64(0)), "bounds are inside"
    highs[1] -= 1
    assert not is_between(values, np.uint64(0), lows, highs, np.uint64(0))
