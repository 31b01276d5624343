"""What can be wrong with a request, apart from what the rest of tamis raises."""

from __future__ import annotations

from tamis.errors import TamisError


class NotFound(TamisError):
    """There is no such thing."""


class Conflict(TamisError):
    """It is there already."""


class Unauthorized(TamisError):
    """Nobody knows who asks."""


class Forbidden(TamisError):
    """Whoever asks may not."""


class QuotaExceeded(TamisError):
    """The tenant has used up what it may use."""


class Overloaded(TamisError):
    """Come back later.

    Attributes:
        retry_after: In so many seconds.
        status: 429 if it is who asks that asks too much, 503 if everybody does.
    """

    def __init__(self, message: str, retry_after: float, status: int = 503) -> None:
        """Keep how long to wait."""
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status


class TooMuch(Overloaded):
    """The tenant asks too often."""
