"""Bodies: what an entry asks of an event, as spans with exact ends where cells do not say it all."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.filing import CELLS, COUPLE, Atoms
from tamis.engines.bitslice.layout import Bodies, Bytes, Floats, Ints, Numbers, Shorts, Spans
from tamis.engines.bitslice.simd import prefetch
from tamis.engines.forest import INTERVAL, TEST, Forest, Leaves, Nodes
from tamis.engines.forest.axes import HIGHEST, LOWEST

_AHEAD = 16
"""How many entries before its turn the parts of an entry are asked for."""


class Source(NamedTuple):
    """What bodies are made from; see `Numbered` and `Filed` for the last two."""

    atoms: Atoms
    leaves: Leaves
    nodes: Nodes
    roots: Shorts
    widths: Bytes
    spans: Spans
    leaf_spans: Shorts
    span_costs: Floats


class Draft(NamedTuple):
    """An entry while it is being written: spans, exact ends, costs; and parts that are more than a span."""

    spans: Shorts
    lows: Ints
    highs: Ints
    costs: Floats
    others: Shorts


@numba.njit(cache=True, nogil=True, forceinline=True)
def _is_plain(leaves: Leaves, leaf: int) -> bool:
    """Is the leaf one span with exact ends?"""
    if leaves.kinds[leaf] != INTERVAL:
        return False
    low = leaves.lows[leaf]
    return leaves.nulls[leaf] == 0 or low == LOWEST or low > leaves.highs[leaf]


@numba.njit(cache=True, nogil=True, forceinline=True)
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


@numba.njit(cache=True, nogil=True, forceinline=True)
def _draft(source: Source, atom: int, draft: Draft) -> tuple[int, int]:
    """An entry's conjunction, and the parts that are more than that; gives the numbers of both."""
    leaves, nodes = source.leaves, source.nodes
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
        span = source.leaf_spans[leaf]
        draft.spans[size], draft.costs[size] = span, source.span_costs[span]
        draft.lows[size], draft.highs[size] = leaves.lows[leaf], leaves.highs[leaf]
        if leaves.kinds[leaf] != TEST and not _is_plain(leaves, leaf):
            # The span is necessary, the leaf itself is asked of what is in it.
            draft.lows[size], draft.highs[size] = LOWEST, HIGHEST
            draft.others[others] = part
            others += 1
        size += 1
    if source.atoms.kinds[atom] == CELLS:
        span = source.atoms.spans[atom]
        axis = leaves.axes[atom_leaf]
        if not (source.spans.highs[span] - source.spans.lows[span] == 1 and source.widths[axis] == 0):
            # What led here may have said it coarsely.
            draft.spans[size], draft.costs[size] = span, 1.0
            draft.lows[size], draft.highs[size] = source.atoms.lows[atom], source.atoms.highs[atom]
            size += 1
    return size, others


class Measured(NamedTuple):
    """Per atom: spans and words of its body, and the best span to sort it by in its group, -1 if there is none."""

    counts: Shorts
    words: Shorts
    seconds: Shorts


@numba.njit(cache=True, nogil=True)
def _measure(source: Source, draft: Draft, out: Measured) -> int:
    """Gives the number of parts beyond conjunctions."""
    total = 0
    axes = len(source.widths) - 1
    for atom in range(len(source.atoms.slots)):
        size, others = _draft(source, atom, draft)
        words, best, second = 0, 1.0, -1
        for place in range(size):
            axis = source.spans.axes[draft.spans[place]]
            if axis < axes:
                words += source.widths[axis]
                if draft.costs[place] < best:
                    best, second = draft.costs[place], draft.spans[place]
        if source.atoms.kinds[atom] == COUPLE:
            second = -1
        out.counts[atom], out.words[atom], out.seconds[atom] = size, words, second
        total += others
    return total


@numba.njit(cache=True, nogil=True, forceinline=True)
def _sort(costs: Floats, size: int, order: Shorts) -> None:
    """Cheapest first. Places are counted, not found by swaps: costs are close, and wrong guesses are dear."""
    for place in range(size):
        at = 0
        for other in range(size):
            at += costs[other] < costs[place] or (costs[other] == costs[place] and other < place)
        order[at] = place


class Early(NamedTuple):
    """What an entry is made from, to be asked for before its turn: entries are in another order than formulas.

    roots: per entry, its formula's root.
    leaves: per entry, one of its formula's first leaves.
    """

    roots: Shorts
    leaves: Shorts


def _early(source: Source, order: Ints) -> Early:
    roots = source.roots[source.atoms.slots[order]]
    children = np.append(source.nodes.children, np.int32(~0))
    leaves = np.where(roots < 0, roots, children[source.nodes.firsts[np.maximum(roots, 0)]])
    return Early(roots, np.where(leaves < 0, ~leaves, 0))


