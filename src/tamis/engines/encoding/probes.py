"""The tests of a forest that are no intervals, found together instead of one by one.

All patterns of an attribute are one `PatternIndex`. The formulas that ask about the elements of an array are an
index of their own, matched against the elements. What is left is asked one by one. Everything is built when first
needed, and never changes then.

What is found are keys: the number of a test in the upper half, a row in the lower.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.encoding.pattern_groups import PatternGroup, groups_of_patterns, read_groups, write_groups
from tamis.engines.encoding.presence import Presence
from tamis.engines.forest.tests import Tests
from tamis.language.expression import Constant, Typed, Variable
from tamis.predicates.base import Frame, Predicate
from tamis.predicates.quantified import Quantified
from tamis.values.types import NULL

if TYPE_CHECKING:
    from tamis.engines.bitslice import BitsliceIndex

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Masks: TypeAlias = npt.NDArray[np.bool_]

_FEW = 4
"""Formulas about the elements of an array up to which an index for them is not worth while."""
_ROOM = 4
"""Counters for each pair of an element and a formula, up to which a table of counters is better than sorting."""
_ROW = 0xFFFFFFFF
_ALWAYS = Constant(NULL, None)
"""Stands for an attribute of which nothing is known, since it needs none of the event's."""
_NONE = np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32)


class _Group(Protocol):
    """Tests that are found together."""

    @property
    def attribute(self) -> Typed:
        """Where it is NULL, none of the tests holds."""

    def keys(self, frame: Frame) -> list[Ints]:
        """Keys of all pairs that hold; each array rises."""


class Probes:
    """Predicates by number; several threads may ask at the same time.

    Args:
        tests: Of a forest.
        saved: What `arrays` gave for the same tests.
    """

    def __init__(self, tests: Tests, saved: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        self.tests = tests
        self._saved = saved
        self._lock = threading.Lock()
        self._patterns: list[PatternGroup] | None = None
        self._groups: tuple[list[_Group], Presence] | None = None

    def hits(self, frame: Frame) -> tuple[Shorts, Ints, Shorts]:
        """Which tests hold somewhere, and in which rows; see `Encoded`."""
        if not len(self.tests) or not frame.rows:
            return _NONE
        groups, presence = self._groups or self._build()
        found: list[Ints] = []
        for number in presence.among(frame.names()):
            found += groups[number].keys(frame)
        if len(found) == 1:
            return _cut(found[0])
        keys = np.concatenate([np.empty(0, np.int64), *found])
        keys.sort()
        return _cut(keys)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What takes long to build, as arrays."""
        with self._lock:
            return write_groups(self._pattern_groups())

    def _pattern_groups(self) -> list[PatternGroup]:
        if self._patterns is None:
            saved = self._saved
            if saved is None or "groups" not in saved:
                self._patterns = groups_of_patterns(self.tests)
            else:
                self._patterns = read_groups(self.tests.attributes, saved)
        return self._patterns

    def _build(self) -> tuple[list[_Group], Presence]:
        with self._lock:
            if self._groups is None:
                groups = [*self._pattern_groups(), *_other_groups(self.tests)]
                presence = Presence((number, group.attribute) for number, group in enumerate(groups))
                self._groups = groups, presence
            return self._groups


def _other_groups(tests: Tests) -> list[_Group]:
    """The groups of the tests that are no patterns."""
    groups: list[_Group] = []
    quantified: dict[tuple[Typed, Variable], list[tuple[int, Quantified]]] = {}
    for number, test in enumerate(tests.others, len(tests.patterns.tests)):
        if isinstance(test, Quantified):
            quantified.setdefault((test.attribute, test.variable), []).append((number, test))
        else:
            groups.append(_Single(number, test, _ALWAYS))
    for (attribute, variable), several in quantified.items():
        if len(several) > _FEW:
            groups.append(_Elements(attribute, variable, several))
        else:
            groups += [_Single(number, test, attribute) for number, test in several]
    return groups


class _Single:
    """One test of any kind."""

    def __init__(self, number: int, test: Predicate, attribute: Typed) -> None:
        self.attribute = attribute
        self._number = number
        self._test = test

    def keys(self, frame: Frame) -> list[Ints]:
        """As `_Group`."""
        return [(self._number << 32) | np.flatnonzero(self._test.mask(frame))]


class _Elements:
    """Tests that ask a formula of some or of all elements of one array."""

    def __init__(self, attribute: Typed, variable: Variable, tests: Sequence[tuple[int, Quantified]]) -> None:
        self.attribute = attribute
        self._variable = variable
        self._numbers = np.array([number for number, _ in tests], np.int64)
        self._every = np.array([test.every for _, test in tests], np.bool_)
        self._formulas = [test.formula for _, test in tests]
        self._lock = threading.Lock()
        self._index: BitsliceIndex | None = None

    def keys(self, frame: Frame) -> list[Ints]:
        """As `_Group`."""
        elements, arrays = frame.elements(self.attribute, self._variable)
        offsets = arrays.values.offsets
        lengths = offsets[1:] - offsets[:-1]
        found: list[Ints] = []
        if elements.rows:
            rows, slots = (self._index or self._build()).match(elements)
            owners = np.repeat(np.arange(frame.rows), lengths)
            if len(self._numbers) * frame.rows <= _ROOM * len(rows):
                found.append(_counted(rows, slots, owners, self._numbers, self._every, lengths))
            else:
                pairs = (slots.astype(np.int64) << 32) | owners[rows]
                pairs.sort()
                found.append(_sorted_counted(pairs, self._numbers, self._every, lengths))
        empty = np.flatnonzero(arrays.valid & (lengths == 0))
        if len(empty):  # every element of none is anything
            found.append(((self._numbers[self._every] << 32)[:, np.newaxis] | empty).ravel())
        return found

    def _build(self) -> BitsliceIndex:
        # An index has probes, and so they can know of indexes only when they are asked.
        from tamis.engines.bitslice import Bitslice

        with self._lock:
            if self._index is None:
                self._index = Bitslice().build(self._formulas)
            return self._index


@numba.njit(cache=True, nogil=True)
def _counted(rows: Shorts, slots: Shorts, owners: Ints, numbers: Ints, every: Masks, lengths: Ints) -> Ints:
    """Keys of the tests that hold.

    Args:
        rows: An element,
        slots: and a formula that it satisfies.
        owners: The row of each element.
        numbers: The test of each slot.
        every: Must all elements satisfy it?
        lengths: How many elements each row has.
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


@numba.njit(cache=True, nogil=True)
def _sorted_counted(pairs: Ints, numbers: Ints, every: Masks, lengths: Ints) -> Ints:
    """As `_counted`, where a table of all slots and rows would be too sparse.

    Args:
        pairs: Sorted; a slot in the upper half, a row in the lower, once for each element that satisfies the slot.
        numbers: As there.
        every: As there.
        lengths: As there.
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


@numba.njit(cache=True, nogil=True)
def _cut(keys: Ints) -> tuple[Shorts, Ints, Shorts]:
    """Sorted keys as tests, firsts and hits; see `Encoded`."""
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
