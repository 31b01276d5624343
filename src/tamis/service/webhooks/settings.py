"""How webhooks are called."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tamis.errors import TamisError
from tamis.service.webhooks.addresses import AddressError, networks


class DeliveryPolicyError(TamisError):
    """A setting of the delivery is not what it should be."""


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """How webhooks are called.

    Attributes:
        attempts: How often a notification is tried before it is parked. A handshake is tried once.
        pause_after: After how many parked notifications in a row a webhook is paused; 0 for never.
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
            for name, least in (("attempts", 1), ("concurrent", 1), ("concurrent_per_host", 1), ("pause_after", 0))
            if not isinstance(value := getattr(self, name), int) or isinstance(value, bool) or value < least
        ]
        problems += [
            f"{name} must be a number of seconds above 0, found {value!r}"
            for name in ("base", "cap", "timeout", "sweep")
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

    def longest_wait(self, attempt: int) -> float:
        """Seconds that the wait after attempt number `attempt`, from 1 on, is at most.

        Example:
            >>> [DeliveryPolicy().longest_wait(attempt) for attempt in (1, 2, 3, 12, 5000)]
            [1.0, 2.0, 4.0, 2048.0, 3600.0]
        """
        doublings = min(attempt - 1, 60)  # more would overflow, and the cap is long reached
        return min(self.cap, self.base * 2.0**doublings)
