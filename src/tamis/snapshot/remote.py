"""Snapshots on another machine, through `pyarrow.fs`.

Such storages have no locks, and cannot create a file only if there is none. So a process that wants to be alone
writes a claim, then looks for other claims, and withdraws if there is any. Where a listing shows what was written
before it (S3, HDFS, Google and Azure storage do), of two that claim at once the later sees the earlier, so at most
one goes on. A claim that its owner left behind counts for nothing once it is older than `claim_seconds` by the
storage's own clock; an owner asks before it commits whether half of that time has passed. Two can only get in at
once if one stalls for more than the other half between asking and committing.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

from tamis.errors import SnapshotError
from tamis.snapshot.storage import ASIDE, CHUNK_BYTES, CLAIMS, Content, FileInfo

_OBJECT_STORES = ("s3", "gcs", "abfs")
"""On these a file appears when it is closed, and not before."""


class RemoteStorage:
    """A folder in a pyarrow file system."""

    def __init__(self, filesystem: Any, root: str, shown: str, *, claim_seconds: float = 60.0) -> None:
        """Nothing is touched yet.

        Args:
            filesystem: A `pyarrow.fs.FileSystem`.
            root: The folder in it.
            shown: How messages call the folder.
            claim_seconds: How long a claim lasts whose owner has died.
        """
        self.local: Path | None = None
        self.claim_seconds = claim_seconds
        self._filesystem = filesystem
        self._root = root.rstrip("/")
        self._shown = shown.rstrip("/")
        while isinstance(filesystem, pafs.SubTreeFileSystem):
            filesystem = filesystem.base_fs
        self._is_object_store = filesystem.type_name in _OBJECT_STORES

    def where(self, path: str) -> str:
        """The path in full."""
        return f"{self._shown}/{path}"

    def read(self, path: str) -> bytes:
        """The content of a file."""
        with self._filesystem.open_input_stream(self._path(path), compression=None) as stream:
            content: bytes = stream.read()
            return content

    def chunks(self, path: str) -> Iterator[bytes]:
        """The content of a file, piece by piece."""
        with self._filesystem.open_input_stream(self._path(path), compression=None) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """The length of each file; None if there is none."""
        found = self._filesystem.get_file_info([self._path(path) for path in paths])
        return [each.size if each.type == pafs.FileType.File else None for each in found]

    def listing(self, folder: str) -> list[FileInfo]:
        """What is in a folder."""
        selector = pafs.FileSelector(self._path(folder), allow_not_found=True, recursive=False)
        found = map(_file_info, self._filesystem.get_file_info(selector))
        return sorted(found, key=lambda each: each.name)

    def write(self, path: str, content: Content) -> None:
        """Make or replace a file."""
        if self._is_object_store:
            self._write(path, content)
            return
        aside = f"{ASIDE}/{os.getpid()}-{uuid.uuid4().hex}"
        self._write(aside, content)
        self._make_folder(path)
        self._filesystem.move(self._path(aside), self._path(path))

    def create(self, path: str, content: bytes) -> bool:
        """Make a file if there is none; only `exclusive` keeps another process from doing so at the same time."""
        if self.sizes([path]) != [None]:
            return False
        self.write(path, [content])
        return True

    def remove(self, path: str) -> None:
        """Remove a file if it is there."""
        try:
            self._filesystem.delete_file(self._path(path))
        except FileNotFoundError:
            return

    def remove_leftover(self, path: str) -> bool:
        """Remove a file that was being written; whether its writer is alive is unknown."""
        self.remove(path)
        return True

    def remove_folder(self, path: str) -> None:
        """Remove a folder if it is there."""
        try:
            self._filesystem.delete_dir(self._path(path))
        except FileNotFoundError:
            return

    @contextmanager
    def exclusive(self) -> Iterator[Callable[[], None]]:
        """Hold the only claim; waits for claims of others to be released or to expire."""
        deadline = time.monotonic() + 2 * self.claim_seconds
        name = uuid.uuid4().hex
        while True:
            since = time.monotonic()
            self.write(f"{CLAIMS}/{name}", [f"process {os.getpid()}\n".encode()])
            try:
                if not self._other_claims(name):
                    yield partial(self._check_claim, since)
                    return
            finally:
                self.remove(f"{CLAIMS}/{name}")
            if time.monotonic() > deadline:
                message = f"another process holds a claim on it for more than {2 * self.claim_seconds:g} s"
                raise SnapshotError(self.where(CLAIMS), message, "busy")
            time.sleep(random.uniform(0.01, 0.1))

    def _other_claims(self, mine: str) -> list[str]:
        claims = {claim.name: claim.modified for claim in self.listing(CLAIMS)}
        if mine not in claims:
            return [mine]  # another process took it for an abandoned one: try again
        oldest = claims.pop(mine) - self.claim_seconds
        expired = [name for name, modified in claims.items() if modified < oldest]
        for name in expired:
            self.remove(f"{CLAIMS}/{name}")
        return [name for name in claims if name not in expired]

    def _check_claim(self, since: float) -> None:
        if time.monotonic() - since > self.claim_seconds / 2:
            raise SnapshotError(self.where(CLAIMS), "our claim on it took too long; try again", "busy")

    def _write(self, path: str, content: Content) -> None:
        self._make_folder(path)
        try:
            with self._filesystem.open_output_stream(self._path(path), compression=None) as stream:
                for piece in content:
                    stream.write(piece)
        except BaseException:
            self.remove(path)  # closing the stream made a file of the part that was written
            raise

    def _make_folder(self, path: str) -> None:
        if not self._is_object_store:  # which has no folders
            self._filesystem.create_dir(self._path(path.rpartition("/")[0]), recursive=True)

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if self._root else path


def _file_info(info: Any) -> FileInfo:
    is_folder = info.type == pafs.FileType.Directory
    return FileInfo(info.base_name, is_folder, info.size or 0, (info.mtime_ns or 0) / 1e9)
