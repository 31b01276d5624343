"""Errors of requests, one class for each kind, beside those that the rest of tamis raises."""

from __future__ import annotations

from tamis.errors import TamisError


class NotFound(TamisError):
    """What the request names does not exist, for this tenant."""


class Conflict(TamisError):
    """What the request creates exists already."""


class Unauthorized(TamisError):
    """The request has no valid token."""


class Forbidden(TamisError):
    """The caller has not the right to do that."""


class QuotaExceeded(TamisError):
    """The tenant has reached one of its limits."""


class Overloaded(TamisError):
    """The request may succeed later.

    Attributes:
        retry_after: Seconds to wait.
        status: 429 if the tenant exceeds its rate, 503 if the service is overloaded.
    """

    def __init__(self, message: str, retry_after: float, status: int = 503) -> None:
        """Keep how long to wait."""
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status
