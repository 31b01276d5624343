"""File systems that are full or read-only, mounted for a test; skipped by name where nothing may be mounted."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no command `mount`")
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


class SmallDisk:
    """A file system of its own in a folder, with little space."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Leave no space at all."""
        with (self.folder / "ballast").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as error:
                assert error.errno == errno.ENOSPC

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
