"""The hash table is a dictionary."""

from __future__ import annotations

import random

from tamis.lab.mishra_sahni.buckets.kernels.hash_table import (
    empty_table,
    look_up,
    remove_key,
    set_value,
    table_bytes,
)


def test_random_changes() -> None:
    random_ = random.Random(8)
    table, twin = empty_table(), dict[tuple[int, int], int]()
    for _ in range(6_000):
        key = random_.randrange(40), random_.choice([random_.randrange(40), -1, 2**63 - 1, -(2**63)])
        if key in twin and random_.random() < 0.6:
            remove_key(table, *key)
            del twin[key]
        else:
            value = random_.randrange(1_000)
            set_value(table, *key, value)
            twin[key] = value
        other = random_.randrange(40), random_.randrange(40)
        assert look_up(table, *other) == twin.get(other, -1)
        assert look_up(table, *key) == twin.get(key, -1)
    assert all(look_up(table, *key) == value for key, value in twin.items())
    for key in [*twin]:
        remove_key(table, *key)
    assert all(look_up(table, *key) == -1 for key in twin)
    assert table_bytes(table) >= 24 * 2 * 16
