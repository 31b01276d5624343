"""Entries stand for subscriptions of a shard: equal ones are one, and FALSE has none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tamis.formulas.formula import FALSE
from tamis.language.condition import normalise
from tamis.routing.entries import entry_part, shards_of
from tamis.routing.generalisation import Generalisation
from tamis.routing.shards import index_builder

IDS = pa.array(["s0", "s1", "s2", "s3"], pa.large_string())


def test_equal_entries_of_a_shard_are_one() -> None:
    one, other = normalise("a = 1"), normalise("b = 2")
    general = Generalisation([one, other, FALSE], np.array([0, 0, 1, 2], np.int32))
    part = entry_part(general, np.array([7, 7, 7, 3], np.int32), IDS, "e", index_builder(None))
    assert part is not None
    assert (part.slots, part.event_type) == (2, "e")


def test_what_never_holds_has_no_entry() -> None:
    general = Generalisation([FALSE], np.zeros(4, np.int32))
    assert entry_part(general, np.zeros(4, np.int32), IDS, "e", index_builder(None)) is None


def test_the_shard_is_read_from_the_id() -> None:
    assert shards_of(pa.array(["00007-0", "12345-17"])).tolist() == [7, 12345]
