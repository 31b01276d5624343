"""What is open of composite subscriptions on Spark: files of a partition against `transformWithState`.

Both contestants are given the same pairs of an event and a composite subscription, as matching them gave, in the
same micro-batches, and their matches are compared before any time is told. `files` is what a stream of tamis does
after matching. `transformWithState` is a streaming plan of its own, with a state for each subscription and key in
RocksDB, deadlines as timers, and the same search, `KeyState`: what a second, linked query would do. Here it is
handed the pairs as files; the topic between two queries is not in its time.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.composite import TYPE, tables_of, texts_of
from benchmarks.composite import Scale as StreamScale
from benchmarks.report import Bar, Figures, Report, Size, number, spread
from benchmarks.spark import session
from tamis.composite.key_state import KeyState
from tamis.composite.parts import CompiledComposite
from tamis.composite.saved import decode_value
from tamis.composite.search import KeptEvent, Search
from tamis.limits import Limits
from tamis.sinks.base import BatchKey
from tamis.snapshot import Manifest, Snapshots
from tamis.spark import CompositeSettings, Reading
from tamis.spark.composite_events import compiled
from tamis.spark.composite_states import CompositeStates, by_partition
from tamis.spark.composite_task import StateTask
from tamis.spark.shards import shard_refs
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import FOUND, FOUND_SQL, PAIR, STATE, TAKEN, StreamTask
from tamis.store import Publisher, Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

FILES, STATEFUL = "files", "transformWithState"
_PARTITIONS, _TRIES = 4, 100_000
_FOREVER = datetime(2100, 1, 1, tzinfo=UTC)
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_MATCHES = "subscription_id string, events array<string>"

Match: TypeAlias = tuple[str, tuple[str, ...]]
"""Subscription, and the ids of its events."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: Composite ones.
        keys: Users.
        batch: Events of a micro-batch.
        batches: How many, with the first two, which are not measured.
    """

    subscriptions: int
    keys: int
    batch: int
    batches: int


SCALES: dict[Size, Scale] = {
    "smallest": Scale(1_000, 50, 3_000, 3),
    "quick": Scale(3_000, 100_000, 5_000, 5),
    "full": Scale(10_000, 100_000, 10_000, 12),
}


@dataclass(slots=True)
class Outcome:
    """What a contestant did.

    Attributes:
        matches: That it found.
        seconds: Of each micro-batch.
        state_bytes: Of all files of the state at the end, old versions included.
    """

    matches: list[Match] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    state_bytes: int = 0


def run(size: Size) -> Report:
    """Run both contestants on the same pairs."""
    scale = SCALES[size]
    with session(print) as spark, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = _Inputs(folder, scale)
        pairs = inputs.write()
        outcomes = {FILES: _run_files(spark, folder, inputs), STATEFUL: _run_stateful(spark, folder, inputs)}
    files, stateful = outcomes[FILES], outcomes[STATEFUL]
    if sorted(files.matches) != sorted(stateful.matches):
        different = set(files.matches) ^ set(stateful.matches)
        msg = f"the contestants differ in {len(different)} matches: {sorted(different)[:3]}"
        raise SystemExit(msg)
    figures: Figures = {
        "composite subscriptions": scale.subscriptions,
        "micro-batches": f"{scale.batches - 2} after 2, of {scale.batch} events",
        "pairs of an event and a subscription": pairs,
        "completed matches": len(files.matches),
    }
    for contestant, outcome in outcomes.items():
        figures[f"{contestant}: seconds of a micro-batch"] = spread(outcome.seconds[2:])
        rate = pairs / scale.batches / median(outcome.seconds[2:])
        figures[f"{contestant}: pairs a second"] = round(rate)
        figures[f"{contestant}: bytes of all files of the state"] = outcome.state_bytes
    ratio = median(stateful.seconds[2:]) / median(files.seconds[2:])
    name = "transformWithState to files, ratio of seconds"
    figures[name] = number(ratio)
    if size == "smallest":
        figures["bars"] = "not judged: this is not the size that they are set for"
    return Report("composite", figures, {name: Bar(round(ratio, 3), 1.0)}, judged=size != "smallest")


class _Inputs:
    """The subscriptions, published, and the pairs of each micro-batch in a file."""

    def __init__(self, folder: Path, scale: Scale) -> None:
        self._scale = scale
        self.pairs = folder / "pairs"
        self.snapshot = folder / "snapshot"
        self.texts = {f"c{number}": text for number, text in enumerate(texts_of(scale.subscriptions))}
        store = Store.open(folder / "subscriptions.db")
        store.set_event_type(TYPE)
        rows = [
            {"id": id, "condition": text, "event_type": TYPE.name, "dialect": "composite"}
            for id, text in self.texts.items()
        ]
        refused = store.add_many(pa.Table.from_pylist(rows)).refusals
        if refused:
            raise SystemExit(str(refused[0]))
        Publisher(store, self.snapshot).sync()

    @cached_property
    def manifest(self) -> Manifest:
        """Of the published version."""
        return Snapshots(self.snapshot).manifest()

    @cached_property
    def ref(self) -> SnapshotRef:
        """Of the published version, as tasks open it."""
        return SnapshotRef(str(self.snapshot), self.manifest.version, parts=True)

    def write(self) -> int:
        """Match the events of each micro-batch as a task of a stream does; how many pairs there are."""
        self.pairs.mkdir()
        scale, pairs = self._scale, 0
        stream = StreamScale(scale.subscriptions, scale.keys, scale.batch, scale.batches, 0)
        states = CompositeStates(CompositeSettings(partitions=_PARTITIONS), self.pairs.parent / "none")
        plan = states.plan("pairs", 0, self.manifest, self.ref)
        task = StreamTask(shard_refs(self.ref, 1), Reading(event_time="time"), composite=plan)
        for batch, events in enumerate(tables_of(stream, scale.batches)):
            ids = pa.array([f"e{batch}-{row}" for row in range(len(events))])
            given = events.append_column("id", ids).combine_chunks().to_batches()
            found = pa.Table.from_batches([*task(iter(given))], FOUND)
            pairs += pc.sum(pc.equal(found["row_kind"], TAKEN)).as_py()
            pq.write_table(found, self.pairs / f"{batch:04d}.parquet")
        return pairs

    def read(self, spark: SparkSession) -> DataFrame:
        """The pairs as a stream, a file in each micro-batch."""
        return (
            spark.readStream.schema(FOUND_SQL).option("maxFilesPerTrigger", 1).parquet(str(self.pairs))
        )  # in the order of their times of writing


def _run_files(spark: SparkSession, folder: Path, inputs: _Inputs) -> Outcome:
    """What a stream of tamis does after matching: state files, recorded under (query, batch)."""
    outcome = Outcome()
    states = CompositeStates(CompositeSettings(partitions=_PARTITIONS), folder / "files")

    def apply(pairs: DataFrame, batch: int) -> None:
        plan = states.plan("files", batch, inputs.manifest, inputs.ref)
        assert plan is not None  # there are composite subscriptions
        task = StateTask(plan, BatchKey("files", batch, _FOREVER, inputs.manifest.version))
        found = by_partition(pairs, _PARTITIONS).mapInArrow(task, FOUND_SQL).toArrow()
        kind = found["row_kind"]
        states.commit("files", batch, plan, found.filter(pc.equal(kind, STATE)))
        for each in found.filter(pc.equal(kind, PAIR)).select(["subscription_id", "attributes"]).to_pylist():
            outcome.matches.append((each["subscription_id"], _ids_of(each["attributes"])))

    _run_query(inputs.read(spark), apply, folder / "files-checkpoint", outcome)
    outcome.state_bytes = _bytes_in(folder / "files")
    return outcome


def _run_stateful(spark: SparkSession, folder: Path, inputs: _Inputs) -> Outcome:
    """A streaming plan with a state for each subscription and key."""
    outcome = Outcome()
    settings = {
        "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
        "spark.sql.shuffle.partitions": str(_PARTITIONS),
    }
    before = {name: spark.conf.get(name, None) for name in settings}

    def apply(matches: DataFrame, _batch: int) -> None:
        for each in matches.toArrow().to_pylist():
            outcome.matches.append((each["subscription_id"], tuple(each["events"])))

    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        pairs = inputs.read(spark).withWatermark("event_time", "0 seconds").where(f"row_kind = {TAKEN}")
        time_us = "unix_micros(event_time) AS time_us"
        columns = ("subscription_id", "kind", "event_time", time_us, "event_id", "count", "attributes")
        grouped = pairs.selectExpr(*columns).groupBy("subscription_id", "kind")
        matches = grouped.transformWithState(_processor(inputs.texts), _MATCHES, "Append", "EventTime")
        _run_query(matches, apply, folder / "stateful-checkpoint", outcome)
    finally:
        for name, own in before.items():
            if own is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, own)
    outcome.state_bytes = _bytes_in(folder / "stateful-checkpoint" / "state")
    return outcome


def _run_query(
    source: DataFrame, apply: Callable[[DataFrame, int], None], checkpoint: Path, outcome: Outcome
) -> None:
    """Run a query over all pairs."""
    query = (
        source.writeStream.foreachBatch(apply)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    for progress in query.recentProgress:
        if progress.numInputRows:
            outcome.seconds.append(progress.durationMs["triggerExecution"] / 1000)


def _bytes_in(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def _ids_of(attributes: str) -> tuple[str, ...]:
    return tuple(each["id"] for each in json.loads(attributes)["events"])


def _processor(texts: dict[str, str]) -> Any:
    """A `StatefulProcessor`: the state of a key is one value, its next deadline a timer."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Processor(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._state = handle.getValueState("open", "value binary")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
            opened = self._open()
            done = [*opened.take(_composite(texts[key[0]]), rows)]
            self._keep(key, opened)
            yield from (Row(subscription_id=key[0], events=each) for each in done)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
            opened = self._open()
            passed_us = timerValues.getCurrentWatermarkInMs() * 1000
            done = [*opened.expire(_composite(texts[key[0]]), passed_us)]
            self._keep(key, opened)
            yield from (Row(subscription_id=key[0], events=each) for each in done)

        def close(self) -> None:
            """Nothing is left."""

        def _open(self) -> _Open:
            value = self._state.get()
            return _Open() if value is None else pickle.loads(value[0])

        def _keep(self, key: Any, opened: _Open) -> None:
            """Write the state, if there is any, and let a timer call again when the first of it is over."""
            if not opened.state.size:
                self._state.clear()
                return
            self._state.update((pickle.dumps(opened, pickle.HIGHEST_PROTOCOL),))
            within_us = _composite(texts[key[0]]).source.within_us
            self._handle.registerTimer(opened.state.next_deadline(within_us) // 1000 + 1)

    return Processor()


def _composite(text: str) -> CompiledComposite:
    return compiled(text, TYPE, Limits())


@dataclass(slots=True)
class _Open:
    """What is open of a key: events by number, their ids, and what conditions on several look at."""

    state: KeyState = field(default_factory=KeyState)
    ids: list[str] = field(default_factory=list)
    attributes: dict[int, Any] = field(default_factory=dict)

    def take(self, composite: CompiledComposite, rows: Iterator[Any]) -> Iterator[list[str]]:
        """Let events come in the order of time; the ids of the matches that are complete."""
        for row in sorted(rows, key=lambda row: (row.time_us, row.event_id)):
            yield from self.expire(composite, row.time_us)
            number = len(self.ids)
            self.ids.append(row.event_id)
            self.attributes[number] = decode_value(json.loads(row.attributes)) if row.attributes else {}
            search = Search(composite, _TRIES, self.attributes.__getitem__)
            event = KeptEvent(row.time_us, number, row["count"])
            self.state.cancel(composite, event, search)
            for chosen in self.state.end_matches(composite, event, search):
                yield self._named(chosen)

    def expire(self, composite: CompiledComposite, before_us: int) -> Iterator[list[str]]:
        """Pass the deadlines before a time."""
        within_us = composite.source.within_us
        while self.state.size and (deadline := self.state.next_deadline(within_us)) < before_us:
            complete, _ = self.state.expire(within_us, deadline)
            for chosen in complete:
                yield self._named(chosen)

    def _named(self, events: Sequence[KeptEvent]) -> list[str]:
        return [self.ids[event.number] for event in events]
