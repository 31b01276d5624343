"""Required literals: those of which one must occur in every text that a pattern matches.

A result is a set of literals, at least one of which occurs in every matching text. It is exact if, conversely,
every text in which one occurs matches. The analysis is conservative: it may find fewer requirements than there
are, never more. Literals are UTF-8, with the bytes `START` and `END` of `tamis.patterns.automaton` where the
pattern is anchored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I64, U8
from tamis.kernels import kernel
from tamis.patterns.automaton import END, START
from tamis.syntax import regex_tree as tree
from tamis.syntax.regex_tree import CharSet, Node
from tamis.values.letter_case import lower

_BACKSLASH, _ONE, _MANY = ord("\\"), ord("_"), ord("%")

# The role of the literals that `like_pieces` finds in a pattern.
EXACT, NEEDED, UNKNOWN, MALFORMED = 0, 1, 2, 3


@kernel
def like_pieces(data: U8, offsets: I64) -> tuple[U8, I64, I64, U8]:
    r"""The literals of each LIKE pattern, with backslash as its escape: all that stands between wildcards.

    Returns:
        The pieces as bytes and offsets; the first piece of each pattern; and the role of its pieces: `EXACT` if
        the occurrence of its only one decides, `NEEDED` if all must occur; there are none if `UNKNOWN` (only
        wildcards) or `MALFORMED`.
    """
    pieces = np.empty(len(data) + 2 * len(offsets), np.uint8)
    bounds = np.zeros(len(data) + len(offsets), np.int64)
    firsts = np.zeros(len(offsets), np.int64)
    roles = np.empty(len(offsets) - 1, np.uint8)
    count, size = 0, 0
    for pattern in range(len(roles)):
        first, last = offsets[pattern], offsets[pattern + 1]
        before, size_before = count, size
        at, ones, well = first, 0, True
        while at <= last and well:
            # A run of plain and escaped characters.
            start = at
            if start == first:
                pieces[size] = START
                size += 1
            while at < last and data[at] != _ONE and data[at] != _MANY:
                if data[at] == _BACKSLASH:
                    at += 1
                    if at == last or (data[at] != _ONE and data[at] != _MANY and data[at] != _BACKSLASH):
                        well = False
                        break
                pieces[size] = data[at]
                size += 1
                at += 1
            if at == last:
                pieces[size] = END
                size += 1
            else:
                ones += data[at] == _ONE
            if at > start or (start == first and at == last):
                count += 1
                bounds[count] = size
            else:
                size = bounds[count]  # an end of the text alone: it is in every text
            at += 1
        if not well:
            count, size = before, size_before
            roles[pattern] = MALFORMED
        elif count == before:
            roles[pattern] = UNKNOWN
        else:
            roles[pattern] = EXACT if count - before == 1 and ones == 0 else NEEDED
        firsts[pattern + 1] = count
    return pieces[:size].copy(), bounds[: count + 1].copy(), firsts, roles


@dataclass(frozen=True, slots=True)
class Required:
    """What must occur in a text that matches.

    Attributes:
        literals: One of these must occur. Empty if no text matches; None if nothing is known.
        exact: Does every text in which one occurs match? If `literals` is None: does every text?
        folded: Must the literals be searched in the text in lower case?
    """

    literals: tuple[bytes, ...] | None
    exact: bool
    folded: bool = False


_PLAIN = re.compile(r"[^\\^$.|?*+()\[\]{}]+")
_MOST = 16  # literals of one pattern
_MOST_CASES = 4  # letters of one pattern of which both cases are tried


def plain_literal(pattern: str) -> bytes | None:
    """The literal that a Java pattern is equivalent to, if it has no metacharacters."""
    return pattern.encode() if _PLAIN.fullmatch(pattern) else None


def plain_runs(pattern: str) -> list[bytes]:
    """What stands between the metacharacters of a Java pattern, roughly: for counts, not to rely on."""
    runs = [run.encode() for run in _PLAIN.findall(pattern)]
    if runs and pattern.startswith("^"):
        runs[0] = bytes([START]) + runs[0]
    return runs


def regex_literals(node: Node, bits: Bits = lambda literal: _BYTE * len(literal)) -> Required:
    """The literals of which one must occur in a text in which the tree is found.

    Where there is a choice, the rarest ones: `bits` says how rare a literal is (`tamis.patterns.rarity`).
    """
    plain = _Finder(bits, folded=False)
    all_words, some_words = plain.find(node)
    if all_words is not None:
        shortest = _shortest(all_words)
        return Required(None if any(map(_everywhere, shortest)) else _literals(shortest), exact=True)
    if plain.cases:
        in_lower_case = _Finder(bits, folded=True)
        folded = in_lower_case.better(*in_lower_case.find(node))
        if plain.score(folded) >= plain.score(some_words) + _BYTE:
            return Required(_literals(_shortest(folded or [])), exact=False, folded=True)
    return Required(None if some_words is None else _literals(_shortest(some_words)), exact=False)


class _Word(NamedTuple):
    """A piece of text, possibly anchored at the start or the end of the whole text."""

    start: bool
    core: bytes
    end: bool


_NOTHING = _Word(False, b"", False)
_Words = list[_Word]
Bits: TypeAlias = Callable[[bytes], float]
"""How rare a literal is, in bits."""


class _Finder:
    """Finds the words of a tree: all that it matches, if they are few, else some of which one must occur."""

    def __init__(self, bits: Bits, *, folded: bool) -> None:
        self._bits = bits
        self._folded = folded
        self.cases = 0  # number of character sets whose members differ in case only

    def find(self, node: Node) -> tuple[_Words | None, _Words | None]:
        """All words that the tree matches, or None; then the best required words, or None."""
        match node:
            case tree.Chars(ranges=ranges):
                return self._letters(ranges), None
            case tree.Edge():
                if node is tree.BEGIN:
                    return [_Word(True, b"", False)], None
                return ([_Word(False, b"", True)] if node is tree.END else None), None
            case tree.Join(parts=parts):
                return self._join(parts)
            case tree.Either(branches=branches):
                return self._either(branches)
            case tree.Repeat():
                return self._join((node,))
            case tree.LineAnchor():
                raise AssertionError(node)

    def _letters(self, ranges: CharSet) -> _Words | None:
        words, are_cases = _letters(ranges, self._folded)
        self.cases += are_cases
        # Both cases of many letters give too many words; in lower case they are one.
        return None if are_cases and self.cases > _MOST_CASES and not self._folded else words

    def _group_characters(self, parts: Sequence[Node]) -> list[Node | bytes]:
        """The parts, with adjacent single characters joined to one piece of text."""
        grouped: list[Node | bytes] = []
        for part in parts:
            words = _letters(part.ranges, self._folded)[0] if isinstance(part, tree.Chars) else None
            if words is None or len(words) != 1:
                grouped.append(part)
            elif grouped and isinstance(grouped[-1], bytes):
                grouped[-1] += words[0].core
            else:
                grouped.append(words[0].core)
        return grouped

    def _either(self, branches: Sequence[Node]) -> tuple[_Words | None, _Words | None]:
        all_words: _Words | None = []
        some_words: _Words | None = []
        for branch in branches:
            found, needed = self.find(branch)
            all_words = _few(None if all_words is None or found is None else all_words + found)
            needed = _useful(found if found is not None else needed)
            some_words = _few(None if some_words is None or needed is None else some_words + needed)
        return (all_words, None) if all_words is not None else (None, some_words)

    def _join(self, parts: Sequence[Node]) -> tuple[_Words | None, _Words | None]:
        best: _Words | None = None
        run: _Words = [_NOTHING]  # what the parts since the last gap match
        whole = True
        for part in self._group_characters(parts):
            if isinstance(part, bytes):
                run = [_Word(word.start, word.core + part, word.end) for word in run if not word.end]
                continue
            body, low, high = (part.body, part.low, part.high) if isinstance(part, tree.Repeat) else (part, 1, 1)
            found, needed = self.find(body)
            least, words = _powers(found, low, high)
            product = None if words is None else _product(run, words)
            best = self.better(best, run)  # longer words may be worse, because there may be more of them
            if product is not None:
                run = product
                continue
            # A gap: the words before it end with the minimal repetition of the part, those after it begin with it.
            whole = False
            before = None if least is None else _product(run, least)
            best = self.better(best, self.better(before, needed if low > 0 else None))
            run = [_NOTHING] if least is None else least
        return (run, None) if whole else (None, self.better(best, run))

    def better(self, left: _Words | None, right: _Words | None) -> _Words | None:
        left, right = _useful(left), _useful(right)
        if left is None or right is None:
            return right if left is None else left
        return left if left == right or self.score(left) >= self.score(right) else right

    def score(self, words: _Words | None) -> float:
        """The selectivity of the words, in bits, minus a penalty for their number, since each takes memory."""
        if words is None:
            return 0.0
        least = min((self._bits(_literal(word)) for word in words), default=math.inf)
        return max(least - 2 * math.log2(max(len(words), 1)), 1.0)


@lru_cache(maxsize=4096)
def _letters(ranges: CharSet, folded: bool) -> tuple[_Words | None, bool]:
    """The characters of a small set, as they are or in lower case; and whether they differ in case only."""
    if sum(high - low + 1 for low, high in ranges) > _MOST:
        return None, False
    codes = [code for low, high in ranges for code in range(low, high + 1)]
    letters = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    if "Σ" in letters:  # its lower case depends on its neighbours
        return (None if folded else [_Word(False, letter.encode(), False) for letter in letters]), False
    small = list(dict.fromkeys(map(lower, letters)))
    words = [_Word(False, letter.encode(), False) for letter in (small if folded else letters)]
    return words, len(small) == 1 < len(letters)


def _few(words: _Words | None) -> _Words | None:
    """The distinct words, or None if they are too many."""
    if words is None:
        return None
    distinct = list(dict.fromkeys(words))
    return distinct if len(distinct) <= _MOST else None


def _product(lefts: _Words, rights: _Words) -> _Words | None:
    """Every word of `lefts` followed by every word of `rights`, without combinations that no text contains."""
    if len(lefts) * len(rights) > _MOST * _MOST:
        return None
    words = [
        _Word(left.start or right.start, left.core + right.core, left.end or right.end)
        for left in lefts
        for right in rights
        if not (left.end and right.core) and not (right.start and left.core)
    ]
    return _few(words)


def _powers(words: _Words | None, low: int, high: int | None) -> tuple[_Words | None, _Words | None]:
    """The words repeated `low` times, and `low` to `high` times; None if they are too many."""
    power: _Words | None = [_NOTHING]
    for _ in range(low):
        power = None if power is None or words is None else _product(power, words)
    least, together = power, power
    for _ in range(low, low + 1 if high is None else high):
        power = None if power is None or words is None or high is None else _product(power, words)
        together = _few(None if together is None or power is None else together + power)
        if together is None:
            break
    return least, together


def _everywhere(word: _Word) -> bool:
    """Does the word occur in every text?"""
    return not word.core and not (word.start and word.end)


def _useful(words: _Words | None) -> _Words | None:
    return None if words is None or any(map(_everywhere, words)) else words


_BYTE = 4.0  # the selectivity of one byte, in bits


def _shortest(words: _Words) -> _Words:
    """The words that contain no other of the words."""
    return [word for word in words if not any(other != word and _occurs(other, word) for other in words)]


def _occurs(inner: _Word, outer: _Word) -> bool:
    return _literal(inner) in _literal(outer)


def _literals(words: Iterable[_Word]) -> tuple[bytes, ...]:
    return tuple(map(_literal, words))


def _literal(word: _Word) -> bytes:
    return bytes([START] * word.start) + word.core + bytes([END] * word.end)
