"""Kernels that travel: a process that has none compiles nothing that the driver has compiled."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tamis.spark.kernel_archive import KernelArchiveError, unpack
from tests.spark.processes import run

pytest.importorskip("pyspark")

_COMPILED = {"answer": 0.75, "compiled": 1, "read": 0}
_FOUND = {"answer": 0.75, "compiled": 0, "read": 1}


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Spark's files, with the archive of a driver that has compiled one kernel."""
    folder = tmp_path_factory.mktemp("sent")
    answered, _ = run("driver", folder, tmp_path_factory.mktemp("driver"))
    assert answered == _COMPILED
    return folder


def described(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / "archive.json").read_text())
    return found


@pytest.mark.slow
def test_a_worker_with_an_empty_cache_takes_the_kernels_of_the_driver(sent: Path, tmp_path: Path) -> None:
    assert run("worker", sent, tmp_path / "kernels") == (_FOUND, "")
    assert (tmp_path / "kernels").stat().st_mode & 0o777 == 0o700
    shutil.copy(sent / "archive.json", tmp_path)
    assert run("worker", tmp_path, tmp_path / "kernels") == (_FOUND, ""), "unpacked once, and then not asked for"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["archive", "kernel", "missing"])
def test_damage_is_compiled_anew(sent: Path, tmp_path: Path, what: str) -> None:
    folder, kernels = tmp_path / "sent", tmp_path / "kernels"
    shutil.copytree(sent, folder)
    archive = folder / described(sent)["file"]
    if what == "archive":
        content = bytearray(archive.read_bytes())
        content[len(content) // 2] ^= 0xFF
        archive.write_bytes(content)
    elif what == "missing":
        archive.unlink()
    else:
        kernels.mkdir()
        unpack(archive, described(sent)["sha256"], kernels)
        for file in kernels.glob("*.kernel"):
            file.write_bytes(file.read_bytes()[:-100])
    answered, logged = run("worker", folder, kernels)
    assert answered == _COMPILED
    assert ("the driver's kernels are not used" in logged) == (what != "kernel")


def test_what_a_worker_has_is_left_alone(sent: Path, tmp_path: Path) -> None:
    archive, sha256 = sent / described(sent)["file"], described(sent)["sha256"]
    (name,) = zipfile.ZipFile(archive).namelist()
    (tmp_path / name).write_text("its own")
    unpack(archive, sha256, tmp_path)
    assert (tmp_path / name).read_text() == "its own"


@pytest.mark.parametrize("name", ["../outside.kernel", "module.py", "x@0-0-0.kernel.py"])
def test_an_archive_of_something_else_is_refused(tmp_path: Path, name: str) -> None:
    archive, kernels = tmp_path / "archive.zip", tmp_path / "kernels"
    kernels.mkdir()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(name, b"no kernel")
    with pytest.raises(KernelArchiveError, match="expected compiled kernels, found"):
        unpack(archive, hashlib.sha256(archive.read_bytes()).hexdigest(), kernels)
    assert [each for each in kernels.iterdir() if not each.name.startswith(".")] == []
