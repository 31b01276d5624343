"""Which failed deliveries are meant: those of a tenant, a subscription, an endpoint, a span of time."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, or_, select
from sqlalchemy.sql import ColumnElement

from tamis.service.webhooks.tables import failed, of_tenant, webhooks


@dataclass(frozen=True, slots=True)
class FailedFilter:
    """All that every given field allows.

    Attributes:
        tenant: Whose.
        subscription_id: Of which subscription, with the tenant in front.
        since: Given up at this time or later, in microseconds since 1970.
        until: Given up before this time.
        endpoint: Of the webhooks with this URL; or of those on a host, `hook.example` or `hook.example:8443`.
    """

    tenant: str | None = None
    subscription_id: str | None = None
    since: int | None = None
    until: int | None = None
    endpoint: str | None = None

    def clauses(self) -> list[ColumnElement[bool]]:
        """Conditions on the table of failed deliveries, all of which must hold."""
        found = of_tenant(failed.c.subscription_id, self.tenant)
        if self.subscription_id is not None:
            found.append(failed.c.subscription_id == self.subscription_id)
        if self.since is not None:
            found.append(failed.c.at >= self.since)
        if self.until is not None:
            found.append(failed.c.at < self.until)
        if self.endpoint is not None:
            there = select(webhooks.c.subscription_id).where(_is_endpoint(self.endpoint))
            found.append(failed.c.subscription_id.in_(there))
        return found


def _is_endpoint(endpoint: str) -> ColumnElement[bool]:
    if "://" in endpoint:
        return webhooks.c.url == endpoint
    # The authority of a URL ends at the first of these, and a port begins at the colon.
    url = func.lower(webhooks.c.url)
    places = [f"{scheme}://{endpoint.lower()}" for scheme in ("http", "https")]
    begins = [url.startswith(place + end, autoescape=True) for place in places for end in ("/", ":", "?", "#")]
    return or_(url.in_(places), *begins)


EVERY_FAILED = FailedFilter()
