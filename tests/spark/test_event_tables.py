"""Tables of events between tasks: regrouped, split by shard, counted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tamis.spark.event_tables import (
    COUNTED,
    MISFITS,
    ROUTING_NS,
    SHARD,
    event_count,
    event_rows,
    misfit_count,
    regroup,
    routing_ns,
    tables_by_shard,
)
from tamis.spark.snapshot_ref import SnapshotRef


@pytest.mark.parametrize(
    ("sizes", "expected"), [([], []), ([0, 3, 0], [3]), ([4, 4, 4, 1], [8, 5]), ([20, 1], [20, 1])]
)
def test_tables_have_enough_rows_and_all_rows_are_there(sizes: list[int], expected: list[int]) -> None:
    numbers = iter(range(sum(sizes)))
    batches = [
        pa.record_batch({"n": pa.array([next(numbers) for _ in range(size)], pa.int64())}) for size in sizes
    ]
    tables = list(regroup(batches, 8))
    assert [table.num_rows for table in tables] == expected
    assert [n for table in tables for n in table["n"].to_pylist()] == list(range(sum(sizes)))


def test_events_go_to_the_shards_that_they_name() -> None:
    shards = [SnapshotRef("here", 1, segments=frozenset({name})) for name in "abc"]
    events = pa.table({"n": [1, 2, 3, 4], SHARD: [2, 0, 2, 0]})
    split = {ref: table.to_pydict() for ref, table in tables_by_shard(shards, events)}
    assert split == {shards[2]: {"n": [1, 3]}, shards[0]: {"n": [2, 4]}}
    assert list(tables_by_shard(shards[:1], events)) == [(shards[0], events)], "of one shard, the table itself"


def test_rows_that_count_events_are_no_events() -> None:
    counts = {COUNTED: [None, 5, None, 2], MISFITS: [None, 3, None, 0], ROUTING_NS: [None, 40, None, 2]}
    columns = {name: pa.array(values, pa.int64()) for name, values in counts.items()}
    table = pa.table({"n": [1, None, 2, None], **columns})
    assert misfit_count(table) == 3
    assert routing_ns(table) == 42
    assert event_count(table) == 7
    assert event_rows(table).to_pydict() == {"n": [1, 2]}
    assert event_count(table.slice(0, 1)) == 0
