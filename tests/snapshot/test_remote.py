"""A remote storage: claims in place of locks, and what messages call it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from tamis.errors import SnapshotError
from tamis.snapshot.remote import RemoteStorage


@pytest.fixture
def storage(tmp_path: Path) -> RemoteStorage:
    files = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    return RemoteStorage(files, "s", "far://away", claim_seconds=0.2)


def test_only_one_is_alone(storage: RemoteStorage) -> None:
    storage.claim_seconds = 20.0
    inside, most, done = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, done
        for _ in range(5):
            with storage.exclusive() as check_alone:
                inside += 1
                most = max(most, inside)
                storage.write("work", [b"x" * 1_000])
                check_alone()
                inside -= 1
                done += 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, done) == (1, 15)
    assert storage.listing("claims") == []


def test_the_claim_of_the_dead_expires(storage: RemoteStorage, tmp_path: Path) -> None:
    storage.write("claims/" + 32 * "0", [b"killed"])
    with storage.exclusive() as check_alone:
        check_alone()
        assert len(storage.listing("claims")) == 1


@pytest.mark.slow
def test_who_does_not_get_in_is_told(storage: RemoteStorage, tmp_path: Path) -> None:
    storage.write("claims/" + 32 * "0", [b"from the future"])
    os.utime(tmp_path / "s" / "claims" / (32 * "0"), (5e9, 5e9))
    with pytest.raises(SnapshotError, match=r"far://away/claims: another process holds a claim") as caught:
        with storage.exclusive():
            pytest.fail("two at once")
    assert caught.value.kind == "busy"


def test_who_takes_too_long_must_not_commit(storage: RemoteStorage) -> None:
    storage.claim_seconds = 0.0
    with storage.exclusive() as check_alone, pytest.raises(SnapshotError, match="took too long"):
        check_alone()


def test_what_cannot_be_written_to_its_end_does_not_appear(storage: RemoteStorage) -> None:
    def broken() -> object:
        yield b"begun"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        storage.write("a/b", broken())  # type: ignore[arg-type]
    assert storage.sizes(["a/b"]) == [None]
    assert storage.listing("aside") == []
