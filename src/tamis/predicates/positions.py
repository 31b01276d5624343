"""A regular expression as a kernel can run it: the positions of its characters, and which may follow which.

A position stands for one set of characters of the expression (Glushkov's automaton). The positions that may read
the next character of a text are the bits of one word, so a text takes time proportional to its length times 64 at
worst. The answer is RE2's to the same tree; a tree with more positions, or with an assertion other than the two
ends of the text, has no program and is left to RE2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.language import regex_classes as tree
from tamis.language.regex_classes import Node, Ranges
from tamis.predicates.texts import Bytes, Ints, Shorts

Words: TypeAlias = npt.NDArray[np.uint64]

_MOST = 64

# Where in a text nothing may be matched, as bits: before its characters, between two, after them, without any.
_BEFORE, _BETWEEN, _AFTER, _ALONE = 1, 2, 4, 8
_ANYWHERE = 15


class Programs(NamedTuple):
    """Many expressions. A character is coded as its code point, a set of characters as -1 - its number."""

    starts: Ints  # [programs + 1]: first position of each
    codes: Shorts  # [positions]: what each reads
    masks: Words  # [programs, 4]: may begin a text, may begin elsewhere, may end anywhere, may end a text
    empty: Bytes  # [programs]: is it found in the empty text, 2: in every text
    jumps: Ints  # [programs + 1]: first jump of each
    jump_from: Bytes  # [jumps]: a position that is not followed by just the next one,
    jump_to: Words  # [jumps]: and those that follow it
    ascii: Words  # [sets, 2]: which of the first 128 characters a set has
    set_starts: Ints  # [sets + 1]: first range of each
    set_ranges: Shorts  # [ranges, 2]: first and last code point from 128 on, in order


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of the tree does at its edges; the sets are words of positions."""

    nothing: int  # where it may match nothing
    first: tuple[int, int]  # what it may begin with: before all characters, and between two
    last: tuple[int, int]  # what it may end with: between two characters, and after all


_EMPTY = _Part(_ANYWHERE, (0, 0), (0, 0))


class _TooLargeError(Exception):
    """A tree for which there is no program."""


class _Compiler:
    """Numbers the positions of one tree, and finds what follows each."""

    def __init__(self) -> None:
        self.sets: list[Ranges] = []
        self.follow: list[int] = []

    def part(self, node: Node) -> _Part:
        match node:
            case tree.Chars(ranges=ranges):
                return self._sets([ranges])
            case tree.Join(parts=parts):
                joined = _EMPTY
                run: list[Ranges] = []
                for part in parts:
                    if isinstance(part, tree.Chars):
                        run.append(part.ranges)
                        continue
                    if run:
                        joined, run = self._then(joined, self._sets(run)), []
                    joined = self._then(joined, self.part(part))
                return self._then(joined, self._sets(run)) if run else joined
            case tree.Either(branches=branches):
                either = _Part(0, (0, 0), (0, 0))
                for branch in branches:
                    either = _or(either, self.part(branch))
                return either
            case tree.Repeat(body=body, low=low, high=high):
                repeated = _EMPTY
                for _ in range(low - (high is None)):
                    repeated = self._then(repeated, self.part(body))
                if high is None:
                    loop = self.part(body)
                    self._link(loop.last[0], loop.first[1])
                    repeated = self._then(repeated, loop if low else _or(loop, _EMPTY))
                for _ in range(low, low if high is None else high):
                    repeated = self._then(repeated, _or(self.part(body), _EMPTY))
                return repeated
            case tree.Edge() if node is tree.BEGIN:
                return _Part(_BEFORE | _ALONE, (0, 0), (0, 0))
            case tree.Edge() if node is tree.END:
                return _Part(_AFTER | _ALONE, (0, 0), (0, 0))
            case _:
                raise _TooLargeError

    def _sets(self, sets: list[Ranges]) -> _Part:
        """Characters of some sets, one after the other."""
        first, last = len(self.sets), len(self.sets) + len(sets) - 1
        if last >= _MOST:
            raise _TooLargeError
        self.sets += sets
        self.follow += [2 << position for position in range(first, last)] + [0]
        return _Part(0, (1 << first, 1 << first), (1 << last, 1 << last))

    def _then(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last[0], right.first[1])
        begin, between = left.first
        begin |= right.first[0] if left.nothing & _BEFORE else 0
        between |= right.first[1] if left.nothing & _BETWEEN else 0
        within, end = right.last
        within |= left.last[0] if right.nothing & _BETWEEN else 0
        end |= left.last[1] if right.nothing & _AFTER else 0
        return _Part(left.nothing & right.nothing, (begin, between), (within, end))

    def _link(self, lasts: int, firsts: int) -> None:
        while lasts:
            lowest = lasts & -lasts
            self.follow[lowest.bit_length() - 1] |= firsts
            lasts ^= lowest


def _or(left: _Part, right: _Part) -> _Part:
    return _Part(
        left.nothing | right.nothing,
        (left.first[0] | right.first[0], left.first[1] | right.first[1]),
        (left.last[0] | right.last[0], left.last[1] | right.last[1]),
    )


class ProgramWriter:
    """Collects the programs of many trees; equal sets of characters are kept once."""

    def __init__(self) -> None:
        self._sets: dict[Ranges, int] = {}
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
            part = compiler.part(node)
        except _TooLargeError:
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

    def _code(self, ranges: Ranges) -> int:
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return ranges[0][0]
        return -1 - self._sets.setdefault(ranges, len(self._sets))

    def programs(self) -> Programs:
        """All of them."""
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
