"""Snapshots in a folder of this machine.

Every file is written aside, synced and renamed, and its folder synced, so that after a crash of the program or the
machine a file is whole or not there. `create` is a hard link, which the kernel makes for one process only;
`exclusive` is a lock that ends with the process that holds it. Files get the permissions that the umask says, so
that other users may read what one publishes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tamis.errors import naming_write_errors
from tamis.snapshot.storage import ASIDE, CHUNK_BYTES, LOCK, Content, FileInfo

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)
"""Errors of file systems without hard links."""


class LocalStorage:
    """A folder; it need not exist before something is written."""

    def __init__(self, root: Path) -> None:
        """Nothing is touched yet."""
        self.root = root
        self.local: Path | None = root

    def where(self, path: str) -> str:
        """The path in full."""
        return str(self.root / path)

    def read(self, path: str) -> bytes:
        """The content of a file."""
        return (self.root / path).read_bytes()

    def chunks(self, path: str) -> Iterator[bytes]:
        """The content of a file, piece by piece."""
        with (self.root / path).open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """The length of each file; None if there is none."""
        return [self._size(path) for path in paths]

    def listing(self, folder: str) -> list[FileInfo]:
        """What is in a folder."""
        try:
            names = sorted(os.listdir(self.root / folder))
        except FileNotFoundError:
            return []
        found = (self._file_info(os.path.join(self.root, folder, name), name) for name in names)
        return [each for each in found if each is not None]

    def write(self, path: str, content: Content) -> None:
        """Make or replace a file."""
        with naming_write_errors(self.root / path), self._temporary_file(content) as aside:
            self._place(aside, path, os.replace)

    def create(self, path: str, content: bytes) -> bool:
        """Make a file if there is none."""
        with naming_write_errors(self.root / path), self._temporary_file([content]) as aside:
            try:
                self._place(aside, path, _link)
            except FileExistsError:
                return False
        return True

    def remove(self, path: str) -> None:
        """Remove a file if it is there."""
        with naming_write_errors(self.root / path):
            (self.root / path).unlink(missing_ok=True)

    def remove_leftover(self, path: str) -> bool:
        """Remove a file that was being written, unless its writer holds it."""
        try:
            descriptor = os.open(self.root / path, os.O_RDONLY)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            self.remove(path)
            return True
        finally:
            os.close(descriptor)

    def remove_folder(self, path: str) -> None:
        """Remove the files of a folder, and the folder unless another process writes into it at that moment."""
        for each in self.listing(path):
            if not each.is_folder:
                self.remove(f"{path}/{each.name}")
        try:
            (self.root / path).rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise

    @contextmanager
    def exclusive(self) -> Iterator[Callable[[], None]]:
        """Hold the lock of this folder; waits for it."""
        with naming_write_errors(self.root / LOCK):
            _make_folder(self.root)
            descriptor = os.open(self.root / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield lambda: None
        finally:
            os.close(descriptor)

    def _size(self, path: str) -> int | None:
        try:
            return os.stat(self.root / path).st_size
        except FileNotFoundError:
            return None

    def _file_info(self, path: str, name: str) -> FileInfo | None:
        try:
            found = os.lstat(path)
        except FileNotFoundError:  # removed since it was listed
            return None
        return FileInfo(name, os.path.isdir(path), found.st_size, found.st_mtime)

    @contextmanager
    def _temporary_file(self, content: Content) -> Iterator[Path]:
        aside, file = self._new_file()
        try:
            with file:
                for piece in content:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
                yield aside
        finally:
            aside.unlink(missing_ok=True)

    def _new_file(self) -> tuple[Path, IO[bytes]]:
        """A new file, whose lock shows that its writer is alive."""
        folder = self.root / ASIDE
        _make_folder(folder)
        while True:
            aside = folder / f"{os.getpid()}-{uuid.uuid4().hex}"
            file = aside.open("xb")
            fcntl.flock(file, fcntl.LOCK_SH)
            if os.fstat(file.fileno()).st_nlink:
                return aside, file
            file.close()  # taken for a leftover before it was locked

    def _place(self, aside: Path, path: str, put: Callable[[Path, Path], None]) -> None:
        target = self.root / path
        while True:
            try:
                with _folder(target.parent) as descriptor:
                    put(aside, target)
                    os.fsync(descriptor)
            except FileNotFoundError:
                if not aside.exists():
                    raise
                # Otherwise the folder was collected while it was empty.
            else:
                return


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if target.exists():  # the lock of `exclusive` alone must do here
            raise FileExistsError(target) from error
        os.rename(source, target)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, durably."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        with suppress(FileExistsError):
            os.mkdir(folder)
        _sync(folder.parent)


@contextmanager
def _folder(folder: Path) -> Iterator[int]:
    """A descriptor of a folder, which is made if need be."""
    _make_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sync_file(file: Path) -> None:
    """See to it that a file that another library wrote survives a loss of power."""
    _sync(file)
    _sync(file.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
