"""Subscriptions come and go in the tables of general Boolean filtering, and owners are reported once."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.lab.bittner.hits import Hits
from tests.engines.naive import check as check_formulas
from tests.engines.naive import pairs_of
from tests.lab.formulas import formulas_of
from tests.worlds import WORLDS, world


def test_pure_conjunctions_are_not_evaluated() -> None:
    """What is a candidate matches."""
    random_ = random.Random(54)
    texts = [
        " AND ".join(f"{name} = {random_.randrange(3)}" for name in random_.sample("abcd", random_.randint(2, 4)))
        for _ in range(200)
    ]
    formulas = formulas_of(*texts)
    index = Hits().build(formulas)
    assert {index.tree(slot)[0] for slot in range(200)} == {6}
    events = [{name: random_.randrange(3) for name in "abcd"} for _ in range(40)]
    assert check_formulas(index, formulas, EventBatch.of(events)) > 300
    done = index.work()
    assert done["candidates"] == done["matches"]


@pytest.mark.slow
def test_numbers_and_places_are_reused() -> None:
    """The structures of a file do not grow while subscriptions come and go."""
    random_ = random.Random(55)
    texts = [
        f"a = {random_.randrange(50)} AND (b > {random_.randrange(50)} OR c IN ({random_.randrange(9)}, 77))"
        + f" AND s LIKE '%{random_.randrange(9)}x%'" * random_.randrange(2)
        for _ in range(400)
    ]
    formulas = formulas_of(*texts)
    index = Hits().build(formulas[:200])
    living = dict(enumerate(range(200)))
    sizes = index.stats().bytes
    for _ in range(30):
        gone = random_.sample([*living], 60)
        index.delete_many(np.array(gone, np.int32))
        some = [random_.randrange(400) for _ in gone]
        index.insert_many(np.array(gone, np.int32), [formulas[each] for each in some])
        living.update(zip(gone, some, strict=True))
    after = index.stats().bytes
    assert all(after[name] == sizes[name] for name in ("locations", "needed hits", "hits", "slots"))
    assert all(after[name] <= 2 * sizes[name] for name in sizes), (sizes, after)
    events = [{"a": n, "b": 20 + n, "c": n % 9, "s": f"{n % 9}x"} for n in range(50)]
    check_formulas(index, [formulas[living[slot]] for slot in range(200)], EventBatch.of(events))


def test_constants() -> None:
    formulas = formulas_of("TRUE", "FALSE", "a = 1", "a IS NULL OR a IS NOT NULL")
    index = Hits().build(formulas)
    assert [index.required_hits(slot) for slot in range(4)] == [0, 255, 1, 0]
    assert check_formulas(index, formulas, EventBatch.of([{"a": 1}, {}])) == 5
    index.delete_many(np.array([0, 1, 3], np.int32))
    assert index.match(EventBatch.of([{"a": 1}, {}])).slots.tolist() == [2]


@pytest.mark.parametrize("name", WORLDS)
def test_match_owners(name: str) -> None:
    here, random_ = world(name), random.Random(57)
    formulas = [each.formula for each in here.accepted(random_, 80)]
    index = Hits().build(formulas)
    batch = here.batch(random_, 25)
    owners = np.array([random_.randrange(12) for _ in formulas], np.int32)
    found = index.match_owners(batch, owners)
    wanted = sorted({(row, int(owners[slot])) for row, slot in pairs_of(formulas, batch)})
    assert list(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == wanted
    assert found.rows.dtype == found.slots.dtype == np.int32


def test_owners_of_nothing() -> None:
    index = Hits().build([])
    assert len(index.match_owners(EventBatch.of([{"a": 1}]), np.empty(0, np.int32)).rows) == 0


def test_an_owner_is_reported_once() -> None:
    """Of a hundred candidates of two owners, two are evaluated until they hold."""
    formulas = formulas_of(*["a = 1 AND (b = 1 OR c = 1)"] * 100)
    index = Hits().build(formulas)
    batch = EventBatch.of([{"a": 1, "b": 1}, {"a": 1}])
    owners = np.arange(100, dtype=np.int32) % 2
    found = index.match_owners(batch, owners)
    assert list(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == [(0, 0), (0, 1)]
    assert index.work()["matches"] == 2
    assert len(index.match(batch).rows) == index.work()["matches"] == 100
