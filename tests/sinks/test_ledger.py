"""The ledger knows what a plain dictionary of ids and times knows, however its files were merged."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.fs as pafs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.notifications import Keys
from tamis.sinks import SinkError
from tamis.sinks.ledger import FOLDER, MERGED_AT_ONCE, NotificationLedger
from tamis.snapshot.local import LocalStorage
from tamis.snapshot.remote import RemoteStorage
from tamis.snapshot.storage import Storage

RETENTION_US = 20

# Few different halves, so that ids share one of them.
halves = st.sampled_from([0, 1, 2**63, 2**64 - 1])
ids = st.frozensets(st.tuples(halves, halves | st.integers(0, 3)), max_size=12)


def keys_of(values: frozenset[tuple[int, int]]) -> Keys:
    return np.array(sorted(values), dtype=np.uint64).reshape(-1, 2).T.copy()


class World:
    """A ledger, which batches are committed, and the plain twin of both."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.committed: set[str] = set()
        self.times: dict[tuple[int, int], int] = {}
        self.ledger = self.opened()

    def opened(self) -> NotificationLedger:
        def are_committed(names: Sequence[str]) -> list[bool]:
            return [name in self.committed for name in names]

        return NotificationLedger(self.storage, RETENTION_US, are_committed)

    def check(self, asked: frozenset[tuple[int, int]], at_us: int) -> None:
        expected = [self.times.get(each, -RETENTION_US) > at_us - RETENTION_US for each in sorted(asked)]
        assert self.ledger.is_known(keys_of(asked), at_us).tolist() == expected

    def commit(self, name: str, values: frozenset[tuple[int, int]], at_us: int) -> None:
        self.ledger.write(name, keys_of(values), at_us)
        self.committed.add(name)
        self.times |= dict.fromkeys(values, at_us)
        self.ledger.tidy(at_us)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(st.tuples(ids, ids, st.integers(0, 4), st.booleans(), st.booleans()), max_size=40), st.booleans())
def test_it_knows_what_a_dictionary_knows(
    steps: list[tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]], int, bool, bool]], is_remote: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        storage: Storage = LocalStorage(Path(folder))
        if is_remote:
            storage = RemoteStorage(pafs.SubTreeFileSystem(folder, pafs.LocalFileSystem()), "", "there")
        world, at_us = World(storage), 0
        for number, (written, asked, later, is_killed, is_reopened) in enumerate(steps):
            at_us += later
            world.check(asked | written, at_us)
            if is_killed:
                world.ledger.write(f"q.{number}", keys_of(written), at_us)
            else:
                world.commit(f"q.{number}", written, at_us)
            if is_reopened:
                world.ledger = world.opened()
            world.check(asked | written, at_us)


def test_files_stay_few_and_old_ones_go(tmp_path: Path) -> None:
    world = World(LocalStorage(tmp_path))
    for number in range(100):
        world.commit(f"q.{number}", frozenset({(number % 50, number)}), at_us=number)
        assert len(world.storage.listing(FOLDER)) < 3 * MERGED_AT_ONCE
    sizes = sum(each.bytes for each in world.storage.listing(FOLDER))
    assert sizes <= 24 * 4 * RETENTION_US
    world.commit("q.last", frozenset({(1, 1)}), at_us=10_000)
    assert [each.name for each in world.storage.listing(FOLDER)] == ["batch.q.last.ids"]


def test_what_was_never_committed_is_swept(tmp_path: Path) -> None:
    world = World(LocalStorage(tmp_path))
    world.commit("q.1", frozenset({(1, 1)}), 1)
    world.ledger.write("q.2", keys_of(frozenset({(2, 2)})), 2)
    assert world.ledger.batches() == {"q.1", "q.2"}
    world.ledger.sweep()
    assert world.ledger.batches() == {"q.1"}


def test_a_replay_without_ids_removes_what_the_first_attempt_left(tmp_path: Path) -> None:
    world = World(LocalStorage(tmp_path))
    world.ledger.write("q.1", keys_of(frozenset({(1, 1)})), 1)
    world.commit("q.1", frozenset(), 1)
    assert world.ledger.batches() == set()


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    world = World(LocalStorage(tmp_path))
    world.storage.write(f"{FOLDER}/merged.x.ids", [b"not ids"])
    with pytest.raises(SinkError, match=r"merged\.x\.ids: damaged: 7 bytes"):
        world.ledger.is_known(keys_of(frozenset({(1, 1)})), 1)
