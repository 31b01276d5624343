"""Events on their way from the task that routes them to the task that matches them: as texts, or as columns.

Each contestant reads JSON texts in a first task, sends what they say through a shuffle of Spark, and has the ids
and the values of all attributes in a second task. `texts` is what streams do: the text travels, and is read again.
`columns` sends a column for each attribute, without the text, which dead letters and schemaless events would need.
`messages` sends the same columns as one Arrow message for each batch and shard, in a binary column.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Mask
from tamis.events.arrow_out import arrow_array, arrow_type
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.misfits import misfit_rows
from tamis.events.names import event_names
from tamis.spark import Reading
from tamis.spark.event_tables import regroup
from tamis.spark.snapshot_ref import SnapshotRef

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS, COLUMNS, MESSAGES = "texts", "columns", "messages"
SHARDS = 2
_TEXT, _SHARD, _MESSAGE = "value", "tamis shard", "message"
_COUNT = "events long"


class Sending(NamedTuple):
    """How events are read: the subscriptions, which know the event type, and its settings."""

    ref: SnapshotRef
    reading: Reading
    event_type: EventType


def contestants(spark: SparkSession, events: Path, sending: Sending) -> dict[str, Callable[[], object]]:
    """What gives the number of events that arrive, by name; each call goes the whole way."""
    from pyspark import cloudpickle
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import BinaryType, IntegerType, StringType, StructType

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call] # workers lack it
    empty = EventBatch.of(pa.table({}), sending.event_type)
    typed: StructType = from_arrow_schema(_columns(empty).schema)
    ways = {
        TEXTS: (send_texts, StructType().add(_TEXT, StringType()), take_texts),
        COLUMNS: (send_columns, typed, take_columns),
        MESSAGES: (send_messages, StructType().add(_MESSAGE, BinaryType()), take_messages),
    }
    for _, schema, _ in ways.values():
        schema.add(_SHARD, IntegerType())
    texts = spark.read.text(str(events))

    def way(name: str) -> int:
        first, schema, second = ways[name]
        sent = texts.mapInArrow(partial(first, sending), schema)
        found = sent.repartitionById(SHARDS, _SHARD).mapInArrow(partial(second, sending), _COUNT).toArrow()
        return int(pc.sum(found["events"]).as_py())

    return {name: partial(way, name) for name in ways}


def read_events(sending: Sending, table: pa.Table) -> Iterator[tuple[EventBatch, Mask]]:
    """Read texts; gives events with every value looked at, and which of them can be matched."""
    reading = sending.reading
    for read in reading.read(sending.ref.matchers(), table, []):
        yield read.batch, reading.check_events(read, reading.originals(table), []).good


def read_columns(sending: Sending, table: pa.Table) -> Iterator[pa.Table]:
    """Read texts, and give the columns of all attributes of the events that can be matched."""
    for batch, good in read_events(sending, table):
        columns = _columns(batch)
        yield columns if good.all() else columns.filter(pa.array(good))


def _columns(batch: EventBatch) -> pa.Table:
    known = {each.name: each.type for each in batch.event_type.attributes or ()}
    columns = {name: arrow_array(batch.column((name,))).cast(arrow_type(known[name])) for name in sorted(known)}
    return pa.table(columns)


def _with_shards(table: pa.Table) -> pa.Table:
    return table.append_column(_SHARD, pa.array((np.arange(table.num_rows) % SHARDS).astype(np.int32)))


def _take_columns(sending: Sending, columns: pa.Table) -> int:
    """Have the ids and the values of events that were read before; gives how many there are."""
    batch = EventBatch.of(columns, sending.event_type)
    assert not misfit_rows(batch).any()  # which looks at every value
    return len(event_names(batch, sending.reading.event_id))


def send_texts(sending: Sending, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for table in regroup(batches):
        assert sum(int(np.count_nonzero(good)) for _, good in read_events(sending, table)) == table.num_rows
        yield from _with_shards(table).combine_chunks().to_batches()


def take_texts(sending: Sending, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for table in regroup(batches):
        yield _counted(sum(int(np.count_nonzero(good)) for _, good in read_events(sending, table)))


def send_columns(sending: Sending, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for table in regroup(batches):
        for columns in read_columns(sending, table):
            yield from _with_shards(columns).combine_chunks().to_batches()


def take_columns(sending: Sending, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for table in regroup(batches):
        yield _counted(_take_columns(sending, table.drop_columns([_SHARD])))


def send_messages(sending: Sending, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for table in regroup(batches):
        for columns in read_columns(sending, table):
            shards = np.arange(columns.num_rows) % SHARDS
            for shard in range(SHARDS):
                stream = pa.BufferOutputStream()
                some = columns.filter(pa.array(shards == shard))
                with pa.ipc.new_stream(stream, some.schema) as writer:
                    writer.write_table(some)
                row = {_MESSAGE: [stream.getvalue().to_pybytes()], _SHARD: pa.array([shard], pa.int32())}
                yield pa.RecordBatch.from_pydict(row)


def take_messages(sending: Sending, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for message in batch[_MESSAGE]:
            columns = pa.ipc.open_stream(message.as_buffer()).read_all()
            yield _counted(_take_columns(sending, columns))


def _counted(events: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"events": [events]})
