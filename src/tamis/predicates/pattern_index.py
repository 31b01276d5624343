"""All LIKE, ILIKE and RLIKE tests of one attribute, asked of a column of texts in one pass.

The answer is that of `Matches.mask` to each test. An automaton finds the literals of all tests in a text; a test
that is more than its literals is settled for those texts only in which one of them occurs: LIKE and most regular
expressions by kernels, the rest by RE2. ILIKE, and regular expressions that ignore case, have an automaton of
their own over the texts in lower case.

The index is nothing but arrays, which are never written after it is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.functions.patterns import parse_like
from tamis.language import regex_classes
from tamis.predicates.automaton import Automaton, build_automaton, scan
from tamis.predicates.checks import ENGINE, HELD, LIKE, PROGRAM, Checks, settle
from tamis.predicates.literals import (
    EXACT,
    MALFORMED,
    UNKNOWN,
    like_literals,
    plain_literal,
    regex_literals,
    regex_tree,
)
from tamis.predicates.positions import Programs, ProgramWriter
from tamis.predicates.texts import Bytes, Ints, Shorts, Texts, in_lower_case, packed, read_only, texts_of
from tamis.values.column import Column, Mask

_ROW = 0xFFFFFFFF  # of a key: the half that is the row
_MOST_PAIRS = 1 << 20  # pairs of a row and a test that are in hand at one time, but for those of one row


class _Side(NamedTuple):
    """The literals to look for in the texts as they are, or in lower case."""

    automaton: Automaton  # a value is a test that holds, or -1 - a check to be made
    always: Shorts  # checks to be made of every text


class PatternIndex:
    """Tests of patterns, numbered, with all that is needed to ask them of texts."""

    __slots__ = ("_checks", "_lowered", "_plain", "_programs")

    def __init__(self, plain: _Side, lowered: _Side, checks: Checks, programs: Programs) -> None:
        self._plain = plain
        self._lowered = lowered
        self._checks = checks
        self._programs = programs

    @classmethod
    def build(cls, tests: Sequence[tuple[str, str]]) -> PatternIndex:
        """An index of the given tests, each `like`, `ilike` or `rlike` with its canonical pattern.

        Raises:
            PatternError: A pattern is malformed.
        """
        return _Builder(tests).index()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> PatternIndex:
        """The index of which `arrays` gave the arrays; they are used as they are."""

        def part(kind: type[_Part], prefix: str) -> _Part:
            return _frozen(kind, (arrays[f"{prefix}.{field}"] for field in kind._fields))

        plain, lowered = (
            _Side(part(Automaton, side), read_only(arrays[f"{side}.always"])) for side in ("plain", "lowered")
        )
        return cls(plain, lowered, part(Checks, "checks"), part(Programs, "programs"))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that the index is made of, by name."""
        parts: dict[str, Automaton | Checks | Programs] = {
            "plain": self._plain.automaton,
            "lowered": self._lowered.automaton,
            "checks": self._checks,
            "programs": self._programs,
        }
        arrays = {
            f"{name}.{field}": array for name, part in parts.items() for field, array in part._asdict().items()
        }
        return arrays | {"plain.always": self._plain.always, "lowered.always": self._lowered.always}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def match(self, texts: Column) -> tuple[Shorts, Shorts]:
        """Which tests hold in which rows of a string column.

        Returns:
            Rows and numbers of tests, pair by pair, sorted by test and then by row.
        """
        keys: list[Ints] = []
        if len(texts):
            raw = texts_of(texts)
            for side in (self._plain, self._lowered):
                if len(side.automaton.values) or len(side.always):
                    read = raw if side is self._plain else in_lower_case(raw)
                    keys += self._side_keys(side, raw, read, texts.values)
        if not keys:
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        ordered = np.sort(np.concatenate(keys))
        return (ordered & _ROW).astype(np.int32), (ordered >> 32).astype(np.int32)

    def _side_keys(self, side: _Side, raw: Texts, read: Texts, values: pa.StringArray) -> Iterator[Ints]:
        """Keys of the pairs that hold, of which test and row are the upper and the lower half."""
        row = 0
        while row < len(raw.valid):
            keys, row = scan(side.automaton, read, row, _MOST_PAIRS)
            if len(keys):
                held = keys >= 0
                yield keys[held]
                if not held.all():
                    left = keys[~held]
                    yield self._settled(left & _ROW, -1 - (left >> 32), raw, read, values)
        if len(side.always):
            rows = np.flatnonzero(raw.valid)
            step = max(1, _MOST_PAIRS // max(1, len(rows)))
            for first in range(0, len(side.always), step):
                checks = side.always[first : first + step]
                yield self._settled(
                    np.tile(rows, len(checks)), np.repeat(checks, len(rows)).astype(np.int64), raw, read, values
                )

    def _settled(self, rows: Ints, checks: Ints, raw: Texts, read: Texts, values: pa.StringArray) -> Ints:
        """Keys of those of these pairs of a row and a check that hold."""
        holds, is_open = settle(self._checks, self._programs, raw, read, rows, checks)
        if is_open.any():
            holds[is_open] = self._by_engine(values, rows[is_open], checks[is_open])
        return (self._checks.tests[checks[holds]].astype(np.int64) << 32) | rows[holds]

    def _by_engine(self, values: pa.StringArray, rows: Ints, checks: Ints) -> Mask:
        """Which of these pairs RE2 confirms; it has much to do for each expression and little for each text."""
        order = np.argsort(checks, kind="stable")
        holds = np.zeros(len(rows), np.bool_)
        bounds = np.flatnonzero(np.diff(checks[order], prepend=-1, append=-1))
        for start, end in pairwise(bounds.tolist()):
            pairs = order[start:end]
            operand = self._checks.operands[checks[pairs[0]]]
            first, last = self._checks.engine_offsets[operand : operand + 2]
            pattern = self._checks.engines[first:last].tobytes().decode()
            found = pc.match_substring_regex(values.take(pa.array(rows[pairs])), pattern)
            holds[pairs] = found.to_numpy(zero_copy_only=False)
        return holds


_Part = TypeVar("_Part", Automaton, Checks, Programs)


def _frozen(kind: type[_Part], arrays: Iterable[np.ndarray]) -> _Part:
    return kind(*map(read_only, arrays))


class _Literals:
    """Literals for one automaton, each with its use: a test that holds, or -1 - a check to be made."""

    def __init__(self) -> None:
        self.data: list[Bytes] = []
        self.lengths: list[Ints] = []
        self.uses: list[Ints] = []
        self.always: list[int] = []

    def add(self, data: Bytes, lengths: Ints, uses: Ints) -> None:
        self.data.append(data)
        self.lengths.append(lengths)
        self.uses.append(uses)

    def side(self) -> _Side:
        data = np.concatenate([np.zeros(0, np.uint8), *self.data])
        offsets = np.concatenate([np.zeros(1, np.int64), *self.lengths]).cumsum()
        uses = np.concatenate([np.zeros(0, np.int64), *self.uses])
        always = read_only(-1 - np.array(self.always, np.int32))
        return _Side(build_automaton(data, offsets, uses), always)


class _Builder:
    """Sorts tests by what they need: literals, checks, programs."""

    def __init__(self, tests: Sequence[tuple[str, str]]) -> None:
        self._plain, self._lowered = _Literals(), _Literals()
        self._tests: list[int] = []  # of each check, and so on
        self._kinds: list[int] = []
        self._operands: list[int] = []
        self._likes: list[bytes] = []
        self._engines: list[bytes] = []
        self._programs = ProgramWriter()
        numbers: dict[str, list[int]] = {"like": [], "ilike": [], "rlike": []}
        for number, (kind, _) in enumerate(tests):
            numbers[kind].append(number)
        patterns = {kind: [tests[number][1] for number in members] for kind, members in numbers.items()}
        for kind, literals in (("like", self._plain), ("ilike", self._lowered)):
            self._add_likes(np.array(numbers[kind], np.int64), patterns[kind], literals)
        self._add_regexes(numbers["rlike"], patterns["rlike"])

    def index(self) -> PatternIndex:
        likes, like_offsets = packed(self._likes)
        engines, engine_offsets = packed(self._engines)
        tests, operands = np.array(self._tests, np.int32), np.array(self._operands, np.int32)
        kinds = np.array(self._kinds, np.uint8)
        checks = _frozen(Checks, (tests, kinds, operands, like_offsets, likes, engine_offsets, engines))
        programs = _frozen(Programs, self._programs.programs())
        return PatternIndex(self._plain.side(), self._lowered.side(), checks, programs)

    def _check(self, test: int, kind: int, operand: int) -> int:
        """A new check, as a use."""
        self._tests.append(test)
        self._kinds.append(kind)
        self._operands.append(operand)
        return -len(self._tests)

    def _add_likes(self, numbers: Ints, patterns: list[str], literals: _Literals) -> None:
        data, offsets = packed(patterns)
        if literals is self._lowered:
            data, offsets, _ = in_lower_case(Texts(data, offsets, np.ones(len(patterns), np.bool_)))
        found, bounds, roles = like_literals(data, offsets)
        for bad in np.flatnonzero(roles == MALFORMED)[:1]:
            parse_like(patterns[bad])
        uses = numbers.copy()
        for pattern in np.flatnonzero(roles != EXACT).tolist():
            uses[pattern] = self._check(int(numbers[pattern]), LIKE, len(self._likes))
            self._likes.append(data[offsets[pattern] : offsets[pattern + 1]].tobytes())
        has_literal = roles != UNKNOWN
        literals.add(found, np.diff(bounds)[has_literal], uses[has_literal])
        literals.always += uses[~has_literal].tolist()

    def _add_regexes(self, numbers: list[int], patterns: list[str]) -> None:
        found: dict[bool, tuple[list[bytes], list[int]]] = {False: ([], []), True: ([], [])}
        for number, pattern in zip(numbers, patterns, strict=True):
            plain = plain_literal(pattern)
            if plain is not None:
                found[False][0].append(plain)
                found[False][1].append(number)
                continue
            node = regex_tree(pattern)
            required = regex_literals(node)
            use = number
            if not required.exact:
                program = self._programs.add(node)
                if program is None:
                    self._engines.append(regex_classes.write(node).encode())
                    use = self._check(number, ENGINE, len(self._engines) - 1)
                else:
                    use = self._check(number, PROGRAM, program)
            elif required.literals is None or len(required.literals) > 1:
                use = self._check(number, HELD, 0)
            if required.literals is None:
                self._plain.always.append(use)
            else:
                found[required.folded][0].extend(required.literals)
                found[required.folded][1].extend([use] * len(required.literals))
        for folded, (literals, uses) in found.items():
            data, offsets = packed(literals)
            (self._lowered if folded else self._plain).add(data, np.diff(offsets), np.array(uses, np.int64))
