"""Running a pipeline: its subscriptions opened, its event types declared, its query started and stopped.

Stopping never loses anything: a batch that was not finished is done again by the next run, with the same result.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamis.events.event_type import EventType
from tamis.events.schemas import suggestion
from tamis.operators import OPERATORS, OperatorError
from tamis.progress import BatchReport, History, ReportView, RunFailure, Stage
from tamis.sinks import Sink
from tamis.snapshot import Snapshots
from tamis.spark.change_folder import ChangeFolder
from tamis.spark.current_conditions import conditions_of
from tamis.spark.pipeline import Pipeline, PipelineError
from tamis.spark.session import session
from tamis.spark.sources import open_stream
from tamis.spark.stream_query import stream
from tamis.store import Store
from tamis.store.records import DEFAULT_TYPE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CHANGES = "changes"
"""The folder within the state in which a folder of changes becomes a store."""
JAVA_ENDED = "Spark's Java process ended; was it killed, or was there too little memory?"
_POLL_SECONDS = 0.2
# Spark wraps the error of a worker in its own, with both stack traces: what a user needs is the last line of the
# innermost Python traceback, without what Spark appends to it.
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")
_CAUSED = re.compile(r"^Caused by: [\w.$]+: (.*)", re.MULTILINE)
_REST = re.compile(
    r"\s*(\bSQLSTATE: |^=== Streaming Query ===|^\tat |^JVM stacktrace).*", re.MULTILINE | re.DOTALL
)


@dataclass(slots=True)
class PipelineRun:
    """A pipeline that runs, or has run.

    Attributes:
        query: Spark's query.
        sink: Where notifications go.
        history: The reports of this run and of those before it.
        first: Remembers which batch was the first of this run.
        failed: What `stream` says of a batch that failed.
    """

    query: StreamingQuery
    sink: Sink
    history: History
    first: FirstBatch
    failed: list[tuple[Stage, int, BaseException]]
    _subscriptions: Store | ChangeFolder | str
    _open: ExitStack

    def reports(self) -> list[BatchReport]:
        """What each batch of this run did."""
        first = self.first.report  # Spark is not asked which query it is: it may be gone
        if first is None:
            return []
        return [each for each in self.history.read() if each.query == first.query and each.batch >= first.batch]

    def failure(self) -> RunFailure | None:
        """Where and why the query failed, if it did."""
        from py4j.protocol import Py4JError

        stage: Stage = self.failed[-1][0] if self.failed else "spark"
        batch, raised = self.failed[-1][1:] if self.failed else (None, None)
        try:
            error = self.query.exception()
        except (Py4JError, OSError):
            return RunFailure(stage, JAVA_ENDED, batch)
        return None if error is None else RunFailure(stage, failure_reason(raised or error), batch)

    def conditions(self, ids: Sequence[str]) -> dict[str, str]:
        """The conditions of subscriptions by id, as they are now; ended ones are missing."""
        return conditions_of(self._subscriptions, ids)

    def stop(self, wait_seconds: float = 60.0) -> None:
        """Stop after the batch that is being matched, or in the middle of it if it takes longer."""
        finish_batch(self.query, wait_seconds)

    def close(self) -> None:
        """Close the subscriptions and the sink."""
        self._open.close()


def finish_batch(query: StreamingQuery, wait_seconds: float = 60.0) -> None:
    """Stop a query after the batch that is being matched, or in the middle of it if it takes longer."""
    done = _batches_done(query)
    deadline = time.monotonic() + wait_seconds
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        if _batches_done(query) != done:
            break
        time.sleep(_POLL_SECONDS)
    query.stop()


@dataclass(slots=True)
class FirstBatch:
    """A view that remembers the first batch."""

    report: BatchReport | None = None

    def show(self, report: BatchReport) -> None:
        """A batch is done."""
        if self.report is None:
            self.report = report

    def close(self) -> None:
        pass


def spark_session(pipeline: Pipeline) -> SparkSession:
    """The Spark of a pipeline; it says nothing by itself unless the file asks it to."""
    settings = pipeline.spark
    conf = {"spark.log.level": "OFF", **settings.conf}
    return session(settings.app_name, settings.master, conf, kafka=pipeline.uses_kafka)


def start_pipeline(
    pipeline: Pipeline, spark: SparkSession, *, views: Sequence[ReportView] = (), once: bool = False
) -> PipelineRun:
    """Start a pipeline, or go on with it.

    Args:
        pipeline: What to run.
        spark: The session.
        views: They are shown a report of each batch.
        once: Match what is there, then end, whatever the pipeline's trigger is.

    Raises:
        TamisError: Subscriptions, event types or events are not as the pipeline has them.
    """
    from pyspark.errors import PySparkException

    state, first = pipeline.state, FirstBatch()
    failed: list[tuple[Stage, int, BaseException]] = []
    load_operators(pipeline)
    with ExitStack() as stack:
        subscriptions = _subscriptions(pipeline, stack)
        sink = pipeline.make_sink()
        stack.callback(sink.close)
        try:
            query = stream(
                open_stream(spark, pipeline.source, pipeline.event_types),
                subscriptions,
                sink,
                checkpoint=state.checkpoint,
                reading=pipeline.reading,
                quota=pipeline.quota,
                trigger={"availableNow": True} if once else pipeline.trigger,
                snapshot=state.snapshot,
                state=state.folder,
                engine=pipeline.engine,
                shards=pipeline.shards,
                routing=pipeline.routing,
                poll=pipeline.subscriptions.poll,
                retention=state.retention,
                history_bytes=state.history_bytes,
                change_retention=state.change_retention,
                views=[first, *views],
                operators=pipeline.operators,
                call_order=pipeline.call_order,
                composite=pipeline.composite,
                on_failure=lambda *failure: failed.append(failure),
            )
        except PySparkException as error:
            msg = f"{pipeline.file}: Spark says: {failure_reason(error)}"
            raise PipelineError(msg) from error
        history = History(state.folder / "progress.jsonl")
        return PipelineRun(query, sink, history, first, failed, subscriptions, stack.pop_all())


def load_operators(pipeline: Pipeline) -> None:
    """Make the operators of a pipeline known on this machine, before any condition is compiled.

    Raises:
        PipelineError: One of them cannot be loaded, or one that is allowed is not there.
    """
    try:
        pipeline.operators.load()
    except OperatorError as error:
        msg = f"{pipeline.file}: {error}"
        raise PipelineError(msg) from error
    unknown = sorted((pipeline.limits.operators or frozenset()) - OPERATORS.keys())
    if unknown:
        msg = f"{pipeline.file}: operators.allowed: there is no operator {', '.join(unknown)}"
        raise PipelineError(msg)


def _subscriptions(pipeline: Pipeline, stack: ExitStack) -> Store | ChangeFolder | str:
    """What `stream` takes, with the event types of the pipeline in it."""
    place = pipeline.subscriptions.place
    if pipeline.subscriptions.kind == "snapshot":
        check_types(pipeline, snapshot_types(place), declared=True)
        return place
    folder = None
    if pipeline.subscriptions.kind == "changes":
        folder = ChangeFolder(place, pipeline.state.folder / CHANGES, limits=pipeline.limits)
    store = Store.open(place, create=False, limits=pipeline.limits) if folder is None else folder.store
    stack.callback(store.close)
    check_types(pipeline, store.event_types().values())
    for event_type in pipeline.event_types:
        store.set_event_type(event_type)
    return store if folder is None else folder


def snapshot_types(url: str) -> list[EventType]:
    """The event types of the newest version of a snapshot."""
    return [EventType.of(dict(each)) for each in Snapshots(url).manifest().event_types.values()]


def check_types(pipeline: Pipeline, known: Iterable[EventType], *, declared: bool = False) -> None:
    """Refuse a pipeline whose event types contradict those where its subscriptions are.

    Args:
        pipeline: With its own event types.
        known: Those that are there.
        declared: Must all of the pipeline's be there already?

    Raises:
        PipelineError: They do not; the message says what to do.
    """
    place = f"the {pipeline.subscriptions.kind} {pipeline.subscriptions.place}"
    there = {event_type.name: event_type for event_type in known}
    problems = []
    for event_type in pipeline.event_types:
        found = there.get(event_type.name)
        if found is None and declared:
            problems.append(f"{place} has no event type {event_type.name!r}")
        elif found is not None and found != event_type:
            problems.append(
                f"event type {event_type.name!r} is another one in {place}: change the pipeline's, "
                "or the other one (`tamis subs type FILE --store URL` for a store)"
            )
    names = sorted(event_type.name for event_type in pipeline.event_types)
    wanted = pipeline.reading.event_type
    if len(names) > 1 and pipeline.reading.type_attribute is None and wanted is None:
        problems.append(
            f"there are several event types ({', '.join(names)}): say with events.type_attribute "
            "which attribute of an event names its type, or with events.event_type of which type all events are"
        )
    choice = sorted({*names, *there, DEFAULT_TYPE})
    if wanted is not None and wanted not in choice:
        hint = suggestion(wanted, choice) or f"; there are {', '.join(choice)}"
        problems.append(f"events.event_type: {place} has no event type {wanted!r}{hint}")
    if problems:
        msg = f"{pipeline.file}: " + "\n  ".join(problems)
        raise PipelineError(msg)


def failure_reason(error: BaseException | None) -> str:
    r"""Why a query failed, without what Spark wraps around it: what was raised in Python, if anything was.

    >>> said = "Message: Traceback (most recent call last):\n  File ...\nKeyError: 'x'\n SQLSTATE: 1"
    >>> failure_reason(ValueError(said))
    "KeyError: 'x'"
    >>> failure_reason(ValueError("[STREAM_FAILED] Query [id = 1] terminated: no such file SQLSTATE: XXKST"))
    '[STREAM_FAILED] Query [id = 1] terminated: no such file'
    >>> java = "An error occurred while calling o1.x.\n: A: b\nCaused by: java.D: not a Parquet file\n\tat e"
    >>> failure_reason(ValueError(java))
    'not a Parquet file'
    """
    text = str(error)
    raised = list(_RAISED.finditer(text))
    if raised:  # the last one is the innermost: a worker's, if a worker raised
        text = text[raised[-1].start(1) :]
    if text.removeprefix("py4j.protocol.Py4JJavaError: ").startswith("An error occurred while calling "):
        causes = _CAUSED.findall(text)  # Java's, where Python only called: the innermost one says what it was
        text = causes[-1] if causes else text
    found = _REST.sub("", text, count=1).strip() or type(error).__name__
    return re.sub(r"^tamis\.[\w.]+: ", "", found)  # the message of an error of ours says all


def _batches_done(query: StreamingQuery) -> Any:
    progress = query.lastProgress
    return None if progress is None else progress["batchId"]
