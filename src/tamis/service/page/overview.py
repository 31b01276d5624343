"""The first page: does it run, how much happens, and where to look next."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tamis.progress import BatchReport
from tamis.service.core import Service
from tamis.service.page.activity import broadest, over_time, rates
from tamis.service.page.asking import Asking, Data

_SPANS, _SPAN_SECONDS = 30, 10
_BATCHES = 60
_BROADEST = 8


def data(asking: Asking) -> Data:
    """What the page shows. Counts are the tenant's own; only who looks after the service sees those of all."""
    service = asking.service
    waiting, oldest = asking.remembered("behind", 1.0, lambda: service.inbox.behind(asking.tenant))
    reports = list(service.reports.last)
    last = reports[-1] if reports else None
    return {
        "tenant": asking.tenant,
        "stream": stream(service),
        "rates": rates(asking),
        "backlog": waiting,
        "backlog_seconds": 0.0 if oldest is None else max(0.0, (datetime.now(UTC) - oldest).total_seconds()),
        "lag_seconds": None if last is None else last.lag_seconds,
        "last_batch": None if last is None else {"at": last.at, "seconds": last.seconds},
        "subscriptions": asking.remembered("count", 2.0, lambda: service.subscriptions.count(asking.tenant)),
        "webhooks": asking.remembered("webhooks", 2.0, lambda: service.webhooks.counts(tenant=asking.tenant)),
        "left_out": service.reports.overflow(asking.tenant),
        "activity": over_time(asking, _SPANS, _SPAN_SECONDS),
        "broadest": broadest(asking, _BROADEST),
        "batches": [batch(each) for each in reports[-_BATCHES:]] if asking.is_operator else None,
    }


def stream(service: Service) -> Data:
    """How the stream is."""
    supervisor = service.supervisor
    if supervisor is None:
        return {"state": "elsewhere", "reason": None, "starts": None}
    return {"state": supervisor.state, "reason": supervisor.reason, "starts": supervisor.starts}


def batch(report: BatchReport) -> dict[str, Any]:
    """A micro-batch, over all tenants."""
    timing = ("batch", "at", "seconds", "match_seconds", "commit_seconds")
    counts = ("events", "matched_events", "notifications", "dead", "backlog", "version", "lag_seconds")
    return {name: getattr(report, name) for name in (*timing, *counts)}
