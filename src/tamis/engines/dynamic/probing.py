"""Tests that come and go: predicates that are no intervals, found together in lots.

Tests are looked up by indexes that never change (`tamis.engines.encoding.probes`). New ones become a lot of their
own, together with the lots that are not much larger, so that each test is moved a few times only, and there are
few lots.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.conjunctions.formula_program import RowTests
from tamis.engines.encoding.probes import Probes
from tamis.engines.forest.tests import tests_of
from tamis.predicates.base import Frame, Predicate

Ints: TypeAlias = npt.NDArray[np.int64]

_NONE = np.empty(0, np.int32)


class _Lot(NamedTuple):
    """The numbers that it had when it was made, what finds them, and which it calls by which number."""

    members: list[int]
    probes: Probes
    numbers: Ints


class Probing:
    """Tests by number."""

    def __init__(self) -> None:
        self._numbers: dict[Predicate, int] = {}
        self._tests: list[Predicate | None] = []
        self._free: list[int] = []
        self._waiting: list[int] = []
        self._lots: list[_Lot] = []
        self._dead = 0

    def __len__(self) -> int:
        """One more than the greatest number ever given."""
        return len(self._tests)

    def number(self, test: Predicate) -> int:
        """The number of a test; equal tests have the same."""
        number = self._numbers.get(test)
        if number is None:
            number = self._free.pop() if self._free else len(self._tests)
            if number == len(self._tests):
                self._tests.append(None)
            self._numbers[test] = number
            self._tests[number] = test
            self._waiting.append(number)
        return number

    def forget(self, number: int) -> None:
        """Nobody needs a test any more."""
        test = self._tests[number]
        assert test is not None, "it has a number"
        del self._numbers[test]
        self._tests[number] = None
        self._dead += 1
        if self._dead > 64 and 2 * self._dead > len(self._tests) - len(self._free):
            self._rebuild()

    def _rebuild(self) -> None:
        """Make all lots anew of the living, which makes the numbers of the dead free."""
        living = [number for number, test in enumerate(self._tests) if test is not None]
        self._free = [number for number, test in enumerate(self._tests) if test is None]
        self._lots, self._waiting, self._dead = [], living, 0

    def settle(self) -> None:
        """Make tests that wait ready to be asked."""
        waiting = [number for number in self._waiting if self._tests[number] is not None]
        self._waiting = []
        if not waiting:
            return
        while self._lots and len(self._lots[-1].members) < 2 * len(waiting):
            waiting += [number for number in self._lots.pop().members if self._tests[number] is not None]
        tests, places = tests_of(test for number in waiting if (test := self._tests[number]) is not None)
        numbers = np.empty(len(tests), np.int64)
        numbers[places] = waiting
        self._lots.append(_Lot(waiting, Probes(tests), numbers))

    def held(self, frame: Frame) -> RowTests:
        """The tests that hold in each row; some may be of tests that are forgotten."""
        rows, tests = [_NONE], [_NONE]
        for lot in self._lots:
            found, firsts, hits = lot.probes.hits(frame)
            rows.append(hits)
            tests.append(np.repeat(lot.numbers[found], np.diff(firsts)).astype(np.int32))
        every, which = np.concatenate(rows), np.concatenate(tests)
        firsts = np.zeros(frame.rows + 1, np.int64)
        np.cumsum(np.bincount(every, minlength=frame.rows), out=firsts[1:])
        return RowTests(firsts, which[np.argsort(every, kind="stable")])
