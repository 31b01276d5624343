"""Spans: what predicates are in terms of cells, each different one once."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.cells import interval_rows
from tamis.engines.bitslice.layout import Cells, Ints, Shorts, Spans
from tamis.engines.forest import INTERVAL, TEST, Forest, Leaves, Pieces
from tamis.engines.forest.axes import LOWEST


class Numbered(NamedTuple):
    """The spans, and their numbers.

    leaves: per leaf, the smallest span that has all that it admits, NULL too.
    values: per leaf that admits NULL and an interval with a lower end, the span of the interval alone.
    pieces: per piece, its span.
    nulls: per axis, the span that holds NULL only; -1 if no leaf admits NULL.
    """

    spans: Spans
    leaves: Shorts
    values: Shorts
    pieces: Shorts
    nulls: Shorts


class _Pool(NamedTuple):
    """Spans while they are collected: `table` finds them by hash, `count` says how many there are."""

    lows: Shorts
    highs: Shorts
    axes: Shorts
    table: Shorts
    count: Ints


@numba.njit(cache=True, nogil=True, forceinline=True)
def _number(pool: _Pool, low: int, high: int, axis: int) -> int:
    """The number of a span, a new one if it is new; -1 if there is no room for it."""
    mask = np.uint64(len(pool.table) - 1)
    key = np.uint64(low) << np.uint64(32) | np.uint64(high)
    key *= np.uint64(0x9E3779B97F4A7C15)
    place = (key >> np.uint64(32)) & mask
    while True:
        number = pool.table[place]
        if number < 0:
            break
        if pool.highs[number] == high and pool.lows[number] == low:
            return number
        place = (place + np.uint64(1)) & mask
    number = pool.count[0]
    if number == len(pool.lows):
        return -1
    pool.count[0] += 1
    pool.table[place] = number
    pool.lows[number], pool.highs[number], pool.axes[number] = low, high, axis
    return number


@numba.njit(cache=True, nogil=True)
def _collect(
    pool: _Pool, cells: Cells, leaves: Leaves, pieces: Pieces, out: tuple[Shorts, Shorts, Shorts, Shorts]
) -> bool:
    """Number the spans of all leaves and pieces; False if the pool is too small."""
    by_leaf, by_value, by_piece, by_axis = out
    for leaf in range(len(leaves.kinds)):
        kind, axis = leaves.kinds[leaf], np.int64(leaves.axes[leaf])
        low, high, null = leaves.lows[leaf], leaves.highs[leaf], leaves.nulls[leaf]
        is_test = kind == TEST
        row, last_row = 0, len(cells.axis_of) + low
        if is_test:
            axis = len(cells.counts) + low
        else:
            if null and by_axis[axis] < 0:
                by_axis[axis] = _number(pool, 0, cells.bases[axis], axis)
            if kind != INTERVAL:
                for place in range(low, high):
                    row, last_row = interval_rows(cells, axis, pieces.lows[place], pieces.highs[place], 0)
                    by_piece[place] = _number(pool, row, last_row, axis)
                low, high = pieces.lows[low], pieces.highs[high - 1]
            elif null and low != LOWEST and low <= high:
                row, last_row = interval_rows(cells, axis, low, high, 0)
                by_value[leaf] = _number(pool, row, last_row, axis)
            row, last_row = interval_rows(cells, axis, low, high, null)
        by_leaf[leaf] = _number(pool, row, last_row, axis)
        if pool.count[0] == len(pool.lows):  # it may have refused a span
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _renumber(numbers: Shorts, out: tuple[Shorts, Shorts, Shorts, Shorts]) -> None:
    for each in out:
        for place in range(len(each)):
            # What no leaf has asked for was never set.
            if 0 <= each[place] < len(numbers):
                each[place] = numbers[each[place]]


def spans_of(forest: Forest, cells: Cells) -> Numbered:
    """The spans of a forest's leaves, numbered by axis."""
    room = 1 << 14
    while True:
        rows = (np.empty(room, np.int32) for _ in range(3))
        pool = _Pool(*rows, np.full(4 * room, -1, np.int32), np.zeros(1, np.int64))
        out = (
            np.empty(len(forest.leaves.kinds), np.int32),
            np.empty(len(forest.leaves.kinds), np.int32),
            np.empty(len(forest.pieces.lows), np.int32),
            np.full(len(forest.axes), -1, np.int32),
        )
        if _collect(pool, cells, forest.leaves, forest.pieces, out):
            break
        room *= 8
    count = int(pool.count[0])
    lows, highs, axes = (each[:count] for each in pool[:3])
    order = np.lexsort((highs, lows, axes))
    numbers = np.empty(count, np.int32)
    numbers[order] = np.arange(count, dtype=np.int32)
    _renumber(numbers, out)
    return Numbered(_with_inner(cells, lows[order], highs[order], axes[order]), *out)


def _with_inner(cells: Cells, lows: Shorts, highs: Shorts, axes: Shorts) -> Spans:
    is_axis = axes < len(cells.counts)
    own = np.where(is_axis, axes, 0)
    bases = cells.bases[own] if len(cells.counts) else np.zeros(len(own), np.int32)
    coarse = is_axis & (cells.widths[own] > 0)
    inner_lows = np.where(coarse & (lows > 0), lows + 1, lows)
    inner_highs = np.where(coarse & (highs > bases), highs - 1, highs)
    return Spans(lows, highs, axes, inner_lows.astype(np.int32), inner_highs.astype(np.int32))
