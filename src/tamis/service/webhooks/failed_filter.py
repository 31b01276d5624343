"""Which failed deliveries are meant: those of a tenant, of a subscription, of a span of time."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.sql import ColumnElement

from tamis.service.webhooks.tables import failed, of_tenant


@dataclass(frozen=True, slots=True)
class FailedFilter:
    """All that every given field allows.

    Attributes:
        tenant: Whose.
        subscription_id: Of which subscription, with the tenant in front.
        since: Given up at this time or later, in microseconds since 1970.
        until: Given up before this time.
    """

    tenant: str | None = None
    subscription_id: str | None = None
    since: int | None = None
    until: int | None = None

    def clauses(self) -> list[ColumnElement[bool]]:
        """Conditions on the table of failed deliveries, all of which must hold."""
        found = of_tenant(failed.c.subscription_id, self.tenant)
        if self.subscription_id is not None:
            found.append(failed.c.subscription_id == self.subscription_id)
        if self.since is not None:
            found.append(failed.c.at >= self.since)
        if self.until is not None:
            found.append(failed.c.at < self.until)
        return found


EVERY_FAILED = FailedFilter()
