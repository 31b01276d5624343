"""Versions: publishing, opening, pinning; in a folder and on a remote storage alike."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis.errors import SnapshotError
from tamis.snapshot import SnapshotPart, Snapshots, make_segment
from tamis.snapshot.layout import version_file
from tests.snapshot.conftest import Open
from tests.snapshot.processes import (
    Kind,
    check_content,
    finish,
    opened,
    publish_in_company,
    publish_next,
    segment_of,
    start,
)


def publish(snapshots: Snapshots, *parts: SnapshotPart, parent: int | None = None, **more: Any) -> int:
    return snapshots.publish(parts, parent=parent, event_types={"event": {"name": "event"}}, **more).version


def files_of(snapshots: Snapshots, folder: str) -> dict[str, float]:
    return {each.name: each.modified for each in snapshots.storage.listing(folder)}


def test_there_is_nothing_at_first(snapshots: Snapshots) -> None:
    assert snapshots.versions() == []
    assert snapshots.latest() is None
    assert snapshots.pins() == {}
    with pytest.raises(SnapshotError, match="there is no version of a snapshot here"):
        snapshots.manifest()


def test_a_version_comes_back_as_it_was_published(open_again: Open) -> None:
    for version in range(1, 8):
        assert publish_next(open_again()) == version
    snapshots = open_again()
    assert snapshots.versions() == [1, 2, 3, 4, 5, 6, 7]
    for version in snapshots.versions():
        check_content(snapshots, version)
    assert snapshots.manifest() == snapshots.manifest(7)
    assert snapshots.verify() == []


def test_a_manifest_tells_what_the_version_is_made_of(open_again: Open) -> None:
    segment = segment_of(1)
    event_types = {"e": {"name": "e", "time_zone": "UTC"}}
    part = SnapshotPart(segment, 1_000, [5, 3, 5], "e")
    given = open_again().publish([part], parent=None, event_types=event_types, extra={"a": [1]})
    manifest = open_again().manifest()
    assert manifest == given
    assert (manifest.version, manifest.parent, manifest.statistics) == (1, None, None)
    assert manifest.event_types == event_types
    assert manifest.extra == {"a": [1]}
    entry = manifest.entries[0]
    assert (entry.segment, entry.slots, entry.bytes) == (segment.name, 1_000, segment.bytes)
    assert (len(manifest.entries), entry.dead, entry.event_type) == (1, 2, "e")
    assert (manifest.slots, manifest.dead, manifest.bytes) == (1_000, 2, segment.bytes)


def test_a_version_may_be_empty(snapshots: Snapshots) -> None:
    publish(snapshots)
    assert snapshots.manifest().entries == ()
    assert snapshots.statistics() is None


def test_only_what_is_new_is_written(open_again: Open) -> None:
    snapshots = open_again()
    large, small = segment_of(1, rows=5_000), segment_of(2)
    publish(snapshots, SnapshotPart(large, 5_000))
    arrays = f"segments/{large.name}"
    before = files_of(snapshots, arrays)
    again = open_again()
    mapped = again.segment(large.name)
    publish(again, SnapshotPart(mapped, 5_000, [1]), SnapshotPart(small, 1_000), parent=1)
    assert files_of(snapshots, arrays) == before
    assert sorted(files_of(snapshots, "segments")) == sorted([large.name, small.name])


@pytest.mark.parametrize("dead", [[-1], [10]])
def test_a_slot_that_is_not_there_cannot_be_dead(snapshots: Snapshots, dead: list[int]) -> None:
    with pytest.raises(ValueError, match="of a segment with 10 slots"):
        publish(snapshots, SnapshotPart(make_segment({}), 10, dead))
    assert snapshots.versions() == []


@pytest.mark.parametrize("parent", [None, 1, 3])
def test_who_comes_second_is_refused(open_again: Open, parent: int | None) -> None:
    snapshots = open_again()
    publish(snapshots)
    publish(snapshots, parent=1)
    with pytest.raises(SnapshotError, match="the newest is version 2") as caught:
        publish(open_again(), SnapshotPart(segment_of(3), 1_000), parent=parent)
    assert caught.value.kind == "conflict"
    assert snapshots.versions() == [1, 2]


def test_a_first_version_has_no_parent(snapshots: Snapshots) -> None:
    with pytest.raises(SnapshotError, match="cannot publish from version 1: there is none"):
        publish(snapshots, parent=1)


@pytest.mark.slow
def test_publishers_in_company_lose_nothing(kind: Kind, tmp_path: Path) -> None:
    finish([start(publish_in_company, kind, tmp_path, seed, 5) for seed in range(3)])
    snapshots = opened(kind, tmp_path)
    assert snapshots.versions() == list(range(1, 16))
    assert snapshots.verify() == []
    for version in snapshots.versions():
        check_content(snapshots, version)
        assert snapshots.manifest(version).parent == (version - 1 or None)
    processes = [snapshots.manifest(version).extra["process"] for version in snapshots.versions()]
    assert sorted(processes.count(each) for each in set(processes)) == [5, 5, 5]


def test_a_version_that_is_not_there_is_named(snapshots: Snapshots) -> None:
    publish(snapshots)
    with pytest.raises(SnapshotError, match="there is no version 7; the newest are: 1") as caught:
        snapshots.manifest(7)
    assert caught.value.kind == "missing"


def edited(data: bytes, **changes: Any) -> bytes:
    return json.dumps({**json.loads(data), **changes}).encode()


@pytest.mark.parametrize(
    ("kind_of_error", "damage"),
    [
        ("damaged", lambda data: data[:100]),
        ("damaged", lambda data: b""),
        ("damaged", lambda data: edited(data, version=2)),
        ("damaged", lambda data: edited(data, checksum=None)),
        ("damaged", lambda data: data.replace(b'"slots": 1000', b'"slots": 1001')),
        ("foreign", lambda data: b"{}"),
        ("foreign", lambda data: edited(data, kind="other")),
        ("newer", lambda data: edited(data, format=2)),
    ],
)
def test_manifests_that_are_not_as_written_are_refused(open_again: Open, kind_of_error: str, damage: Any) -> None:
    publish(open_again(), SnapshotPart(segment_of(1), 1_000))
    storage = open_again().storage
    path = version_file(1)
    storage.write(path, [damage(storage.read(path))])
    with pytest.raises(SnapshotError) as caught:
        open_again().manifest()
    assert (caught.value.kind, caught.value.file) == (kind_of_error, storage.where(path))
    assert [(each.file, each.kind) for each in open_again().verify()] == [(storage.where(path), kind_of_error)]


def test_a_manifest_under_another_number_is_refused(snapshots: Snapshots) -> None:
    publish(snapshots)
    snapshots.storage.write(version_file(2), [snapshots.storage.read(version_file(1))])
    with pytest.raises(SnapshotError, match="it is version 1, not 2"):
        snapshots.manifest()


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: b"x" + data[1:], None])
@pytest.mark.parametrize("folder", ["tombstones", "statistics"])
def test_small_files_that_are_not_as_written_are_refused(open_again: Open, folder: str, change: Any) -> None:
    publish(open_again(), SnapshotPart(segment_of(1), 1_000, [1, 2, 3]), statistics={"a": 1})
    storage = open_again().storage
    (name,) = files_of(open_again(), folder)
    path = f"{folder}/{name}"
    if change is None:
        storage.remove(path)
    else:
        storage.write(path, [change(storage.read(path))])
    with pytest.raises(SnapshotError) as caught:
        open_again().statistics()
        open_again().tombstones(open_again().manifest().entries[0])
    assert (caught.value.kind, caught.value.file) == (
        "missing" if change is None else "damaged",
        storage.where(path),
    )


def test_publishing_again_mends_what_was_cut_short(open_again: Open) -> None:
    segment = segment_of(1)
    publish(open_again(), SnapshotPart(segment, 1_000))
    storage = open_again().storage
    storage.write(f"segments/{segment.name}/arrays.bin", [b"cut"])
    publish(open_again(), SnapshotPart(segment, 1_000), parent=1)
    assert open_again().verify() == []


def test_a_holder_has_one_pin_and_keeps_it(open_again: Open) -> None:
    publish(open_again())
    publish(open_again(), parent=1)
    assert open_again().pin("query/7", 1) == 1
    assert open_again().pin("query/7", 2) == 1
    assert open_again().pin("another \N{SNOWMAN} / \udc80", 2) == 2
    assert {holder: pin.version for holder, pin in open_again().pins().items()} == {
        "query/7": 1,
        "another \N{SNOWMAN} / \udc80": 2,
    }
    open_again().unpin("query/7")
    open_again().unpin("query/7")
    assert open_again().pin("query/7", 2) == 2


def test_a_version_that_is_not_there_cannot_be_pinned(snapshots: Snapshots) -> None:
    with pytest.raises(SnapshotError, match="there is no version 1"):
        snapshots.pin("me", 1)
    assert snapshots.pins() == {}


def test_a_damaged_pin_is_an_error(open_again: Open) -> None:
    publish(open_again())
    open_again().pin("me", 1)
    (name,) = files_of(open_again(), "pins")
    storage = open_again().storage
    storage.write(f"pins/{name}", [edited(storage.read(f"pins/{name}"), version=2)])
    with pytest.raises(SnapshotError, match=f"pins/{name}: damaged"):
        open_again().pins()
    with pytest.raises(SnapshotError, match=f"pins/{name}: damaged"):
        open_again().pin("me", 1)


def test_a_segment_is_mapped_once_while_it_lives(snapshots: Snapshots) -> None:
    segment = segment_of(1)
    publish(snapshots, SnapshotPart(segment, 1_000))
    assert snapshots.segment(segment.name) is snapshots.segment(segment.name)


def test_a_mapped_segment_outlives_its_files(snapshots: Snapshots) -> None:
    segment = segment_of(1)
    publish(snapshots, SnapshotPart(segment, 1_000))
    mapped = snapshots.segment(segment.name)
    snapshots.storage.remove_folder(f"segments/{segment.name}")
    np.testing.assert_array_equal(mapped.arrays["values"], segment.arrays["values"])


def test_errors_cross_processes() -> None:
    error = SnapshotError("a/b.json", "damaged: cut short", "damaged")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, SnapshotError)
    assert (str(again), again.file, again.kind) == ("a/b.json: damaged: cut short", "a/b.json", "damaged")


def test_urls_of_files_are_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    publish(Snapshots("a folder/é"))
    assert Snapshots((tmp_path / "a folder" / "é").as_uri()).versions() == [1]
    assert Snapshots("a folder/../a folder/é").place == Snapshots(tmp_path / "a folder/é").place
    assert Snapshots(tmp_path / "a folder/é").url == os.path.join(tmp_path, "a folder/é")
