"""`gryphon` finds the pairs of the reference, whatever comes and goes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.lab.baselines.gryphon import Gryphon
from tests.engines.test_engines import Slots, check
from tests.lab.baselines.gryphon.conditions import built, counts
from tests.worlds import WORLDS, World, schemaless, world


@pytest.fixture(params=WORLDS)
def here(request: pytest.FixtureRequest) -> World:
    return world(request.param)


@pytest.mark.slow
def test_random_conditions_on_random_batches(here: World) -> None:
    random_ = random.Random(41)
    conditions = here.accepted(random_, 120)
    index = Gryphon().build([condition.formula for condition in conditions])
    for rows in (1, 17, 50):
        check(index, dict(enumerate(conditions)), here.batch(random_, rows))


@pytest.mark.slow
def test_random_inserts_and_deletes(here: World) -> None:
    random_ = random.Random(42)
    stock = here.accepted(random_, 80)
    batch = here.batch(random_, 15)
    index = built([])
    slots: Slots = {}
    for turn in range(200):
        if slots and random_.random() < 0.45:
            slot = random_.choice([*slots])
            index.delete(slot)
            del slots[slot]
        else:
            slot = next(place for place in range(len(slots) + 1) if place not in slots)
            slots[slot] = random_.choice(stock)
            index.insert(slot, slots[slot].formula)
        if turn % 40 == 0:
            check(index, slots, batch)
    check(index, slots, batch)
    index.delete_many(np.array([*slots], np.int32))
    check(index, {}, batch)
    assert counts(index, "conjunctions", "nodes", "tests", "edges", "predicates") == (0, 1, 0, 0, 0)


def test_bytes_are_given_by_structure() -> None:
    random_ = random.Random(45)
    conditions = schemaless().accepted(random_, 50)
    sizes = Gryphon().build([condition.formula for condition in conditions]).stats().bytes
    wanted = {"nodes", "tests", "value edges", "ends of paths", "residues", "levels", "slots"}
    assert wanted <= set(sizes)
    assert all(sizes[name] > 0 for name in wanted)
