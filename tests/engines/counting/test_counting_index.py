"""`counting` finds the pairs of conjunctions, settles the rest exactly, and gives back what it no longer needs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tamis.engines.counting import Counting
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tamis.language.formula import Formula
from tests.engines.changes import change_at_random
from tests.engines.naive import check as check_formulas
from tests.engines.naive import check_workload, random_events, random_forest
from tests.worlds import WORLDS


def formulas_of(*texts: str) -> list[Formula]:
    return [compile_condition(text).formula for text in texts]


def ors(count: int, test: str = "= 1") -> str:
    """Too many conjunctions: two to the power of `count`."""
    return " AND ".join(f"(a{number} {test} OR b{number} {test})" for number in range(count))


@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    index = Counting().build([])
    change_at_random(index, name)
    assert set(index.stats().counts.values()) == {0}


@pytest.mark.parametrize("depth", [1, 3])
def test_random_forests(depth: int) -> None:
    random_ = random.Random(62)
    forest = random_forest(random_, 400, depth=depth)
    assert check_formulas(Counting().build(forest), list(forest), random_events(random_, 4, 50, 40)) > 1_000


@pytest.mark.parametrize(
    ("name", "parameters"), [("auction", {}), ("ranges", {"width": 0.8}), ("strings", {}), ("equality", {})]
)
def test_the_pairs_of_postings(name: str, parameters: dict[str, Any]) -> None:
    found = check_workload(Counting().build, name, **parameters)
    assert found or name == "strings", "so few strings have no pairs"


def test_a_subscription_of_several_conjunctions_is_found_once() -> None:
    formulas = formulas_of("a = 1 OR b = 1 OR c = 1", "a = 1")
    index = Counting().build(formulas)
    assert index.stats().counts["conjunctions"] == 4
    events = [{"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1}, {"c": 2}, {"a": 1}]
    assert check_formulas(index, formulas, EventBatch.of(events)) == 5
    done = index.work()
    assert done == {"held": 6, "hits": 8, "conjunctions": 8}
    assert set(index.work().values()) == {0}


def test_unsure_formulas_are_settled() -> None:
    texts = [ors(12), f"z = 1 AND {ors(12)}", " OR ".join(f"a{number} = 1" for number in range(50)), "a0 = 1"]
    texts += ["TRUE", "FALSE", " XOR ".join(f"(a{number} = 1)" for number in range(12))]
    formulas = formulas_of(*texts)
    index = Counting().build(formulas)
    counts = index.stats().counts
    assert counts["subscriptions"] == 7
    assert counts["unsure"] == 4
    whole = {f"b{number}": 1 for number in range(12)}
    random_ = random.Random(63)
    events: list[dict[str, int]] = [{}, {"a0": 1}, whole, whole | {"z": 1}, whole | {"b8": 2, "z": 1}]
    events += [
        {f"{name}{number}": random_.randrange(2) for number in range(12) for name in "ab"} | {"z": 1}
        for _ in range(40)
    ]
    assert check_formulas(index, formulas, EventBatch.of(events)) > 100
    index.delete_many(np.arange(7, dtype=np.int32))
    assert set(index.stats().counts.values()) == {0}
    index.insert(0, formulas[1])
    assert check_formulas(index, formulas[1:2], EventBatch.of(events)) > 0


@pytest.mark.slow
def test_long_conjunctions() -> None:
    """A byte counts 255 predicates; a longer conjunction is unsure."""
    texts = [" AND ".join(f"x{number} = 1" for number in range(count)) for count in (254, 255, 256, 400)]
    formulas = formulas_of(*texts)
    index = Counting().build(formulas)
    assert index.stats().counts["unsure"] == 2
    events = [{f"x{number}": 1 for number in range(400) if number != gone} for gone in (-1, 0, 254, 255, 256, 399)]
    assert check_formulas(index, formulas, EventBatch.of(events)) == 4 + 0 + 1 + 2 + 3 + 3


def test_tests_of_unsure_formulas_are_not_forgotten_when_others_use_them() -> None:
    """The terms of the first formula do not use all of its leaves."""
    names = [f"{name}{number}" for number in range(12) for name in "ab"]
    formulas = formulas_of(ors(12, "LIKE '%1%'"), *(f"{name} LIKE '%1%'" for name in names), "z = 1")
    index = Counting().build([])
    for slot, formula in enumerate(formulas):
        index.insert_many(np.array([slot], np.int32), [formula])
    index.delete(len(names) + 1)
    check_formulas(index, formulas[:-1], EventBatch.of([dict.fromkeys(names, "010"), {"a3": "1"}, {}]))


def test_terms_are_used_again() -> None:
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


def test_stats() -> None:
    stats = Counting().build(formulas_of("a = 1 AND b = 2", "a = 1 OR b = 2", "a = 1", "TRUE")).stats()
    assert stats.counts == {"subscriptions": 4, "conjunctions": 5, "predicates": 2, "always": 1, "unsure": 0}
    assert stats.bytes["hits"] == stats.bytes["needed hits"] == 5
    assert all(size >= 0 for size in stats.bytes.values())
