"""Hits of terms are counted exactly, and numbers of terms are given again."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.lab.baselines.counting import Counting
from tests.engines.naive import check as check_formulas
from tests.lab.formulas import formulas_of


def test_a_subscription_of_several_conjunctions_is_found_once() -> None:
    formulas = formulas_of("a = 1 OR b = 1 OR c = 1", "a = 1")
    index = Counting().build(formulas)
    assert index.stats().counts["conjunctions"] == 4
    events = [{"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1}, {"c": 2}, {"a": 1}]
    assert check_formulas(index, formulas, EventBatch.of(events)) == 5
    done = index.work()
    assert done == {"held": 6, "hits": 8, "conjunctions": 8}
    assert set(index.work().values()) == {0}


@pytest.mark.slow
def test_long_conjunctions() -> None:
    """A byte counts 255 predicates; a longer conjunction is unsure."""
    texts = [" AND ".join(f"x{number} = 1" for number in range(count)) for count in (254, 255, 256, 400)]
    formulas = formulas_of(*texts)
    index = Counting().build(formulas)
    assert index.stats().counts["unsure"] == 2
    events = [{f"x{number}": 1 for number in range(400) if number != gone} for gone in (-1, 0, 254, 255, 256, 399)]
    assert check_formulas(index, formulas, EventBatch.of(events)) == 4 + 0 + 1 + 2 + 3 + 3


def test_terms_are_reused() -> None:
    """The structures do not grow while subscriptions come and go."""
    random_ = random.Random(64)
    texts = [
        f"a = {random_.randrange(50)} AND (b > {random_.randrange(50)} OR c IN ({random_.randrange(9)}, 77))"
        + f" AND s LIKE '%{random_.randrange(9)}x%'" * random_.randrange(2)
        for _ in range(400)
    ]
    formulas = formulas_of(*texts)
    index = Counting().build(formulas[:200])
    living = dict(enumerate(range(200)))
    before = index.stats()
    assert before.counts["conjunctions"] == 400
    for _ in range(30):
        gone = random_.sample([*living], 60)
        index.delete_many(np.array(gone, np.int32))
        some = [random_.randrange(400) for _ in gone]
        index.insert_many(np.array(gone, np.int32), [formulas[each] for each in some])
        living.update(zip(gone, some, strict=True))
    after = index.stats()
    assert after.counts["conjunctions"] == 400
    assert all(after.bytes[name] == before.bytes[name] for name in ("needed hits", "hits"))
    assert all(after.bytes[name] <= 2 * before.bytes[name] for name in before.bytes), (before, after)
    events = [{"a": n, "b": 20 + n, "c": n % 9, "s": f"{n % 9}x"} for n in range(50)]
    check_formulas(index, [formulas[living[slot]] for slot in range(200)], EventBatch.of(events))
