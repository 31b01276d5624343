"""A folder of this machine: permissions, links, and files that appear whole."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tamis.snapshot.local import LocalStorage
from tests.snapshot.processes import opened, publish_next


def test_others_may_read_what_the_umask_lets_them(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        publish_next(opened("local", tmp_path))
    finally:
        os.umask(before)
    paths = list((tmp_path / "snapshot").rglob("*"))
    assert len(paths) > 10
    for path in paths:
        assert path.stat().st_mode & 0o777 == (0o750 if path.is_dir() else 0o640), path


def test_reading_changes_nothing(tmp_path: Path) -> None:
    publish_next(opened("local", tmp_path))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "snapshot").rglob("*")}
    snapshots = opened("local", tmp_path)
    for entry in snapshots.manifest().entries:
        snapshots.segment(entry.segment)
        snapshots.tombstones(entry)
    snapshots.verify()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "snapshot").rglob("*")} == before


def test_create_never_replaces(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "s")
    assert storage.create("a/b", b"first")
    assert not storage.create("a/b", b"second")
    assert storage.read("a/b") == b"first"
    assert storage.listing("aside") == []


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "not permitted", source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    storage = LocalStorage(tmp_path / "s")
    assert storage.create("a/b", b"first")
    assert not storage.create("a/b", b"second")
    assert storage.read("a/b") == b"first"


def test_what_cannot_be_written_to_its_end_does_not_appear(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "s")

    def broken() -> object:
        yield b"begun"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        storage.write("a/b", broken())  # type: ignore[arg-type]
    assert storage.sizes(["a/b"]) == [None]
    assert storage.listing("aside") == []
