"""`buckets` finds the pairs whatever structures it has, and gives back what it no longer needs."""

from __future__ import annotations

import random
from typing import get_args

import numpy as np
import pytest

from tamis.lab.mishra_sahni.buckets import Buckets, Structure, StructureError
from tests.engines.changes import change_at_random
from tests.engines.naive import check, check_workload, random_events, random_forest
from tests.worlds import WORLDS

STRUCTURES: tuple[Structure, ...] = get_args(Structure)


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("capacity", [1, 4, 2_000])
def test_random_forests(structure: Structure, capacity: int) -> None:
    random_ = random.Random(capacity)
    forest = random_forest(random_, 120, depth=2)
    index = Buckets(capacity, structure).build(forest)
    assert check(index, list(forest), random_events(random_, 4, 50, 20)) > 200
    index.delete_many(np.arange(60, dtype=np.int32))
    index.insert_many(np.arange(60, dtype=np.int32), forest[:60])
    check(index, list(forest), random_events(random_, 4, 50, 20))
    index.delete_many(np.arange(120, dtype=np.int32))
    assert set(index.stats().counts.values()) - {index.stats().counts["room"]} == {0}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("capacity", [1, 3, 1_001])
def test_random_changes(name: str, structure: Structure, capacity: int) -> None:
    index = Buckets(capacity, structure).build([])
    change_at_random(index, name)
    counts = index.stats().counts
    assert (counts["structures"], counts["buckets"], counts["always"]) == (0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auction", "ads", "sparse", "equality"])
def test_the_pairs_of_postings(name: str) -> None:
    for capacity in (7, 5_000):
        assert check_workload(Buckets(capacity).build, name)


def test_an_unknown_structure_is_refused() -> None:
    with pytest.raises(StructureError, match="no structure 'btree'; known are auto, hash, it-node"):
        Buckets(structures={"a": "btree"})  # type: ignore[dict-item]
