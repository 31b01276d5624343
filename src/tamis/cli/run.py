"""`tamis run`: run a pipeline file on Spark, until it ends or is stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.events.misfits import OnMisfit
    from tamis.metrics import Metrics
    from tamis.progress import BatchReport, RunFailure
    from tamis.spark.dry_run import DryRun
    from tamis.spark.pipeline import Pipeline
    from tamis.spark.pipeline_run import PipelineRun

_WAIT_SECONDS = 1
_MISFITS: dict[OnMisfit, str] = {
    "null": "matched, with NULL for what does not fit, and counted",
    "dead letter": "dead letters",
    "refuse": "refused: the first one ends the query",
}


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The pipeline, a TOML file.")],
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the plan, test the connections and match a sample, without writing anything."
        ),
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Match the available events, then end.")] = False,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="At the end, write a report as an HTML page.")
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port", min=0, max=65_535, metavar="N", help="Serve metrics for Prometheus; 0 for any port."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Match a stream of events on Spark, as a pipeline file describes, and deliver notifications to a sink.

    The first Ctrl-C or SIGTERM stops the stream after the current batch, the second at once. When run again, it
    resumes where it stopped: no notification is lost or written twice.

    \b
    Examples:
      tamis run pipeline.toml --dry-run
      tamis run pipeline.toml
      tamis run pipeline.toml --once --json --report report.html

    Exit code 0 if the stream ended or was stopped; 2 if it could not start, or failed. A dry run has 1 if the
    pipeline would run, but most events of the sample would be dead letters, or none has an id or a time.
    """
    from tamis.cli.output import needs_extra, printing_errors

    with needs_extra("spark"):
        from tamis.spark.dry_run import try_pipeline
        from tamis.spark.pipeline_file import load
        from tamis.spark.pipeline_run import spark_session
    with printing_errors():
        pipeline = load(file)
        if dry_run:
            found = try_pipeline(pipeline, lambda: spark_session(pipeline))
            _print_plan(pipeline, found, as_json=json)
            raise typer.Exit(2 if found.problems else 1 if found.doubts else 0)
        _run_pipeline(pipeline, once=once, as_json=json, report=report, metrics_port=metrics_port)


# --- running ---------------------------------------------------------------------------------------------


def _run_pipeline(
    pipeline: Pipeline, *, once: bool, as_json: bool, report: str | None, metrics_port: int | None
) -> None:
    from tamis.cli.output import fail, note
    from tamis.cli.progress import progress_view
    from tamis.errors import TamisError
    from tamis.progress import RunFailure
    from tamis.spark.checkpoint_lock import hold_checkpoint
    from tamis.spark.pipeline_run import spark_session, start_pipeline

    # A driver that is about to end still has the checkpoint and the port of the metrics.
    state = pipeline.state
    hold_checkpoint(state.folder, state.checkpoint, say=lambda text: note(f"tamis: {text}")).release()
    with ExitStack() as stack, _java_errors():
        note(f"tamis: starting Spark ({pipeline.spark.master})")
        spark = spark_session(pipeline)
        metrics = _metrics(pipeline, metrics_port, spark, stack)
        view = progress_view(json=as_json)
        # Metrics come first, so that a batch that has been printed is in the metrics.
        views = [view] if metrics is None else [_MetricsView(metrics), view]
        stop = threading.Event()
        with _stop_at_signals(stop):
            try:
                running = start_pipeline(pipeline, spark, views=views, once=once)
                stack.callback(running.close)
                _wait(running, stop)
            except (TamisError, OSError) as error:
                if report is not None:
                    _write_report(
                        pipeline, report, [], pipeline.make_sink().describe(), RunFailure("start", str(error))
                    )
                raise
            finally:
                view.close()
        failure = running.failure()
        _finish(pipeline, running, report, failure, as_json=as_json)
        if failure is not None:
            fail(
                f"the query failed {failure.place}: {failure.reason}\n"
                f"Its checkpoint is {pipeline.state.checkpoint}; run the command again to resume."
            )


@contextmanager
def _java_errors() -> Iterator[None]:
    """Report errors of the connection to Java, which come from any call of Spark once Java has ended."""
    from py4j.protocol import Py4JError, Py4JJavaError

    from tamis.cli.output import fail
    from tamis.spark.pipeline_run import JAVA_ENDED, failure_reason

    try:
        yield
    except Py4JJavaError as error:
        fail(failure_reason(error))
    except (Py4JError, ConnectionError):
        fail(JAVA_ENDED)


def _wait(running: PipelineRun, stop: threading.Event) -> None:
    """Wait until the query ends, however it does, or `stop` is set; then stop it."""
    from py4j.protocol import Py4JError
    from pyspark.errors import StreamingQueryException

    from tamis.cli.output import note

    # `PipelineRun.failure` has them all: those of the query, and those of a Java that ended.
    with suppress(StreamingQueryException, Py4JError, ConnectionError):
        # Short waits, because Python runs signal handlers only between them.
        while not stop.is_set() and not running.query.awaitTermination(_WAIT_SECONDS):
            pass
        if stop.is_set():
            note("tamis: stopping after this batch")
            running.stop()


@contextmanager
def _stop_at_signals(stop: threading.Event) -> Iterator[None]:
    """Set `stop` at the first SIGINT or SIGTERM; the second terminates the process."""
    from tamis.cli.signals import handle_signals

    def request_stop(number: int) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    with handle_signals(request_stop, signal.SIGINT, signal.SIGTERM):
        yield


@dataclass(frozen=True, slots=True)
class _MetricsView:
    """A view that feeds reports into metrics."""

    metrics: Metrics

    def show(self, report: BatchReport) -> None:
        self.metrics.observe(report)

    def close(self) -> None:
        """Do nothing: the owner of the metrics closes their server."""


def _metrics(pipeline: Pipeline, port: int | None, spark: Any, stack: ExitStack) -> Metrics | None:
    """Metrics with a running server, or None if none are requested."""
    from tamis.cli.output import note
    from tamis.metrics import Metrics, listener
    from tamis.spark.session import LOOPBACK

    wanted = pipeline.metrics
    if port is None and wanted is None:
        return None
    host = LOOPBACK if wanted is None else wanted.host
    if port is None and wanted is not None:
        port = wanted.port
    metrics = Metrics()
    served = metrics.serve(port or 0, host)
    stack.callback(metrics.close)
    spark.streams.addListener(listener(metrics))
    note(f"tamis: metrics at http://{host}:{served}/metrics")
    return metrics


def _finish(
    pipeline: Pipeline, running: PipelineRun, report: str | None, failure: RunFailure | None, *, as_json: bool
) -> None:
    """Print the summary of the run, and write the report if requested."""
    from tamis.cli.output import Screen
    from tamis.cli.progress import summary_text
    from tamis.progress import Summary

    reports, output = running.reports(), running.sink.describe()
    if not as_json:
        Screen(stderr=True).print(summary_text(Summary.of(reports), output))
    if report is not None:
        # The conditions of a run that failed are not asked for: their store may be why.
        top = Summary.of(reports).top if failure is None else []
        conditions = running.conditions([name for name, _ in top])
        _write_report(pipeline, report, reports, output, failure, conditions)


def _write_report(
    pipeline: Pipeline,
    file: str,
    reports: list[BatchReport],
    output: str,
    failure: RunFailure | None,
    conditions: Mapping[str, str] | None = None,
) -> None:
    from tamis.cli.output import note
    from tamis.errors import naming_write_errors
    from tamis.report import page

    text = page(reports, title=pipeline.file.name, output=output, failure=failure, conditions=conditions)
    with naming_write_errors(file):
        Path(file).write_text(text, encoding="utf-8")
    note(f"tamis: report in {file}")


# --- the plan --------------------------------------------------------------------------------------------


def _print_plan(pipeline: Pipeline, found: DryRun, *, as_json: bool) -> None:
    from dataclasses import asdict

    from tamis.cli.output import JsonLines, Screen, note

    if as_json:
        JsonLines().write(asdict(found))
        return
    screen = Screen()
    for name, value in _plan(pipeline, found):
        screen.say(f"{name:<13}  {value}")
    for problem in found.problems:
        note(f"tamis: error: {problem}")
    for doubt in found.doubts:
        note(
            f"tamis: warning: {doubt.message}"
            if doubt.key is None
            else f"tamis: warning: {doubt.key}: {doubt.message}"
        )
    if not found.problems:
        note(f"tamis: the pipeline {_readiness(found)}; nothing was written")


def _readiness(found: DryRun) -> str:
    if found.doubts:
        return "would run, but not as intended"
    if found.sample is None or not found.sample.dead:
        return "is ready"
    dead, events = found.sample.dead_events, found.sample.events
    letters = "a dead letter" if dead == 1 else "dead letters"
    return f"is ready, but {dead:,} of {events:,} events in the sample would be {letters}"


def _plan(pipeline: Pipeline, found: DryRun) -> Iterator[tuple[str, str]]:
    yield "events", found.source
    types = [f"{name} (to be declared)" if new else name for name, new in found.event_types.items()]
    yield "event types", ", ".join(types) or "none yet"
    yield "misfits", _MISFITS[pipeline.reading.on_misfit]
    yield "subscriptions", _subscriptions(pipeline, found)
    operators = [*pipeline.operators.modules, *pipeline.operators.library]
    if operators:
        yield "operators", ", ".join(operators)
    yield "sink", found.sink
    yield "quota", _quota(pipeline)
    yield "checkpoint", pipeline.state.checkpoint
    yield "query", _resumption_text(found)
    shards = f", {pipeline.shards} shards" if pipeline.shards > 1 else ""
    yield "Spark", pipeline.spark.master + shards + (", events routed" if pipeline.routing else "")
    yield from _sample(found)


def _subscriptions(pipeline: Pipeline, found: DryRun) -> str:
    subscriptions = pipeline.subscriptions
    place = f"the {'folder of changes' if subscriptions.kind == 'changes' else subscriptions.kind} "
    if found.subscriptions is None:
        return f"unknown, of {place}{subscriptions.place}"
    version = "" if found.version is None else f", version {found.version}"
    if found.store_version is not None:
        version = f", store version {found.store_version}"
    aside = f", {found.set_aside:,} to other event types set aside" if found.set_aside else ""
    return f"{found.subscriptions:,} in {place}{subscriptions.place}{version}{aside}"


def _quota(pipeline: Pipeline) -> str:
    from tamis.numerals import duration_text

    quota = pipeline.quota
    if quota is None:
        return "none"
    parts = []
    if quota.matches is not None:
        parts.append(
            f"{quota.matches:,} notifications of a subscription in {duration_text(quota.per.total_seconds())}"
        )
    if quota.cool_down is not None:
        parts.append(f"cool-down {duration_text(quota.cool_down.total_seconds())}")
    return ", ".join(parts)


def _resumption_text(found: DryRun) -> str:
    resumed = found.resumed
    if resumed is None:
        return "unknown"
    if resumed.query is None:
        return "new, from batch 0 on"
    how = "done again, as it was not finished" if resumed.again else "comes next"
    return f"{resumed.query} resumes: batch {resumed.batch} {how}"


def _sample(found: DryRun) -> Iterator[tuple[str, str]]:
    from tamis.cli.output import count_text

    sample = found.sample
    if sample is None:
        yield "sample", "none"
        return
    pairs = "1 match" if sample.matches == 1 else f"{sample.matches:,} matches"
    over = f", {sample.overflow:,} more beyond the quota" if sample.overflow else ""
    yield "sample", f"{count_text(sample.events, 'event')}, {sample.matched_events:,} matched, {pairs}{over}"
    if sample.misfits:
        yield "", f"{count_text(sample.misfits, 'event')} with a value that does not fit, NULL to conditions"
    for kind, (count, why) in sample.dead.items():
        yield "", f"{count_text(count, 'dead letter')}, {kind}: {why}"
