"""Attempts on their way into the database: what comes while one transaction is written goes into the next.

So a hundred receivers that answer at the same time cost a few transactions, not a hundred that wait for each
other.
"""

from __future__ import annotations

import asyncio

from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.records import Step


class Book:
    """Records steps in the order in which they come."""

    def __init__(self, webhooks: Webhooks) -> None:
        """Nothing is written yet."""
        self._webhooks = webhooks
        self._open: list[tuple[Step, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def record(self, step: Step) -> None:
        """Return when it is in the database; raise what the database raises."""
        done = asyncio.get_running_loop().create_future()
        self._open.append((step, done))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        await done

    async def close(self) -> None:
        """Wait for what is being written."""
        if self._writer is not None:
            await asyncio.wait([self._writer])

    async def _write(self) -> None:
        try:
            while self._open:
                entries, self._open = self._open, []
                try:
                    await asyncio.to_thread(self._webhooks.record, [step for step, _ in entries])
                except Exception as error:
                    for _, done in entries:
                        if not done.done():
                            done.set_exception(error)
                else:
                    for _, done in entries:
                        if not done.done():
                            done.set_result(None)
        finally:
            self._writer = None
