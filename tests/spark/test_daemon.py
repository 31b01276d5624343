"""The process that workers are forked from, started as Spark starts it."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytestmark = pytest.mark.slow


@contextmanager
def daemon(errors: Path, *paths: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon that has told its port, which is the one thing that it may print; it ends with its input."""
    path = os.pathsep.join([*map(str, paths), os.environ.get("PYTHONPATH", "")])
    with errors.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tamis.spark.daemon", "pyspark.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        (port,) = struct.unpack("!i", process.stdout.read(4))
        assert 0 < port < 1 << 16
        yield process
        process.stdin.close()
        assert process.stdout.read() == b""
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted by Linux")
def test_it_has_one_thread_whatever_it_has_loaded(tmp_path: Path) -> None:
    with daemon(tmp_path / "errors") as process:
        assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1
        assert "libarrow" in Path(f"/proc/{process.pid}/maps").read_text()
    assert (tmp_path / "errors").read_text() == ""


def test_it_makes_workers_even_if_nothing_can_be_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "pyarrow.py").write_text("print('not the port'); raise ImportError('no such library')")
    with daemon(tmp_path / "errors", broken):
        pass
    logged = (tmp_path / "errors").read_text()
    assert "no such library" in logged
    assert "not the port" in logged
