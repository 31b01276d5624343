"""Fair scheduling of calls: a queue per host, served round robin.

A job is waiting for its time, queued, or running, and never two of these. The number of running jobs is bounded
per host and in total, so a host that does not answer delays only itself. There is no thread and no clock here: the
caller passes the time.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

Job = TypeVar("Job", bound=Hashable)


class HostQueues(Generic[Job]):
    """The jobs that wait, are queued, and run.

    Example:
        >>> queues = HostQueues[str](concurrent=2, per_host=1)
        >>> for job, host in (("a", "x"), ("b", "x"), ("c", "y")):
        ...     queues.put(job, host, at=0)
        >>> queues.start(now=1)
        ['a', 'c']
        >>> queues.finish("a")
        >>> queues.start(now=1)
        ['b']
    """

    def __init__(self, concurrent: int, per_host: int) -> None:
        self._concurrent = concurrent
        self._per_host = per_host
        self._waiting: dict[Job, tuple[str, int]] = {}
        self._times: list[tuple[int, int, Job]] = []
        self._numbers = count()
        self._queues: dict[str, deque[Job]] = {}
        self._queued: set[Job] = set()
        self._turns: dict[
            str, None
        ] = {}  # hosts with queued jobs and room for one more, in the order of their turns
        self._running: dict[Job, str] = {}
        self._busy: Counter[str] = Counter()
        self._again: dict[Job, tuple[str, int]] = {}

    @property
    def running(self) -> int:
        """How many jobs are running."""
        return len(self._running)

    def put(self, job: Job, host: str, at: int) -> None:
        """Let a job run from a time on; if it is running, once more after it is done."""
        if job in self._running:
            known = self._again.get(job)
            self._again[job] = (host, at if known is None else min(at, known[1]))
        elif job not in self._queued:
            self._waiting[job] = (host, at)
            heapq.heappush(self._times, (at, next(self._numbers), job))

    def start(self, now: int) -> list[Job]:
        """The jobs that may run from now on."""
        self._enqueue_due(now)
        started = []
        while self._turns and len(self._running) < self._concurrent:
            host = next(iter(self._turns))
            del self._turns[host]
            queue = self._queues[host]
            job = queue.popleft()
            self._queued.discard(job)
            if not queue:
                del self._queues[host]
            self._running[job] = host
            self._busy[host] += 1
            self._give_turn(host)
            started.append(job)
        return started

    def finish(self, job: Job, again: int | None = None) -> None:
        """End a running job; `again` is when it is to run next, if it is."""
        host = self._running.pop(job)
        self._busy[host] -= 1
        if not self._busy[host]:
            del self._busy[host]
        self._give_turn(host)
        repeat = self._again.pop(job, None)
        if repeat is not None:
            self.put(job, repeat[0], repeat[1] if again is None else min(again, repeat[1]))
        elif again is not None:
            self.put(job, host, again)

    def next_time(self) -> int | None:
        """When the next job that waits for its time should be started."""
        while self._times and not self._is_current(*self._times[0]):
            heapq.heappop(self._times)
        return self._times[0][0] if self._times else None

    def _enqueue_due(self, now: int) -> None:
        while self._times and self._times[0][0] <= now:
            at, number, job = heapq.heappop(self._times)
            if self._is_current(at, number, job):
                host, _ = self._waiting.pop(job)
                self._queues.setdefault(host, deque()).append(job)
                self._queued.add(job)
                self._give_turn(host)

    def _is_current(self, at: int, _: int, job: Job) -> bool:
        known = self._waiting.get(job)
        return known is not None and known[1] == at

    def _give_turn(self, host: str) -> None:
        if host in self._queues and self._busy[host] < self._per_host:
            self._turns.setdefault(host)
