"""Tombstones: any set of dead slots survives its file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import SnapshotError
from tamis.snapshot.documents import digest
from tamis.snapshot.manifest import ManifestEntry
from tamis.snapshot.tombstones import decode, encode, sorted_slots


@given(data=st.data(), slots=st.integers(0, 300))
def test_dead_slots_come_back_in_order(data: st.DataObject, slots: int) -> None:
    dead = data.draw(st.lists(st.integers(0, slots - 1), max_size=400) if slots else st.just([]))
    expected = sorted_slots(dead, slots)
    content = encode(expected, slots)
    found = decode(content, ManifestEntry("", slots, 0, len(expected), digest(content)), "file")
    assert found.tolist() == expected.tolist() == sorted(set(dead))
    assert found.dtype == np.int32
    assert not found.flags.writeable


@pytest.mark.parametrize(("dead", "most_bytes"), [(1, 4), (31_250, 125_000), (1_000_000, 125_000)])
def test_few_and_many_take_little_room(dead: int, most_bytes: int) -> None:
    assert len(encode(np.arange(dead, dtype=np.int32), 1_000_000)) <= most_bytes


@pytest.mark.parametrize(
    "entry", [ManifestEntry("", 10, 0, 3), ManifestEntry("", 2, 0, 2), ManifestEntry("", 1_000, 0, 3)]
)
def test_files_of_other_counts_are_refused(entry: ManifestEntry) -> None:
    content = encode(np.array([1, 2], np.int32), 1_000)
    other = ManifestEntry(entry.segment, entry.slots, entry.bytes, entry.dead, digest(content))
    with pytest.raises(SnapshotError, match="file: damaged: it does not hold"):
        decode(content, other, "file")
