"""Deletion leaves a sound graph."""

from __future__ import annotations

import random

import pytest

from tamis.lab.jewel.dag import DagIndex
from tests.engines.test_engines import Slots, check
from tests.worlds import WORLDS, world


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_graph_is_sound_after_random_changes(name: str) -> None:
    here, random_ = world(name), random.Random(42)
    stock = here.accepted(random_, 60)
    batch = here.batch(random_, 15)
    index = DagIndex(find=random_.choice(("hash", "parents")))
    slots: Slots = {}
    for turn in range(100):
        if slots and random_.random() < 0.45:
            gone = random_.sample([*slots], min(len(slots), random_.randint(1, 6)))
            index.delete_many(gone)
            for slot in gone:
                del slots[slot]
        else:
            empty = random_.sample([slot for slot in range(200) if slot not in slots], random_.randint(1, 6))
            some = {slot: random_.choice(stock) for slot in empty}
            priorities = [random_.choice((0, 0, 1, 7)) for _ in some]
            index.insert_many(empty, [each.formula for each in some.values()], priorities=priorities)
            slots |= some
        if turn % 5 == 0:
            index.check()
            check(index, slots, batch)
    index.delete_many([*slots])
    index.check()
    assert index.stats().counts == {
        **dict.fromkeys(("subscriptions", "predicates", "nodes", "levels", "edges"), 0),
        **{"true-value-path": 1, "zero-suppression": 0, "general": 0},
    }
    assert len(index.match(batch).rows) == 0
