"""Runs the stream as a child process: restarts it with back-off when it fails, and stops it with the service.

While Spark or Java is missing there is no process; each round looks whether they are there.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from signal import Signals
from typing import Literal, TypeAlias

from tamis.service.logs import relay
from tamis.service.settings import ServiceSettings
from tamis.service.stream import serialize_settings

State: TypeAlias = Literal["warming up", "running", "failed", "stopped"]

_log = logging.getLogger(__name__)

_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 30.0
_STEADY_SECONDS = 60.0
"""A stream that has run for so long is tried again at once."""
_END_SECONDS = 90.0
_KEPT_LINES = 50
_READ_BYTES = 65_536
_LINE_BYTES = 10_000


def missing_requirement() -> str | None:
    """What of Spark and Java is missing, and the command that installs it; None if both are there."""
    from tamis.spark.session import SparkError, installed_java

    try:
        installed_java()
    except SparkError as error:
        return str(error)
    return None


class Supervisor:
    """The process of the stream.

    Attributes:
        state: What it does; failed from the beginning if Spark or Java is missing. It runs once it has passed an
            event of its own through.
        since: When it came into that state.
        waits_for: While it warms up, what it waits for.
        reason: Why it failed last, if it has not run since.
        on_change: Called with the state whenever it changes.
        starts: How often it was started.
        pid: Of the process, None if there is none.
    """

    def __init__(self, settings: ServiceSettings, missing: Callable[[], str | None] = missing_requirement) -> None:
        """Look for what the stream needs; `missing` says what of it is not there."""
        self._missing = missing
        self.on_change: Callable[[State], None] = lambda _: None
        self.reason = missing()
        self.state: State = "warming up" if self.reason is None else "failed"
        self.since = datetime.now(UTC)
        self.waits_for: str | None = None
        self.starts = 0
        self.pid: int | None = None
        self._settings = settings

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the stream running until `stop` is set; then let it finish its batch."""
        wait, missing = _FIRST_WAIT_SECONDS, self.reason
        while not stop.is_set():
            began = time.monotonic()
            was_missing, missing = missing, self._missing()
            if was_missing is not None and missing is None:
                self.reason = None
            code = await self._once(stop) if missing is None else None
            if stop.is_set():
                break
            self._enter("failed")
            self.reason = missing or self.reason or _how_it_ended(code)
            if time.monotonic() - began > _STEADY_SECONDS:
                wait = _FIRST_WAIT_SECONDS
            _log.error("the stream does not run and is started again in %.1f s: %s", wait, self.reason)
            try:
                await asyncio.wait_for(stop.wait(), wait)
            except TimeoutError:
                wait = min(2 * wait, _LONGEST_WAIT_SECONDS)
        self._enter("stopped")

    def _enter(self, state: State, waits_for: str | None = None) -> None:
        """Be in a state, maybe the same as before, which then goes on."""
        self.waits_for = waits_for
        if state != self.state:
            self.state, self.since = state, datetime.now(UTC)
            self.on_change(state)

    async def _once(self, stop: asyncio.Event) -> int | None:
        """Run it once; gives the exit code."""
        self.starts += 1
        self._enter("warming up", "the process of the stream to start")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tamis.service.stream"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the service alone, which tells the stream
        )
        self.pid = process.pid
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(serialize_settings(self._settings).encode() + b"\n")
        said: deque[str] = deque(maxlen=_KEPT_LINES)
        readers = asyncio.gather(self._listen(process.stdout), _relay(process.stderr, said))
        ended = asyncio.create_task(process.wait())
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                process.stdin.close()
                await asyncio.wait({ended}, timeout=_END_SECONDS)
            if not ended.done():
                _log.error("the stream did not end in %.0f s and is killed; its batch is done again", _END_SECONDS)
                process.kill()
                await ended
        finally:
            stopped.cancel()
            self.pid = None
        await readers
        if process.returncode and not stop.is_set():
            self.reason = self.reason if self.state == "failed" else None
            self.reason = self.reason or _how_it_ended(process.returncode, said)
            if not _log.isEnabledFor(logging.INFO):  # else they are in the log already
                for line in said:
                    _log.warning("stream: %s", line)
        return process.returncode

    async def _listen(self, lines: asyncio.StreamReader) -> None:
        async for line in _lines(lines):
            try:
                told = json.loads(line)
                state = told["state"]
            except (ValueError, TypeError, KeyError):
                _log.warning("stream: %s", line.decode(errors="replace").rstrip())
                continue
            if state == "warming up":
                self._enter("warming up", told.get("waits_for"))
            elif state == "running":
                self.reason = None
                self._enter("running")
            elif state == "failed":
                self.reason = told.get("reason")
                self._enter("failed")


def _how_it_ended(code: int | None, said: Sequence[str] = ()) -> str:
    """What is known of a process that gave no reason: its last line may have nothing to do with its end."""
    ended = f"was killed by {Signals(-code).name}" if code is not None and code < 0 else f"ended with {code}"
    return f"the process of the stream {ended}" + (f"; its last line: {said[-1]}" if said else "")


async def _relay(lines: asyncio.StreamReader, said: deque[str]) -> None:
    """Log the lines as they come: what the stream compiles or warns of is not to be known only when it fails."""
    async for line in _lines(lines):
        said.append(relay(line.decode(errors="replace").rstrip(), "stream"))


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines of a process, long ones cut off: whatever it writes, it is never kept waiting."""
    line = b""
    while some := await reader.read(_READ_BYTES):
        *whole, rest = (line + some).split(b"\n")
        for each in whole:
            yield each[:_LINE_BYTES]
        line = rest[:_LINE_BYTES]
    if line:
        yield line
