"""Ranks cuts: sorts the cuts of all axes at once, and gives every cut its place on its axis.

Cuts come in columns, unsorted and with duplicates; equal cuts of an axis get the same place, and the places of an
axis are 0, 1, 2, ... The results are the places and the scales of the axes. Sorting is by radix, eight bytes at a
time, so time is linear in the bytes of the cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, U64
from tamis.engines.array_kernels import group_by_number
from tamis.engines.forest.axes import NumberScale, TextScale
from tamis.kernels import kernel

AT, BEHIND, BOTH = 0, 1, 2
"""The cut of a text: just below it, just above it, or both, which are neighbours."""

INT_BEYOND, DOUBLE_BEYOND = 1, 2
"""Flags of a number cut above all integers, above all doubles."""

_FEW = 32
_SIGN = np.uint64(1 << 63)
_EXACT = 1 << 53


class TextCuts(NamedTuple):
    """Cuts of strings or binaries; cut i is at `data[offsets[i]:offsets[i + 1]]`."""

    axes: I32
    sides: U8  # AT, BEHIND or BOTH, whose place is that of AT
    offsets: I64
    data: U8


class NumberCuts(NamedTuple):
    """Cuts of schemaless numbers, as `NumberScale` has them."""

    axes: I32
    ints: I64
    doubles: I64
    beyond: U8  # INT_BEYOND, DOUBLE_BEYOND


def rank_texts(batches: Sequence[TextCuts], axes: int) -> tuple[list[I32], list[TextScale]]:
    """The place of every cut of every batch, and the scales of all axes.

    A cut just above a text is the cut just below the text with a zero byte behind it.
    """
    joined = _concatenate_texts(batches)
    firsts, order = group_by_number(joined.axes, axes)
    places = np.empty(len(order), np.int32)
    cuts, zeros = np.empty(2 * len(order), np.int64), np.empty(2 * len(order), np.uint8)
    cut_firsts = np.zeros(axes + 1, np.int64)
    count = _rank_texts(firsts, order, joined, places, cuts, zeros, cut_firsts)
    cuts, zeros = cuts[:count], zeros[:count]
    lengths = joined.offsets[cuts + 1] - joined.offsets[cuts] + zeros
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    data = np.empty(max(int(offsets[-1]), 1), np.uint8)
    _copy_texts(joined, cuts, zeros, offsets, data)
    ends = cut_firsts.tolist()
    scales = [TextScale(offsets[ends[axis] : ends[axis + 1] + 1], data) for axis in range(axes)]
    return _split(places, [len(batch.axes) for batch in batches]), scales


def rank_numbers(batches: Sequence[NumberCuts], axes: int) -> tuple[list[I32], list[NumberScale]]:
    """The place of every cut of every batch, and the scales of all axes."""
    joined = _concatenate_numbers(batches)
    firsts, order = group_by_number(joined.axes, axes)
    places = np.empty(len(order), np.int32)
    found = NumberCuts(
        np.empty(0, np.int32),
        np.empty(len(order), np.int64),
        np.empty(len(order), np.int64),
        np.empty(len(order), np.uint8),
    )
    cut_firsts = np.zeros(axes + 1, np.int64)
    _rank_numbers(firsts, order, joined, places, found, cut_firsts)
    ends = cut_firsts.tolist()
    scales = []
    for axis in range(axes):
        here = slice(ends[axis], ends[axis + 1])
        beyond = found.beyond[here]
        ints = found.ints[here][(beyond & INT_BEYOND) == 0]
        scales.append(NumberScale(ints, found.doubles[here][(beyond & DOUBLE_BEYOND) == 0]))
    return _split(places, [len(batch.axes) for batch in batches]), scales


def _concatenate_numbers(batches: Sequence[NumberCuts]) -> NumberCuts:
    if len(batches) == 1:
        return batches[0]
    return NumberCuts(
        np.concatenate([np.empty(0, np.int32), *(batch.axes for batch in batches)]),
        np.concatenate([np.empty(0, np.int64), *(batch.ints for batch in batches)]),
        np.concatenate([np.empty(0, np.int64), *(batch.doubles for batch in batches)]),
        np.concatenate([np.empty(0, np.uint8), *(batch.beyond for batch in batches)]),
    )


def _concatenate_texts(batches: Sequence[TextCuts]) -> TextCuts:
    if len(batches) == 1:
        return batches[0]
    none = np.empty(0, np.uint8)
    data = np.concatenate([none, *(batch.data[: batch.offsets[-1]] for batch in batches), np.zeros(1, np.uint8)])
    bases = np.cumsum([0, *(int(batch.offsets[-1]) for batch in batches)])
    offsets = [batch.offsets[:-1] + base for batch, base in zip(batches, bases[:-1].tolist(), strict=True)]
    return TextCuts(
        np.concatenate([np.empty(0, np.int32), *(batch.axes for batch in batches)]),
        np.concatenate([none, *(batch.sides for batch in batches)]),
        np.concatenate([*offsets, bases[-1:]]),
        data,
    )


def take_texts(offsets: I64, data: U8, places: I64) -> tuple[I64, U8]:
    """The texts at these places of a column, as offsets and data."""
    if len(places) == len(offsets) - 1:
        return offsets - offsets[0], data[offsets[0] : offsets[-1]]
    starts = offsets[places]
    taken = np.concatenate([np.zeros(1, np.int64), np.cumsum(offsets[places + 1] - starts)])
    text = np.empty(int(taken[-1]), np.uint8)
    _copy(starts, data, taken, text)
    return taken, text


@kernel
def _copy(starts: I64, source: U8, offsets: I64, target: U8) -> None:
    """Copy text i from `source[starts[i]:]` to `target[offsets[i]:offsets[i + 1]]`."""
    for place in range(len(starts)):
        start = starts[place] - offsets[place]
        for byte in range(offsets[place], offsets[place + 1]):
            target[byte] = source[start + byte]


def _split(places: I32, lengths: Sequence[int]) -> list[I32]:
    return np.split(places, np.cumsum(lengths)[:-1]) if lengths else []


@kernel
def _radix_sort(words: U64, order: I32, spare_words: U64, spare_order: I32) -> None:
    """Sort `order` and `words` by the words, stably.

    Few are sorted by insertion, many by radix, skipping the bytes in which all agree.
    """
    count = len(words)
    if count <= _FEW:
        for place in range(1, count):
            word, entry = words[place], order[place]
            before = place - 1
            while before >= 0 and words[before] > word:
                words[before + 1], order[before + 1] = words[before], order[before]
                before -= 1
            words[before + 1], order[before + 1] = word, entry
        return
    counts = np.zeros((8, 256), np.int64)
    for word in words:
        for digit in range(8):
            counts[digit, (word >> np.uint64(8 * digit)) & np.uint64(255)] += 1
    swapped = False
    for digit in range(8):
        shift = np.uint64(8 * digit)
        if counts[digit, (words[0] >> shift) & np.uint64(255)] == count:
            continue
        at = 0
        for value in range(256):
            here = counts[digit, value]
            counts[digit, value] = at
            at += here
        for place in range(count):
            value = (words[place] >> shift) & np.uint64(255)
            target = counts[digit, value]
            counts[digit, value] += 1
            spare_words[target], spare_order[target] = words[place], order[place]
        words, spare_words = spare_words, words
        order, spare_order = spare_order, order
        swapped = not swapped
    if swapped:
        for place in range(count):
            spare_words[place], spare_order[place] = words[place], order[place]


@kernel
def _compare(cuts: TextCuts, one: int, other: int, depth: int) -> int:
    """Negative, zero or positive; both agree in `depth` bytes."""
    a, a_end = cuts.offsets[one] + depth, cuts.offsets[one + 1]
    b, b_end = cuts.offsets[other] + depth, cuts.offsets[other + 1]
    while a < a_end and b < b_end:
        if cuts.data[a] != cuts.data[b]:
            return 1 if cuts.data[a] > cuts.data[b] else -1
        a += 1
        b += 1
    return (1 if a < a_end else 0) - (1 if b < b_end else 0)


@kernel
def _sort_texts(cuts: TextCuts, order: I32, words: U64, spare_words: U64, spare_order: I32, stack: I64) -> None:
    """Sort entries by their bytes: by the first eight, then runs that agree in those by the next eight."""
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(order), 0
    height = 1
    while height:
        height -= 1
        first, last, depth = stack[height, 0], stack[height, 1], stack[height, 2]
        if last - first <= _FEW:
            for place in range(first + 1, last):
                entry = order[place]
                before = place - 1
                while before >= first and _compare(cuts, order[before], entry, depth) > 0:
                    order[before + 1] = order[before]
                    before -= 1
                order[before + 1] = entry
            continue
        # A shorter text is padded with zeros; a stable sort by length first decides between equal words.
        counts = np.zeros(10, np.int64)
        for place in range(first, last):
            entry = order[place]
            counts[min(cuts.offsets[entry + 1] - cuts.offsets[entry] - depth, 9)] += 1
        at = 0
        for length in range(10):
            here = counts[length]
            counts[length] = at
            at += here
        for place in range(first, last):
            entry = order[place]
            length = min(cuts.offsets[entry + 1] - cuts.offsets[entry] - depth, 9)
            spare_order[counts[length]] = entry
            counts[length] += 1
        for place in range(first, last):
            entry = spare_order[place - first]
            start = cuts.offsets[entry] + depth
            word = np.uint64(0)
            for byte in range(8):
                word <<= np.uint64(8)
                if start + byte < cuts.offsets[entry + 1]:
                    word |= np.uint64(cuts.data[start + byte])
            order[place] = entry
            words[place] = word
        _radix_sort(words[first:last], order[first:last], spare_words[: last - first], spare_order[: last - first])
        start = first
        for place in range(first + 1, last + 1):
            if place < last and words[place] == words[start]:
                continue
            # Among equal words, texts that end here come first, by length; the others are sorted by their next
            # bytes.
            longer = start
            while longer < place:
                entry = order[longer]
                if cuts.offsets[entry + 1] - cuts.offsets[entry] - depth > 8:
                    break
                longer += 1
            if place - longer > 1:
                stack[height, 0], stack[height, 1], stack[height, 2] = longer, place, depth + 8
                height += 1
            start = place


@kernel
def _is_next(cuts: TextCuts, one: int, other: int) -> bool:
    """Is the other text this one and a zero byte, so that no text is between them?"""
    length = cuts.offsets[one + 1] - cuts.offsets[one]
    if cuts.offsets[other + 1] - cuts.offsets[other] != length + 1:
        return False
    if cuts.data[cuts.offsets[other + 1] - 1] != 0:
        return False
    for byte in range(length):
        if cuts.data[cuts.offsets[one] + byte] != cuts.data[cuts.offsets[other] + byte]:
            return False
    return True


@kernel
def _rank_texts(
    firsts: I64, order: I32, texts: TextCuts, places: I32, cuts: I64, zeros: U8, cut_firsts: I64
) -> int:
    """Fill in places and, per cut, an entry with its text and if a zero byte follows; returns their number."""
    most = 0
    for axis in range(len(firsts) - 1):
        most = max(most, firsts[axis + 1] - firsts[axis])
    words, spare_words = np.empty(most, np.uint64), np.empty(most, np.uint64)
    spare_order = np.empty(most, np.int32)
    stack = np.empty((most // 2 + 2, 3), np.int64)
    count = 0
    for axis in range(len(firsts) - 1):
        cut_firsts[axis] = count
        here = order[firsts[axis] : firsts[axis + 1]]
        _sort_texts(texts, here, words, spare_words, spare_order, stack)
        start = 0
        waiting = -1  # the text before this one, if a cut is behind it
        while start < len(here):
            end = start
            at = behind = False
            while end < len(here) and (end == start or _compare(texts, here[start], here[end], 0) == 0):
                side = texts.sides[here[end]]
                at |= side != BEHIND
                behind |= side != AT
                end += 1
            base = cut_firsts[axis]
            place = count - base
            if waiting >= 0 and _is_next(texts, waiting, here[start]):
                place -= 1
            elif at:
                cuts[count], zeros[count] = here[start], 0
                count += 1
            else:
                place -= 1
            for entry in here[start:end]:
                places[entry] = place + (1 if texts.sides[entry] == BEHIND else 0)
            if behind:
                cuts[count], zeros[count] = here[start], 1
                count += 1
            waiting = here[start] if behind else -1
            start = end
    cut_firsts[len(firsts) - 1] = count
    return count


@kernel
def _copy_texts(texts: TextCuts, cuts: I64, zeros: U8, offsets: I64, data: U8) -> None:
    """Write the bytes of the cuts, with the zero byte of those behind a text."""
    for place in range(len(cuts)):
        at = offsets[place]
        for byte in range(texts.offsets[cuts[place]], texts.offsets[cuts[place] + 1]):
            data[at] = texts.data[byte]
            at += 1
        if zeros[place]:
            data[at] = 0


@kernel
def _rank_numbers(
    firsts: I64, order: I32, numbers: NumberCuts, places: I32, cuts: NumberCuts, cut_firsts: I64
) -> None:
    """Fill in places and the distinct cuts of every axis, in order."""
    # Arrays are taken out of their tuples once, outside of the loop: per cut it would cost more than all the rest.
    axes, ints, doubles, beyond = numbers.axes, numbers.ints, numbers.doubles, numbers.beyond
    cut_ints, cut_doubles, cut_beyond = cuts.ints, cuts.doubles, cuts.beyond
    most = 0
    for axis in range(len(firsts) - 1):
        most = max(most, firsts[axis + 1] - firsts[axis])
    words, spare_words = np.empty(most, np.uint64), np.empty(most, np.uint64)
    spare_order = np.empty(most, np.int32)
    # Below 2^53 a double determines the integer; elsewhere integers decide between equal doubles.
    plain = np.ones(len(firsts), np.bool_)
    for entry in range(len(axes)):
        plain[axes[entry]] &= beyond[entry] == 0 and -_EXACT < ints[entry] < _EXACT
    count = 0
    for axis in range(len(firsts) - 1):
        cut_firsts[axis] = count
        here = order[firsts[axis] : firsts[axis + 1]]
        # Least significant key first; the doubles stay in `words` if they are the only key.
        for step in range(2 if plain[axis] else 0, 3 if plain[axis] else 4):
            for place in range(len(here)):
                entry = here[place]
                if step == 0:
                    word = np.uint64(ints[entry]) ^ _SIGN
                elif step == 1:
                    word = np.uint64(beyond[entry] & INT_BEYOND)
                elif step == 2:
                    word = np.uint64(doubles[entry]) ^ _SIGN
                else:
                    word = np.uint64(beyond[entry] & DOUBLE_BEYOND)
                words[place] = word
            _radix_sort(words[: len(here)], here, spare_words[: len(here)], spare_order[: len(here)])
        for place in range(len(here)):
            entry = here[place]
            is_new = place == 0 or words[place] != words[place - 1]
            if not is_new and not plain[axis]:
                before = here[place - 1]
                is_new = (
                    doubles[entry] != doubles[before]
                    or ints[entry] != ints[before]
                    or beyond[entry] != beyond[before]
                )
            if is_new:
                cut_ints[count], cut_doubles[count], cut_beyond[count] = ints[entry], doubles[entry], beyond[entry]
                count += 1
            places[entry] = count - 1 - cut_firsts[axis]
    cut_firsts[len(firsts) - 1] = count
