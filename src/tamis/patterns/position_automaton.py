"""Regular expressions as position automata (Glushkov's construction), which a kernel runs on bits.

A position is one occurrence of a character set in the expression; the automaton has for each position the set of
positions that may follow it. The positions that may read the next character are the bits of one 64-bit word, so a
text takes time proportional to its length times 64 at worst. For `a[bc]*d`, with positions 0, 1, 2:

    first = {0}    follow(0) = {1, 2}    follow(1) = {1, 2}    last = {2}

Results equal those of RE2 for the same tree. A tree with more than 64 positions, or with an assertion other than
the two ends of the text, has no program and is left to RE2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, U64
from tamis.syntax import regex_tree as tree
from tamis.syntax.regex_tree import CharSet, Node

_MOST = 64

# Where the empty text may be matched, as bits: before all characters, between two, after all, or in an empty text.
_BEFORE, _BETWEEN, _AFTER, _ALONE = 1, 2, 4, 8
_ANYWHERE = 15


class Programs(NamedTuple):
    """The automata of many expressions. A character is coded as its code point, a set as -1 - its number."""

    starts: I64  # [programs + 1]: first position of each
    codes: I32  # [positions]: the character or set that each reads
    masks: U64  # [programs, 4]: may begin a text, may begin elsewhere, may end anywhere, may end a text
    empty: U8  # [programs]: 1 if found in the empty text, 2 if found in every text
    jumps: I64  # [programs + 1]: first jump of each
    jump_from: U8  # [jumps]: a position whose follow set is not just the next position,
    jump_to: U64  # [jumps]: and its follow set
    ascii: U64  # [sets, 2]: bitmap of the ASCII characters of a set
    set_starts: I64  # [sets + 1]: first range of each
    set_ranges: I32  # [ranges, 2]: first and last code point from 128 on, in order


@dataclass(frozen=True, slots=True)
class _Fragment:
    """What the construction needs to know of a part of the tree; position sets are bitmaps."""

    nothing: int  # where it may match the empty text
    first: tuple[int, int]  # its first positions: at the start of the text, and elsewhere
    last: tuple[int, int]  # its last positions: anywhere, and at the end of the text only


_EMPTY = _Fragment(_ANYWHERE, (0, 0), (0, 0))


class _NoProgramError(Exception):
    """The tree has too many positions, or an assertion that programs lack."""


class _Compiler:
    """Numbers the positions of one tree and computes their follow sets."""

    def __init__(self) -> None:
        self.sets: list[CharSet] = []
        self.follow: list[int] = []

    def fragment(self, node: Node) -> _Fragment:
        match node:
            case tree.Chars(ranges=ranges):
                return self._sets([ranges])
            case tree.Join(parts=parts):
                joined = _EMPTY
                run: list[CharSet] = []
                for part in parts:
                    if isinstance(part, tree.Chars):
                        run.append(part.ranges)
                        continue
                    if run:
                        joined, run = self._then(joined, self._sets(run)), []
                    joined = self._then(joined, self.fragment(part))
                return self._then(joined, self._sets(run)) if run else joined
            case tree.Either(branches=branches):
                either = _Fragment(0, (0, 0), (0, 0))
                for branch in branches:
                    either = _or(either, self.fragment(branch))
                return either
            case tree.Repeat(body=body, low=low, high=high):
                repeated = _EMPTY
                for _ in range(low - (high is None)):
                    repeated = self._then(repeated, self.fragment(body))
                if high is None:
                    loop = self.fragment(body)
                    self._link(loop.last[0], loop.first[1])
                    repeated = self._then(repeated, loop if low else _or(loop, _EMPTY))
                for _ in range(low, low if high is None else high):
                    repeated = self._then(repeated, _or(self.fragment(body), _EMPTY))
                return repeated
            case tree.Edge() if node is tree.BEGIN:
                return _Fragment(_BEFORE | _ALONE, (0, 0), (0, 0))
            case tree.Edge() if node is tree.END:
                return _Fragment(_AFTER | _ALONE, (0, 0), (0, 0))
            case _:
                raise _NoProgramError

    def _sets(self, sets: list[CharSet]) -> _Fragment:
        """One character of each set, in sequence."""
        first, last = len(self.sets), len(self.sets) + len(sets) - 1
        if last >= _MOST:
            raise _NoProgramError
        self.sets += sets
        self.follow += [2 << position for position in range(first, last)] + [0]
        return _Fragment(0, (1 << first, 1 << first), (1 << last, 1 << last))

    def _then(self, left: _Fragment, right: _Fragment) -> _Fragment:
        self._link(left.last[0], right.first[1])
        begin, between = left.first
        begin |= right.first[0] if left.nothing & _BEFORE else 0
        between |= right.first[1] if left.nothing & _BETWEEN else 0
        within, end = right.last
        within |= left.last[0] if right.nothing & _BETWEEN else 0
        end |= left.last[1] if right.nothing & _AFTER else 0
        return _Fragment(left.nothing & right.nothing, (begin, between), (within, end))

    def _link(self, lasts: int, firsts: int) -> None:
        while lasts:
            lowest = lasts & -lasts
            self.follow[lowest.bit_length() - 1] |= firsts
            lasts ^= lowest


def _or(left: _Fragment, right: _Fragment) -> _Fragment:
    return _Fragment(
        left.nothing | right.nothing,
        (left.first[0] | right.first[0], left.first[1] | right.first[1]),
        (left.last[0] | right.last[0], left.last[1] | right.last[1]),
    )


class ProgramWriter:
    """Collects the programs of many trees; equal character sets are stored once."""

    def __init__(self) -> None:
        self._sets: dict[CharSet, int] = {}
        self._codes: list[int] = []
        self._starts = [0]
        self._masks: list[tuple[int, int, int, int]] = []
        self._empty: list[int] = []
        self._jumps = [0]
        self._jump_from: list[int] = []
        self._jump_to: list[int] = []

    def add(self, node: Node) -> int | None:
        """The number of the tree's program, or None if there is none."""
        compiler = _Compiler()
        try:
            part = compiler.fragment(node)
        except _NoProgramError:
            return None
        self._codes.extend(map(self._code, compiler.sets))
        self._starts.append(len(self._codes))
        self._masks.append((*part.first, *part.last))
        anywhere = part.nothing & (_BEFORE | _BETWEEN | _AFTER)
        self._empty.append(2 if anywhere else int(bool(part.nothing & _ALONE)))
        for position, follow in enumerate(compiler.follow):
            if follow != 2 << position:
                self._jump_from.append(position)
                self._jump_to.append(follow)
        self._jumps.append(len(self._jump_from))
        return len(self._masks) - 1

    def _code(self, ranges: CharSet) -> int:
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return ranges[0][0]
        return -1 - self._sets.setdefault(ranges, len(self._sets))

    def programs(self) -> Programs:
        """The programs added so far."""
        ascii_masks = np.zeros((len(self._sets), 2), np.uint64)
        set_starts, set_ranges = [0], []
        for number, ranges in enumerate(self._sets):
            members = sum((2 << min(high, 127)) - (1 << low) for low, high in ranges if low < 128)
            ascii_masks[number] = members & (2**64 - 1), members >> 64
            set_ranges += [(max(low, 128), high) for low, high in ranges if high >= 128]
            set_starts.append(len(set_ranges))
        return Programs(
            starts=np.array(self._starts, np.int64),
            codes=np.array(self._codes, np.int32),
            masks=np.array(self._masks, np.uint64).reshape(-1, 4),
            empty=np.array(self._empty, np.uint8),
            jumps=np.array(self._jumps, np.int64),
            jump_from=np.array(self._jump_from, np.uint8),
            jump_to=np.array(self._jump_to, np.uint64),
            ascii=ascii_masks,
            set_starts=np.array(set_starts, np.int64),
            set_ranges=np.array(set_ranges, np.int32).reshape(-1, 2),
        )
