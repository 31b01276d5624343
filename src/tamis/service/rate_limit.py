"""Rate limits: how much a tenant may do in a second."""

from __future__ import annotations

import math


class TokenBucket:
    """A bucket that fills with time; it holds one second's worth, and at least one."""

    def __init__(self, per_second: float, now: float) -> None:
        """Start full, at a time in seconds of any clock."""
        self.per_second = per_second
        self._left = self._most = max(1.0, per_second)
        self._at = now

    def take(self, amount: float, now: float) -> float:
        """Take an amount if anything is left; returns the seconds to wait otherwise, 0 if it was taken.

        A large amount may overdraw the bucket: the next request waits until it is filled again.

        >>> bucket = TokenBucket(per_second=2, now=0.0)
        >>> bucket.take(5, now=0.0), bucket.take(1, now=0.0), bucket.take(1, now=1.6)
        (0.0, 1.5, 0.0)
        """
        self._left = min(self._most, self._left + (now - self._at) * self.per_second)
        self._at = now
        if self._left <= 0:
            return max(0.001, -self._left / self.per_second) if math.isfinite(self._left) else 1.0
        self._left -= amount
        return 0.0
