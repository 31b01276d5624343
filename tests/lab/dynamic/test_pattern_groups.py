"""Tests come and go; those that are known are found in the rows that satisfy them, under their number."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.within import Within
from tamis.frames import BatchFrame
from tamis.lab.dynamic.pattern_groups import PatternGroups
from tamis.language.condition import compile_condition
from tests.worlds import WORLDS, world


def like(text: str) -> Predicate:
    (found,) = compile_condition(f"s LIKE '%{text}%'").formula.predicates()
    return found


def satisfied(groups: PatternGroups, batch: EventBatch) -> list[list[int]]:
    groups.index_waiting()
    firsts, tests = groups.satisfied_tests(BatchFrame(batch))
    assert firsts[-1] == len(tests)
    return [sorted(tests[start:end].tolist()) for start, end in pairwise(firsts)]


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_tests_come_and_go(name: str) -> None:
    here, random_ = world(name), random.Random(71)
    stock = [
        predicate
        for condition in here.accepted(random_, 100)
        for predicate in condition.formula.predicates()
        if not isinstance(predicate, Within)
    ]
    assert len(stock) > 12
    batch = here.batch(random_, 15)
    masks = {test: test.mask(BatchFrame(batch)) for test in stock}
    groups, living = PatternGroups(), dict[Predicate, int]()
    for turn in range(80):
        if living and random_.random() < 0.45:
            for test in random_.sample([*living], min(len(living), 6)):
                groups.remove(living.pop(test))
        else:
            for test in random_.choices(stock, k=6):
                number = groups.number(test)
                assert living.setdefault(test, number) == number
        assert len(set(living.values())) == len(living)
        assert max(living.values(), default=-1) < len(groups)
        if turn % 8 == 0:
            known = set(living.values())
            wanted = [sorted(number for test, number in living.items() if masks[test][row]) for row in range(15)]
            assert [[number for number in row if number in known] for row in satisfied(groups, batch)] == wanted


def test_equal_tests_have_one_number() -> None:
    groups = PatternGroups()
    assert groups.number(like("x")) == groups.number(like("x")) == 0
    assert groups.number(like("y")) == 1
    assert satisfied(groups, EventBatch.of([{"s": "xy"}, {"s": "y"}, {}])) == [[0, 1], [1], []]


def test_a_test_that_comes_back_has_another_number() -> None:
    """Until everything is built anew, somebody may still find it under the old one."""
    groups = PatternGroups()
    batch = EventBatch.of([{"s": "x"}])
    assert groups.number(like("x")) == 0
    assert satisfied(groups, batch) == [[0]]
    groups.remove(0)
    assert groups.number(like("x")) == 1
    assert 1 in satisfied(groups, batch)[0]


def test_a_test_that_is_removed_before_it_is_indexed_is_not_found() -> None:
    groups = PatternGroups()
    groups.remove(groups.number(like("x")))
    assert satisfied(groups, EventBatch.of([{"s": "x"}])) == [[]]


@pytest.mark.slow
def test_numbers_are_reused_after_many_went() -> None:
    """A few hundred tests at a time, thousands in all: the numbers stay bounded."""
    groups, random_ = PatternGroups(), random.Random(72)
    living: dict[str, int] = {}
    for turn in range(3_000):
        text = f"<{turn}>"
        living[text] = groups.number(like(text))
        if len(living) > 100:
            groups.remove(living.pop(random_.choice([*living])))
        if turn % 500 == 0:
            groups.index_waiting()
    assert len(set(living.values())) == len(living) == 100
    assert len(groups) < 350
    events = [{"s": text} for text in living]
    found = satisfied(groups, EventBatch.of(events))
    assert all(number in row for number, row in zip(living.values(), found, strict=True))
    assert sum(map(len, found)) == 100


def test_no_tests_and_no_rows() -> None:
    assert satisfied(PatternGroups(), EventBatch.of([{"s": "x"}, {}])) == [[], []]
    groups = PatternGroups()
    groups.number(like("x"))
    groups.index_waiting()
    firsts, tests = groups.satisfied_tests(BatchFrame(EventBatch.of([])))
    assert (firsts.tolist(), tests.tolist()) == ([0], [])
    assert tests.dtype == np.int32
