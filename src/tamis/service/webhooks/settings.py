"""How webhooks are called."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tamis.errors import TamisError
from tamis.service.webhooks.addresses import AddressError, networks

_LEAST = {"attempts": 1, "concurrent": 1, "concurrent_per_host": 1, "pause_after": 0, "pause_calls": 0}


class DeliveryPolicyError(TamisError):
    """A setting of the delivery is not what it should be."""


@dataclass(frozen=True, slots=True)
class PauseRule:
    """When a webhook is paused: after parked deliveries, or after failed calls, one after the other.

    Calls have to fail for some time, too: while a receiver is restarted or installed anew, many calls fail within
    minutes, and pausing it would leave its owner with more to do than the outage itself.

    Attributes:
        parked: After how many parked deliveries in a row; 0 for never.
        calls: After how many failed calls in a row; 0 for never.
        seconds: And when the first of these calls is so long ago.
    """

    parked: int = 0
    calls: int = 0
    seconds: float = 0.0


NEVER = PauseRule()


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """How webhooks are called.

    Attributes:
        attempts: How often a notification is tried before it is parked. A handshake is tried once.
        pause_after: After how many parked notifications in a row a webhook is paused; 0 for never.
        pause_calls: After how many failed calls in a row it is, too; 0 for never.
        pause_seconds: If the first of these calls is so long ago.
        base: Seconds that the first wait is at most; each further one may be twice as long.
        cap: Seconds that no wait is longer than, whatever the receiver asks for.
        timeout: Seconds that a call may take, from the look-up of the name to the end of the answer.
        concurrent: Calls at the same time.
        concurrent_per_host: Calls at the same time to one host.
        sweep: Seconds between searches of all webhooks for work that was not announced.
        allow: Networks that may be called although they are not public, such as `10.1.0.0/16`.
    """

    attempts: int = 12
    pause_after: int = 5
    pause_calls: int = 10
    pause_seconds: float = 900.0
    base: float = 1.0
    cap: float = 3600.0
    timeout: float = 10.0
    concurrent: int = 64
    concurrent_per_host: int = 4
    sweep: float = 60.0
    allow: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be a whole number from {least} on, found {value!r}"
            for name, least in _LEAST.items()
            if not isinstance(value := getattr(self, name), int) or isinstance(value, bool) or value < least
        ]
        problems += [
            f"{name} must be a number of seconds above 0, found {value!r}"
            for name in ("base", "cap", "timeout", "sweep", "pause_seconds")
            if not isinstance(value := getattr(self, name), int | float)
            or isinstance(value, bool)
            or not 0 < value < math.inf
        ]
        try:
            networks(self.allow)
        except AddressError as error:
            problems.append(f"allow: {error}")
        if problems:
            msg = f"the delivery of webhooks: {'; '.join(problems)}"
            raise DeliveryPolicyError(msg)

    @property
    def pause_rule(self) -> PauseRule:
        """When a webhook is paused."""
        return PauseRule(self.pause_after, self.pause_calls, self.pause_seconds)

    def longest_wait(self, attempt: int) -> float:
        """Seconds that the wait after attempt number `attempt`, from 1 on, is at most.

        Example:
            >>> [DeliveryPolicy().longest_wait(attempt) for attempt in (1, 2, 3, 12, 5000)]
            [1.0, 2.0, 4.0, 2048.0, 3600.0]
        """
        doublings = min(attempt - 1, 60)  # more would overflow, and the cap is long reached
        return min(self.cap, self.base * 2.0**doublings)
