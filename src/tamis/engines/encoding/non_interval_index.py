"""Finds which tests of a forest hold in which rows: the predicates that are no intervals.

All patterns on an attribute are one `PatternIndex`. The formulas that quantifiers ask of the elements of an array
are an index of their own, matched against the elements. The other tests are evaluated one by one. Each index is
built when it is first needed and does not change afterwards.

Results are keys: the number of a test in the upper 32 bits, a row in the lower 32, so that sorting keys groups
them by test.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from tamis.arrays import I32, I64, AnyArray, Arrays, Mask
from tamis.engines.base import Index
from tamis.engines.encoding.attribute_filter import AttributeFilter
from tamis.engines.encoding.pattern_groups import (
    PatternGroup,
    build_pattern_groups,
    read_pattern_groups,
    write_pattern_groups,
)
from tamis.engines.forest.tests import Tests
from tamis.formulas.expression import Constant, Typed, Variable
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame, Predicate
from tamis.formulas.predicates.quantified import Quantified
from tamis.kernels import kernel
from tamis.values.types import NULL

IndexBuilder: TypeAlias = Callable[[Sequence[Formula]], Index]
"""Builds an index with formula i in slot i, of whatever engine."""

_MIN_INDEXED = 5
"""Quantifiers on one array from which an index of their formulas pays."""
_COUNTERS_PER_PAIR = 4
"""Up to so many counters per pair of an element and a formula, a table of counters is faster than sorting."""
_ROW = 0xFFFFFFFF
_ALWAYS = Constant(NULL, None)
"""The attribute of a test that may hold whatever an event lacks: it requires no attribute."""
_NO_HITS = np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32)


class _TestGroup(Protocol):
    """Tests on one attribute that are evaluated together."""

    @property
    def attribute(self) -> Typed:
        """Where the attribute is NULL, none of the tests holds."""

    def keys(self, frame: Frame) -> list[I64]:
        """Keys of all pairs that hold; each array is sorted."""


class NonIntervalIndex:
    """The tests of a forest by number; several threads may call `hits` at the same time.

    Args:
        tests: Of a forest.
        saved: The result of `arrays` for the same tests.
        build_index: Indexes the formulas inside quantifiers; None evaluates quantifiers one by one. It is a
            parameter because engines import this module.
    """

    def __init__(
        self,
        tests: Tests,
        saved: Arrays | None = None,
        build_index: IndexBuilder | None = None,
    ) -> None:
        self.tests = tests
        self._saved = saved
        self._build_index = build_index
        self._lock = threading.Lock()
        self._patterns: list[PatternGroup] | None = None
        self._groups: tuple[list[_TestGroup], AttributeFilter] | None = None

    def hits(self, frame: Frame) -> tuple[I32, I64, I32]:
        """`tests`, `firsts` and `hits` of `EncodedBatch`."""
        if not len(self.tests) or not frame.rows:
            return _NO_HITS
        groups, by_attribute = self._groups or self._build()
        found: list[I64] = []
        for number in by_attribute.candidates(frame.names()):
            found += groups[number].keys(frame)
        if len(found) == 1:
            return _split_keys(found[0])
        keys = np.concatenate([np.empty(0, np.int64), *found])
        keys.sort()
        return _split_keys(keys)

    def arrays(self) -> dict[str, AnyArray]:
        """The pattern indexes, which take long to build, as arrays."""
        with self._lock:
            return write_pattern_groups(self._pattern_groups())

    def _pattern_groups(self) -> list[PatternGroup]:
        if self._patterns is None:
            saved = self._saved
            if saved is None or "groups" not in saved:
                self._patterns = build_pattern_groups(self.tests)
            else:
                self._patterns = read_pattern_groups(self.tests.attributes, saved)
        return self._patterns

    def _build(self) -> tuple[list[_TestGroup], AttributeFilter]:
        with self._lock:
            if self._groups is None:
                groups = [*self._pattern_groups(), *_other_groups(self.tests, self._build_index)]
                by_attribute = AttributeFilter((number, group.attribute) for number, group in enumerate(groups))
                self._groups = groups, by_attribute
            return self._groups


def _other_groups(tests: Tests, build_index: IndexBuilder | None) -> list[_TestGroup]:
    """The groups of the tests that are no patterns."""
    groups: list[_TestGroup] = []
    quantified: dict[tuple[Typed, Variable], list[tuple[int, Quantified]]] = {}
    for number, test in enumerate(tests.others, len(tests.patterns.tests)):
        if isinstance(test, Quantified):
            quantified.setdefault((test.attribute, test.variable), []).append((number, test))
        else:
            groups.append(_SingleTest(number, test, _ALWAYS))
    for (attribute, variable), several in quantified.items():
        if build_index is not None and len(several) >= _MIN_INDEXED:
            groups.append(_ElementTests(attribute, variable, several, build_index))
        else:
            groups += [_SingleTest(number, test, attribute) for number, test in several]
    return groups


class _SingleTest:
    """One test, evaluated by its own mask."""

    def __init__(self, number: int, test: Predicate, attribute: Typed) -> None:
        self.attribute = attribute
        self._number = number
        self._test = test

    def keys(self, frame: Frame) -> list[I64]:
        return [(self._number << 32) | np.flatnonzero(self._test.mask(frame))]


class _ElementTests:
    """Quantifiers on one array: each asks a formula of some, or of all, of its elements."""

    def __init__(
        self,
        attribute: Typed,
        variable: Variable,
        tests: Sequence[tuple[int, Quantified]],
        build_index: IndexBuilder,
    ) -> None:
        self.attribute = attribute
        self._variable = variable
        self._numbers = np.array([number for number, _ in tests], np.int64)
        self._every = np.array([test.every for _, test in tests], np.bool_)
        self._formulas = [test.formula for _, test in tests]
        self._lock = threading.Lock()
        self._build_index = build_index
        self._index: Index | None = None

    def keys(self, frame: Frame) -> list[I64]:
        elements, arrays = frame.elements(self.attribute, self._variable)
        offsets = arrays.values.offsets
        lengths = offsets[1:] - offsets[:-1]
        found: list[I64] = []
        if elements.rows:
            rows, slots = (self._index or self._build()).match(elements)
            owners = np.repeat(np.arange(frame.rows), lengths)
            if len(self._numbers) * frame.rows <= _COUNTERS_PER_PAIR * len(rows):
                found.append(_count_in_table(rows, slots, owners, self._numbers, self._every, lengths))
            else:
                pairs = (slots.astype(np.int64) << 32) | owners[rows]
                pairs.sort()
                found.append(_count_sorted(pairs, self._numbers, self._every, lengths))
        empty = np.flatnonzero(arrays.valid & (lengths == 0))
        if len(empty):  # a universal quantifier holds on an empty array
            found.append(((self._numbers[self._every] << 32)[:, np.newaxis] | empty).ravel())
        return found

    def _build(self) -> Index:
        with self._lock:
            if self._index is None:
                self._index = self._build_index(self._formulas)
            return self._index


@kernel
def _count_in_table(rows: I32, slots: I32, owners: I64, numbers: I64, every: Mask, lengths: I64) -> I64:
    """Keys of the quantifiers that hold, by a table of counters, slots by rows.

    Args:
        rows: int32[pairs]: an element,
        slots: int32[pairs]: and a formula that it satisfies.
        owners: int64[elements]: the row of each element.
        numbers: int64[slots]: the test of each slot.
        every: bool[slots]: must all elements satisfy it?
        lengths: int64[rows]: how many elements each row has.
    """
    counts = np.zeros((len(numbers), len(lengths)), np.int32)
    for pair in range(len(rows)):
        counts[slots[pair], owners[rows[pair]]] += 1
    count = 0
    for slot in range(len(numbers)):
        for row in range(len(lengths)):
            here = counts[slot, row]
            holds = here > 0 and (not every[slot] or here == lengths[row])
            counts[slot, row] = holds
            count += holds
    keys = np.empty(count, np.int64)
    count = 0
    for slot in range(len(numbers)):
        for row in range(len(lengths)):
            if counts[slot, row]:
                keys[count] = (numbers[slot] << 32) | row
                count += 1
    return keys


@kernel
def _count_sorted(pairs: I64, numbers: I64, every: Mask, lengths: I64) -> I64:
    """As `_count_in_table`, where a table of all slots and rows would be too sparse.

    `pairs` is sorted: a slot in the upper half, a row in the lower, once for each element that satisfies the slot.
    """
    keys = np.empty(len(pairs), np.int64)
    count = 0
    first = 0
    while first < len(pairs):
        last = first + 1
        while last < len(pairs) and pairs[last] == pairs[first]:
            last += 1
        slot, row = pairs[first] >> 32, pairs[first] & _ROW
        if not every[slot] or last - first == lengths[row]:
            keys[count] = (numbers[slot] << 32) | row
            count += 1
        first = last
    return keys[:count]


@kernel
def _split_keys(keys: I64) -> tuple[I32, I64, I32]:
    """Sorted keys as `tests`, `firsts` and `hits` of `EncodedBatch`."""
    hits = np.empty(len(keys), np.int32)
    count = 0
    for place in range(len(keys)):
        hits[place] = keys[place] & _ROW
        count += place == 0 or keys[place] >> 32 != keys[place - 1] >> 32
    tests, firsts = np.empty(count, np.int32), np.empty(count + 1, np.int64)
    count = 0
    for place in range(len(keys)):
        if place == 0 or keys[place] >> 32 != keys[place - 1] >> 32:
            tests[count] = keys[place] >> 32
            firsts[count] = place
            count += 1
    firsts[count] = len(keys)
    return tests, firsts, hits
