"""Bodies: what an entry asks of an event, as rows of cells with exact ends where cells do not say it all."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.axes import HIGHEST, LOWEST
from tamis.engines.bitslice.cells import interval_rows
from tamis.engines.bitslice.filing import CELLS, Atoms, Weights
from tamis.engines.bitslice.layout import Bodies, Cells, Floats, Ints, Rows, Shorts
from tamis.engines.forest import INTERVAL, PIECES, TEST, Forest, Leaves, Nodes, Pieces


class Source(NamedTuple):
    """What bodies are made from."""

    atoms: Atoms
    leaves: Leaves
    pieces: Pieces
    nodes: Nodes
    roots: Shorts
    cells: Cells
    weights: Weights
    leaf_costs: Floats


class Draft(NamedTuple):
    """An entry while it is being written: rows, exact ends, their axis (-1 for none), costs; and other parts."""

    lows: Ints
    highs: Ints
    low_ends: Ints
    high_ends: Ints
    axes: Shorts
    costs: Floats
    others: Shorts


class Ranges(NamedTuple):
    """Per entry, a range of cells, as rows."""

    lows: Ints
    highs: Ints


@numba.njit(cache=True, nogil=True)
def _is_plain(leaves: Leaves, leaf: int) -> bool:
    """Is the leaf one range of cells with exact ends?"""
    if leaves.kinds[leaf] != INTERVAL:
        return False
    low = leaves.lows[leaf]
    return leaves.nulls[leaf] == 0 or low == LOWEST or low > leaves.highs[leaf]


@numba.njit(cache=True, nogil=True)
def _is_implied(nodes: Nodes, part: int, atom_leaf: int) -> bool:
    """Does the atom's leaf, exactly tested, settle this part of the conjunction?"""
    if part < 0:
        return ~part == atom_leaf
    if nodes.least[part] != 1:
        return False
    for place in range(nodes.firsts[part], nodes.firsts[part + 1]):
        if ~nodes.children[place] == atom_leaf:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def _put(draft: Draft, size: int, rows: tuple[int, int], ends: tuple[int, int], axis: int, cost: float) -> int:
    draft.lows[size], draft.highs[size] = rows
    draft.low_ends[size], draft.high_ends[size] = ends
    draft.axes[size] = axis
    draft.costs[size] = cost
    return size + 1


@numba.njit(cache=True, nogil=True)
def _draft(source: Source, atom: int, draft: Draft) -> tuple[int, int]:
    """An entry's conjunction, and the parts that are more than that; gives the numbers of both."""
    leaves, nodes, cells = source.leaves, source.nodes, source.cells
    size, others = 0, 0
    root = source.roots[source.atoms.slots[atom]]
    first, last = 0, 1
    is_and = root >= 0 and nodes.least[root] == nodes.firsts[root + 1] - nodes.firsts[root]
    if is_and:
        first, last = nodes.firsts[root], nodes.firsts[root + 1]
    atom_leaf = source.atoms.leaves[atom]
    for place in range(first, last):
        part = nodes.children[place] if is_and else root
        if atom_leaf >= 0 and _is_implied(nodes, part, atom_leaf):
            continue
        if part >= 0:
            draft.others[others] = part
            others += 1
            continue
        leaf = ~part
        low, high, axis = leaves.lows[leaf], leaves.highs[leaf], leaves.axes[leaf]
        if leaves.kinds[leaf] == TEST:
            row = len(cells.axis_of) + low
            size = _put(draft, size, (0, row), (0, 0), -1, source.leaf_costs[leaf])
        elif _is_plain(leaves, leaf):
            rows = interval_rows(cells, axis, low, high, leaves.nulls[leaf])
            size = _put(draft, size, rows, (low, high), axis, source.leaf_costs[leaf])
        else:
            if leaves.kinds[leaf] == PIECES:  # the hull is necessary, the pieces are asked of who passes it
                low, high = source.pieces.lows[low], source.pieces.highs[high - 1]
            rows = interval_rows(cells, axis, low, high, leaves.nulls[leaf])
            size = _put(draft, size, rows, (LOWEST, HIGHEST), axis, source.leaf_costs[leaf])
            draft.others[others] = part
            others += 1
    if source.atoms.kinds[atom] == CELLS:
        axis = leaves.axes[atom_leaf]
        low, high = source.atoms.lows[atom], source.atoms.highs[atom]
        rows = interval_rows(cells, axis, low, high, source.atoms.nulls[atom])
        if not (rows[1] - rows[0] == 1 and cells.widths[axis] == 0):
            # What led here may have said it coarsely.
            size = _put(draft, size, rows, (low, high), axis, 1.0)
    return size, others


@numba.njit(cache=True, nogil=True)
def _measure(source: Source, draft: Draft, counts: Ints, words: Ints, seconds: Ranges) -> int:
    """How many rows and words every atom's entry takes, and the best predicate to sort it by within its group.

    Gives the number of parts beyond conjunctions.
    """
    total = 0
    cells, atoms = source.cells, source.atoms
    for atom in range(len(atoms.slots)):
        size, others = _draft(source, atom, draft)
        counts[atom] = size
        words[atom] = 0
        best = 1.0
        seconds.lows[atom], seconds.highs[atom] = 0, 1
        for place in range(size):
            if draft.axes[place] >= 0:
                words[atom] += cells.widths[draft.axes[place]]
                if draft.costs[place] < best:
                    best = draft.costs[place]
                    seconds.lows[atom], seconds.highs[atom] = draft.lows[place], draft.highs[place]
        total += others
    return total


