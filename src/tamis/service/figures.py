"""The service in numbers, for Prometheus, beside those of the stream (`tamis.metrics`).

| metric | kind | what |
|---|---|---|
| `tamis_http_requests_total` | counter | requests, by method, route and status |
| `tamis_http_seconds` | histogram | time until the answer began, by route; long polls wait on purpose |
| `tamis_published_total` | counter | events accepted since the service was started; repeated ones do not count |
| `tamis_waiting_events` | gauge | events that the stream is not done with |
| `tamis_waiting_seconds` | gauge | age of the oldest of them, 0 if there is none |
| `tamis_subscriptions` | gauge | subscriptions that have not ended |
| `tamis_webhooks` | gauge | webhooks, by state |
| `tamis_failed_deliveries` | gauge | notifications that were parked |
| `tamis_feed_seq` | gauge | number of the newest notification |
| `tamis_stream_up` | gauge | 1 while the stream runs |
| `tamis_stream_starts_total` | counter | how often it was started |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

if TYPE_CHECKING:
    from tamis.service.core import Service

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Figures:
    """Counters of requests, and gauges that are read off when somebody asks."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, service: Service) -> None:
        self._service = service
        self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self._requests = Counter("tamis_http_requests", "Requests", labels, registry=self._registry)
        self._seconds = Histogram(
            "tamis_http_seconds",
            "Time until the answer began",
            ["route"],
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._published = Counter("tamis_published", "Events accepted", registry=self._registry)
        self._registry.register(self)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def published(self, count: int) -> None:
        """Events were accepted."""
        self._published.inc(count)

    def text(self) -> bytes:
        """All figures, those of the stream included; asks the databases."""
        return generate_latest(self._registry) + generate_latest(self._service.reports.metrics.registry)

    def describe(self) -> Iterator[Metric]:
        """Nothing is asked before somebody wants the figures."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """What is read off when somebody asks."""
        service = self._service
        yield GaugeMetricFamily("tamis_waiting_events", "Events that wait", service.inbox.waiting())
        yield GaugeMetricFamily("tamis_waiting_seconds", "Age of the oldest", service.inbox.waiting_seconds())
        yield GaugeMetricFamily("tamis_subscriptions", "Subscriptions that have not ended", len(service.store))
        yield GaugeMetricFamily("tamis_feed_seq", "Number of the newest notification", service.news.seq)
        counts = service.webhooks.counts()
        yield GaugeMetricFamily("tamis_failed_deliveries", "Notifications that were parked", counts.pop("failed"))
        webhooks = GaugeMetricFamily("tamis_webhooks", "Webhooks", labels=["state"])
        for state, count in counts.items():
            webhooks.add_metric([state], count)
        yield webhooks
        supervisor = service.supervisor
        if supervisor is not None:
            yield GaugeMetricFamily("tamis_stream_up", "Does it run?", supervisor.state == "running")
            yield CounterMetricFamily("tamis_stream_starts", "How often it was started", supervisor.starts)