@numba.njit(cache=True, nogil=True, forceinline=True)
def _ask_early(source: Source, atom: np.uint64, root: int, leaf: np.uint64) -> None:
    """Have what an entry is made from at hand soon."""
    atoms, leaves, nodes = source.atoms, source.leaves, source.nodes
    prefetch(atoms.slots, atom)
    prefetch(atoms.kinds, atom)
    prefetch(atoms.leaves, atom)
    prefetch(atoms.spans, atom)
    prefetch(atoms.lows, atom)
    prefetch(atoms.highs, atom)
    if root >= 0:
        prefetch(nodes.least, np.uint64(root))
        prefetch(nodes.firsts, np.uint64(root))
    prefetch(leaves.kinds, leaf)
    prefetch(leaves.nulls, leaf)
    prefetch(leaves.axes, leaf)
    prefetch(source.leaf_spans, leaf)
    for further in (np.uint64(0), np.uint64(8)):
        prefetch(leaves.lows, leaf + further)
        prefetch(leaves.highs, leaf + further)


@numba.njit(cache=True, nogil=True)
def _write(
    source: Source,
    order: Ints,
    early: Early,
    run_axes: Shorts,
    draft: Draft,
    out: Bodies,
    other_firsts: Ints,
    others_out: Shorts,
) -> None:
    written = 0
    sorted_ = np.empty(len(draft.spans), np.int32)
    axes = len(source.widths) - 1
    word, start = 0, 0
    for entry in range(len(order)):
        atom = order[entry]
        if entry + _AHEAD < len(order):
            later = entry + _AHEAD
            _ask_early(source, np.uint64(order[later]), early.roots[later], np.uint64(early.leaves[later]))
        size, others = _draft(source, atom, draft)
        known, also_known = run_axes[entry], -1
        if source.atoms.kinds[atom] == COUPLE:
            known, also_known = source.spans.axes[source.atoms.spans[atom]], source.atoms.lows[atom]
        for place in range(size):
            axis = source.spans.axes[draft.spans[place]]
            if axis == known or axis == also_known:
                draft.costs[place] = 0.99  # what led here says most of it
        _sort(draft.costs, size, sorted_)
        out.slots[entry] = source.atoms.slots[atom]
        out.firsts[entry], out.word_firsts[entry] = start, word
        for number in range(size):
            place = sorted_[number]
            span = draft.spans[place]
            out.spans[start + number] = span
            axis = source.spans.axes[span]
            width = source.widths[axis] if axis < axes else 0
            low, high = draft.lows[place], draft.highs[place]
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
        start += size
        other_firsts[entry] = written
        for place in range(others):
            others_out[written] = draft.others[place]
            written += 1
    out.firsts[len(order)] = start
    other_firsts[len(order)] = written


def _new_draft(forest: Forest) -> Draft:
    widest = int(np.max(np.diff(forest.nodes.firsts), initial=1)) + 2
    ints = (np.empty(widest, np.int64) for _ in range(2))
    return Draft(np.empty(widest, np.int32), *ints, np.empty(widest), np.empty(widest, np.int32))


def measured(source: Source, forest: Forest) -> tuple[Measured, int]:
    """What the bodies of all atoms will take, and the number of parts beyond conjunctions."""
    out = Measured(*(np.empty(len(source.atoms.slots), np.int32) for _ in range(3)))
    others = _measure(source, _new_draft(forest), out)
    return out, others


class Written(NamedTuple):
    """Entries in their final order, and the parts of each that are more than a conjunction."""

    bodies: Bodies
    order: Ints
    other_firsts: Ints
    others: Shorts


def written(
    source: Source, forest: Forest, sizes: Measured, others: int, order: Ints, run_axes: Shorts
) -> Written:
    """The bodies, in this order, and the parts beyond them; residuals are still to come.

    `run_axes` has the axis of each entry's run.
    """
    entries = len(order)
    total, words = int(sizes.counts.sum(dtype=np.int64)), int(sizes.words.sum(dtype=np.int64))
    number_type = np.uint16 if len(source.spans.lows) <= 1 << 16 else np.uint32
    numbers: Numbers = np.empty(total, number_type)
    none = np.empty(0, np.int32)
    bodies = Bodies(
        np.empty(entries, np.int32),
        np.empty(entries + 1, _offset_type(total)),
        numbers,
        np.empty(entries, _offset_type(words)),
        np.empty(words, np.int32),
        none,
        none,
    )
    other_firsts, parts = np.empty(entries + 1, np.int64), np.empty(others, np.int32)
    _write(source, order, _early(source, order), run_axes, _new_draft(forest), bodies, other_firsts, parts)
    return Written(bodies, order, other_firsts, parts)


def _offset_type(most: int) -> type[np.int32] | type[np.int64]:
    """Offsets take 32 bits where that is enough."""
    return np.int32 if most < 1 << 31 else np.int64
