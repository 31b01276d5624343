"""Subscriptions, however they are given, as a version of a snapshot that workers can open.

Conditions that come as a DataFrame or a file are compiled by Spark: each task makes a segment of its share, the
driver publishes all segments as one version. Only the driver writes. It has no more than some pieces of them in
memory at a time: they come through a shuffle, which keeps them on disk, and are put together in files.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import SnapshotError, SubscriptionError, TamisError
from tamis.events.event_type import EventType
from tamis.limits import DEFAULT_LIMITS
from tamis.matcher import Matcher
from tamis.operators import OPERATORS
from tamis.operators.discovery import INSTALLED, OperatorSettings
from tamis.segments.fields import check_matcher_fields
from tamis.snapshot import SnapshotPart, Snapshots
from tamis.snapshot.segment import ARRAYS, HEADER, open_segment
from tamis.spark.event_tables import regroup
from tamis.spark.workers import map_in_workers
from tamis.statistics import Statistics
from tamis.urls import absolute, is_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tamis.store import Store

SEGMENT_ROWS = 2_000_000
"""Subscriptions of a segment, at most, where a task has more."""
_PIECE_BYTES = 16 << 20
_BUILT = pa.schema(
    [
        ("segment", pa.string()),
        ("slots", pa.int64()),
        ("place", pa.int32()),
        ("data", pa.binary()),
        ("id", pa.string()),
        ("reason", pa.string()),
    ]
)
_REFUSED = "id string, reason string"


@dataclass(frozen=True, slots=True)
class Prepared:
    """Subscriptions that are ready to match.

    Attributes:
        url: The snapshot that they are in.
        version: The version of the snapshot.
        refused: `id` and `reason` of each subscription that was refused.
    """

    url: str
    version: int
    refused: DataFrame


def prepare(
    subscriptions: Any,
    event_type: Any = None,
    *,
    snapshot: str | os.PathLike[str] | None = None,
    statistics: Statistics | None = None,
    segments: int | None = None,
    spark: SparkSession | None = None,
    operators: OperatorSettings | Sequence[str] | None = None,
) -> Prepared:
    """Make subscriptions ready for any number of `match`es.

    Args:
        subscriptions: A DataFrame with columns `id` and `condition` (and, if there, `priority`, `owner`,
            `revision`, `label`, `dialect`), the path of a Parquet file or of JSON lines with these, the URL of a
            snapshot, a store or its path.
        event_type: What conditions are about: anything that `EventType.of` takes; None for schemaless events. A
            snapshot and a store have their own.
        snapshot: Where to publish, as the driver and all workers reach it; a temporary folder if Spark is local.
        statistics: What is known of events, by which engines choose selective predicates.
        segments: How many tasks compile; Spark decides by default.
        spark: The session; the active one by default.
        operators: Where the operators come from that conditions may call; as for `match`.

    Raises:
        OperatorError: An operator cannot be loaded.
        SnapshotError: There is no snapshot at the URL.
        SubscriptionError: There is a column that no subscription of a matcher has.
        TamisError: Spark runs on a cluster, and `snapshot` is not given.
    """
    session = _session(spark)
    if isinstance(subscriptions, Prepared):
        return subscriptions
    settings = OperatorSettings.of(operators)
    settings.load()
    # Of the class: a DataFrame over Connect takes any attribute for a column.
    if hasattr(type(subscriptions), "changes") or (_is_text(subscriptions) and is_store(os.fspath(subscriptions))):
        return _from_store(subscriptions, snapshot, session)
    if _is_text(subscriptions):
        place = os.fspath(subscriptions)
        newest = None if Path(place).is_file() else Snapshots(place).latest()
        if newest is not None:
            return Prepared(reachable(place), newest, session.createDataFrame([], _REFUSED))
        subscriptions = _read_file(place, session)
    url = _snapshot_url(snapshot, session)
    known = None if statistics is None else statistics.to_json()
    task = CompileTask(EventType.of(event_type).to_dict(), known, settings, frozenset(OPERATORS))
    with tempfile.TemporaryDirectory(prefix="tamis-segments-") as folder:
        built = _collect(_compile(subscriptions, task, segments), Path(folder))
        version = _publish(built, Path(folder), url, task)
    return Prepared(url, version, session.createDataFrame(built.refused, _REFUSED))


class _Built(NamedTuple):
    """What tasks made: the slots of each segment by its name, and what was refused."""

    slots: dict[str, int]
    refused: list[tuple[str | None, str]]


@dataclass(frozen=True, slots=True)
class CompileTask:
    """Compiles the conditions of a partition into segments.

    Attributes:
        event_type: Described as in a JSON file.
        statistics: As JSON.
        operators: Where operators come from.
        known: Operators that conditions may call: those of the driver, whatever a worker has loaded before.
    """

    event_type: Mapping[str, Any]
    statistics: Mapping[str, Any] | None
    operators: OperatorSettings = INSTALLED
    known: frozenset[str] = frozenset()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        self.operators.load()
        known = None if self.statistics is None else Statistics.from_json(self.statistics)
        limits = replace(DEFAULT_LIMITS, operators=self.known)
        matcher = Matcher(EventType.of(dict(self.event_type)), limits=limits, statistics=known)
        for table in regroup(batches, SEGMENT_ROWS):
            yield from self._add(matcher, table)
        for part in matcher.segments():
            yield from _segment_rows(part)

    def _add(self, matcher: Matcher, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Add subscriptions to the matcher; gives a row for each that was refused."""
        nameless = pc.is_null(table["id"])
        refusals: list[tuple[str | None, str]] = [
            (each.id, str(each.error)) for each in matcher.add_many(table.filter(pc.invert(nameless)))
        ]
        refusals += [(None, "a subscription needs an id")] * pc.sum(nameless).as_py()
        if refusals:
            ids, reasons = zip(*refusals, strict=True)
            empty = {name: pa.nulls(len(ids), _BUILT.field(name).type) for name in _BUILT.names[:4]}
            yield pa.record_batch({**empty, "id": pa.array(ids, pa.string()), "reason": reasons}, _BUILT)


