"""Where the files of a snapshot are: what a storage must be able to do, and which one a URL means.

A file appears whole or not at all. `create` never replaces; `exclusive` lets one at a time commit, pin and
collect.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

from tamis.errors import SnapshotError
from tamis.urls import without_secrets

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

Content: TypeAlias = Iterable[bytes | memoryview]
"""What to write, piece by piece."""

ASIDE = "aside"
"""The folder of what is being written."""

CLAIMS = "claims"
"""The folder of claims, which stand for a lock where there are no locks."""

LOCK = "lock"
"""The file to lock, where there are locks."""

CHUNK_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file or folder.

    Attributes:
        name: The last part of its path.
        is_folder: Or else a file.
        bytes: Of a file.
        modified: Seconds since 1970 by the storage's clock; 0 if it is unknown.
    """

    name: str
    is_folder: bool
    bytes: int
    modified: float


class Storage(Protocol):
    """A folder somewhere. Paths are relative to it, with slashes."""

    local: Path | None
    """The folder, if its files can be mapped in place."""

    def where(self, path: str) -> str:
        """The path in full, for messages; without passwords."""

    def read(self, path: str) -> bytes:
        """The content of a file; FileNotFoundError if there is none."""

    def chunks(self, path: str) -> Iterator[bytes]:
        """The content of a file, piece by piece; FileNotFoundError if there is none."""

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """The length of each file in bytes; None if there is none."""

    def listing(self, folder: str) -> list[FileInfo]:
        """What is in a folder, by name; nothing if there is no such folder."""

    def write(self, path: str, content: Content) -> None:
        """Make a file, durably; it replaces the one that was there."""

    def create(self, path: str, content: bytes) -> bool:
        """Make a file, durably, if there is none; was there none?"""

    def remove(self, path: str) -> None:
        """Remove a file if it is there."""

    def remove_leftover(self, path: str) -> bool:
        """Remove a file that was being written; False if its writer is known to be alive."""

    def remove_folder(self, path: str) -> None:
        """Remove a folder and the files in it, if it is there."""

    def exclusive(self) -> AbstractContextManager[Callable[[], None]]:
        """Keep other writers out; the function that it gives raises SnapshotError if that no longer holds."""


def open_storage(url: str | os.PathLike[str], filesystem: FileSystem | None = None) -> Storage:
    """The storage that a URL means.

    Args:
        url: The path of a folder, `file://`, or a URL that pyarrow knows: `s3://`, `gs://`, `hdfs://`, ...
        filesystem: Where `url` is a path in; for what a URL cannot say.

    Raises:
        SnapshotError: It is no URL that pyarrow knows.
    """
    from tamis.snapshot.local import LocalStorage

    text = os.fspath(url)
    if filesystem is not None:
        return _remote(filesystem, text, text)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", text)
    if scheme is None:
        return LocalStorage(Path(text))
    if scheme[1].lower() == "file":
        return LocalStorage(Path(unquote(urlsplit(text).path)))
    import pyarrow as pa
    from pyarrow.fs import FileSystem

    shown = without_secrets(text)
    uri = re.sub(r"^s3a:", "s3:", text, flags=re.IGNORECASE)  # as Spark writes it
    try:
        found, path = FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        why = str(error).replace(uri, shown)
        raise SnapshotError(shown, f"pyarrow cannot open it: {why}", "foreign") from None  # the cause has the keys
    return _remote(found, path, shown)


def _remote(filesystem: Any, path: str, shown: str) -> Storage:
    from tamis.snapshot.remote import RemoteStorage

    return RemoteStorage(filesystem, path, shown)
