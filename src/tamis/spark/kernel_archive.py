"""The driver's compiled kernels on their way to workers that lack them.

An archive is made once in a driver, of the files of compiled kernels that it has, and sent as a file of Spark's.
A task names it by its checksum. A worker adds the files that it lacks to its own folder, each of them whole or not
at all, once for all processes of its user. The name of a file says all that its code depends on, and its content
has a checksum (`tamis.kernels`), so files of another tamis, Python, numba or processor are never looked at, and a
damaged one is compiled. Kernels are code: they come from where tasks come from, and an archive that does not have
the checksum in the task is not opened.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tamis.kernels import SUFFIX, folder, folders, write_whole

_log = logging.getLogger(__name__)

_NAME = re.compile(rf"[\w.]+@[0-9a-f]+-[0-9a-f]+-[0-9a-f]+{re.escape(SUFFIX)}")
_LABORATORY = "lab."
_EPOCH = (1980, 1, 1, 0, 0, 0)
_used: set[str] = set()
"""The archives that this process has seen."""


class KernelArchiveError(ValueError):
    """An archive of kernels that is not what the task names."""


@dataclass(frozen=True, slots=True)
class KernelArchive:
    """An archive, as a task names it.

    Attributes:
        file: Its name among Spark's files.
        sha256: The checksum of the file.
    """

    file: str
    sha256: str

    def use(self) -> None:
        """Have these kernels where this process looks for compiled ones.

        Whatever goes wrong is logged and no error: kernels are compiled then.
        """
        place = folder()
        if place is None or self.sha256 in _used:
            return
        _used.add(self.sha256)
        from pyspark import SparkFiles

        try:
            unpack(Path(SparkFiles.get(self.file)), self.sha256, place)
        except (OSError, zipfile.BadZipFile, KernelArchiveError) as error:
            _log.warning("the driver's kernels are not used: %s", error)


def make_archive(place: Path) -> KernelArchive | None:
    """Write the kernels that this machine has compiled into a file in a folder; None if there are none.

    The same kernels give the same bytes.
    """
    files = {file.name: file for each in reversed(folders()) for file in each.glob(f"*{SUFFIX}")}
    names = sorted(name for name in files if not name.startswith(_LABORATORY))
    if not names:
        return None
    aside = place / "kernels.zip"
    with zipfile.ZipFile(aside, "w") as archive:
        for name in names:
            try:
                content = files[name].read_bytes()
            except FileNotFoundError:  # a process that compiles removes what is out of date
                continue
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED, compresslevel=1)
    checksum = _checksum(aside)
    made = KernelArchive(f"tamis-kernels-{checksum[:16]}.zip", checksum)
    aside.rename(place / made.file)
    return made


def unpack(archive: Path, sha256: str, place: Path) -> None:
    """Add the kernels of an archive to a folder that lacks them, unless a process has done so before.

    Raises:
        KernelArchiveError: The archive does not have the checksum, or holds something else than kernels.
        OSError: It is not there, or the folder cannot be written.
    """
    done = place / f".{sha256}.unpacked"
    if done.exists():
        return
    descriptor = os.open(place / ".unpacking", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # the processes of a node begin together: one of them unpacks
        if done.exists():
            return
        checksum = _checksum(archive)
        if checksum != sha256:
            msg = f"{archive}: expected the checksum {sha256}, found {checksum}"
            raise KernelArchiveError(msg)
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if _NAME.fullmatch(name) is None:
                    msg = f"{archive}: expected compiled kernels, found {name!r}"
                    raise KernelArchiveError(msg)
                if not (place / name).exists():
                    write_whole(place / name, opened.read(name))
        done.touch()
    finally:
        os.close(descriptor)


def _checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
