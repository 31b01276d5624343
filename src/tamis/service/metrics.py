"""Metrics of the service for Prometheus, beside those of the stream (`tamis.metrics`).

| metric | kind | what |
|---|---|---|
| `tamis_http_requests_total` | counter | requests, by method, route and status |
| `tamis_http_seconds` | histogram | time until the answer began, by route; long polls wait on purpose |
| `tamis_published_total` | counter | events accepted since the service was started; repeated ones do not count |
| `tamis_unadvertised_total` | counter | events not as advertised, of tenants that are warned or refuse them |
| `tamis_waiting_events` | gauge | events that the stream is not done with |
| `tamis_waiting_seconds` | gauge | age of the oldest of them, 0 if there is none |
| `tamis_subscriptions` | gauge | subscriptions that have not ended |
| `tamis_webhooks` | gauge | webhooks, by state: pending, confirmed, paused, refused |
| `tamis_waiting_deliveries` | gauge | notifications that wait for the call of their webhook |
| `tamis_retrying_deliveries` | gauge | of these, those whose last call failed |
| `tamis_withheld_deliveries` | gauge | notifications whose webhook is paused or refused |
| `tamis_failed_deliveries` | gauge | notifications that were parked after all attempts |
| `tamis_feed_seq` | gauge | number of the newest notification |
| `tamis_notification_seconds` | gauge | from accepted to notified, of the last 1,000, by quantile |
| `tamis_link_up` | gauge | 1 while the link to a neighbour is in use, by link |
| `tamis_link_entries` | gauge | routing entries, by link and direction: in, out |
| `tamis_link_entry_bytes` | gauge | bytes of their texts |
| `tamis_link_halvings` | gauge | how often `link_cutoff` has halved those that go out |
| `tamis_link_over_budget` | gauge | 1 while those that go out take more bytes than `link_bytes` allows |
| `tamis_link_events` | gauge | events, by link and kind, as `/peers` shows them: forwarded, in_vain, backlog... |
| `tamis_link_lag_seconds` | gauge | how long the oldest event has waited for its link |
| `tamis_ready` | gauge | 1 while `/ready` says so: events are matched as soon as they are published |
| `tamis_stream_up` | gauge | 1 while the stream runs; 0 while it is warming up |
| `tamis_stream_starts_total` | counter | how often it was started |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from tamis.service.latency import measure_latency
from tamis.service.webhooks.tables import STATES as WEBHOOK_STATES

if TYPE_CHECKING:
    from tamis.service.core import Service

_DELIVERIES = {
    "waiting": "Notifications that wait for the call of their webhook",
    "retrying": "Of these, those whose last call failed",
    "withheld": "Notifications whose webhook is paused or refused",
    "failed": "Notifications that were parked",
}
_LINK_EVENTS = ("forwarded", "useful", "in_vain", "backlog", "taken", "repeated", "refused", "looped")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class ServiceMetrics:
    """Counters of requests, and gauges that are computed when the metrics are scraped."""

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
        self._unadvertised = Counter(
            "tamis_unadvertised", "Events that were not as advertised, accepted or not", registry=self._registry
        )
        self._registry.register(self)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_published(self, count: int) -> None:
        self._published.inc(count)

    def count_unadvertised(self, count: int) -> None:
        self._unadvertised.inc(count)

    def text(self) -> bytes:
        """All metrics, those of the stream included; queries the databases."""
        return generate_latest(self._registry) + generate_latest(self._service.reports.metrics.registry)

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not query the databases."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The gauges, computed now."""
        service = self._service
        yield GaugeMetricFamily("tamis_waiting_events", "Events that wait", service.inbox.waiting())
        yield GaugeMetricFamily("tamis_waiting_seconds", "Age of the oldest", service.inbox.waiting_seconds())
        yield GaugeMetricFamily(
            "tamis_subscriptions", "Subscriptions that have not ended", service.subscriptions.total()
        )
        yield GaugeMetricFamily("tamis_feed_seq", "Number of the newest notification", service.feed_watcher.seq)
        counts = service.webhooks.counts()
        for name, help in _DELIVERIES.items():
            yield GaugeMetricFamily(f"tamis_{name}_deliveries", help, counts[name])
        webhooks = GaugeMetricFamily("tamis_webhooks", "Webhooks", labels=["state"])
        for state in WEBHOOK_STATES:
            webhooks.add_metric([state], counts[state])
        yield webhooks
        latency = GaugeMetricFamily("tamis_notification_seconds", "From accepted to notified", labels=["quantile"])
        measured = measure_latency(service.inbox, service.feed, [*service.reports.last])
        for quantile, seconds in (("0.5", measured.p50), ("0.99", measured.p99)):
            if seconds is not None:
                latency.add_metric([quantile], seconds)
        yield latency
        yield from self._link_metrics()
        yield GaugeMetricFamily("tamis_ready", "Are events matched at once?", service.readiness().is_ready)
        supervisor = service.supervisor
        if supervisor is not None:
            yield GaugeMetricFamily("tamis_stream_up", "Does it run?", supervisor.state == "running")
            yield CounterMetricFamily("tamis_stream_starts", "How often it was started", supervisor.starts)

    def _link_metrics(self) -> Iterator[Metric]:
        """How the links to other sites are doing."""
        up = GaugeMetricFamily("tamis_link_up", "Is the link in use?", labels=["link"])
        entries = GaugeMetricFamily("tamis_link_entries", "Routing entries", labels=["link", "direction"])
        sizes = GaugeMetricFamily("tamis_link_entry_bytes", "Bytes of them", labels=["link", "direction"])
        halvings = GaugeMetricFamily("tamis_link_halvings", "Halvings of the entries out", labels=["link"])
        over = GaugeMetricFamily("tamis_link_over_budget", "Do they take more than is allowed?", labels=["link"])
        events = GaugeMetricFamily("tamis_link_events", "Events of a link", labels=["link", "kind"])
        lag = GaugeMetricFamily("tamis_link_lag_seconds", "Wait of the oldest event", labels=["link"])
        for each in self._service.site.status():
            up.add_metric([each["name"]], each["state"] == "linked")
            lag.add_metric([each["name"]], each["lag_seconds"])
            halvings.add_metric([each["name"]], each["halvings"])
            over.add_metric([each["name"]], each["is_over_budget"])
            for direction in ("in", "out"):
                entries.add_metric([each["name"], direction], each[f"entries_{direction}"])
                sizes.add_metric([each["name"], direction], each[f"entries_{direction}_bytes"])
            for kind in _LINK_EVENTS:
                events.add_metric([each["name"], kind], each[kind])
        yield from (up, entries, sizes, halvings, over, events, lag)
