"""The scheduler: cuts batches into parts, has them worked off in an order, and knows how long events waited.

Whoever calls says how to estimate and how to work off some rows; the scheduler decides which rows and when. Every
row is worked off once, whatever the schedule. All methods may be called from several threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from tamis.schedule.controller import Controller, Controllers
from tamis.schedule.response import Response, shortest_first

Schedule: TypeAlias = Literal["arrival", "shortest-first"]
Places: TypeAlias = npt.NDArray[np.int64]
T = TypeVar("T")

SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
_KEPT = 64
"""Batches whose response times are remembered."""
_ROUNDS = 16
"""Rounds of a loop: a batch has many events as a rule, so that batches differ less than they do in the paper."""
_THRESHOLD = 10_000
"""Updates after which another width may be better."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """A part of a batch that is worked off.

    Attributes:
        rows: Its rows, in the order in which they were handed over.
        seconds: From the beginning of the batch until it was done, without what others did between parts.
        found: What came of it.
    """

    rows: Places
    seconds: float
    found: T


class Scheduler:
    """Widths that have proved best, by the size of batches, and the response times of the last batches."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        """Of no batches yet; `clock` tells the time, in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._widths = {schedule: Controllers(_controller) for schedule in SCHEDULES}
        self._updates = 0
        self._last: deque[Response] = deque(maxlen=_KEPT)
        self._is_warm = False

    def updated(self, total: int) -> None:
        """So many subscriptions came and went, all in all."""
        if total == self._updates:
            return
        with self._lock:
            for each in self._widths.values():
                each.update(total - self._updates)
            self._updates = total

    def run(
        self,
        rows: int,
        work: Callable[[Places], T],
        *,
        schedule: Schedule,
        width: int | None,
        estimate: Callable[[], npt.NDArray[np.int64]],
        pool: Executor | None = None,
    ) -> Iterator[Done[T]]:
        """Work off a batch, part by part.

        Args:
            rows: Number of events.
            work: What to do with some rows.
            schedule: In which order.
            width: Events of a part; None for what has proved best.
            estimate: The work of each row, asked for if it matters.
            pool: Where parts are worked off; one after the other if there is none.
        """
        begun = self._clock()
        wide = self.width(rows, schedule) if width is None else width
        is_cut = wide < rows
        order = shortest_first(estimate()) if is_cut and schedule != "arrival" else np.arange(rows)
        lots = [order[first : first + wide] for first in range(0, rows, wide)]

        def timed(lot: Places) -> tuple[T, float]:
            found = work(lot)
            return found, self._clock()

        ends: list[float] = []
        away = 0.0
        for lot, (found, end) in zip(
            lots, map(timed, lots) if pool is None else pool.map(timed, lots), strict=True
        ):
            ends.append(end - begun - away)
            given = self._clock()
            yield Done(lot, ends[-1], found)
            if pool is None:  # a pool goes on meanwhile
                away += self._clock() - given
        self._record(rows, schedule, wide, Response.of(ends, [len(lot) for lot in lots]), adapts=width is None)

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

    def _record(self, rows: int, schedule: Schedule, width: int, found: Response, *, adapts: bool) -> None:
        with self._lock:
            if found.events:
                self._last.append(found)
            # The first batch of all also loads kernels, which says nothing of its width.
            if adapts and self._is_warm and rows:
                # Batches of a class differ in size: by the event, their times compare.
                self._widths[schedule].of(rows).observe(width.bit_length() - 1, found.mean / rows)
            self._is_warm = True


def check_schedule(schedule: str, width: int | None = None) -> None:
    """Is there such a schedule, and can a part be that wide?

    Raises:
        ValueError: It is not so.
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
