"""Tasks of a batch, for the tests of sinks: each writes pairs of small numbers, as a worker of Spark does."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tamis.notifications import id_keys
from tamis.sinks import BatchKey, Committed, Part, Sink
from tests.sinks.deliveries import at, dead_letters, notifications

Pairs = Sequence[tuple[int, int]]


def batch_key(batch: int, query: str = "a query") -> BatchKey:
    return BatchKey(query, batch, at(batch), 1)


@dataclass
class Task:
    """What a task gets: chunks of pairs, each matched in a shard; and dead letters."""

    chunks: Sequence[Pairs] = ()
    shard: int = 0
    dead: Sequence[bytes] = ()


@dataclass
class Batch:
    """A batch of a query: its tasks write when it says so, and it is published when it says so."""

    sink: Sink
    key: BatchKey
    _writer: bytes = field(init=False)

    def __post_init__(self) -> None:
        writer = self.sink.task_writer(self.key)
        assert writer is not None
        self._writer = pickle.dumps(writer)

    def write(self, task: Task, partition: int = 0, attempt: int = 0) -> Part:
        """One attempt of a task, as the driver hears of it."""
        writer = pickle.loads(self._writer).open(partition, attempt)
        for pairs in task.chunks:
            table = notifications(pairs, self.key.at)
            # An event that came once is named once, however many subscriptions it found.
            repetitions = max((list(pairs).count(pair) for pair in pairs), default=1)
            events = [f"event {event} é" for event in dict(pairs)] * repetitions
            writer.add(table, id_keys(table["id"]), pa.array(events, pa.string()), task.shard)
        for original in task.dead:
            writer.add_dead(dead_letters([original], self.key.at))
        part: Part = writer.finish()
        return Part.from_json(part.to_json(), part.numbers())

    def publish(self, parts: Iterable[Part]) -> Committed:
        return self.sink.publish(self.key, list(parts))


def run(sink: Sink, key: BatchKey, *tasks: Task) -> Committed:
    """A batch from its beginning to its end."""
    batch = Batch(sink, key)
    return batch.publish([batch.write(task, partition) for partition, task in enumerate(tasks)])


def ids_of(*pairs: tuple[int, int]) -> list[str]:
    """The ids of pairs, in order."""
    found: list[str] = notifications(pairs, at(0))["id"].to_pylist()
    return sorted(found)
