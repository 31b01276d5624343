"""What operators did in this process: calls, time and failures; and a breaker for those that keep failing."""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

BREAK_AFTER = 10
"""Failures in a row after which an operator is left alone."""
BREAK_SECONDS = 30.0
"""For so long; then one call is tried."""
_FAILURES_KEPT = 5
_HALF_LIFE = 1 << 12
"""Calls after which older ones count half for what a call costs."""
COUNTS = ("calls", "runs", "seconds", "cached", "saved", "failures", "timeouts", "skipped")
"""What is counted of an operator."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that failed: when, on what, and how."""

    at: float
    arguments: str
    error: str
    traceback: str


class Recent(NamedTuple):
    """Calls and the seconds that they took, of late."""

    calls: float = 0.0
    seconds: float = 0.0

    def after(self, calls: int, seconds: float) -> Recent:
        """With more calls; those of before fade."""
        fade = 0.5 if self.calls > _HALF_LIFE else 1.0
        return Recent(self.calls * fade + calls, self.seconds * fade + seconds)

    @property
    def cost(self) -> float | None:
        """Seconds of a call; None if there was none."""
        return self.seconds / self.calls if self.calls else None


@dataclass(slots=True)
class Meter:
    """What one operator did; methods may be called from several threads.

    Attributes:
        calls: Events that it was run for.
        runs: How often its function was run; a batch is one.
        seconds: Time that this took.
        cached: Calls that were answered from the cache.
        saved: Calls that conditions wanted and that sharing or an early end made needless.
        failures: Events for which it failed.
        timeouts: Runs that took too long; their events are among the failures.
        skipped: Calls that were not made because it had failed too often.
        lately: The last failures.
    """

    calls: int = 0
    runs: int = 0
    seconds: float = 0.0
    cached: int = 0
    saved: int = 0
    failures: int = 0
    timeouts: int = 0
    skipped: int = 0
    lately: deque[Failure] = field(default_factory=lambda: deque(maxlen=_FAILURES_KEPT))
    _recent: Recent = field(default_factory=Recent)
    _in_a_row: int = 0
    _open_until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def is_open(self) -> bool:
        """Should it be left alone for now?"""
        return self._in_a_row >= BREAK_AFTER and time.monotonic() < self._open_until

    @property
    def cost(self) -> float | None:
        """Seconds for one event, of late; None if it was never called."""
        return self._recent.cost

    def ran(self, calls: int, seconds: float) -> None:
        """It was run for some events, and answered."""
        with self._lock:
            self._count(calls, seconds)
            self._in_a_row = 0

    def failed(self, calls: int, seconds: float, arguments: str, error: BaseException) -> None:
        """It was run for some events, and did not answer."""
        shown = "".join(traceback.format_exception(error))
        with self._lock:
            self._count(calls, seconds)
            self.failures += calls
            self.timeouts += isinstance(error, TimeoutError)
            self.lately.append(Failure(time.time(), arguments, f"{type(error).__name__}: {error}", shown))
            self._in_a_row += 1
            if self._in_a_row >= BREAK_AFTER:
                self._open_until = time.monotonic() + BREAK_SECONDS

    def _count(self, calls: int, seconds: float) -> None:
        self.calls += calls
        self.runs += 1
        self.seconds += seconds
        self._recent = self._recent.after(calls, seconds)

    def count(self, *, cached: int = 0, saved: int = 0, skipped: int = 0) -> None:
        """Calls that were not made."""
        with self._lock:
            self.cached += cached
            self.saved += saved
            self.skipped += skipped

    def figures(self) -> dict[str, Any]:
        """All counts by name."""
        with self._lock:
            return {name: getattr(self, name) for name in COUNTS}


_METERS: dict[str, Meter] = {}
_LOCK = threading.Lock()


def meter(name: str) -> Meter:
    """The meter of an operator."""
    with _LOCK:
        return _METERS.setdefault(name, Meter())


def meters() -> dict[str, Meter]:
    """The meters of all operators that were called in this process, by name."""
    with _LOCK:
        return dict(_METERS)


def forget(*names: str) -> None:
    """Begin anew with some operators, their breakers included."""
    with _LOCK:
        for name in names:
            _METERS.pop(name, None)
