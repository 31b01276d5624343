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


def test_the_checkpoint_is_refused_whatever_the_state_folder_is(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    first = hold_checkpoint(tmp_path / "first", checkpoint)
    for place in (str(checkpoint), f"file://{checkpoint}"):
        with pytest.raises(
            CheckpointInUse, match=f"{checkpoint}/tamis: a query of process {os.getpid()} uses this"
        ):
            hold_checkpoint(tmp_path / "second", place, wait_seconds=0)
    hold_checkpoint(tmp_path / "second", tmp_path / "another").release()
    with pytest.raises(CheckpointInUse, match=f"{tmp_path}/first: "):
        hold_checkpoint(tmp_path / "first", "s3://bucket/checkpoint", wait_seconds=0)
    first.release()
    hold_checkpoint(tmp_path / "second", checkpoint).release()


def test_a_state_that_is_taken_leaves_the_checkpoint_free(tmp_path: Path) -> None:
    first = hold_checkpoint(tmp_path / "state", tmp_path / "first")
    with pytest.raises(CheckpointInUse):
        hold_checkpoint(tmp_path / "state", tmp_path / "second", wait_seconds=0)
    hold_checkpoint(tmp_path / "another", tmp_path / "second").release()
    first.release()


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
