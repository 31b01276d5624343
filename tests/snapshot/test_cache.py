"""The cache of a machine: fetched once, verified, bounded, and never taken from under anybody."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from tamis.errors import SnapshotError
from tamis.snapshot import Segment, SnapshotPart, Snapshots
from tamis.snapshot.cache import SegmentCache, cache_folder
from tests.snapshot.processes import fetch_and_die, finish, map_and_wait, opened, queue, segment_of, start

ROWS = 10_000


@pytest.fixture
def segments(tmp_path: Path) -> list[Segment]:
    """Four published segments of about equal length."""
    made = [segment_of(number, rows=ROWS) for number in range(4)]
    parts = [SnapshotPart(segment, ROWS) for segment in made]
    opened("remote", tmp_path).publish(parts, parent=None, event_types={"event": {}})
    return made


def cached(tmp_path: Path) -> set[str]:
    assert os.listdir(tmp_path / "cache" / "fetching") == []
    return set(os.listdir(tmp_path / "cache" / "segments"))


def fetch(tmp_path: Path, segment: Segment, *, limit: int = 100) -> Segment:
    """Through a cache in which `limit` segments fit."""
    snapshots = opened("remote", tmp_path)
    found = SegmentCache(tmp_path / "cache", limit * (segment.bytes + 2_000)).segment(
        segment.name, snapshots.storage
    )
    for name, array in segment.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)
    return found


def set_used(tmp_path: Path, segment: Segment, seconds: int) -> None:
    folder = tmp_path / "cache" / "segments" / segment.name
    for path in (folder / "segment.json", folder):
        os.utime(path, (seconds, seconds))


def test_what_was_fetched_is_there_without_its_source(tmp_path: Path, segments: list[Segment]) -> None:
    fetch(tmp_path, segments[0])
    snapshots = opened("remote", tmp_path)
    snapshots.storage.remove_folder(f"segments/{segments[0].name}")
    assert snapshots.segment(segments[0].name).meta == segments[0].meta


def test_snapshots_of_any_url_share_what_is_equal(tmp_path: Path, segments: list[Segment]) -> None:
    fetch(tmp_path, segments[0])
    other = Snapshots(tmp_path / "elsewhere", cache=tmp_path / "cache")
    assert other.segment(segments[0].name).name == segments[0].name


def test_a_folder_of_this_machine_can_have_a_cache_too(tmp_path: Path) -> None:
    segment = segment_of(1)
    snapshots = Snapshots(tmp_path / "slow disk", cache=tmp_path / "cache")
    snapshots.publish([SnapshotPart(segment, 1_000)], parent=None, event_types={"event": {}})
    snapshots.segment(segment.name)
    assert cached(tmp_path) == {segment.name}


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="asks Linux which file is mapped")
def test_processes_that_fetch_at_once_share_one_copy(tmp_path: Path, segments: list[Segment]) -> None:
    told, may_end = queue(), queue()
    arguments = ("remote", tmp_path, segments[0].name, told, may_end, 1 << 30)
    processes = [start(map_and_wait, *arguments) for _ in range(6)]
    answers = [told.get() for _ in processes]
    expected = sum(int(array.sum()) for array in segments[0].arrays.values())
    assert [total for total, _ in answers] == [expected] * 6
    assert len({pages["inode"] for _, pages in answers}) == 1
    assert cached(tmp_path) == {segments[0].name}
    for _ in processes:
        may_end.put(None)
    finish(processes)


@pytest.mark.parametrize("file", ["segment.json", "arrays.bin"])
@pytest.mark.parametrize("change", ["flipped", "cut", "missing"])
def test_a_damaged_source_is_refused_and_nothing_kept(
    tmp_path: Path, segments: list[Segment], file: str, change: str
) -> None:
    storage = opened("remote", tmp_path).storage
    path = f"segments/{segments[0].name}/{file}"
    content = storage.read(path)
    if change == "missing":
        storage.remove(path)
    else:
        flipped = content[:-100] + bytes([content[-100] ^ 1]) + content[-99:]
        storage.write(path, [flipped if change == "flipped" else content[:-1]])
    with pytest.raises(SnapshotError) as caught:
        fetch(tmp_path, segments[0])
    assert caught.value.file == storage.where(path)
    assert caught.value.kind == ("missing" if change == "missing" else "damaged")
    assert cached(tmp_path) == set()
    storage.write(path, [content])
    fetch(tmp_path, segments[0])


@pytest.mark.parametrize("file", ["segment.json", "arrays.bin"])
def test_what_was_damaged_on_this_machine_is_fetched_again(
    tmp_path: Path, segments: list[Segment], file: str
) -> None:
    fetch(tmp_path, segments[0])
    (tmp_path / "cache" / "segments" / segments[0].name / file).write_bytes(b"cut")
    fetch(tmp_path, segments[0])


def test_the_least_recently_opened_makes_room(tmp_path: Path, segments: list[Segment]) -> None:
    first, second, third, fourth = segments
    for age, segment in enumerate((first, second, third)):
        fetch(tmp_path, segment, limit=3)
        set_used(tmp_path, segment, 1_000 + age)
    fetch(tmp_path, first, limit=3)
    fetch(tmp_path, fourth, limit=3)
    assert cached(tmp_path) == {first.name, third.name, fourth.name}


def test_what_is_mapped_here_stays(tmp_path: Path, segments: list[Segment]) -> None:
    held = fetch(tmp_path, segments[0], limit=1).arrays["values"]
    fetch(tmp_path, segments[1], limit=1)
    assert segments[0].name in cached(tmp_path)
    del held
    fetch(tmp_path, segments[2], limit=1)
    assert cached(tmp_path) == {segments[2].name}


def test_what_a_living_process_has_mapped_stays(tmp_path: Path, segments: list[Segment]) -> None:
    told, may_end = queue(), queue()
    process = start(map_and_wait, "remote", tmp_path, segments[0].name, told, may_end, 1)
    told.get()
    fetch(tmp_path, segments[1], limit=1)
    assert segments[0].name in cached(tmp_path)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    fetch(tmp_path, segments[2], limit=1)
    assert cached(tmp_path) == {segments[2].name}


def test_one_that_is_larger_than_the_cache_is_fetched_too(tmp_path: Path, segments: list[Segment]) -> None:
    fetch(tmp_path, segments[0], limit=0)


def test_what_a_killed_process_had_begun_to_fetch_is_removed(tmp_path: Path, segments: list[Segment]) -> None:
    fetch(tmp_path, segments[0])
    left = tmp_path / "cache" / "fetching" / "1-0"
    left.mkdir()
    (left / "arrays.bin").write_bytes(b"begun")
    os.utime(left, (1_000, 1_000))
    fetch(tmp_path, segments[1])
    assert cached(tmp_path) == {segments[0].name, segments[1].name}


@pytest.mark.slow
def test_a_fetch_that_is_killed_anywhere_does_no_harm(tmp_path: Path, segments: list[Segment]) -> None:
    line, killed = 1, True
    while killed:
        process = start(fetch_and_die, tmp_path, segments[line % 4].name, line)
        process.join(60)
        assert process.exitcode in (0, -signal.SIGKILL)
        killed = process.exitcode != 0
        for segment in segments:
            fetch(tmp_path, segment)
        line += 17
    assert line > 100
    for left in (tmp_path / "cache" / "fetching").iterdir():
        for path in (left, *left.iterdir()):
            os.utime(path, (1_000, 1_000))
    shutil.rmtree(tmp_path / "cache" / "segments" / segments[0].name)
    fetch(tmp_path, segments[0])
    assert cached(tmp_path) == {segment.name for segment in segments}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, segments: list[Segment]) -> None:
    (tmp_path / "file").write_bytes(b"")
    storage = opened("remote", tmp_path).storage
    with pytest.raises(SnapshotError, match=r"set TAMIS_CACHE to a folder that can"):
        SegmentCache(tmp_path / "file" / "cache", 1).segment(segments[0].name, storage)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAMIS_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("TAMIS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tamis"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "tamis"