@numba.njit(cache=True, nogil=True)
def _swap(draft: Draft, a: int, b: int) -> None:
    draft.lows[a], draft.lows[b] = draft.lows[b], draft.lows[a]
    draft.highs[a], draft.highs[b] = draft.highs[b], draft.highs[a]
    draft.low_ends[a], draft.low_ends[b] = draft.low_ends[b], draft.low_ends[a]
    draft.high_ends[a], draft.high_ends[b] = draft.high_ends[b], draft.high_ends[a]
    draft.axes[a], draft.axes[b] = draft.axes[b], draft.axes[a]
    draft.costs[a], draft.costs[b] = draft.costs[b], draft.costs[a]


@numba.njit(cache=True, nogil=True)
def _sort(draft: Draft, size: int, source: Source, low: int, high: int) -> None:
    """Cheapest first; what the run (low, high) says already is worth only what it leaves out."""
    mass = source.weights.mass
    known = source.cells.axis_of[high]
    for place in range(size):
        if draft.axes[place] == known:
            own = mass[draft.highs[place]] - mass[draft.lows[place]]
            draft.costs[place] = own / max(mass[high] - mass[low], 1e-9)
    for place in range(1, size):
        at = place
        while at > 0 and draft.costs[at - 1] > draft.costs[at]:
            _swap(draft, at - 1, at)
            at -= 1


@numba.njit(cache=True, nogil=True)
def _write(
    source: Source, order: Ints, runs: Ranges, draft: Draft, out: Bodies, other_firsts: Ints, others_out: Shorts
) -> None:
    written = 0
    for entry in range(len(order)):
        atom = order[entry]
        size, others = _draft(source, atom, draft)
        _sort(draft, size, source, runs.lows[atom], runs.highs[atom])
        out.slots[entry] = source.atoms.slots[atom]
        start, word = out.firsts[entry], out.word_firsts[entry]
        for place in range(size):
            out.lows[start + place] = draft.lows[place]
            out.highs[start + place] = draft.highs[place]
            axis = draft.axes[place]
            width = source.cells.widths[axis] if axis >= 0 else 0
            low, high = draft.low_ends[place], draft.high_ends[place]
            if width == 2:
                if low > high:
                    low, high = 1, 0
                out.words[word] = max(low, -(1 << 31))
                out.words[word + 1] = min(high, (1 << 31) - 1)
            elif width == 4:
                out.words[word] = np.int32(low & 0xFFFFFFFF)
                out.words[word + 1] = np.int32(low >> 32)
                out.words[word + 2] = np.int32(high & 0xFFFFFFFF)
                out.words[word + 3] = np.int32(high >> 32)
            word += width
        other_firsts[entry] = written
        for place in range(others):
            others_out[written] = draft.others[place]
            written += 1
    other_firsts[len(order)] = written


class Measured(NamedTuple):
    """Per atom: rows and words of its body, and its second predicate; in all: parts beyond conjunctions."""

    counts: Ints
    words: Ints
    seconds: Ranges
    others: int


def _new_draft(forest: Forest) -> Draft:
    widest = int(np.max(np.diff(forest.nodes.firsts), initial=1)) + 2
    ints = (np.empty(widest, np.int64) for _ in range(4))
    return Draft(*ints, np.empty(widest, np.int32), np.empty(widest), np.empty(widest, np.int32))


def measured(source: Source, forest: Forest) -> Measured:
    """What the bodies of all atoms will take."""
    count = len(source.atoms.slots)
    counts, words = np.empty(count, np.int64), np.empty(count, np.int64)
    seconds = Ranges(np.empty(count, np.int64), np.empty(count, np.int64))
    others = _measure(source, _new_draft(forest), counts, words, seconds)
    return Measured(counts, words, seconds, others)


class Written(NamedTuple):
    """Entries in their final order, and the parts of each that are more than a conjunction."""

    bodies: Bodies
    order: Ints
    other_firsts: Ints
    others: Shorts


def written(source: Source, forest: Forest, sizes: Measured, order: Ints, runs: Ranges) -> Written:
    """The bodies, in this order; residuals are still to come."""
    firsts = _narrow(np.concatenate([[0], np.cumsum(sizes.counts[order])]))
    word_firsts = np.concatenate([[0], np.cumsum(sizes.words[order])])
    last_row = len(source.cells.axis_of) + len(forest.tests)
    rows_type = np.uint16 if last_row < 1 << 16 else np.uint32
    lows: Rows = np.empty(int(firsts[-1]), rows_type)
    highs: Rows = np.empty(int(firsts[-1]), rows_type)
    words = np.empty(int(word_firsts[-1]), np.int32)
    none = np.empty(0, np.int32)
    slots = np.empty(len(order), np.int32)
    bodies = Bodies(slots, firsts, lows, highs, _narrow(word_firsts[:-1]), words, none, none)
    other_firsts, others = np.empty(len(order) + 1, np.int64), np.empty(sizes.others, np.int32)
    _write(source, order, runs, _new_draft(forest), bodies, other_firsts, others)
    return Written(bodies, order, other_firsts, others)


def _narrow(offsets: Ints) -> Ints | Shorts:
    """Offsets in 32 bits where they fit."""
    return offsets if len(offsets) and int(offsets[-1]) >= 1 << 31 else offsets.astype(np.int32)
