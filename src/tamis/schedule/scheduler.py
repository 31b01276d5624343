"""The scheduler: cuts a batch into parts, in an order, and learns from response times how wide a part should be.

It neither matches nor reads a clock: a matcher asks for a plan, matches the parts in the order of the plan and
reports when each was answered. Every row is in one part, whatever the schedule. All methods may be called from
several threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from tamis.arrays import RowIndices
from tamis.schedule.controller import Controller, Controllers
from tamis.schedule.response import Response, shortest_first

Schedule: TypeAlias = Literal["arrival", "shortest-first"]

SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
_KEPT = 64
"""Batches whose response times are remembered."""
_ROUNDS = 16
"""Rounds of a loop: a batch has many events as a rule, so that batches differ less than they do in the paper."""
_THRESHOLD = 10_000
"""Updates after which another width may be better."""


EXPENSIVE_WORK = 100_000
"""The work of an event from which on it shares no part with cheaper ones: about a millisecond."""
MOST_WORK = 5_000_000
"""The work of a part of expensive events, unless it is one event: about fifty milliseconds."""


class Plan(NamedTuple):
    """A batch cut into parts.

    Attributes:
        parts: The rows of each part, in the order in which parts are matched; each row stands in one of them.
        schedule: What the order follows.
        width: Events of a part, at most.
        adapts: Did the scheduler choose the width, so that it learns from the response times?
    """

    parts: tuple[RowIndices, ...]
    schedule: Schedule
    width: int
    adapts: bool


class Scheduler:
    """Widths that have proved best, by the size of batches, and the response times of the last batches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._widths = {schedule: Controllers(_controller) for schedule in SCHEDULES}
        self._updates = 0
        self._last: deque[Response] = deque(maxlen=_KEPT)
        self._is_warm = False

    def observe_updates(self, total: int) -> None:
        """Take note of how many subscriptions were added and removed so far."""
        if total == self._updates:
            return
        with self._lock:
            for each in self._widths.values():
                each.update(total - self._updates)
            self._updates = total

    def plan(
        self,
        rows: int,
        *,
        schedule: Schedule,
        width: int | None,
        estimate: Callable[[], RowIndices],
        expensive: bool = False,
    ) -> Plan:
        """Cut a batch into parts.

        Args:
            rows: Number of events.
            schedule: In which order events are matched.
            width: Events of a part; None for the width with the best mean response time so far.
            estimate: Returns the expected work of each row; called only if the order depends on it.
            expensive: May some events be far more work than others, so that even a single part is worth cutting?
        """
        widest = self.width(rows, schedule) if width is None else width
        is_cut = widest < rows
        if schedule == "arrival" or not (is_cut or expensive):
            parts = _cut(np.arange(rows), widest)
        else:
            work = estimate()
            order = shortest_first(work)
            # Who needs no expensive call does not wait for those who do, nor these for many of their kind.
            cheap = int(np.searchsorted(work[order], EXPENSIVE_WORK))
            ends = np.cumsum(work[order[cheap:]]) // MOST_WORK
            groups = np.split(order[cheap:], np.flatnonzero(np.diff(ends)) + 1)
            parts = tuple(part for some in (order[:cheap], *groups) for part in _cut(some, widest))
        return Plan(parts, schedule, widest, adapts=width is None)

    def record(self, plan: Plan, seconds: Sequence[float]) -> None:
        """Take note of when each part of a plan was answered, counted from the beginning of its batch."""
        rows = sum(map(len, plan.parts))
        response = Response.of(seconds, [len(part) for part in plan.parts])
        with self._lock:
            if response.events:
                self._last.append(response)
            # The first batch of all also loads kernels, which says nothing of its width.
            if plan.adapts and self._is_warm and rows:
                # Batches of a class differ in size: per event, their times compare.
                self._widths[plan.schedule].of(rows).observe(plan.width.bit_length() - 1, response.mean / rows)
            self._is_warm = True

    def width(self, rows: int, schedule: Schedule) -> int:
        """Events of the next part of a batch of so many."""
        with self._lock:
            return int(1 << self._widths[schedule].of(rows).level)

    def stats(self) -> dict[str, Any]:
        """Response times, each figure of a batch averaged over the last ones, and the widths thought best."""
        with self._lock:
            last = list(self._last)
            levels = {schedule: each.currents() for schedule, each in self._widths.items()}
        return {
            "batches": len(last),
            "events": sum(each.events for each in last),
            **{name: _mean([getattr(each, name) for each in last]) for name in ("mean", "p50", "p90", "p99")},
            "max": max((each.most for each in last), default=0.0),
            "widths": {
                schedule: {1 << at: 1 << level for at, level in found.items()}
                for schedule, found in levels.items()
            },
        }


def _cut(rows: RowIndices, width: int) -> tuple[RowIndices, ...]:
    return tuple(rows[first : first + width] for first in range(0, len(rows), width))


def check_schedule(schedule: str, width: int | None = None) -> None:
    """Check the name of a schedule and the width of a part.

    Raises:
        ValueError: There is no such schedule, or a part would hold no event.
    """
    if schedule not in SCHEDULES:
        msg = f"there is no schedule {schedule!r}; known are {', '.join(SCHEDULES)}"
        raise ValueError(msg)
    if width is not None and width < 1:
        msg = f"expected a width of at least one event, found {width}"
        raise ValueError(msg)


def _controller(bucket: int) -> Controller:
    """A controller of the width, as a power of two, of batches of at most 2**bucket events."""
    return Controller(0, bucket, rounds=_ROUNDS, threshold=_THRESHOLD)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