def reachable(url: str | os.PathLike[str]) -> str:
    """A URL as a process with another working folder reaches it."""
    snapshots = Snapshots(url)
    return os.fspath(url) if snapshots.storage.local is None else snapshots.place


def _segment_rows(part: SnapshotPart) -> Iterator[pa.RecordBatch]:
    """A segment as rows: its header first, then its arrays piece by piece."""
    pieces = chain([part.segment.header()], _pieces(part.segment.content()))
    for place, piece in enumerate(pieces):
        row = {"segment": part.segment.name, "slots": part.slots, "place": place, "data": piece}
        yield pa.RecordBatch.from_pylist([{**row, "id": None, "reason": None}], _BUILT)


def _pieces(content: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """The same bytes in pieces of one size, but for the last."""
    waiting = bytearray()
    for some in content:
        view = memoryview(some).cast("B")
        for at in range(0, len(view), _PIECE_BYTES):
            waiting += view[at : at + _PIECE_BYTES]
            if len(waiting) >= _PIECE_BYTES:
                yield bytes(waiting[:_PIECE_BYTES])
                del waiting[:_PIECE_BYTES]
    if waiting:
        yield bytes(waiting)


def _compile(subscriptions: DataFrame, task: CompileTask, segments: int | None) -> DataFrame:
    """Rows of segments and refusals, in partitions that are small enough for the driver to have one at a time."""
    if not hasattr(type(subscriptions), "mapInArrow"):
        msg = (
            "expected subscriptions as a DataFrame of Spark's, a file, a snapshot or a store, found "
            f"{type(subscriptions).__name__}: make a DataFrame with spark.createDataFrame(subscriptions)"
        )
        raise SubscriptionError(msg)
    missing = {"id", "condition"} - set(subscriptions.columns)
    if missing:
        msg = f"expected subscriptions with columns id and condition, found {', '.join(subscriptions.columns)}"
        raise SubscriptionError(msg)
    check_matcher_fields(subscriptions.columns, "column")
    taken = subscriptions.withColumn("id", subscriptions["id"].cast("string"))
    # One id, one task: so that an id that stands there twice is noticed.
    partitions = taken.repartition("id") if segments is None else taken.repartition(segments, "id")
    schema = "segment string, slots long, place int, data binary, id string, reason string"
    return map_in_workers(partitions, task, schema).repartition("segment", "place")


def _collect(found: DataFrame, folder: Path) -> _Built:
    """Put the pieces of segments together in files, laid out as in a snapshot."""
    built = _Built({}, [])
    for row in found.toLocalIterator():
        if row["segment"] is None:
            built.refused.append((row["id"], row["reason"]))
            continue
        built.slots[row["segment"]] = row["slots"]
        place = folder / row["segment"]
        place.mkdir(exist_ok=True)
        if row["place"] == 0:
            (place / HEADER).write_bytes(row["data"])
            continue
        descriptor = os.open(place / ARRAYS, os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(descriptor, row["data"], (row["place"] - 1) * _PIECE_BYTES)
        finally:
            os.close(descriptor)
    return built


def _publish(built: _Built, folder: Path, url: str, task: CompileTask) -> int:
    event_type = EventType.of(dict(task.event_type))
    parts = []
    for name, slots in sorted(built.slots.items()):
        (folder / name / ARRAYS).touch()  # of a segment without bytes there was no piece
        parts.append(SnapshotPart(open_segment(folder / name, name), slots, event_type=event_type.name))
    snapshots = Snapshots(url)
    manifest = snapshots.publish(
        parts,
        parent=snapshots.latest(),
        event_types={event_type.name: event_type.to_dict()},
        extra={"subscriptions": sum(built.slots.values())},
        statistics=None if task.statistics is None else {event_type.name: dict(task.statistics)},
    )
    return manifest.version


def _from_store(given: Any, snapshot: str | os.PathLike[str] | None, session: SparkSession) -> Prepared:
    from tamis.store import Store
    from tamis.store.publisher import Publisher

    store: Store = Store.open(given) if _is_text(given) else given
    try:
        url = _snapshot_url(snapshot, session)
        published = Publisher(store, url).sync()
    finally:
        if store is not given:
            store.close()
    refused = [(each.id, str(each.error)) for each in published.refusals]
    return Prepared(url, published.snapshot_version, session.createDataFrame(refused, _REFUSED))


def _read_file(given: str, session: SparkSession) -> DataFrame:
    place = absolute(given)
    if place.endswith((".jsonl", ".ndjson", ".json")):
        return session.read.json(place)
    if place.endswith(".parquet") or Path(place).is_dir():
        return session.read.parquet(place)
    msg = f"{place}: expected a snapshot, a store, a Parquet file or JSON lines"
    raise SnapshotError(place, msg, "missing")


def _snapshot_url(snapshot: str | os.PathLike[str] | None, session: SparkSession) -> str:
    """Where subscriptions are published: by default, in a temporary folder of a Spark on one machine."""
    if snapshot is not None:
        return reachable(snapshot)
    master = session.conf.get("spark.master", "") or ""
    if not master.startswith("local"):
        msg = f"Spark runs on {master}: say with `snapshot=` where to publish, as driver and workers reach it"
        raise TamisError(msg)
    folder = tempfile.mkdtemp(prefix="tamis-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _session(spark: SparkSession | None) -> SparkSession:
    if spark is not None:
        return spark
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is None:
        msg = "there is no active Spark session"
        raise TamisError(msg)
    return found


def _is_text(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))
