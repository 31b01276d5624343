"""One service has a data folder, in real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tamis.service.folder_lock import LOCK, FolderInUse, hold_folder
from tests.service.living import PATIENCE_SECONDS


def command(folder: Path) -> list[str]:
    options = ["--data", str(folder), "--port", "0", "--set", "stream=false"]
    return [sys.executable, "-m", "tamis", "serve", *options]


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service in a process, and its address."""
    with subprocess.Popen(
        command(folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[3].rstrip(",")
        finally:
            process.kill()


@pytest.mark.slow
def test_a_second_service_on_the_folder_is_refused_and_a_crash_frees_it(tmp_path: Path) -> None:
    with serving(tmp_path) as (first, address):
        second = subprocess.run(
            command(tmp_path), check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert second.returncode == 2
        assert second.stderr == (
            f"tamis: error: another tamis serve (process {first.pid}, at {address}) uses the data folder "
            f"{tmp_path}; stop it first, or give this one a folder of its own with --data\n"
        )
        assert "tamis" in json.load(urlopen(f"{address}/ping"))  # the first one does not notice
        first.send_signal(signal.SIGKILL)
        first.wait(PATIENCE_SECONDS)
    with serving(tmp_path) as (third, address):
        assert json.loads((tmp_path / LOCK).read_text()) == {"pid": third.pid, "address": address}


def test_the_error_has_the_parts_that_are_known(tmp_path: Path) -> None:
    with hold_folder(tmp_path) as write:
        for address in (None, "http://127.0.0.1:1"):
            if address is not None:
                write(address)
            with pytest.raises(FolderInUse) as refused, hold_folder(tmp_path):
                pass
            assert (refused.value.folder, refused.value.pid) == (tmp_path, os.getpid())
            assert refused.value.address == address
        (tmp_path / LOCK).write_bytes(b"")  # between the lock and its text
        with pytest.raises(FolderInUse, match="another tamis serve uses the data folder"), hold_folder(tmp_path):
            pass
    with hold_folder(tmp_path):
        pass
