"""Verifying: everything that a version is made of, read and compared with its checksum.

Reads from where the snapshot is, never from a cache, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tamis.errors import SnapshotError, SnapshotProblem
from tamis.snapshot.layout import PINS, SEGMENTS, is_own, own_folders, segment_files
from tamis.snapshot.manifest import ManifestEntry
from tamis.snapshot.segment import ARRAYS, HEADER, array_hashes, damages, read_header

if TYPE_CHECKING:
    from tamis.snapshot.snapshots import Snapshots


@dataclass(frozen=True, slots=True)
class Damage:
    """Something wrong with a file.

    Attributes:
        file: Its path in full.
        message: What is wrong.
        kind: As in `SnapshotError`.
    """

    file: str
    message: str
    kind: SnapshotProblem


def verify(snapshots: Snapshots, version: int | None = None) -> Iterator[Damage]:
    """See `Snapshots.verify`."""
    entries: set[ManifestEntry] = set()
    for each in snapshots.versions() if version is None else [version]:
        try:
            manifest = snapshots.manifest(each)
        except SnapshotError as error:
            yield _damage(error)
            continue
        entries.update(manifest.entries)
        yield from _damage_of_reading(snapshots.statistics, each)
    for name in sorted({entry.segment for entry in entries}):
        yield from _segment(snapshots, name)
    for entry in sorted(entries, key=lambda entry: entry.segment):
        yield from _damage_of_reading(snapshots.tombstones, entry)
    if version is None:
        yield from _pins(snapshots)
        yield from _foreign(snapshots)


def _segment(snapshots: Snapshots, name: str) -> Iterator[Damage]:
    storage = snapshots.storage
    header_path, arrays_path = segment_files(name)
    try:
        header = read_header(storage.read(header_path), name, storage.where(header_path))
        content, size_bytes = array_hashes(header, storage.chunks(arrays_path))
    except SnapshotError as error:
        yield _damage(error)
    except FileNotFoundError:
        for path, size in zip((header_path, arrays_path), storage.sizes((header_path, arrays_path)), strict=True):
            if size is None:
                yield Damage(storage.where(path), "missing", "missing")
    else:
        for problem in damages(header, content, size_bytes):
            yield Damage(storage.where(arrays_path), problem, "damaged")


def _pins(snapshots: Snapshots) -> Iterator[Damage]:
    try:
        pins = snapshots.pins()
    except SnapshotError as error:
        yield _damage(error)
        return
    there = set(snapshots.versions())
    for holder, pin in pins.items():
        if pin.version not in there:
            where = snapshots.storage.where(PINS)
            yield Damage(where, f"{holder!r} has pinned version {pin.version}, which is not there", "missing")


def _foreign(snapshots: Snapshots) -> Iterator[Damage]:
    """Files that are not of a snapshot."""
    storage = snapshots.storage
    for folder in ("", *own_folders()):
        for each in storage.listing(folder):
            path = f"{folder}/{each.name}" if folder else each.name
            if not is_own(folder, each.name):
                yield Damage(storage.where(path), "foreign: no file of a snapshot", "foreign")
            elif folder == SEGMENTS:
                for file in storage.listing(path):
                    if file.name not in (HEADER, ARRAYS):
                        yield Damage(
                            storage.where(f"{path}/{file.name}"), "foreign: no file of a segment", "foreign"
                        )


def _damage_of_reading(read: Callable[..., object], *arguments: object) -> Iterator[Damage]:
    """The damage that reading reports."""
    try:
        read(*arguments)
    except SnapshotError as error:
        yield _damage(error)


def _damage(error: SnapshotError) -> Damage:
    return Damage(error.file, error.message, error.kind)
