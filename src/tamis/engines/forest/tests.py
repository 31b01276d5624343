"""The tests of a forest: predicates that are no intervals, each once.

There may be as many patterns as conditions, so patterns are columns, and become predicate objects on demand.
Patterns have the first numbers, predicates of other kinds follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
import pyarrow as pa

from tamis.arrays import I32, I64, U8
from tamis.engines.forest.ranking import take_texts
from tamis.formulas.expression import Typed
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.matches import MatchesPattern

PATTERN_TESTS = ("like", "ilike", "rlike")
"""The kinds of patterns; `Patterns.tests` has indices into this."""

_TAIL = np.dtype([("attribute", "<i4"), ("test", "u1"), ("negated", "u1")])


class Patterns(NamedTuple):
    """One entry per pattern, whose text is `data[offsets[i]:offsets[i + 1]]`."""

    attributes: I32  # number in `Tests.attributes`
    tests: U8  # number in PATTERN_TESTS
    negated: U8
    offsets: I64
    data: U8


@dataclass(frozen=True, eq=False, slots=True)
class Tests(Sequence[Predicate]):
    """Tests by number.

    Attributes:
        attributes: Those that patterns read.
        patterns: The tests that are `Matches`; they have the first numbers.
        others: All others.
    """

    attributes: tuple[Typed, ...]
    patterns: Patterns
    others: tuple[Predicate, ...]

    def __len__(self) -> int:
        return len(self.patterns.tests) + len(self.others)

    @overload
    def __getitem__(self, at: int) -> Predicate: ...
    @overload
    def __getitem__(self, at: slice) -> list[Predicate]: ...
    def __getitem__(self, at: int | slice) -> Predicate | list[Predicate]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = at + len(self) if at < 0 else at
        if not 0 <= place < len(self):
            raise IndexError(at)
        patterns = self.patterns
        if place >= len(patterns.tests):
            return self.others[place - len(patterns.tests)]
        start, end = patterns.offsets[place : place + 2].tolist()
        return MatchesPattern(
            self.attributes[patterns.attributes.item(place)],
            PATTERN_TESTS[patterns.tests.item(place)],
            patterns.data[start:end].tobytes().decode(),
            bool(patterns.negated.item(place)),
        )


def tests_of(predicates: Iterable[Predicate]) -> tuple[Tests, I64]:
    """These predicates as tests, and the number of each."""
    given = list(predicates)
    attributes: dict[Typed, int] = {}
    matches = [each for each in given if isinstance(each, MatchesPattern)]
    texts = [each.pattern.encode() for each in matches]
    count = len(texts)
    columns = Patterns(
        np.fromiter((attributes.setdefault(m.attribute, len(attributes)) for m in matches), np.int32, count),
        np.fromiter((PATTERN_TESTS.index(each.test) for each in matches), np.uint8, count),
        np.fromiter((each.negated for each in matches), np.uint8, count),
        np.cumsum([0, *map(len, texts)]).astype(np.int64),
        np.frombuffer(b"".join(texts) or b"\0", np.uint8),
    )
    is_match = np.fromiter((isinstance(each, MatchesPattern) for each in given), np.bool_, len(given))
    known: dict[Predicate, int] = {}
    patterns, (places,) = join_patterns([columns])
    numbers = np.empty(len(given), np.int64)
    numbers[is_match] = places
    numbers[~is_match] = [
        known.setdefault(each, len(patterns.tests) + len(known))
        for each in given
        if not isinstance(each, MatchesPattern)
    ]
    return Tests(tuple(attributes), patterns, tuple(known)), numbers


def join_tests(parts: Sequence[tuple[Tests, I64]]) -> tuple[Tests, list[I64]]:
    """The union of tests of several forests, and per part the new numbers of its tests, -1 for those left out.

    Args:
        parts: The tests of a forest, and the distinct numbers of those to take, sorted.
    """
    attributes: dict[Typed, int] = {}
    patterns: list[Patterns] = []
    for tests, wanted in parts:
        here = wanted[wanted < len(tests.patterns.tests)]
        used = tests.patterns.attributes[here]
        named = np.full(len(tests.attributes), -1, np.int32)
        for old in np.unique(used).tolist():
            named[old] = attributes.setdefault(tests.attributes[old], len(attributes))
        texts = take_texts(tests.patterns.offsets, tests.patterns.data, here)
        patterns.append(Patterns(named[used], tests.patterns.tests[here], tests.patterns.negated[here], *texts))
    joined, places = join_patterns(patterns)
    others: dict[Predicate, int] = {}
    numbers: list[I64] = []
    for (tests, wanted), here in zip(parts, places, strict=True):
        number = np.full(len(tests), -1, np.int64)
        number[wanted[: len(here)]] = here
        for old in wanted[len(here) :].tolist():
            number[old] = others.setdefault(tests[old], len(joined.tests) + len(others))
        numbers.append(number)
    return Tests(tuple(attributes), joined, tuple(others)), numbers


def join_patterns(parts: Sequence[Patterns]) -> tuple[Patterns, list[I64]]:
    """The distinct patterns of all parts, and per part the new number of each pattern.

    All parts number attributes alike.
    """
    # Arrow finds the distinct patterns: each is one binary value, the text followed by all other fields.
    columns = pa.concat_arrays([_with_tails(part) for part in parts] or [pa.array([], pa.large_binary())])
    encoded = columns.dictionary_encode()
    whole = encoded.dictionary
    count, width = len(whole), _TAIL.itemsize
    offsets = np.frombuffer(whole.buffers()[1], np.int64)[: count + 1]
    data = whole.buffers()[2]
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    shift = np.arange(count + 1) * width
    is_tail = np.zeros(int(offsets[-1]), np.bool_)
    is_tail[(offsets[1:, np.newaxis] - np.arange(width, 0, -1)).ravel()] = True
    tails = text[: len(is_tail)][is_tail].view(_TAIL)
    patterns = Patterns(
        np.ascontiguousarray(tails["attribute"], np.int32),
        np.ascontiguousarray(tails["test"]),
        np.ascontiguousarray(tails["negated"]),
        offsets - shift,
        np.concatenate([text[: len(is_tail)][~is_tail], np.zeros(1, np.uint8)]),
    )
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return patterns, np.split(numbers, np.cumsum([len(part.tests) for part in parts])[:-1]) if parts else []


def _with_tails(part: Patterns) -> pa.Array:
    count, width = len(part.tests), _TAIL.itemsize
    tails = np.empty(count, _TAIL)
    tails["attribute"], tails["test"], tails["negated"] = part.attributes, part.tests, part.negated
    # Patterns may be a slice of a longer column, so offsets are made to begin at 0.
    texts = part.data[part.offsets[0] : part.offsets[-1]]
    offsets = part.offsets - part.offsets[0] + np.arange(count + 1) * width
    data = np.empty(int(offsets[-1]), np.uint8)
    is_tail = np.zeros(len(data), np.bool_)
    is_tail[(offsets[1:, np.newaxis] - np.arange(width, 0, -1)).ravel()] = True
    data[is_tail] = tails.view(np.uint8)
    data[~is_tail] = texts
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), count, buffers)
