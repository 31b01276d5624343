"""Subscriptions that come and go at random, for every index that changes in place."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.engines.test_engines import Slots, check
from tests.worlds import world


def change_at_random(index: Any, name: str, *, turns: int = 40, most: int = 6, seed: int = 61) -> None:
    """Insert and delete conditions of a world, look at the pairs now and then, and take everything out at last."""
    here, random_ = world(name), random.Random(seed)
    stock = here.accepted(random_, 60)
    batch = here.batch(random_, 12)
    slots: Slots = {}
    for turn in range(turns):
        if slots and random_.random() < 0.45:
            gone = random_.sample([*slots], min(len(slots), random_.randint(1, most)))
            index.delete_many(np.array(gone, np.int32))
            for slot in gone:
                del slots[slot]
        else:
            empty = random_.sample([slot for slot in range(300) if slot not in slots], random_.randint(1, most))
            some = {slot: random_.choice(stock) for slot in empty}
            index.insert_many(np.array(empty, np.int32), [each.formula for each in some.values()])
            slots |= some
        assert index.stats().counts["subscriptions"] == len(slots)
        if turn % 15 == 0:
            check(index, slots, batch)
    check(index, slots, batch)
    index.delete_many(np.array([*slots], np.int32))
    assert index.stats().counts["subscriptions"] == 0
    assert len(index.match(batch).rows) == 0
