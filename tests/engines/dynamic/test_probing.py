"""Tests come and go; those that are known are found in the rows that satisfy them, under their number."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from tamis.engines.dynamic.probing import Probing
from tamis.events import EventBatch
from tamis.events.compute import BatchFrame
from tamis.language.condition import compile_condition
from tamis.predicates.base import Predicate
from tamis.predicates.within import Within
from tests.worlds import WORLDS, world


def like(text: str) -> Predicate:
    (found,) = compile_condition(f"s LIKE '%{text}%'").formula.predicates()
    return found


def held(probing: Probing, batch: EventBatch) -> list[list[int]]:
    probing.settle()
    firsts, tests = probing.held(BatchFrame(batch))
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
    probing, living = Probing(), dict[Predicate, int]()
    for turn in range(80):
        if living and random_.random() < 0.45:
            for test in random_.sample([*living], min(len(living), 6)):
                probing.forget(living.pop(test))
        else:
            for test in random_.choices(stock, k=6):
                number = probing.number(test)
                assert living.setdefault(test, number) == number
        assert len(set(living.values())) == len(living)
        assert max(living.values(), default=-1) < len(probing)
        if turn % 8 == 0:
            known = set(living.values())
            wanted = [sorted(number for test, number in living.items() if masks[test][row]) for row in range(15)]
            assert [[number for number in row if number in known] for row in held(probing, batch)] == wanted


def test_equal_tests_have_one_number() -> None:
    probing = Probing()
    assert probing.number(like("x")) == probing.number(like("x")) == 0
    assert probing.number(like("y")) == 1
    assert held(probing, EventBatch.of([{"s": "xy"}, {"s": "y"}, {}])) == [[0, 1], [1], []]


def test_a_test_that_comes_back_has_another_number() -> None:
    """Until everything is built anew, somebody may still find it under the old one."""
    probing = Probing()
    batch = EventBatch.of([{"s": "x"}])
    assert probing.number(like("x")) == 0
    assert held(probing, batch) == [[0]]
    probing.forget(0)
    assert probing.number(like("x")) == 1
    assert 1 in held(probing, batch)[0]


def test_a_test_that_goes_before_it_was_asked_is_not_found() -> None:
    probing = Probing()
    probing.forget(probing.number(like("x")))
    assert held(probing, EventBatch.of([{"s": "x"}])) == [[]]


@pytest.mark.slow
def test_numbers_are_used_again_after_many_went() -> None:
    """A few hundred tests at a time, thousands in all: the numbers stay bounded."""
    probing, random_ = Probing(), random.Random(72)
    living: dict[str, int] = {}
    for turn in range(3_000):
        text = f"<{turn}>"
        living[text] = probing.number(like(text))
        if len(living) > 100:
            probing.forget(living.pop(random_.choice([*living])))
        if turn % 500 == 0:
            probing.settle()
    assert len(set(living.values())) == len(living) == 100
    assert len(probing) < 350
    events = [{"s": text} for text in living]
    found = held(probing, EventBatch.of(events))
    assert all(number in row for number, row in zip(living.values(), found, strict=True))
    assert sum(map(len, found)) == 100


def test_no_tests_and_no_rows() -> None:
    assert held(Probing(), EventBatch.of([{"s": "x"}, {}])) == [[], []]
    probing = Probing()
    probing.number(like("x"))
    probing.settle()
    firsts, tests = probing.held(BatchFrame(EventBatch.of([])))
    assert (firsts.tolist(), tests.tolist()) == ([0], [])
    assert tests.dtype == np.int32
