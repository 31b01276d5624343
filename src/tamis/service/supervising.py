"""Keeps the stream running: starts it, starts it again when it dies, and ends it with the service."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Literal, TypeAlias

from tamis.service.settings import Settings
from tamis.service.stream import described

State: TypeAlias = Literal["starting", "running", "failed", "stopped"]

_log = logging.getLogger(__name__)

_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 30.0
_STEADY_SECONDS = 60.0
"""A stream that has run for so long is tried again at once."""
_END_SECONDS = 90.0
_KEPT_LINES = 50
_READ_BYTES = 65_536
_LINE_BYTES = 10_000


class Supervisor:
    """The process of the stream.

    Attributes:
        state: What it does.
        reason: Why it failed last, if it did.
        starts: How often it was started.
        pid: Of the process, None if there is none.
    """

    def __init__(self, settings: Settings) -> None:
        self.state: State = "starting"
        self.reason: str | None = None
        self.starts = 0
        self.pid: int | None = None
        self._settings = settings

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the stream running until told to stop; then let it finish its batch."""
        wait = _FIRST_WAIT_SECONDS
        while not stop.is_set():
            began = time.monotonic()
            code = await self._once(stop)
            if stop.is_set():
                break
            self.state = "failed"
            self.reason = self.reason or f"the process of the stream ended with {code}"
            if time.monotonic() - began > _STEADY_SECONDS:
                wait = _FIRST_WAIT_SECONDS
            _log.error("the stream ended and is started again in %.1f s: %s", wait, self.reason)
            try:
                await asyncio.wait_for(stop.wait(), wait)
            except TimeoutError:
                wait = min(2 * wait, _LONGEST_WAIT_SECONDS)
        self.state = "stopped"

    async def _once(self, stop: asyncio.Event) -> int | None:
        """Run it once; gives the exit code."""
        self.starts += 1
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tamis.service.stream"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the service alone, which tells the stream
        )
        self.pid = process.pid
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(described(self._settings).encode() + b"\n")
        said: deque[str] = deque(maxlen=_KEPT_LINES)
        readers = asyncio.gather(self._listen(process.stdout), _keep(process.stderr, said))
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
            self.reason = self.reason or (said[-1] if said else None)
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
            if state == "running":
                self.state, self.reason = "running", None
            elif state == "failed":
                self.state, self.reason = "failed", told.get("reason")


async def _keep(lines: asyncio.StreamReader, said: deque[str]) -> None:
    async for line in _lines(lines):
        said.append(line.decode(errors="replace").rstrip())


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
