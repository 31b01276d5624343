"""Group commit: what is submitted while one transaction is being written goes into the next, together.

A transaction that waits for the disk costs about as much for one row as for a thousand. So a hundred requests that
arrive at the same time cost a few transactions, not a hundred that wait for each other. Items are written in the
order in which they were submitted, and those of one submission are in one transaction: all of them, or none.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_ITEMS = 20_000


class GroupCommit(Generic[Item, Result]):
    """Writes items of many tasks in few transactions; used within one event loop."""

    def __init__(self, write: Callable[[list[Item]], Sequence[Result]], *, most_items: int = _MOST_ITEMS) -> None:
        """Start with nothing to write.

        Args:
            write: Writes items in one transaction and returns a result for each, in their order; runs in a thread,
                never twice at the same time.
            most_items: A transaction takes no further submission when it has so many items.
        """
        self._write = write
        self._most_items = most_items
        self._waiting: deque[tuple[Sequence[Item], asyncio.Future[list[Result]]]] = deque()
        self._writer: asyncio.Task[None] | None = None

    async def submit(self, items: Sequence[Item]) -> list[Result]:
        """Write items; when this returns they are committed. A task that is cancelled takes nothing back.

        Raises:
            Exception: What `write` raises. Then nothing of the transaction was written, of no submission in it.
        """
        future: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, future))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_all())
        return await asyncio.shield(future)

    async def close(self) -> None:
        """Wait until everything that was submitted is written, or has failed."""
        if self._writer is not None:
            await asyncio.wait([self._writer])

    async def _write_all(self) -> None:
        while self._waiting:
            group = self._next_group()
            together = [item for items, _ in group for item in items]
            try:
                results = iter(await asyncio.to_thread(self._write, together))
            except Exception as error:
                for _, future in group:
                    future.set_exception(error)
                continue
            for items, future in group:
                future.set_result([next(results) for _ in items])

    def _next_group(self) -> list[tuple[Sequence[Item], asyncio.Future[list[Result]]]]:
        group, count = [self._waiting.popleft()], 0
        while self._waiting and (count := count + len(group[-1][0])) < self._most_items:
            group.append(self._waiting.popleft())
        return group
