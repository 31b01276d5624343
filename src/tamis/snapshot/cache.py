"""Segments of other machines, fetched once per machine and mapped from there.

A segment is in the cache whole and verified, or not at all: it is fetched into a folder aside, its checksums are
verified, and the folder is renamed. A process that has a segment mapped holds a shared lock on its `arrays.bin`,
so that making room removes only what no living process uses, the least recently opened first. Names are checksums,
so snapshots of any URL share the cache.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tamis.errors import SnapshotError
from tamis.snapshot.layout import segment_files
from tamis.snapshot.segment import ARRAYS, HEADER, Segment, array_hashes, damages, open_segment, read_header
from tamis.snapshot.storage import CHUNK_BYTES, Storage

_VARIABLE = "TAMIS_CACHE"
_SEGMENTS = "segments"
_FETCHING = "fetching"
_LOCKS = "locks"
_ABANDONED_SECONDS = 60.0
"""A fetch this old whose lock is free has no owner any more; a younger one may not have its lock yet."""


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    folder: Path
    bytes: int
    used: float


def cache_folder() -> Path:
    """`$TAMIS_CACHE`, else `tamis` in the user's cache folder."""
    given = os.environ.get(_VARIABLE)
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "tamis"


class SegmentCache:
    """The cache of this machine. All processes of a user share it, and need not know of each other."""

    def __init__(self, folder: Path | None, limit_bytes: int) -> None:
        """Nothing is touched yet.

        Args:
            folder: Where it is; None for `cache_folder()`.
            limit_bytes: How large it may grow, unless more than that is in use.
        """
        self.folder = cache_folder() if folder is None else folder
        self.limit_bytes = limit_bytes

    def segment(self, name: str, source: Storage) -> Segment:
        """A segment, mapped; fetched if it is not there, or not as it should be.

        Raises:
            SnapshotError: The source does not have it, or what it has is damaged, foreign or newer.
        """
        try:
            return self._open(name)
        except SnapshotError:  # not there yet, or damaged on this machine: fetching repairs both
            pass
        self._make_folders()
        with _lock_file(self.folder / _LOCKS / name):
            try:
                return self._open(name)  # another process was quicker
            except SnapshotError:
                return self._fetch(name, source)

    def _open(self, name: str) -> Segment:
        folder = self.folder / _SEGMENTS / name
        segment = open_segment(folder, name, locked=True)
        with suppress(FileNotFoundError):  # removed just now, which does no harm to what is mapped
            os.utime(folder / HEADER)
        return segment

    def _fetch(self, name: str, source: Storage) -> Segment:
        header_path, arrays_path = segment_files(name)
        try:
            data = source.read(header_path)
        except FileNotFoundError as error:
            raise SnapshotError(source.where(header_path), "missing", "missing") from error
        header = read_header(data, name, source.where(header_path))
        self._make_room(header.bytes)
        folder = self.folder / _FETCHING / f"{os.getpid()}-{uuid.uuid4().hex}"
        folder.mkdir()
        try:
            (folder / HEADER).write_bytes(data)
            with (folder / ARRAYS).open("wb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)  # shows that this fetch is alive
                try:
                    for chunk in source.chunks(arrays_path):
                        file.write(chunk)
                except FileNotFoundError as error:
                    raise SnapshotError(source.where(arrays_path), "missing", "missing") from error
                file.flush()
                os.fsync(file.fileno())  # or a crash of the machine could leave a file of zeros
                # What was written is verified, rather than what was received.
                for problem in damages(header, *array_hashes(header, _chunks(folder / ARRAYS))):
                    raise SnapshotError(source.where(arrays_path), problem, "damaged")
                # Mapped before others can see it, so that making room cannot come in between.
                segment = open_segment(folder, name, locked=True)
            target = self.folder / _SEGMENTS / name
            if target.exists():
                shutil.rmtree(target)  # it did not open, or we would not be here
            folder.rename(target)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._make_room(0)
        return segment

    def _make_room(self, wanted_bytes: int) -> None:
        """Remove what is not in use until `wanted_bytes` more would fit, or nothing more can be removed."""
        with _lock_file(self.folder / "lock"):
            self._remove_abandoned()
            cached = sorted(self._entries(_SEGMENTS), key=lambda each: each.used)
            total = wanted_bytes + sum(each.bytes for each in (*cached, *self._entries(_FETCHING)))
            for each in cached:
                if total <= self.limit_bytes:
                    return
                if _remove_unused(each.folder):
                    (self.folder / _LOCKS / each.folder.name).unlink(missing_ok=True)
                    total -= each.bytes

    def _remove_abandoned(self) -> None:
        before = time.time() - _ABANDONED_SECONDS
        for each in self._entries(_FETCHING):
            if each.used < before:
                _remove_unused(each.folder)

    def _entries(self, kind: str) -> Iterator[_CacheEntry]:
        for folder in (self.folder / kind).iterdir():
            with suppress(FileNotFoundError):  # another process has just removed or renamed it
                used = max(folder.stat().st_mtime, _modified_at(folder / HEADER))
                yield _CacheEntry(folder, sum(file.stat().st_size for file in folder.iterdir()), used)

    def _make_folders(self) -> None:
        try:
            for kind in (_SEGMENTS, _FETCHING, _LOCKS):
                (self.folder / kind).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be made into a cache: {error.strerror}; set {_VARIABLE} to a folder that can"
            raise SnapshotError(str(self.folder), message, "missing") from error


@contextmanager
def _lock_file(file: Path) -> Iterator[None]:
    # The lock only avoids doing the same work twice, so its file may be removed while it is held.
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_unused(folder: Path) -> bool:
    """Remove a segment unless a process has it mapped or is writing it; was it removed?"""
    try:
        descriptor = os.open(folder / ARRAYS, os.O_RDONLY)
    except FileNotFoundError:  # its writer was killed before the arrays
        shutil.rmtree(folder, ignore_errors=True)
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def _modified_at(file: Path) -> float:
    return file.stat().st_mtime if file.exists() else 0.0


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk
