"""`tamis run`: a pipeline from a file, on Spark, until it is done or told to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.metrics import Metrics
    from tamis.progress import BatchReport
    from tamis.spark.pipeline import Pipeline
    from tamis.spark.rehearsal import Rehearsal
    from tamis.spark.running import Running

_WAIT_SECONDS = 1


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The pipeline, a TOML file.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, try the connections, match a sample; write nothing.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Match what is there, then end.")] = False,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="At the end, write what happened as a web page.")
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port", min=0, max=65_535, metavar="N", help="Serve metrics for Prometheus; 0 for any port."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Match a stream of events on Spark, as a file says, and hand notifications over.

    Ctrl-C or SIGTERM stops it after the batch that is being matched, the second one at once. Run again, it goes
    on where it stopped: no notification is lost, and none is recorded twice.

    \b
    Examples:
      tamis run pipeline.toml --dry-run
      tamis run pipeline.toml
      tamis run pipeline.toml --once --json --report report.html

    Exit code 0 if it ended or was stopped; 2 if it could not run, or failed.
    """
    from tamis.cli.output import fail, reported_errors

    try:
        from tamis.spark.pipeline_file import load
        from tamis.spark.rehearsal import rehearse
        from tamis.spark.running import spark_session
    except ImportError as error:
        fail(f"this needs more than is installed ({error}): pip install 'tamis[spark]'")
    with reported_errors():
        pipeline = load(file)
        if dry_run:
            found = rehearse(pipeline, lambda: spark_session(pipeline))
            _print_plan(pipeline, found, as_json=json)
            raise typer.Exit(2 if found.problems else 0)
        _run(pipeline, once=once, as_json=json, report=report, metrics_port=metrics_port)


# --- running ---------------------------------------------------------------------------------------------


def _run(pipeline: Pipeline, *, once: bool, as_json: bool, report: str | None, metrics_port: int | None) -> None:
    from tamis.cli.output import fail, note
    from tamis.cli.progress import progress_view
    from tamis.spark.running import spark_session, start

    with ExitStack() as stack:
        note(f"tamis: starting Spark ({pipeline.spark.master})")
        spark = spark_session(pipeline)
        metrics = _metrics(pipeline, metrics_port, spark, stack)
        view = progress_view(json=as_json)
        # Metrics first: whoever has read of a batch finds it there.
        views = [view] if metrics is None else [_MetricsView(metrics), view]
        stop = threading.Event()
        failed = None
        with _signals(stop):
            try:
                running = start(pipeline, spark, views=views, once=once)
                stack.callback(running.close)
                failed = _wait(running, stop)
            finally:
                view.close()
        _finish(pipeline, running, report, as_json=as_json)
        if failed is not None:
            fail(
                f"the query failed: {failed}\n"
                f"Its checkpoint is {pipeline.state.checkpoint}; run it again, and it goes on where it stopped."
            )


def _wait(running: Running, stop: threading.Event) -> str | None:
    """Wait until the query has ended, or until it is told to stop; gives why it failed, if it did."""
    from pyspark.errors import StreamingQueryException

    from tamis.cli.output import note
    from tamis.spark.running import reason

    try:
        # The wait is cut into pieces, as Python's signal handlers run between them only.
        while not stop.is_set() and not running.query.awaitTermination(_WAIT_SECONDS):
            pass
        if stop.is_set():
            note("tamis: stopping after this batch")
            running.stop()
    except StreamingQueryException as error:
        return reason(error)
    failure = running.query.exception()
    return None if failure is None else reason(failure)


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """Ask to stop at the first SIGINT or SIGTERM, and die of the second as usual."""

    def ask(number: int, _: Any) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class _MetricsView:
    """Reports as metrics."""

    metrics: Metrics

    def show(self, report: BatchReport) -> None:
        """A batch is done."""
        self.metrics.observe(report)

    def close(self) -> None:
        """The server is closed by whoever opened it."""


def _metrics(pipeline: Pipeline, port: int | None, spark: Any, stack: ExitStack) -> Metrics | None:
    """Metrics that are served, if anybody asked for them."""
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


def _finish(pipeline: Pipeline, running: Running, report: str | None, *, as_json: bool) -> None:
    """What the run did: a summary, and the page if asked for."""
    from tamis.cli.output import Screen, note
    from tamis.cli.progress import summary_text
    from tamis.progress import Summary

    reports, output = running.reports(), running.sink.describe()
    if not as_json:
        Screen(stderr=True).print(summary_text(Summary.of(reports), output))
    if report is not None:
        from tamis.report import page

        Path(report).write_text(page(reports, title=pipeline.file.name, output=output), encoding="utf-8")
        note(f"tamis: report in {report}")


# --- the plan --------------------------------------------------------------------------------------------


def _print_plan(pipeline: Pipeline, found: Rehearsal, *, as_json: bool) -> None:
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
    if not found.problems:
        note("tamis: all is ready; nothing was written")


def _plan(pipeline: Pipeline, found: Rehearsal) -> Iterator[tuple[str, str]]:
    yield "events", found.source
    types = [f"{name} (to be declared)" if new else name for name, new in found.event_types.items()]
    yield "event types", ", ".join(types) or "none yet"
    yield "subscriptions", _subscriptions(pipeline, found)
    operators = [*pipeline.operators.modules, *pipeline.operators.library]
    if operators:
        yield "operators", ", ".join(operators)
    yield "sink", found.sink
    yield "quota", _quota(pipeline)
    yield "checkpoint", pipeline.state.checkpoint
    yield "query", _resumed(found)
    shards = f", {pipeline.shards} shards" if pipeline.shards > 1 else ""
    yield "Spark", pipeline.spark.master + shards + (", events routed" if pipeline.routing else "")
    yield from _sample(found)


def _subscriptions(pipeline: Pipeline, found: Rehearsal) -> str:
    subscriptions = pipeline.subscriptions
    place = f"the {'folder of changes' if subscriptions.kind == 'changes' else subscriptions.kind} "
    if found.subscriptions is None:
        return f"unknown, of {place}{subscriptions.place}"
    version = "" if found.version is None else f"version {found.version} of "
    return f"{found.subscriptions:,} in {version}{place}{subscriptions.place}"


def _quota(pipeline: Pipeline) -> str:
    from tamis.progress import duration_text

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


def _resumed(found: Rehearsal) -> str:
    resumed = found.resumed
    if resumed is None:
        return "unknown"
    if resumed.query is None:
        return "new, from batch 0 on"
    how = "done again, as it was not finished" if resumed.again else "comes next"
    return f"{resumed.query} goes on: batch {resumed.batch} {how}"


def _sample(found: Rehearsal) -> Iterator[tuple[str, str]]:
    from tamis.cli.output import counted

    sample = found.sample
    if sample is None:
        yield "sample", "none"
        return
    pairs = "1 match" if sample.matches == 1 else f"{sample.matches:,} matches"
    over = f", {sample.overflow:,} more beyond the quota" if sample.overflow else ""
    yield "sample", f"{counted(sample.events, 'event')}, {sample.matched_events:,} matched, {pairs}{over}"
    for kind, (count, why) in sample.dead.items():
        yield "", f"{counted(count, 'dead letter')}, {kind}: {why}"
