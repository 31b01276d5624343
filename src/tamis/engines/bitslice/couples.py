"""Couples: two attributes that events seldom have both, and the entries that need both.

An event finds its couples by a bit for each two of its attributes. Of an entry it is first asked whether the event
is in its cells of both, sixteen entries at a time, then whether it is in those of two further attributes, and all
of that lies side by side: what fails there, which is nearly everything, never touches a body.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.bitslice.filing import COUPLE, Atoms
from tamis.engines.bitslice.layout import Bodies, Bytes, Cells, Couples, Ints, Shorts, Spans
from tamis.engines.bitslice.simd import block_meets, place_of, prefetch

LANES = 16
"""Entries of a block."""
HEAD = 4
"""Numbers of a head."""
_BLOCK = 4 * LANES
_ONE, _TWO = np.uint64(1), np.uint64(2)


def couples_of(
    atoms: Atoms, order: Ints, begins: npt.NDArray[np.bool_], bodies: Bodies, spans: Spans, cells: Cells
) -> Couples:
    """The couples of entries in this order; `begins` tells where groups begin, of which couples are the last."""
    firsts = np.flatnonzero(begins)
    is_couple = atoms.kinds[order[firsts]] == COUPLE
    count = int(np.count_nonzero(is_couple))
    first_group = np.array([len(firsts) - count], np.int32)
    if not count:
        nothing = np.empty(0, np.int32)
        none, words = np.empty(0, np.uint8), np.empty(0, np.uint64)
        return Couples(first_group, words, nothing, nothing, none, nothing.view(np.uint32))
    firsts = firsts[is_couple]
    first_axes, second_axes = spans.axes[atoms.spans[order[firsts]]], atoms.lows[order[firsts]]
    blocks = -(-np.diff(np.append(firsts, len(order))) // LANES)
    heads = np.zeros((count + 1, HEAD), np.int32)
    heads[1:, 0] = np.cumsum(blocks)
    heads[:, 1] = np.append(firsts, len(order))
    heads[:-1, 2], heads[:-1, 3] = first_axes, second_axes
    axes = len(cells.counts)
    width = words_of(axes)
    partners = np.zeros((axes, width), np.uint64)
    np.bitwise_or.at(partners, (first_axes, second_axes >> 6), _ONE << (second_axes & 63).astype(np.uint64))
    ranks = np.searchsorted(
        first_axes.astype(np.int64) * width + (second_axes >> 6), np.arange(axes * width), side="left"
    )
    lanes = np.empty(int(heads[-1, 0]) * _BLOCK, np.uint8)
    further = np.empty(2 * (len(order) - int(firsts[0])), np.uint32)
    _fill(heads.reshape(-1), bodies, spans, cells, lanes, further)
    return Couples(first_group, partners.reshape(-1), ranks.astype(np.int32), heads.reshape(-1), lanes, further)


def words_of(axes: int) -> int:
    """Words of the bits of an axis' partners."""
    return (axes + 63) >> 6


@numba.njit(cache=True, nogil=True)
def _fill(
    heads: Shorts, bodies: Bodies, spans: Spans, cells: Cells, lanes: Bytes, further: npt.NDArray[np.uint32]
) -> None:
    """Write the cells of all entries."""
    lanes[:] = 0  # nothing is in those that no entry has
    axes = len(cells.counts)
    for couple in range(len(heads) // HEAD - 1):
        block, first, first_axis, second_axis = heads[HEAD * couple : HEAD * couple + HEAD]
        for entry in range(first, heads[HEAD * couple + HEAD + 1]):
            low, high, second_low, second_high = 0, 255, 0, 255
            at = np.int64(2) * (entry - heads[1])
            further[at] = further[at + 1] = axes | 1 << 24
            found = 0
            for place in range(bodies.firsts[entry], bodies.firsts[entry + 1]):
                span = bodies.spans[place]
                axis = spans.axes[span]
                if axis >= axes:
                    continue
                base = cells.bases[axis]
                own_low, own_high = max(spans.lows[span] - base, 0), spans.highs[span] - base
                if axis == first_axis:
                    low, high = max(low, own_low), min(high, own_high)
                elif axis == second_axis:
                    second_low, second_high = max(second_low, own_low), min(second_high, own_high)
                elif found < 2 and spans.lows[span] > 0:
                    further[at + found] = axis | own_low << 16 | own_high << 24
                    found += 1
            lane = np.int64(block) * _BLOCK + (entry - first) // LANES * _BLOCK + (entry - first) % LANES
            lanes[lane], lanes[lane + LANES] = low, high
            lanes[lane + 2 * LANES], lanes[lane + 3 * LANES] = second_low, second_high


@numba.njit(cache=True, nogil=True)
def ask_early(couples: Couples, groups: Shorts, first: int, last: int) -> None:
    """Have the first blocks of some couples at hand soon."""
    for visit in range(first, last):
        head = np.uint64(HEAD * (groups[visit] - couples.first_group[0]))
        prefetch(couples.lanes, np.uint64(_BLOCK) * np.uint64(couples.heads[head]))
        prefetch(couples.further, _TWO * np.uint64(couples.heads[head + np.uint64(1)] - couples.heads[1]))


@numba.njit(cache=True, nogil=True, forceinline=True)
def _is_in(asked: np.uint32, cells: Bytes) -> bool:
    """Is an event with these cells where an element of `further` asks for?"""
    cell = cells[np.uint64(asked & np.uint32(0xFFFF))]
    return (cell > ((asked >> np.uint32(16)) & np.uint32(0xFF))) & (cell <= (asked >> np.uint32(24)))


@numba.njit(cache=True, nogil=True)
def left_of(
    couples: Couples,
    groups: Shorts,
    start: tuple[int, int],
    last: int,
    skipped: Shorts,
    cells: Bytes,
    entries: Shorts,
) -> tuple[int, tuple[int, int]]:
    """Write the entries of visited couples whose four ranges of cells an event is in.

    Gives their number, and where to go on when there is room again: `start` is a visit, and a block of its couple.
    `skipped` is not 0 for the groups that are not to be searched, or empty; `cells` has the event's cell of every
    axis, and 1.
    """
    heads, lanes, further = couples.heads, couples.lanes, couples.further
    first_group = couples.first_group[0]
    base = np.uint64(heads[1])
    left = 0
    visit, done = start
    while visit < last:
        group = groups[visit]
        if len(skipped) and skipped[group]:
            visit += 1
            continue
        head = np.uint64(HEAD * (group - first_group))
        block, end = np.uint64(heads[head] + done), np.uint64(heads[head + np.uint64(HEAD)])
        entry = np.uint64(heads[head + np.uint64(1)] + LANES * done)
        first = cells[np.uint64(heads[head + np.uint64(2)])]
        second = cells[np.uint64(heads[head + np.uint64(3)])]
        while block < end:
            if left + LANES > len(entries):
                return left, (visit, np.int64(block) - heads[head])
            rest = np.uint64(block_meets(lanes, block * np.uint64(_BLOCK), first, second))
            while rest:
                own = entry + np.uint64(place_of(rest))
                rest &= rest - _ONE
                at = _TWO * (own - base)
                entries[left] = own
                left += _is_in(further[at], cells) & _is_in(further[at + _ONE], cells)
            block += _ONE
            entry += np.uint64(LANES)
        visit += 1
        done = 0
    return left, (visit, 0)
