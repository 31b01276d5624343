"""Garbage collection: removes old versions, and the files that no version names.

Never the newest version, never a pinned one, and never a file that any version names. All removal happens while
publishers and holders of pins are locked out, and a publisher checks that its files are there when it names them;
so a file can be collected before a version names it, but not after.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tamis.snapshot.layout import (
    SEGMENTS,
    STATISTICS,
    TOMBSTONES,
    is_own,
    segment_files,
    statistics_file,
    tombstones_file,
    version_file,
)
from tamis.snapshot.manifest import Manifest
from tamis.snapshot.storage import ASIDE, FileInfo, Storage

if TYPE_CHECKING:
    from tamis.snapshot.snapshots import Snapshots

KEEP_VERSIONS = 10
OLDER_THAN_SECONDS = 86_400.0
GRACE_SECONDS = 3_600.0
_LOCKED_REMOVALS = 64
"""Files removed before publishers get their turn."""


@dataclass(frozen=True, slots=True)
class CollectionResult:
    """What was removed, or would be.

    Attributes:
        versions: The versions.
        files: Segments, tombstones, statistics and leftovers of killed writers, as paths in the snapshot.
        bytes: Of these files.
    """

    versions: tuple[int, ...]
    files: tuple[str, ...]
    bytes: int


def forget(
    snapshots: Snapshots, keep_versions: int, older_than_seconds: float, grace_seconds: float, *, dry_run: bool
) -> CollectionResult:
    """See `Snapshots.forget`."""
    storage = snapshots.storage
    if not storage.listing(""):
        return CollectionResult((), (), 0)  # `exclusive` would create the folder
    now = time.time()
    with storage.exclusive() as check_alone:
        manifests = {version: snapshots.manifest(version) for version in snapshots.versions()}
        pinned = {pin.version for pin in snapshots.pins().values()}
        old = _old_versions(manifests, keep_versions, now - older_than_seconds)
        doomed = [version for version in old if version not in pinned]
        for version in () if dry_run else doomed:
            check_alone()
            storage.remove(version_file(version))
    for version in doomed:
        del manifests[version]
    unnamed = dict(_unnamed_paths(storage, _named_paths(manifests.values()), now - grace_seconds))
    removed = unnamed if dry_run else _remove(snapshots, unnamed, set(manifests))
    return CollectionResult(tuple(doomed), tuple(removed), sum(removed.values()))


def _old_versions(manifests: dict[int, Manifest], keep_versions: int, before: float) -> Iterator[int]:
    """Versions older than the newest few that were last the newest before that time."""
    kept = sorted(manifests)[-max(1, keep_versions) :]
    for version, following in pairwise(sorted(manifests)):
        if version not in kept and manifests[following].created.timestamp() <= before:
            yield version


def _named_paths(manifests: Iterable[Manifest]) -> set[str]:
    """The paths of all that these versions are made of; folders of segments."""
    named: set[str] = set()
    for manifest in manifests:
        for entry in manifest.entries:
            named.add(f"{SEGMENTS}/{entry.segment}")
            if entry.tombstones is not None:
                named.add(tombstones_file(entry.tombstones))
        if manifest.statistics is not None:
            named.add(statistics_file(manifest.statistics))
    return named


def _unnamed_paths(storage: Storage, named: set[str], before: float) -> Iterator[tuple[str, int]]:
    """Paths that no version names, unchanged since that time, with their bytes."""
    for folder in (SEGMENTS, TOMBSTONES, STATISTICS, ASIDE):
        for found in storage.listing(folder):
            path = f"{folder}/{found.name}"
            if path not in named and is_own(folder, found.name):
                parts: list[FileInfo] = [found, *(storage.listing(path) if found.is_folder else ())]
                if max(part.modified for part in parts) <= before:
                    yield path, sum(part.bytes for part in parts if not part.is_folder)


def _remove(snapshots: Snapshots, unnamed: dict[str, int], known: set[int]) -> dict[str, int]:
    removed: dict[str, int] = {}
    storage = snapshots.storage
    paths = list(unnamed)
    for first in range(0, len(paths), _LOCKED_REMOVALS):
        with storage.exclusive() as check_alone:
            published = [version for version in snapshots.versions() if version not in known]
            named = _named_paths(snapshots.manifest(version) for version in published)
            for path in paths[first : first + _LOCKED_REMOVALS]:
                check_alone()
                if path not in named and _remove_path(storage, path):
                    removed[path] = unnamed[path]
    return removed


def _remove_path(storage: Storage, path: str) -> bool:
    folder, _, name = path.partition("/")
    if folder == ASIDE:
        return storage.remove_leftover(path)
    if folder == SEGMENTS:
        header, _ = segment_files(name)
        storage.remove(header)  # first, so that what is left of a segment never looks whole
        storage.remove_folder(path)
    else:
        storage.remove(path)
    return True
