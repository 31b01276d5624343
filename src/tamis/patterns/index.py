"""The pattern index: all LIKE, ILIKE and RLIKE tests of one attribute, evaluated for many texts in one pass.

The result equals `Matches.mask` of each test. An automaton finds the literals of all tests in a text. A test that
a literal alone does not decide is verified only for texts in which one of its literals occurs: LIKE and most
regular expressions by kernels, the rest by RE2. ILIKE, and regular expressions that ignore case, have a second
automaton, over the texts in lower case.

The index consists of arrays that are never written after it is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I32, I64, U8, Mask
from tamis.functions.like import parse_like
from tamis.patterns.automaton import Automaton, build_automaton, scan
from tamis.patterns.literals import (
    EXACT,
    MALFORMED,
    UNKNOWN,
    like_pieces,
    plain_literal,
    plain_runs,
    regex_literals,
)
from tamis.patterns.position_automaton import Programs, ProgramWriter
from tamis.patterns.rarity import Rarity, rarest_pieces
from tamis.patterns.texts import PackedTexts, in_lower_case, pack_texts, read_only, texts_of
from tamis.patterns.verification import ENGINE, HELD, LIKE, PROGRAM, Checks, verify_candidates
from tamis.syntax import regex_tree
from tamis.syntax.regex import parse_regex
from tamis.values.column import Column

_ROW = 0xFFFFFFFF  # the half of a key that is the row
_MOST_PAIRS = 1 << 20  # pairs of a row and a test held at one time, apart from those of one row


class _Side(NamedTuple):
    """The literals to find in the texts as they are, or in lower case."""

    automaton: Automaton  # a value is the number of a test that then holds, or -1 - the number of a check
    always: I32  # the checks of tests without literals, made for every text


class PatternIndex:
    """Numbered pattern tests, indexed by their literals."""

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
        return _IndexBuilder(tests).index()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> PatternIndex:
        """The index from what `arrays` returned; the arrays are not copied."""

        def part(kind: type[_Arrays], prefix: str) -> _Arrays:
            return _freeze(kind, (arrays[f"{prefix}.{field}"] for field in kind._fields))

        plain, lowered = (
            _Side(part(Automaton, side), read_only(arrays[f"{side}.always"])) for side in ("plain", "lowered")
        )
        return cls(plain, lowered, part(Checks, "checks"), part(Programs, "programs"))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of the index, by name."""
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
        return sum(array.nbytes for array in self.arrays().values())

    def match(self, texts: Column) -> tuple[I32, I32]:
        """Which tests hold in which rows of a string column.

        Returns:
            Rows and numbers of tests, one pair per place, sorted by test and then by row.
        """
        keys: list[I64] = []
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

    def _side_keys(
        self, side: _Side, raw: PackedTexts, read: PackedTexts, values: pa.StringArray
    ) -> Iterator[I64]:
        """Keys of the pairs that hold: the test in the upper half, the row in the lower half."""
        row = 0
        while row < len(raw.valid):
            keys, row = scan(side.automaton, read, row, _MOST_PAIRS)
            if len(keys):
                held = keys >= 0
                yield keys[held]
                if not held.all():
                    candidates = keys[~held]
                    yield self._verified_keys(candidates & _ROW, -1 - (candidates >> 32), raw, read, values)
        if len(side.always):
            rows = np.flatnonzero(raw.valid)
            step = max(1, _MOST_PAIRS // max(1, len(rows)))
            for first in range(0, len(side.always), step):
                checks = side.always[first : first + step]
                yield self._verified_keys(
                    np.tile(rows, len(checks)), np.repeat(checks, len(rows)).astype(np.int64), raw, read, values
                )

    def _verified_keys(
        self, rows: I64, checks: I64, raw: PackedTexts, read: PackedTexts, values: pa.StringArray
    ) -> I64:
        """Keys of the pairs of a row and a check that hold, among these candidates."""
        holds, is_open = verify_candidates(self._checks, self._programs, raw, read, rows, checks)
        if is_open.any():
            holds[is_open] = self._by_engine(values, rows[is_open], checks[is_open])
        return (self._checks.tests[checks[holds]].astype(np.int64) << 32) | rows[holds]

    def _by_engine(self, values: pa.StringArray, rows: I64, checks: I64) -> Mask:
        """Which of these pairs RE2 confirms; one call per expression, because compiling it is what costs."""
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


_Arrays = TypeVar("_Arrays", Automaton, Checks, Programs)


def _freeze(kind: type[_Arrays], arrays: Iterable[np.ndarray]) -> _Arrays:
    return kind(*map(read_only, arrays))


class _Literals:
    """The literals of one automaton, each with its use: a test that then holds, or -1 - a check."""

    def __init__(self) -> None:
        self.data: list[U8] = []
        self.lengths: list[I64] = []
        self.uses: list[I64] = []
        self.always: list[int] = []

    def add(self, data: U8, lengths: I64, uses: I64) -> None:
        self.data.append(data)
        self.lengths.append(lengths)
        self.uses.append(uses)

    def side(self) -> _Side:
        data = np.concatenate([np.zeros(0, np.uint8), *self.data])
        offsets = np.concatenate([np.zeros(1, np.int64), *self.lengths]).cumsum()
        uses = np.concatenate([np.zeros(0, np.int64), *self.uses])
        always = read_only(-1 - np.array(self.always, np.int32))
        return _Side(build_automaton(data, offsets, uses), always)


class _LikePatterns:
    """LIKE patterns and the literals of each, as in `like_pieces`."""

    def __init__(self, patterns: list[str], *, folded: bool) -> None:
        self._data, self._offsets = pack_texts(patterns)
        if folded:
            everyone = np.ones(len(patterns), np.bool_)
            self._data, self._offsets, _ = in_lower_case(PackedTexts(self._data, self._offsets, everyone))
        self.pieces, self.bounds, self.firsts, self.roles = like_pieces(self._data, self._offsets)
        for bad in np.flatnonzero(self.roles == MALFORMED)[:1]:
            parse_like(patterns[bad])

    def text(self, pattern: int) -> bytes:
        """The bytes of a pattern."""
        return self._data[self._offsets[pattern] : self._offsets[pattern + 1]].tobytes()


def _join(texts: Sequence[tuple[U8, I64]]) -> tuple[U8, I64]:
    """Several sets of texts as one."""
    lengths = np.concatenate([np.diff(offsets) for _, offsets in texts])
    return np.concatenate([data for data, _ in texts]), np.concatenate([[0], np.cumsum(lengths)])


class _IndexBuilder:
    """Collects the literals, checks and programs of tests."""

    def __init__(self, tests: Sequence[tuple[str, str]]) -> None:
        self._plain, self._lowered = _Literals(), _Literals()
        self._tests: list[int] = []  # one per check, as in `Checks`
        self._kinds: list[int] = []
        self._operands: list[int] = []
        self._likes: list[bytes] = []
        self._engines: list[bytes] = []
        self._programs = ProgramWriter()
        numbers: dict[str, list[int]] = {"like": [], "ilike": [], "rlike": []}
        for number, (kind, _) in enumerate(tests):
            numbers[kind].append(number)
        patterns = {kind: [tests[number][1] for number in members] for kind, members in numbers.items()}
        likes = {kind: _LikePatterns(patterns[kind], folded=kind == "ilike") for kind in ("like", "ilike")}
        runs = pack_texts([run for pattern in patterns["rlike"] for run in plain_runs(pattern)])
        self._rarity = Rarity(*_join([runs, *((each.pieces, each.bounds) for each in likes.values())]))
        for kind, literals in (("like", self._plain), ("ilike", self._lowered)):
            self._add_likes(np.array(numbers[kind], np.int64), likes[kind], literals)
        self._add_regexes(numbers["rlike"], patterns["rlike"])

    def index(self) -> PatternIndex:
        likes, like_offsets = pack_texts(self._likes)
        engines, engine_offsets = pack_texts(self._engines)
        tests, operands = np.array(self._tests, np.int32), np.array(self._operands, np.int32)
        kinds = np.array(self._kinds, np.uint8)
        checks = _freeze(Checks, (tests, kinds, operands, like_offsets, likes, engine_offsets, engines))
        programs = _freeze(Programs, self._programs.programs())
        return PatternIndex(self._plain.side(), self._lowered.side(), checks, programs)

    def _check(self, test: int, kind: int, operand: int) -> int:
        """Add a check; returns its use."""
        self._tests.append(test)
        self._kinds.append(kind)
        self._operands.append(operand)
        return -len(self._tests)

    def _add_likes(self, numbers: I64, patterns: _LikePatterns, literals: _Literals) -> None:
        uses = numbers.copy()
        for pattern in np.flatnonzero(patterns.roles != EXACT).tolist():
            uses[pattern] = self._check(int(numbers[pattern]), LIKE, len(self._likes))
            self._likes.append(patterns.text(pattern))
        found, bounds = rarest_pieces(
            self._rarity.counts, self._rarity.literals, patterns.pieces, patterns.bounds, patterns.firsts
        )
        has_literal = patterns.roles != UNKNOWN
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
            node = parse_regex(pattern)
            required = regex_literals(node, self._rarity.bits)
            use = number
            if not required.exact:
                program = self._programs.add(node)
                if program is None:
                    self._engines.append(regex_tree.write(node).encode())
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
            data, offsets = pack_texts(literals)
            (self._lowered if folded else self._plain).add(data, np.diff(offsets), np.array(uses, np.int64))
