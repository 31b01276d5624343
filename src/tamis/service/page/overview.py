"""The overview: the state of the stream, rates, backlog, and the busiest subscriptions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tamis.progress import BatchReport
from tamis.service.core import Service
from tamis.service.page.activity import busiest, latency, over_time, rates
from tamis.service.page.page_request import PageData, PageRequest

_SPANS, _SPAN_SECONDS = 30, 10
_BATCHES = 60
_BROADEST = 8


def data(request: PageRequest) -> PageData:
    """What the page shows. Counts are the tenant's own; only the operator sees those of all."""
    service = request.service
    waiting, oldest = request.cached("behind", 1.0, lambda: service.inbox.behind(request.tenant))
    reports = list(service.reports.last)
    last = reports[-1] if reports else None
    return {
        "tenant": request.tenant,
        "stream": stream(service),
        "rates": rates(request),
        "backlog": waiting,
        "backlog_seconds": 0.0 if oldest is None else max(0.0, (datetime.now(UTC) - oldest).total_seconds()),
        "lag_seconds": None if last is None else last.lag_seconds,
        "last_batch": None if last is None else {"at": last.at, "seconds": last.seconds},
        "latency": latency(request),
        "subscriptions": request.cached("count", 2.0, lambda: service.subscriptions.count(request.tenant)),
        "webhooks": request.cached("webhooks", 2.0, lambda: service.webhooks.counts(tenant=request.tenant)),
        "left_out": service.reports.overflow(request.tenant),
        "activity": over_time(request, _SPANS, _SPAN_SECONDS),
        "broadest": busiest(request, _BROADEST),
        "batches": [batch(each) for each in reports[-_BATCHES:]] if request.is_operator else None,
    }


def stream(service: Service) -> PageData:
    """How the stream is."""
    found, supervisor = service.readiness(), service.supervisor
    starts = None if supervisor is None else supervisor.starts
    told = {"state": found.state, "since": found.since, "waits_for": found.waits_for, "reason": found.reason}
    return {**told, "starts": starts}


def batch(report: BatchReport) -> dict[str, Any]:
    """A micro-batch, over all tenants."""
    timing = ("batch", "at", "seconds", "match_seconds", "commit_seconds")
    counts = ("events", "matched_events", "notifications", "dead", "backlog", "version", "lag_seconds")
    return {name: getattr(report, name) for name in (*timing, *counts)}
