"""Pattern groups: the predicates that are no intervals (LIKE, RLIKE, operators on arrays), which come and go.

The index of patterns (`tamis.engines.encoding.non_interval_index`) is static: it is fast because it is built for a
given set. So there are several, of doubling size, as in a log-structured merge tree:

    added since the last event:  t9 t10          (no index yet)
    groups, largest first:       [t0 ... t5]  [t6 t7 t8]
                                     6            3

The next event makes t9 and t10 a group. A group that is not twice as large as what follows it is merged into the
new one, so that a test moves O(log n) times and there are O(log n) groups. A removed test stays in its group and
its number stays taken until half of all tests are removed; then all groups are built again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.bitslice import Bitslice
from tamis.engines.encoding.non_interval_index import NonIntervalIndex
from tamis.engines.forest.tests import tests_of
from tamis.engines.formula_program import RowTests
from tamis.formulas.predicates.base import Frame, Predicate

_NONE = np.empty(0, np.int32)


class _StaticGroup(NamedTuple):
    """Tests that share a static index.

    members: the numbers of its tests when it was built; some may be removed since.
    patterns: the index, in which tests have numbers of their own.
    numbers: int64[tests]: the number of each test of the index.
    """

    members: list[int]
    patterns: NonIntervalIndex
    numbers: I64


class PatternGroups:
    """Tests by number; equal tests are one."""

    def __init__(self) -> None:
        self._numbers: dict[Predicate, int] = {}
        self._tests: list[Predicate | None] = []
        self._free: list[int] = []
        self._waiting: list[int] = []
        self._groups: list[_StaticGroup] = []
        self._removed = 0

    def __len__(self) -> int:
        """One more than the greatest number ever given."""
        return len(self._tests)

    def number(self, test: Predicate) -> int:
        """The number of a test, which is added if it is new."""
        number = self._numbers.get(test)
        if number is None:
            number = self._free.pop() if self._free else len(self._tests)
            if number == len(self._tests):
                self._tests.append(None)
            self._numbers[test] = number
            self._tests[number] = test
            self._enter(number, test)
        return number

    def _enter(self, number: int, test: Predicate) -> None:
        """Make a new test findable by the next event."""
        self._waiting.append(number)

    def _leave(self, test: Predicate) -> None:
        """Forget a test; one of a group stays there until the groups are built again."""

    def remove(self, number: int) -> None:
        test = self._tests[number]
        assert test is not None, "it has a number"
        del self._numbers[test]
        self._leave(test)
        self._tests[number] = None
        self._removed += 1
        if self._removed > 64 and 2 * self._removed > len(self._tests) - len(self._free):
            self._rebuild()

    def _rebuild(self) -> None:
        """Drop all groups and let the tests in use wait for a new one; this frees the numbers of removed tests."""
        self._free = [number for number, test in enumerate(self._tests) if test is None]
        self._waiting, self._groups, self._removed = [], [], 0
        for number, test in enumerate(self._tests):
            if test is not None:
                self._enter(number, test)

    def index_waiting(self) -> None:
        """Make a group of the tests that have none yet, together with the groups that are not much larger."""
        waiting = [number for number in self._waiting if self._tests[number] is not None]
        self._waiting = []
        if not waiting:
            return
        while self._groups and len(self._groups[-1].members) < 2 * len(waiting):
            waiting += [number for number in self._groups.pop().members if self._tests[number] is not None]
        tests, places = tests_of(test for number in waiting if (test := self._tests[number]) is not None)
        numbers = np.empty(len(tests), np.int64)
        numbers[places] = waiting
        self._groups.append(_StaticGroup(waiting, NonIntervalIndex(tests, build_index=Bitslice().build), numbers))

    def satisfied_tests(self, frame: Frame) -> RowTests:
        """The tests that each row satisfies; removed ones may be among them, as may be free numbers."""
        pairs = [(_NONE, _NONE), *self._hits(frame)]
        every, which = (np.concatenate(each) for each in zip(*pairs, strict=True))
        firsts = np.zeros(frame.rows + 1, np.int64)
        np.cumsum(np.bincount(every, minlength=frame.rows), out=firsts[1:])
        return RowTests(firsts, which[np.argsort(every, kind="stable")])

    def _hits(self, frame: Frame) -> Iterator[tuple[I32, I32]]:
        """Rows and tests that they satisfy, each pair once."""
        for group in self._groups:
            found, firsts, hits = group.patterns.hits(frame)
            yield hits, np.repeat(group.numbers[found], np.diff(firsts)).astype(np.int32)
