"""Verification of candidates: does this text match this pattern?

Kernels decide LIKE patterns and the programs of `tamis.patterns.position_automaton`; what neither can decide is
left to RE2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, Mask
from tamis.kernels import kernel
from tamis.patterns.position_automaton import Programs
from tamis.patterns.texts import PackedTexts

_BACKSLASH, _ONE, _MANY = ord("\\"), ord("_"), ord("%")

HELD, LIKE, PROGRAM, ENGINE = 0, 1, 2, 3
"""How a check is made: not at all, since its literal suffices; by the LIKE kernel; by a program; by RE2."""

# The index of the only set bit of a word: the upper six bits of its product with a de Bruijn sequence are
# distinct.
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.empty(64, np.int64)
for _place in range(64):
    _PLACES[((int(_SEQUENCE) << _place) & (2**64 - 1)) >> 58] = _place


class Checks(NamedTuple):
    """Tests that a literal alone does not decide, with their patterns; those of LIKE and RE2 are bytes."""

    tests: I32  # [checks]: the number of each test
    kinds: U8  # [checks]: how it is verified, one of the constants above
    operands: I32  # [checks]: the number of its LIKE pattern, program or RE2 pattern
    like_offsets: I64
    likes: U8
    engine_offsets: I64
    engines: U8


@kernel(inline="always", borrows=True)
def _code_point(data: U8, at: int, end: int) -> tuple[np.int64, int]:
    """The code point of the character at `at`, and its number of bytes."""
    first = np.int64(data[at])
    if first < 0xC0:
        return first, 1
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if at + length > end:
        return first, 1
    code = first & (0x7F >> length)
    for place in range(at + 1, at + length):
        code = (code << 6) | (np.int64(data[place]) & 0x3F)
    return code, length


@kernel(borrows=True)
def _within(ranges: I32, first: int, last: int, code: np.int64) -> bool:
    """Is the character in one of these ranges?"""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if ranges[middle, 1] < code:
            low = middle + 1
        else:
            high = middle
    return low < last and bool(ranges[low, 0] <= code)


@kernel(borrows=True)
def run_program(programs: Programs, number: int, data: U8, start: int, end: int) -> bool:
    """Is the expression found in the text `data[start:end]`?"""
    empty = programs.empty[number]
    if empty == 2 or start == end:
        return bool(empty > 0)
    base = programs.starts[number]
    first_jump, end_jump = programs.jumps[number], programs.jumps[number + 1]
    jumping = np.uint64(0)
    for jump in range(first_jump, end_jump):
        jumping |= np.uint64(1) << np.uint64(programs.jump_from[jump])
    begin, final, final_at_end = programs.masks[number, 1], programs.masks[number, 2], programs.masks[number, 3]
    ready = programs.masks[number, 0]
    read = np.uint64(0)
    at = start
    while at < end and ready != 0:
        code, length = _code_point(data, at, end)
        at += length
        read = np.uint64(0)
        while ready != 0:
            rest = ready & (ready - np.uint64(1))
            lowest = ready ^ rest
            wanted = programs.codes[base + _PLACES[(lowest * _SEQUENCE) >> np.uint64(58)]]
            if wanted >= 0:
                fits = wanted == code
            elif code < 128:
                fits = (programs.ascii[-1 - wanted, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0
            else:
                sets = programs.set_starts
                fits = _within(programs.set_ranges, sets[-1 - wanted], sets[-wanted], code)
            if fits:
                read |= lowest
            ready = rest
        if read & final:
            return True
        ready = begin
        if read:
            ready |= (read & ~jumping) << np.uint64(1)
            if read & jumping:
                for jump in range(first_jump, end_jump):
                    if (read >> np.uint64(programs.jump_from[jump])) & np.uint64(1):
                        ready |= programs.jump_to[jump]
    return at == end and bool(read & final_at_end)


@kernel(borrows=True)
def like_holds(pattern: U8, at: int, end: int, data: U8, place: int, last: int) -> bool:
    r"""Does the text `data[place:last]` match the LIKE pattern `pattern[at:end]`, with backslash as its escape?"""
    many, many_place = -1, place  # after the last `%`, and where the text that it does not cover begins
    while place < last:
        if at < end:
            sign = pattern[at]
            if sign == _MANY:
                at += 1
                many, many_place = at, place
                continue
            if sign == _ONE:
                at += 1
                place = _next(data, place, last)
                continue
            at += sign == _BACKSLASH
            if pattern[at] == data[place]:
                at += 1
                place += 1
                continue
        if many < 0:
            return False
        # Only the last `%` is ever extended: extending an earlier one would leave a shorter rest.
        many_place = _next(data, many_place, last)
        if many < end:
            # Most of the time goes here: look for the first byte of what follows. No character begins inside of
            # another one, so that a byte that is found begins a character, too.
            sign = pattern[many]
            if sign != _MANY and sign != _ONE:
                sign = pattern[many + (sign == _BACKSLASH)]
                while many_place < last and data[many_place] != sign:
                    many_place += 1
        at, place = many, many_place
    while at < end and pattern[at] == _MANY:
        at += 1
    return at == end


@kernel(inline="always", borrows=True)
def _next(data: U8, place: int, last: int) -> int:
    """Where the next character begins."""
    byte = data[place]
    return min(last, place + (1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4))


@kernel
def verify_candidates(
    checks: Checks, programs: Programs, raw: PackedTexts, read: PackedTexts, rows: I64, asked: I64
) -> tuple[Mask, Mask]:
    """Which pairs of a row and a check hold, and which are left to RE2.

    LIKE reads `read`, which may be in lower case; regular expressions read `raw`.
    """
    holds = np.zeros(len(rows), np.bool_)
    is_open = np.zeros(len(rows), np.bool_)
    _verify_candidates(checks, programs, raw, read, rows, asked, holds, is_open)
    return holds, is_open


@kernel(borrows=True)
def _verify_candidates(
    checks: Checks,
    programs: Programs,
    raw: PackedTexts,
    read: PackedTexts,
    rows: I64,
    asked: I64,
    holds: Mask,
    is_open: Mask,
) -> None:
    for pair in range(len(rows)):
        row, kind, operand = rows[pair], checks.kinds[asked[pair]], checks.operands[asked[pair]]
        if kind == LIKE:
            first, last = checks.like_offsets[operand], checks.like_offsets[operand + 1]
            start, end = read.offsets[row], read.offsets[row + 1]
            holds[pair] = like_holds(checks.likes, first, last, read.data, start, end)
        elif kind == PROGRAM:
            holds[pair] = run_program(programs, operand, raw.data, raw.offsets[row], raw.offsets[row + 1])
        else:
            holds[pair] = kind == HELD
            is_open[pair] = kind == ENGINE
