"""Verifying: every damage is found and named, and nothing else."""

from __future__ import annotations

import random

import pytest

from tamis.snapshot import Snapshots
from tests.snapshot.conftest import Open
from tests.snapshot.processes import publish_next


@pytest.fixture
def three(open_again: Open) -> Snapshots:
    for _ in range(3):
        publish_next(open_again())
    open_again().pin("me", 2)
    return open_again()


def all_files(snapshots: Snapshots, folder: str = "") -> list[str]:
    found: list[str] = []
    for each in snapshots.storage.listing(folder):
        path = f"{folder}/{each.name}" if folder else each.name
        found.extend(all_files(snapshots, path) if each.is_folder else [path])
    return [path for path in found if path != "lock"]


def test_what_is_whole_has_no_damage(three: Snapshots) -> None:
    assert len(all_files(three)) > 12
    assert three.verify() == []
    assert three.verify(2) == []


@pytest.mark.slow
def test_any_changed_byte_is_found(three: Snapshots) -> None:
    chance = random.Random(3)
    for path in all_files(three):
        content = three.storage.read(path)
        for _ in range(5):
            at = chance.randrange(len(content))
            changed = content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]
            three.storage.write(path, [changed])
            found = [each.file for each in three.verify()]
            # Blanks between the words of a manifest, and between arrays, mean nothing.
            means_nothing = (path.startswith("versions/") and chr(content[at]).isspace()) or content[at] == 0
            assert found == [three.storage.where(path)] or (found == [] and means_nothing), (path, at)
        three.storage.write(path, [content])
    assert three.verify() == []


def test_a_cut_or_missing_file_is_found(three: Snapshots) -> None:
    for path in all_files(three):
        content = three.storage.read(path)
        three.storage.write(path, [content[: len(content) // 2]])
        assert three.storage.where(path) in [each.file for each in three.verify()], path
        three.storage.remove(path)
        if not path.startswith(("versions/", "pins/")):
            assert [(each.file, each.kind) for each in three.verify()] == [(three.storage.where(path), "missing")]
        three.storage.write(path, [content])
    assert three.verify() == []


def test_only_one_version_may_be_asked_for(three: Snapshots) -> None:
    (only_third,) = {entry.segment for entry in three.manifest(3).entries} - {
        entry.segment for entry in three.manifest(2).entries
    }
    three.storage.write(f"segments/{only_third}/arrays.bin", [b""])
    assert three.verify(2) == []
    assert [each.kind for each in three.verify(3)] == ["damaged"] * 3
    assert [each.kind for each in three.verify(9)] == ["missing"]


def test_a_pin_on_a_version_that_is_gone_is_found(three: Snapshots) -> None:
    three.storage.remove("versions/000000000002.json")
    assert [each.message for each in three.verify()] == ["'me' has pinned version 2, which is not there"]


def test_foreign_files_are_named(three: Snapshots) -> None:
    segment = three.manifest().entries[0].segment
    paths = ("notes.txt", "segments/x", "versions/3.json", f"segments/{segment}/more", "pins/p", "aside/me")
    for path in paths:
        three.storage.write(path, [b"x"])
    found = {each.file: each.kind for each in three.verify()}
    assert found == {three.storage.where(path): "foreign" for path in paths}
    assert three.versions() == [1, 2, 3]
