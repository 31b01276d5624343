"""Metrics of a running query for Prometheus, in a registry of their own, served over HTTP.

Counters count what this process did since it started, a batch that it reports twice once. Every metric has the
label `query`.

| metric | kind | what |
|---|---|---|
| `tamis_events_total` | counter | events read, dead letters included |
| `tamis_matched_events_total` | counter | events that satisfied at least one subscription |
| `tamis_notifications_total` | counter | notifications given to the sink |
| `tamis_repeated_total` | counter | matches left out because the event had been notified before |
| `tamis_overflow_total` | counter | matches left out by quotas and cool-downs |
| `tamis_dead_letters_total` | counter | dead letters |
| `tamis_misfits_total` | counter | events with a value that does not fit their type, which is NULL |
| `tamis_sampled_conditions_total` | counter | conditions in CESQL or CEL that were tried on an event: a sample |
| `tamis_sampled_errors_total` | counter | of these, those with an error |
| `tamis_visits_total` | counter | how often an event visited a shard |
| `tamis_useful_visits_total` | counter | how often it matched something there |
| `tamis_filter_seconds_total` | counter | time of the processor to find shards and matches, on all workers |
| `tamis_entry_bytes` | gauge | bytes of the routing entries; 0 if events are not routed |
| `tamis_entry_budget_bytes` | gauge | what these should take at most |
| `tamis_batch_seconds` | histogram | time of a micro-batch |
| `tamis_backlog_events` | gauge | events that wait; NaN if the source does not know |
| `tamis_snapshot_version` | gauge | version of the snapshot that the last batch was matched with |
| `tamis_store_version` | gauge | version of the store; NaN without one |
| `tamis_subscriptions_set_aside` | gauge | subscriptions that are not matched: to another event type, or refused |
| `tamis_lag_seconds` | gauge | age of the oldest change of the store that the snapshot lacks; NaN without one |
| `tamis_last_batch_id` | gauge | number of the last batch |
| `tamis_last_batch_timestamp_seconds` | gauge | its recorded time, in seconds since 1970 |

With the label `operator`, too, for each operator that was called:

| metric | kind | what |
|---|---|---|
| `tamis_operator_calls_total` | counter | events that it was run for |
| `tamis_operator_seconds_total` | counter | time that this took, on all workers |
| `tamis_operator_failures_total` | counter | events for which it failed |
| `tamis_operator_saved_total` | counter | calls that sharing or an early end made needless |
| `tamis_operator_skipped_total` | counter | calls not made because it had failed too often |
| `tamis_operator_open` | gauge | 1 if a worker does not call it for now, because it failed too often |

From Spark itself, if `listener` is added to the session:

| metric | kind | what |
|---|---|---|
| `tamis_spark_input_rows_total` | counter | rows that Spark read; a source read twice counts twice |
| `tamis_spark_input_rows_per_second` | gauge | rate at which rows arrive |
| `tamis_spark_processed_rows_per_second` | gauge | rate at which Spark processes them |
| `tamis_spark_trigger_seconds` | gauge | time of the last trigger, with Spark's own book-keeping |
| `tamis_spark_state` | state set | which of running, idle, stopped, failed the query is |
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

from tamis.errors import TamisError, install_command
from tamis.progress import BatchReport

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryListener

_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_OPERATOR_COUNTERS = {
    "calls": "Events that an operator was run for",
    "seconds": "Time that this took, on all workers",
    "failures": "Events for which an operator failed",
    "saved": "Calls that sharing or an early end made needless",
    "skipped": "Calls not made because the operator had failed too often",
}
_STATES = ["running", "idle", "stopped", "failed"]


class MetricsError(TamisError):
    """Metrics cannot be served: the message says where, and why."""


class Metrics:
    """The metrics of one process; all methods may be called from any thread.

    Attributes:
        registry: A `prometheus_client.CollectorRegistry`, for those who serve it themselves.
    """

    def __init__(self) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Enum, Gauge, Histogram
        except ImportError as error:
            msg = f"metrics need prometheus-client: {install_command('spark')}"
            raise MetricsError(msg) from error
        self.registry = CollectorRegistry()

        def counter(name: str, text: str) -> Counter:
            return Counter(f"tamis_{name}", text, ["query"], registry=self.registry)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"tamis_{name}", text, ["query"], registry=self.registry)

        self._events = counter("events", "Events read, dead letters included")
        self._matched = counter("matched_events", "Events that satisfied at least one subscription")
        self._notifications = counter("notifications", "Notifications given to the sink")
        self._repeated = counter("repeated", "Matches left out because the event had been notified before")
        self._overflow = counter("overflow", "Matches left out by quotas and cool-downs")
        self._dead = counter("dead_letters", "Dead letters")
        self._sampled = counter("sampled_conditions", "Conditions in CESQL or CEL tried on an event, a sample")
        self._errors = counter("sampled_errors", "Of the sampled conditions, those with an error")
        self._misfits = counter("misfits", "Events with a value that does not fit their type, matched with NULL")
        self._visits = counter("visits", "How often an event visited a shard")
        self._useful = counter("useful_visits", "How often an event matched something in a shard")
        self._filter = counter("filter_seconds", "Time of the processor to find shards and matches")
        self._entries = gauge("entry_bytes", "Bytes of the routing entries")
        self._budget = gauge("entry_budget_bytes", "What the routing entries should take at most")
        self._seconds = Histogram(
            "tamis_batch_seconds", "Time of a micro-batch", ["query"], registry=self.registry, buckets=_BUCKETS
        )
        self._backlog = gauge("backlog_events", "Events that wait")
        self._version = gauge("snapshot_version", "Version of the snapshot that the last batch was matched with")
        self._store_version = gauge("store_version", "Version of the store")
        self._set_aside = gauge(
            "subscriptions_set_aside", "Subscriptions that are refused or to another event type"
        )
        self._lag = gauge("lag_seconds", "Age of the oldest change of the store that the snapshot lacks")
        self._batch = gauge("last_batch_id", "Number of the last batch")
        self._at = gauge("last_batch_timestamp_seconds", "Recorded time of the last batch, seconds since 1970")
        self._operators = {
            name: Counter(f"tamis_operator_{name}", text, ["query", "operator"], registry=self.registry)
            for name, text in _OPERATOR_COUNTERS.items()
        }
        self._open = Gauge(
            "tamis_operator_open",
            "Is it not called for now, because it failed too often?",
            ["query", "operator"],
            registry=self.registry,
        )
        self._input_rows = counter("spark_input_rows", "Rows that Spark read")
        self._input_rate = gauge("spark_input_rows_per_second", "Rate at which rows arrive")
        self._processed_rate = gauge("spark_processed_rows_per_second", "Rate at which Spark processes rows")
        self._trigger = gauge("spark_trigger_seconds", "Time of the last trigger, with Spark's own book-keeping")
        self._state = Enum(
            "tamis_spark_state", "State of the query", ["query"], registry=self.registry, states=_STATES
        )
        self._lock = threading.Lock()
        self._last: dict[str, int] = {}
        self._seen: dict[str, set[str]] = {}
        self._server: Any = None

    def observe(self, report: BatchReport) -> None:
        """Take a batch into account; the same batch again, as after a restart of the query, is not counted."""
        query = report.query
        with self._lock:
            again = self._last.get(query) == report.batch
            self._last[query] = report.batch
        if not again:
            self._events.labels(query).inc(report.events)
            self._matched.labels(query).inc(report.matched_events)
            self._notifications.labels(query).inc(report.notifications)
            self._repeated.labels(query).inc(report.repeated)
            self._overflow.labels(query).inc(report.overflow)
            self._dead.labels(query).inc(report.dead)
            self._misfits.labels(query).inc(report.misfits)
            self._sampled.labels(query).inc(report.sampled)
            self._errors.labels(query).inc(report.sampled_errors)
            self._visits.labels(query).inc(report.visits)
            self._useful.labels(query).inc(report.useful_visits)
            self._filter.labels(query).inc(report.filter_seconds)
            self._seconds.labels(query).observe(report.seconds)
            for each in report.operators:
                for name, metric in self._operators.items():
                    metric.labels(query, each.operator).inc(getattr(each, name))
        self._observe_breakers(report)
        self._backlog.labels(query).set(_or_nan(report.backlog))
        self._version.labels(query).set(report.version)
        self._entries.labels(query).set(report.entry_bytes)
        self._budget.labels(query).set(report.entry_budget)
        self._store_version.labels(query).set(_or_nan(report.store_version))
        self._set_aside.labels(query).set(report.set_aside)
        self._lag.labels(query).set(_or_nan(report.lag_seconds))
        self._batch.labels(query).set(report.batch)
        self._at.labels(query).set(report.at.timestamp())

    def _observe_breakers(self, report: BatchReport) -> None:
        """Update which circuit breakers are open; that of an operator without a report is closed."""
        is_open = {each.operator: each.is_open for each in report.operators}
        with self._lock:
            seen = self._seen.setdefault(report.query, set())
            seen.update(is_open)
            for operator in seen:
                self._open.labels(report.query, operator).set(is_open.get(operator, False))

    def observe_spark(self, query: str, progress: Any) -> None:
        """Take Spark's own `StreamingQueryProgress` into account."""
        self._input_rows.labels(query).inc(progress.numInputRows)
        self._input_rate.labels(query).set(progress.inputRowsPerSecond)
        self._processed_rate.labels(query).set(progress.processedRowsPerSecond)
        self._trigger.labels(query).set(progress.durationMs.get("triggerExecution", math.nan) / 1000)

    def set_state(self, query: str, state: str) -> None:
        """Say which of running, idle, stopped, failed the query is."""
        self._state.labels(query).state(state)

    def serve(self, port: int, host: str = "127.0.0.1") -> int:
        """Serve the metrics over HTTP until `close`, from a thread; returns the port, a free one if asked for 0.

        Raises:
            MetricsError: If the port cannot be had, or metrics are served already.
        """
        from prometheus_client import start_http_server

        if self._server is not None:
            msg = f"metrics on {host}:{port}: they are served on port {self._server[0].server_port} already"
            raise MetricsError(msg)
        try:
            self._server = start_http_server(port, host, self.registry)
        except (OSError, OverflowError) as error:
            msg = f"metrics cannot be served on {host}:{port}: {error}"
            raise MetricsError(msg) from error
        served: int = self._server[0].server_port
        return served

    def close(self) -> None:
        """Stop serving; the values stay."""
        if self._server is not None:
            server, thread = self._server
            self._server = None
            server.shutdown()
            server.server_close()
            thread.join()


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def listener(metrics: Metrics) -> StreamingQueryListener:
    """A listener for `spark.streams.addListener` that exports Spark's own progress of every query of the session.

    A query goes by its name, or by its id if it has none.
    """
    from pyspark.sql.streaming.listener import StreamingQueryListener

    names: dict[str, str] = {}  # events of the end of a query and of its idling have the id only

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:
            names[str(event.id)] = event.name or str(event.id)
            metrics.set_state(names[str(event.id)], "running")

        def onQueryProgress(self, event: Any) -> None:
            progress = event.progress
            name = names[str(progress.id)] = progress.name or str(progress.id)
            metrics.observe_spark(name, progress)
            metrics.set_state(name, "running")

        def onQueryIdle(self, event: Any) -> None:
            metrics.set_state(names.get(str(event.id), str(event.id)), "idle")

        def onQueryTerminated(self, event: Any) -> None:
            name = names.pop(str(event.id), str(event.id))
            metrics.set_state(name, "stopped" if event.exception is None else "failed")

    return Listener()
