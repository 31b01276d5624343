"""The service that `service` measures: started as anybody does, asked over HTTP, and ended by its process id."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.process_tree import Process, end, family
from benchmarks.service_load import Target
from scripts import java_home

_READY_SECONDS = 600.0
"""The stream compiles its kernels first, where that has not happened yet."""
_END_SECONDS = 60.0
_REST_SECONDS = 10.0
WORKERS = "workers"
_ADDRESS = re.compile(r"listens at http://([^:]+):(\d+)")


@dataclass(frozen=True, slots=True)
class Host:
    """A running service.

    Attributes:
        target: Where it is.
        folder: Its data.
        pid: Of its process.
    """

    target: Target
    folder: Path
    pid: int

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """What it answers, which is JSON.

        Raises:
            SystemExit: It answers that something is wrong.
        """
        return json.loads(self.text(path, method, body))

    def text(self, path: str, method: str = "GET", body: bytes | None = None) -> str:
        """What it answers, as a text."""
        connection = http.client.HTTPConnection(self.target.host, self.target.port, timeout=300)
        try:
            headers = self.target.headers()
            if method == "PUT":
                headers["Content-Type"] = "application/json"
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            answer = response.read().decode(errors="replace")
        finally:
            connection.close()
        if response.status >= 300:
            msg = f"{method} {path}: {response.status} {answer[:1_000]}"
            raise SystemExit(msg)
        return answer

    def batches(self) -> list[dict[str, Any]]:
        """The reports of the stream, a batch each."""
        file = self.folder / "stream" / "progress.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    def cpu_seconds(self) -> dict[str, float]:
        """What each part has used since it was started."""
        used: dict[str, float] = {}
        for process in family(self.pid):
            part = self._part(process)
            gone = process.ended_seconds if part == WORKERS else 0.0
            used[part] = used.get(part, 0.0) + process.cpu_seconds + gone
        return used

    def _part(self, process: Process) -> str:
        if process.pid == self.pid:
            return "service"
        if "tamis.service.stream" in process.command:
            return "driver"
        return "JVM" if "org.apache.spark" in process.command else WORKERS


@contextmanager
def serving(folder: Path, settings: Mapping[str, object] | None = None) -> Iterator[Host]:
    """A service of its own in an empty folder, ready to match; it is gone afterwards, whatever happened."""
    log = folder / "service.log"
    data = folder / "data"
    environment = {**os.environ, "JAVA_HOME": str(java_home.choose(os.environ, install=False))}
    command = [sys.executable, "-m", "tamis", "serve", "--data", str(data), "--port", "0"]
    command += [f"--set={name}={value}" for name, value in (settings or {}).items()]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment
        )
    try:
        yield _ready(process, log, data)
    except BaseException:
        print(log.read_text("utf-8", "replace")[-4_000:], file=sys.stderr)
        raise
    finally:
        _end(process)


def _ready(process: subprocess.Popen[bytes], log: Path, data: Path) -> Host:
    deadline = time.monotonic() + _READY_SECONDS
    host: Host | None = None
    while time.monotonic() < deadline:
        if process.poll() is not None:
            msg = f"the service ended with {process.returncode} before it was ready"
            raise SystemExit(msg)
        found = _ADDRESS.search(log.read_text("utf-8", "replace"))
        if host is None and found is not None and (data / "token").exists():
            token = (data / "token").read_text("utf-8").strip()
            host = Host(Target(found[1], int(found[2]), token), data, process.pid)
        if host is not None:
            with suppress(OSError, SystemExit):  # it does not listen yet, or is not ready
                host.ask("GET", "/ready")
                return host
        time.sleep(0.1)
    msg = f"the service was not ready after {_READY_SECONDS:.0f} s"
    raise SystemExit(msg)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the service to end; whatever of it is still there after a while is killed, by its id."""
    everything = family(process.pid)
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    end(everything, _REST_SECONDS)
    process.wait()
