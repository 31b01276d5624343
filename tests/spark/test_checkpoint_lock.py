"""The lock of a checkpoint, against real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tamis.spark.checkpoint_lock import CheckpointInUse, hold_checkpoint

HOLDER = """
import sys
from pathlib import Path
from tamis.spark.checkpoint_lock import hold_checkpoint
lock = hold_checkpoint(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the lock until its input ends."""
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_second_process_is_refused_by_name_and_a_crash_frees_the_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(CheckpointInUse) as caught:
            hold_checkpoint(tmp_path, wait_seconds=0)
        assert (caught.value.folder, caught.value.pid) == (tmp_path.resolve(), process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        hold_checkpoint(tmp_path, wait_seconds=0).release()


def test_it_waits_for_a_process_that_ends_and_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    with holder(tmp_path) as process:

        def let_go(text: str) -> None:
            said.append(text)
            assert process.stdin is not None
            process.stdin.close()

        hold_checkpoint(tmp_path, wait_seconds=600, say=let_go).release()
        assert len(said) == 1
        assert f"process {process.pid}" in said[0]


def test_within_a_process_a_query_that_has_ended_gives_way(tmp_path: Path) -> None:
    first = hold_checkpoint(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(CheckpointInUse) as caught:
        hold_checkpoint(tmp_path / "link")
    assert caught.value.pid == os.getpid()
    first.is_active = lambda: False
    second = hold_checkpoint(tmp_path)
    first.release()  # late: the lock is no longer its own
    with pytest.raises(CheckpointInUse):
        hold_checkpoint(tmp_path)
    second.release()
    hold_checkpoint(tmp_path).release()
