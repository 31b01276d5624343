"""A dry run: what a pipeline would do, found out without doing it.

Everything that can be tried is tried, and what fails is noted beside what works. Nothing is written where the
pipeline works; what must be somewhere meanwhile is in a temporary folder, gone at the end.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import TamisError
from tamis.matchers import Matchers
from tamis.snapshot import Snapshots
from tamis.snapshot.storage import open_storage
from tamis.spark.changes import ChangeFolder
from tamis.spark.pipeline import Pipeline
from tamis.spark.preparing import reachable
from tamis.spark.running import CHANGES, check_types, load_operators_of, snapshot_types
from tamis.spark.sources import check, describe, sample
from tamis.spark.stream_task import DEAD, EVENTS, FOUND, OVERFLOW, PAIR, StreamTask
from tamis.spark.worker import Edition
from tamis.store import Store
from tamis.store.view import MATCHABLE_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE_ROWS = 1_000
_COLUMNS = ("id", "condition", "priority", "owner", "revision")


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where a query goes on.

    Attributes:
        query: Its id; None if it is a new one.
        batch: The number of the batch that comes next.
        again: Was that batch begun before, and not finished?
    """

    query: str | None = None
    batch: int = 0
    again: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """What some events gave.

    Attributes:
        events: How many were looked at.
        matched_events: How many of them satisfied a subscription.
        matches: How many pairs there were.
        overflow: How many more there were beyond the quota, all taken as one batch.
        dead: How many were no good, by the kind of problem, with one reason each.
    """

    events: int
    matched_events: int
    matches: int
    overflow: int
    dead: dict[str, tuple[int, str]]


