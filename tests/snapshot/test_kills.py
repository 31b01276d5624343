"""A publisher that is killed at any moment leaves the last published version whole.

Real processes, killed by SIGKILL: before a chosen line of the code, so that every gap between two file operations
has its turn, and at moments of the clock, which also hit the middle of a write.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from tamis.snapshot import Snapshots
from tests.snapshot.processes import (
    KINDS,
    Kind,
    check_content,
    opened,
    publish_and_die,
    publish_for_ever,
    publish_next,
    queue,
    start,
)

LINES = 1_400
"""About as many lines as it takes to publish and to collect."""


def check_after_kill(snapshots: Snapshots, before: int) -> int:
    """Everything that is there is whole, nothing was lost, and publishing goes on; gives the newest version."""
    newest = snapshots.latest()
    assert newest is not None
    assert newest >= before
    assert snapshots.verify() == []
    for version in snapshots.versions():
        check_content(snapshots, version)
    assert publish_next(snapshots) == newest + 1
    if newest % 10 < 2:  # or there would be ever more to check and to collect
        snapshots.forget(keep_versions=2, older_than_seconds=0, grace_seconds=0)
    return newest + 1


def check_nothing_is_left(snapshots: Snapshots) -> None:
    """After collecting, what is there is what the newest version names."""
    snapshots.forget(keep_versions=1, older_than_seconds=0, grace_seconds=0)
    manifest = snapshots.manifest()
    assert snapshots.versions() == [manifest.version]
    names = {
        "segments": sorted({entry.segment for entry in manifest.entries}),
        "tombstones": sorted({f"{entry.tombstones}.bin" for entry in manifest.entries if entry.tombstones}),
        "statistics": [f"{manifest.statistics}.json"],
        "aside": [],
    }
    for folder, expected in names.items():
        assert [each.name for each in snapshots.storage.listing(folder)] == expected
    assert snapshots.verify() == []


def kill_before_line(kind: Kind, folder: Path, line: int, newest: int) -> tuple[int, bool]:
    """Kill a publisher there; gives the newest version after it, and whether it got so far."""
    process = start(publish_and_die, kind, folder, line)
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return check_after_kill(opened(kind, folder), newest), process.exitcode != 0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "kills"), [("local", 25), ("remote", 5)])
def test_kills_between_any_two_lines(kind: Kind, kills: int, tmp_path: Path) -> None:
    chance = random.Random(f"lines {kind}")
    newest = publish_next(opened(kind, tmp_path))
    killed = 0
    while killed < kills:
        newest, was_killed = kill_before_line(kind, tmp_path, chance.randrange(1, LINES), newest)
        killed += was_killed
    check_nothing_is_left(opened(kind, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_kills_all_along(kind: Kind, tmp_path: Path) -> None:
    newest = publish_next(opened(kind, tmp_path))
    step = 3 if kind == "local" else 11
    line, killed = 1, True
    while killed:
        newest, killed = kill_before_line(kind, tmp_path, line, newest)
        line += step
    assert line > 100
    check_nothing_is_left(opened(kind, tmp_path))


def kill_at_some_moment(kind: Kind, folder: Path, seconds: float, newest: int) -> int:
    ready = queue()
    process = start(publish_for_ever, kind, folder, ready)
    ready.get()
    process.join(seconds)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    return check_after_kill(opened(kind, folder), newest)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("local", 20),
        ("local", 400),
        ("remote", 50),
    ],
)
def test_kills_at_any_moment(kind: Kind, kills: int, tmp_path: Path) -> None:
    chance = random.Random(f"moments {kind} {kills}")
    newest = publish_next(opened(kind, tmp_path))
    for _ in range(kills):
        newest = kill_at_some_moment(kind, tmp_path, chance.uniform(0, 0.05), newest)
    check_nothing_is_left(opened(kind, tmp_path))
