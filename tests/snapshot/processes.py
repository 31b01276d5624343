"""What tests run in processes of their own, and the content that they publish.

A forked server starts the processes, so that each takes milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from types import FrameType
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow.fs as pafs

from tamis.errors import SnapshotError
from tamis.snapshot import Segment, SnapshotPart, Snapshots, make_segment
from tamis.snapshot.remote import RemoteStorage

Kind: TypeAlias = Literal["local", "remote"]
KINDS: tuple[Kind, ...] = ("local", "remote")
CLAIM_SECONDS = 0.5

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


def opened(kind: Kind, folder: Path) -> Snapshots:
    """The snapshot in `folder/snapshot`: in place, or as if it were on another machine."""
    if kind == "local":
        return Snapshots(folder / "snapshot")
    files = pafs.SubTreeFileSystem(str(folder), pafs.LocalFileSystem())
    snapshots = Snapshots("snapshot", filesystem=files, cache=folder / "cache")
    assert isinstance(snapshots.storage, RemoteStorage)
    snapshots.storage.claim_seconds = CLAIM_SECONDS
    return snapshots


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = _context.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def queue() -> SimpleQueue[Any]:
    return _context.SimpleQueue()


def finish(processes: list[BaseProcess]) -> None:
    """Wait for processes that should end well."""
    for process in processes:
        process.join(60)
        assert process.exitcode == 0


# --- content -----------------------------------------------------------------------------------------------


def segment_of(number: int, *, rows: int = 1_000) -> Segment:
    """A segment whose content follows from its number."""
    generator = np.random.default_rng(number)
    arrays = {"values": generator.integers(0, 1 << 40, rows), "flags": generator.random((rows, 3)) < 0.5}
    return make_segment(arrays, {"number": number})


def parts_of(version: int) -> list[SnapshotPart]:
    """A large segment that stays for five versions while more and more of it dies, and a small new one."""
    dead = np.arange(0, 40 * (version % 5 + 1), 2)
    return [
        SnapshotPart(segment_of(-(version // 5) - 1 & 0xFFFF, rows=20_000), 20_000, dead),
        SnapshotPart(segment_of(version), 1_000),
    ]


def publish_next(snapshots: Snapshots) -> int:
    """Publish the version that follows the newest."""
    parent = snapshots.latest()
    version = 1 if parent is None else parent + 1
    published = snapshots.publish(
        parts_of(version),
        parent=parent,
        event_types={"event": {"name": "event"}},
        extra={"number": version, "process": os.getpid()},
        statistics={"of": version},
    )
    return published.version


def check_content(snapshots: Snapshots, version: int) -> None:
    """Is the version exactly what its number says?"""
    manifest = snapshots.manifest(version)
    expected = parts_of(version)
    assert manifest.extra["number"] == version
    assert snapshots.statistics(version) == {"of": version}
    assert len(manifest.entries) == len(expected)
    for entry, part in zip(manifest.entries, expected, strict=True):
        found = snapshots.segment(entry.segment)
        assert found.meta == part.segment.meta
        assert found.arrays.keys() == part.segment.arrays.keys()
        for name, array in part.segment.arrays.items():
            np.testing.assert_array_equal(found.arrays[name], array)
        np.testing.assert_array_equal(snapshots.tombstones(entry), part.dead)


# --- processes ---------------------------------------------------------------------------------------------


def die_before(line: int) -> None:
    """Be killed before the given line of `tamis.snapshot` that is run from here on."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if "snapshot" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        if event == "line":
            lines += 1
            if lines == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def publish_and_die(kind: Kind, folder: Path, line: int) -> None:
    """Publish and collect; be killed on the way, or end well if it takes fewer lines."""
    snapshots = opened(kind, folder)
    die_before(line)
    publish_next(snapshots)
    snapshots.forget(keep_versions=2, older_than_seconds=0, grace_seconds=0)
    sys.settrace(None)


def fetch_and_die(folder: Path, name: str, line: int) -> None:
    """Fetch a segment through a cache that is too small; be killed on the way, or end well."""
    snapshots = opened("remote", folder)
    snapshots._cache_bytes = 1
    die_before(line)
    snapshots.segment(name)
    sys.settrace(None)


def publish_for_ever(kind: Kind, folder: Path, ready: SimpleQueue[Any]) -> None:
    """Publish and collect until killed."""
    snapshots = opened(kind, folder)
    ready.put(os.getpid())
    while True:
        publish_next(snapshots)
        snapshots.forget(keep_versions=2, older_than_seconds=0, grace_seconds=0)


def publish_in_company(kind: Kind, folder: Path, seed: int, times: int) -> None:
    """Publish a number of versions, trying again when somebody else was quicker; collect now and then."""
    # A remote storage cannot tell what a living process is writing: there, only the grace period protects it.
    grace_seconds = 0 if kind == "local" else 60
    snapshots, chance = opened(kind, folder), random.Random(seed)
    done = 0
    while done < times:
        try:
            publish_next(snapshots)
        except SnapshotError as error:
            assert error.kind == "conflict", error
        else:
            done += 1
        if chance.random() < 0.3:
            snapshots.forget(keep_versions=1_000, older_than_seconds=0, grace_seconds=grace_seconds)


def map_and_wait(
    kind: Kind, folder: Path, name: str, told: SimpleQueue[Any], may_end: SimpleQueue[Any], limit_bytes: int
) -> None:
    """Map a segment, tell what was mapped, and keep it until told to end."""
    snapshots = opened(kind, folder)
    snapshots._cache_bytes = limit_bytes
    segment = snapshots.segment(name)
    total = sum(int(array.sum()) for array in segment.arrays.values())
    told.put((total, mapping_of(name)))
    may_end.get()


def mapping_of(name: str) -> dict[str, int]:
    """What the kernel tells about this process's map of a segment: the file's inode, and kB by kind of page."""
    found: dict[str, int] = {}
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            inside = len(words) > 5 and name in words[5] and words[5].endswith("arrays.bin")
            if inside:
                found["inode"] = int(words[4])
        elif inside and len(words) == 3 and words[2] == "kB":
            found[words[0].rstrip(":")] = int(words[1])
    return found
