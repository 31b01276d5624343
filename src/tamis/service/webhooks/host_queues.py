"""Scheduling of calls: higher priorities first, and hosts in turn where priorities are equal.

A job is waiting for its time, queued, or running, and never two of these. The number of running jobs is bounded
per host and in total, so a host that does not answer delays only itself. There is no thread and no clock here: the
caller passes the time.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable
from itertools import count
from typing import Generic, NamedTuple, TypeVar

Job = TypeVar("Job", bound=Hashable)


class _Wish(NamedTuple):
    """Where a job runs, from when on, and with which priority."""

    host: str
    at: int
    priority: int


class HostQueues(Generic[Job]):
    """The jobs that wait, are queued, and run.

    Example:
        >>> queues = HostQueues[str](concurrent=2, per_host=1)
        >>> for job, host in (("a", "x"), ("b", "x"), ("c", "y")):
        ...     queues.put(job, host, at=0)
        >>> queues.put("urgent", "x", at=0, priority=5)
        >>> queues.start(now=1)
        ['urgent', 'c']
        >>> queues.finish("urgent")
        >>> queues.start(now=1)
        ['a']
    """

    def __init__(self, concurrent: int, per_host: int) -> None:
        self._concurrent = concurrent
        self._per_host = per_host
        self._waiting: dict[Job, _Wish] = {}
        self._times: list[tuple[int, int, Job]] = []
        self._numbers = count()
        # Heaps: the least number is the negated priority, then comes the order in which jobs or turns came.
        self._queues: dict[str, list[tuple[int, int, Job]]] = {}
        self._queued: set[Job] = set()
        self._turns: list[tuple[int, int, str]] = []
        self._has_turn: dict[str, tuple[int, int, str]] = {}  # hosts with queued jobs and room for one more
        self._running: dict[Job, _Wish] = {}
        self._busy: Counter[str] = Counter()
        self._again: dict[Job, _Wish] = {}

    @property
    def running(self) -> int:
        """How many jobs are running."""
        return len(self._running)

    def put(self, job: Job, host: str, at: int, priority: int = 0) -> None:
        """Let a job run from a time on; if it is running, once more after it is done."""
        if job in self._running:
            known = self._again.get(job)
            self._again[job] = _Wish(host, at if known is None else min(at, known.at), priority)
        elif job not in self._queued:
            self._waiting[job] = _Wish(host, at, priority)
            heapq.heappush(self._times, (at, next(self._numbers), job))

    def start(self, now: int) -> list[Job]:
        """The jobs that may run from now on."""
        self._enqueue_due(now)
        started = []
        while self._has_turn and len(self._running) < self._concurrent:
            turn = heapq.heappop(self._turns)
            host = turn[2]
            if self._has_turn.get(host) != turn:  # it has a better one
                continue
            del self._has_turn[host]
            queue = self._queues[host]
            priority, _, job = heapq.heappop(queue)
            self._queued.discard(job)
            if not queue:
                del self._queues[host]
            self._running[job] = _Wish(host, now, -priority)
            self._busy[host] += 1
            self._give_turn(host)
            started.append(job)
        return started

    def finish(self, job: Job, again: int | None = None) -> None:
        """End a running job; `again` is when it is to run next, if it is."""
        host, _, priority = self._running.pop(job)
        self._busy[host] -= 1
        if not self._busy[host]:
            del self._busy[host]
        self._give_turn(host)
        repeat = self._again.pop(job, None)
        if repeat is not None:
            self.put(job, repeat.host, repeat.at if again is None else min(again, repeat.at), repeat.priority)
        elif again is not None:
            self.put(job, host, again, priority)

    def next_time(self) -> int | None:
        """When the next job that waits for its time should be started."""
        while self._times and not self._is_current(*self._times[0]):
            heapq.heappop(self._times)
        return self._times[0][0] if self._times else None

    def _enqueue_due(self, now: int) -> None:
        while self._times and self._times[0][0] <= now:
            at, number, job = heapq.heappop(self._times)
            if self._is_current(at, number, job):
                host, _, priority = self._waiting.pop(job)
                heapq.heappush(self._queues.setdefault(host, []), (-priority, next(self._numbers), job))
                self._queued.add(job)
                self._give_turn(host)

    def _is_current(self, at: int, _: int, job: Job) -> bool:
        known = self._waiting.get(job)
        return known is not None and known.at == at

    def _give_turn(self, host: str) -> None:
        """Let a host have its turn, for the first of its jobs, if it has any and room for one more."""
        if host in self._queues and self._busy[host] < self._per_host:
            priority = self._queues[host][0][0]
            known = self._has_turn.get(host)
            if known is None or priority < known[0]:
                self._has_turn[host] = (priority, next(self._numbers), host)
                heapq.heappush(self._turns, self._has_turn[host])