@dataclass(slots=True)
class Rehearsal:
    """What a pipeline would do.

    Attributes:
        source: Where events come from.
        sink: Where notifications would go.
        event_types: Those that there would be, by name, and whether each is new.
        subscriptions: How many there are; None if they cannot be had.
        version: Of the store or the snapshot that has them; None for a folder of changes, or if there is none yet.
        resumed: Where the query goes on; None if the checkpoint cannot be read.
        sample: What some events gave; None if there was no looking at any.
        problems: Why it would not run.
    """

    source: str
    sink: str
    event_types: dict[str, bool] = field(default_factory=dict)
    subscriptions: int | None = None
    version: int | None = None
    resumed: Resumed | None = None
    sample: Sample | None = None
    problems: list[str] = field(default_factory=list)

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Note what goes wrong within, and go on."""
        try:
            yield
        except (TamisError, OSError, pa.ArrowException) as error:
            self.problems.append(f"{what}: {error}")


def rehearse(pipeline: Pipeline, spark: Callable[[], SparkSession]) -> Rehearsal:
    """Find out what a pipeline would do.

    Args:
        pipeline: What to run.
        spark: Gives the session; asked only if Kafka is involved.
    """
    sink = pipeline.make_sink()
    found = Rehearsal(describe(pipeline.source), sink.describe())
    with ExitStack() as stack:
        stack.callback(sink.close)
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tamis-")))
        with found.trying("events"):
            check(pipeline.source)
        with found.trying("sink"):
            if pipeline.uses_kafka:
                spark()
            sink.check()
        with found.trying("state"):
            found.resumed = resumed(pipeline.state.checkpoint)
        with found.trying("operators"):
            load_operators_of(pipeline)
        with found.trying("subscriptions"):
            edition = _edition(pipeline, temporary, found)
            if not any(each.startswith("events:") for each in found.problems):
                with found.trying("sample"):
                    events = sample(pipeline.source, SAMPLE_ROWS, spark)
                    found.sample = None if events is None else _matched(pipeline, edition, events)
    return found


def resumed(checkpoint: str) -> Resumed:
    """Where the query of a checkpoint goes on."""
    storage = open_storage(checkpoint)
    begun, done = (_newest(storage, folder) for folder in ("offsets", "commits"))
    if begun is None:
        return Resumed()
    query = str(json.loads(storage.read("metadata"))["id"])
    return Resumed(query, begun if done is None or done < begun else begun + 1, done is None or done < begun)


def _newest(storage: Any, folder: str) -> int | None:
    names = [each.name for each in storage.listing(folder)]
    return max((int(name) for name in names if name.isdigit()), default=None)


def _edition(pipeline: Pipeline, temporary: Path, found: Rehearsal) -> Edition:
    """The subscriptions as a task reads them."""
    subscriptions = pipeline.subscriptions
    if subscriptions.kind == "snapshot":
        manifest = Snapshots(subscriptions.place).manifest()
        types = snapshot_types(subscriptions.place)
        check_types(pipeline, types, declared=True)
        found.event_types = {event_type.name: False for event_type in types}
        found.version, found.subscriptions = manifest.version, manifest.slots - manifest.dead
        place = reachable(subscriptions.place)
        return Edition(place, manifest.version, pipeline.engine, operators=pipeline.operators)
    with _store(pipeline, temporary) as store, store.view() as view:
        known = view.event_types()
        check_types(pipeline, known.values())
        found.event_types = dict.fromkeys(known, False)
        found.event_types |= {each.name: True for each in pipeline.event_types if each.name not in known}
        matchers = Matchers(pipeline.event_types, limits=store.limits)
        for name, event_type in known.items():
            table = pa.Table.from_batches(view.matchable(name), MATCHABLE_SCHEMA)
            matchers.declare(event_type).add_many(table.select(_COLUMNS))
        found.version = view.version if subscriptions.kind == "store" else None
    found.subscriptions = len(matchers)
    url = temporary / "snapshot"
    return Edition(str(url), matchers.publish(url).version, pipeline.engine, operators=pipeline.operators)


@contextmanager
def _store(pipeline: Pipeline, temporary: Path) -> Iterator[Store]:
    """The store, to be read; for a folder of changes, a copy of its store that has all changes."""
    if pipeline.subscriptions.kind == "store":
        with Store.open(pipeline.subscriptions.place, create=False, limits=pipeline.limits) as store:
            yield store
        return
    state = temporary / CHANGES
    if (pipeline.state.folder / CHANGES / ChangeFolder.STORE).exists():
        _copy(pipeline.state.folder / CHANGES, state)
    folder = ChangeFolder(pipeline.subscriptions.place, state, limits=pipeline.limits)
    with folder.store as store:
        check_types(pipeline, store.event_types().values())
        for event_type in pipeline.event_types:
            store.set_event_type(event_type)
        folder.apply()
        yield store


def _copy(state: Path, target: Path) -> None:
    """Copy the state of a folder of changes, though somebody may be writing it."""
    target.mkdir()
    if (state / ChangeFolder.MARK).exists():
        shutil.copy(state / ChangeFolder.MARK, target)
    with (
        closing(sqlite3.connect(state / ChangeFolder.STORE)) as source,
        closing(sqlite3.connect(target / ChangeFolder.STORE)) as copy,
    ):
        source.backup(copy)


def _matched(pipeline: Pipeline, edition: Edition, events: pa.Table) -> Sample:
    """What a batch of these events would give."""
    task = StreamTask((edition,), pipeline.reading, pipeline.quota)
    found = pa.Table.from_batches(task(iter(events.to_batches())), FOUND)
    kinds = found["row_kind"].combine_chunks()
    pairs, dead = (found.filter(pc.equal(kinds, kind)) for kind in (PAIR, DEAD))
    events_count, overflow = (
        pc.sum(found.filter(pc.equal(kinds, kind))["count"]).as_py() or 0 for kind in (EVENTS, OVERFLOW)
    )
    reasons: dict[str, tuple[int, str]] = {}
    for kind, why in zip(dead["kind"].to_pylist(), dead["reason"].to_pylist(), strict=True):
        count, first = reasons.get(kind, (0, why))
        reasons[kind] = (count + 1, first)
    matched = pc.count_distinct(pairs["event_id"]).as_py()
    return Sample(events_count, matched, pairs.num_rows, overflow, reasons)
