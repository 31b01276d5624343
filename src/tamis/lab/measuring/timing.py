"""Time as the benchmarks take it: of the processor, all threads together, and of the clock on the wall.

Contests are single-threaded and other work may share the machine, so that the processor's time is what contestants
are compared by. It is the whole process's: work that a library gives to another thread counts, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

from tamis.lab.measuring.numbers import number


@dataclass(slots=True)
class Times:
    """Repeated measurements of one thing, in seconds."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Measure what happens inside."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)


def timed(run: Callable[[], object]) -> float:
    """Seconds of the processor."""
    times = Times()
    with times.taken():
        run()
    return times.cpu[0]


def rates(times: Times, things: int) -> str:
    """Things a second of the processor, with the spread."""
    per_second = [things / max(seconds, 1e-9) for seconds in times.cpu]
    return f"{number(median(per_second))} ({number(min(per_second))}-{number(max(per_second))})"
