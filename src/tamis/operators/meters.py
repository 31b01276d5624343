"""Meters of operators in this process: calls, time, failures; and a circuit breaker."""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

BREAK_AFTER = 10
"""Consecutive failures after which the circuit of an operator opens."""
BREAK_SECONDS = 30.0
"""Seconds that a circuit stays open; then one call is tried."""
_FAILURES_KEPT = 5
_HALF_LIFE = 1 << 12
"""Calls after which older ones count half in the mean cost of a call."""
COUNTS = ("calls", "runs", "seconds", "cached", "saved", "failures", "timeouts", "skipped")
"""The counters of an operator."""


@dataclass(frozen=True, slots=True)
class CallFailure:
    """A call that failed: when, on what, and how."""

    at: float
    arguments: str
    error: str
    traceback: str


class Recent(NamedTuple):
    """A decaying sum of calls and of the seconds that they took."""

    calls: float = 0.0
    seconds: float = 0.0

    def after(self, calls: int, seconds: float) -> Recent:
        """The sums with more calls; earlier ones decay."""
        decay = 0.5 if self.calls > _HALF_LIFE else 1.0
        return Recent(self.calls * decay + calls, self.seconds * decay + seconds)

    @property
    def cost(self) -> float | None:
        """Mean seconds of a call; None if there was none."""
        return self.seconds / self.calls if self.calls else None


@dataclass(slots=True)
class Meter:
    """The counters of one operator; methods may be called from several threads.

    Attributes:
        calls: Events that it was run for.
        runs: How often its function was run; a batch is one.
        seconds: Time that this took.
        cached: Calls whose results came from the cache.
        saved: Calls in conditions that sharing or an early verdict made needless.
        failures: Events for which it failed.
        timeouts: Runs that took too long; their events are among the failures.
        skipped: Calls that were not made because the circuit was open.
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
    lately: deque[CallFailure] = field(default_factory=lambda: deque(maxlen=_FAILURES_KEPT))
    _recent: Recent = field(default_factory=Recent)
    _consecutive: int = 0
    _open_until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def is_open(self) -> bool:
        """Is the circuit open, so that no calls are made for now?"""
        return self._consecutive >= BREAK_AFTER and time.monotonic() < self._open_until

    @property
    def cost(self) -> float | None:
        """Mean seconds for one event, recent calls counting most; None if it was never called."""
        return self._recent.cost

    def record_run(self, calls: int, seconds: float) -> None:
        """Count a run for some events that returned results."""
        with self._lock:
            self._count(calls, seconds)
            self._consecutive = 0

    def record_failure(self, calls: int, seconds: float, arguments: str, error: BaseException) -> None:
        """Count a run for some events that failed."""
        shown = "".join(traceback.format_exception(error))
        with self._lock:
            self._count(calls, seconds)
            self.failures += calls
            self.timeouts += isinstance(error, TimeoutError)
            self.lately.append(CallFailure(time.time(), arguments, f"{type(error).__name__}: {error}", shown))
            self._consecutive += 1
            if self._consecutive >= BREAK_AFTER:
                self._open_until = time.monotonic() + BREAK_SECONDS

    def _count(self, calls: int, seconds: float) -> None:
        self.calls += calls
        self.runs += 1
        self.seconds += seconds
        self._recent = self._recent.after(calls, seconds)

    def count(self, *, cached: int = 0, saved: int = 0, skipped: int = 0) -> None:
        """Count calls that were not made."""
        with self._lock:
            self.cached += cached
            self.saved += saved
            self.skipped += skipped

    def counts(self) -> dict[str, Any]:
        """All counters by name."""
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


def reset_meters(*names: str) -> None:
    """Forget the meters of some operators; their circuits close."""
    with _LOCK:
        for name in names:
            _METERS.pop(name, None)
