"""The streams of several sites in one process, to be killed where a Spark for each would be too much.

Killing is SIGKILL for the driver, its Java and its Python workers, all at once. A second process stands by with a
Spark that has started, and goes on where the killed one was: that takes seconds less than another start.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from tamis.service.settings import ServiceSettings
from tamis.service.stream import _parse_settings, serialize_settings, start
from tests.campaigns.processes import in_sessions, kill

_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 600.0


class SharedStreams:
    """A process with the streams of some sites, and one that stands by."""

    def __init__(self, settings: Sequence[ServiceSettings], logs: Path) -> None:
        """Start both, and the streams of the first."""
        self._settings = settings
        self._logs = logs
        self._processes: list[subprocess.Popen[bytes]] = []
        self._outputs: list[IO[bytes]] = []
        self._running = self._stand_by()
        self._next = self._stand_by()
        _begin(self._running)

    def kill(self) -> int:
        """Kill the process and what it has started, and let the other one go on; gives how many were killed."""
        ended, self._running = self._running, self._next
        meant = in_sessions([ended.pid])
        assert ended.pid in {each.pid for each in meant}, f"the streams have ended by themselves: {self.said()}"
        for each in meant:
            kill(each.pid)
        code = ended.wait(_PATIENCE_SECONDS)
        assert code == -signal.SIGKILL, f"the process of the streams ended with {code}"
        _begin(self._running)
        self._next = self._stand_by()
        return len(meant)

    def said(self) -> str:
        """The end of what the newest ones wrote."""
        logs = [Path(each.name).read_text(errors="replace")[-3_000:] for each in self._outputs[-2:]]
        return "\n".join(logs)

    def close(self) -> None:
        """Kill whatever is left."""
        for process in self._processes:
            for each in in_sessions([process.pid]):
                kill(each.pid)
            process.wait(_PATIENCE_SECONDS)
            assert process.stdin is not None
            process.stdin.close()
        for output in self._outputs:
            output.close()

    def _stand_by(self) -> subprocess.Popen[bytes]:
        """A process with a Spark that waits."""
        output = (self._logs / f"log streams {len(self._processes)}").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaigns.shared_streams"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps([serialize_settings(each) for each in self._settings]).encode() + b"\n")
        process.stdin.flush()
        self._processes.append(process)
        self._outputs.append(output)
        return process


def _begin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"begin\n")
    process.stdin.flush()


def main() -> None:
    """The process: settings are the first line of standard input, and its streams begin with the second."""
    from tamis.spark.session import session

    sites = [_parse_settings(json.loads(each)) for each in json.loads(sys.stdin.readline())]
    conf = {"spark.log.level": "OFF", "spark.driver.memory": sites[0].memory, "spark.ui.enabled": "false"}
    spark = session("campaign", "local[2]", conf)
    if not sys.stdin.readline():
        return
    is_over = threading.Event()
    threading.Thread(target=_wait_for_end, args=(is_over,), daemon=True).start()
    streams: dict[str, tuple[Any, ExitStack]] = {}
    while not is_over.wait(_LOOK_SECONDS):
        for each in sites:
            query, stack = streams.get(each.site, (None, ExitStack()))
            if query is None or not query.isActive:  # as the supervisor does
                stack.close()
                opened = ExitStack()
                streams[each.site] = start(each, spark, opened, name=f"campaign {each.site}"), opened


def _wait_for_end(is_over: threading.Event) -> None:
    """Wait until standard input ends, as it does with whoever started this process."""
    sys.stdin.read()
    is_over.set()


if __name__ == "__main__":
    main()
