"""File systems that are full or read-only, mounted for a test.

Where nothing may be mounted tests are skipped by name, or fail where all must run (`TAMIS_REQUIRE_SERVERS`).
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

_PAGE_BYTES = 4096
"""What a file takes at least."""


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        _skip("there is no command `mount`")
    if done.returncode:
        _skip(f"nothing can be mounted here: {done.stderr.strip()}")


def _skip(why: str) -> NoReturn:
    if os.environ.get("TAMIS_REQUIRE_SERVERS"):  # where everything must run
        pytest.fail(why)
    pytest.skip(why)


class SmallDisk:
    """A file system of its own in a folder, with little space."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, *, leave_pages: int = 0) -> None:
        """Leave no space at all, or so many pages."""
        with (self.folder / "ballast").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(_PAGE_BYTES))
            except OSError as error:
                assert error.errno == errno.ENOSPC
            file.truncate(max(0, file.tell() - leave_pages * _PAGE_BYTES))

    def clear(self) -> None:
        """Give the space back."""
        (self.folder / "ballast").unlink()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Nothing can be written meanwhile."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)
        try:
            yield
        finally:
            subprocess.run(["mount", "-o", "remount,rw", str(self.folder)], check=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A disk of two megabytes at a folder, which is made."""
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder))
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
