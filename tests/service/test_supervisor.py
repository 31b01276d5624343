"""The supervisor: a stream that dies is started again, and one that talks too much is not kept waiting."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tamis.service import supervisor as supervising
from tamis.service.settings import ServiceSettings
from tamis.service.supervisor import Supervisor


def supervised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, is_enough: Callable[[Supervisor], Any]
) -> Supervisor:
    """Supervise a program in place of the stream until it is enough, then stop it."""
    start = asyncio.create_subprocess_exec

    async def other(*_: str, **options: Any) -> Any:
        return await start(sys.executable, "-c", program, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", other)
    monkeypatch.setattr(supervising, "_FIRST_WAIT_SECONDS", 0.01)
    supervisor = Supervisor(ServiceSettings(data=str(tmp_path)), missing=lambda: None)
    run_until(supervisor, lambda: is_enough(supervisor))
    return supervisor


def run_until(supervisor: Supervisor, is_enough: Callable[[], Any]) -> None:
    """Run a supervisor until it is enough, then stop it."""

    async def run() -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(supervisor.run(stop))
        async with asyncio.timeout(120):
            while not is_enough():
                await asyncio.sleep(0.01)
            stop.set()
            await task

    asyncio.run(run())


def test_a_stream_runs_until_its_input_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "given"
    program = f"""
import sys
open({str(file)!r}, "w").write(sys.stdin.readline())
print('{{"state": "running"}}', flush=True)
sys.stdin.read()
"""
    seen = supervised(monkeypatch, tmp_path, program, lambda each: each.state == "running" and each.pid)
    assert (seen.state, seen.starts, seen.reason, seen.pid) == ("stopped", 1, None, None)
    assert str(tmp_path) in file.read_text(), "its settings are its first line"


def test_no_stream_is_started_while_java_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = iter(["no Java", "no Java", None])
    states = []

    async def other(*_: str, **options: Any) -> Any:
        states.append((supervisor.state, supervisor.reason))
        return await start(sys.executable, "-c", program, **options)

    program = 'print(\'{"state": "running"}\', flush=True); import sys; sys.stdin.read()'
    start = asyncio.create_subprocess_exec
    monkeypatch.setattr(asyncio, "create_subprocess_exec", other)
    monkeypatch.setattr(supervising, "_FIRST_WAIT_SECONDS", 0.01)
    supervisor = Supervisor(ServiceSettings(data=str(tmp_path)), missing=lambda: next(answers))
    assert (supervisor.state, supervisor.reason) == ("failed", "no Java")
    run_until(supervisor, lambda: supervisor.state == "running")
    assert states == [("warming up", None)]
    assert (supervisor.starts, supervisor.reason) == (1, None)


def test_a_stream_runs_once_it_is_warm_and_is_warmed_again_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = f"""
import pathlib, sys
print('{{"state": "warming up", "waits_for": "Spark"}}', flush=True)
sys.stdin.readline()
once = pathlib.Path({str(tmp_path / "once")!r})
if not once.exists():
    once.touch()
    print('{{"state": "failed", "reason": "no memory"}}', flush=True)
    sys.exit(1)
print('{{"state": "running"}}', flush=True)
sys.stdin.read()
"""
    changes: list[tuple[str, str | None]] = []

    def watch(supervisor: Supervisor) -> bool:
        supervisor.on_change = lambda state: changes.append((state, supervisor.reason))
        return supervisor.state == "running"

    seen = supervised(monkeypatch, tmp_path, program, watch)
    again = [("failed", "no memory"), ("warming up", "no memory"), ("running", None)]
    assert changes == [*again, ("stopped", None)]
    assert seen.starts == 2


def test_what_a_stream_waits_for_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = """
import sys
print('{"state": "warming up", "waits_for": "Spark to start"}', flush=True)
sys.stdin.readline()
sys.stdin.read()
"""
    seen = supervised(monkeypatch, tmp_path, program, lambda each: each.waits_for == "Spark to start")
    assert (seen.state, seen.waits_for) == ("stopped", None)


def test_a_stream_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    seen = supervised(monkeypatch, tmp_path, program, lambda each: each.starts >= 3)
    assert seen.reason == "the process of the stream was killed by SIGKILL"


def test_why_a_stream_failed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = """
import sys
print('{"state": "failed", "reason": "no such database"}', flush=True)
sys.exit(1)
"""
    seen = supervised(monkeypatch, tmp_path, program, lambda each: each.starts >= 2)
    assert seen.reason == "no such database"


def test_how_it_ended_and_its_last_line_stand_for_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = supervised(monkeypatch, tmp_path, "raise ValueError('odd')", lambda each: each.starts >= 2)
    assert seen.reason == "the process of the stream ended with 1; its last line: ValueError: odd"


def test_what_a_stream_says_is_logged_while_it_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = """
import sys
print('{"level": "warning", "logger": "tamis", "message": "compiling"}', file=sys.stderr, flush=True)
print("from Java", file=sys.stderr, flush=True)
sys.stdin.read()
"""
    caplog.set_level(logging.INFO)

    wanted = {
        ("tamis", logging.WARNING, "compiling"),
        ("tamis.service.logs", logging.INFO, "stream: from Java"),
    }
    supervised(monkeypatch, tmp_path, program, lambda _: wanted <= {*caplog.record_tuples})


def test_a_line_of_any_length_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = """
import sys
for output in (sys.stderr, sys.stdout):
    output.write("x" * 1_000_000 + "\\n")
print('{"state": "running"}', flush=True)
sys.stdin.readline()
sys.stdin.read()
"""
    seen = supervised(monkeypatch, tmp_path, program, lambda each: each.state == "running")
    assert (seen.state, seen.starts) == ("stopped", 1)
