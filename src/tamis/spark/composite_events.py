"""Events on their way to the keys of composite subscriptions.

Pairs of events and parts are found as all others. Each event and composite subscription becomes a row, with the
key and the parts that it satisfies, which is sent by the hash of subscription and key to a partition of the state
(`composite_task.py`).
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import I64
from tamis.composite.open_matches import Bounds
from tamis.composite.parts import CompiledComposite, compile_composite, keys_of
from tamis.composite.saved import encode_value
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.formulas.expression import Path, walk
from tamis.limits import Limits
from tamis.matcher import Matcher
from tamis.segments.published import PART_MARK
from tamis.spark.snapshot_ref import SnapshotRef


@dataclass(frozen=True, slots=True)
class CompositePlan:
    """What tasks know of the state of composite subscriptions.

    Attributes:
        url: The folder of the state, as workers reach it.
        subscriptions: The pinned version, with parts.
        bounds: Of each partition.
        lateness_us: How far behind the latest event another may come.
        watermark_us: After the batch before; None before the first.
        files: What each partition has open after the batch before; empty for nothing.
        name: What the names of new files begin with.
    """

    url: str
    subscriptions: SnapshotRef
    bounds: Bounds
    lateness_us: int
    watermark_us: int | None
    files: tuple[str, ...]
    name: str


class _PartOf(NamedTuple):
    """The composite subscription that a record is a part of."""

    id: str
    bit: int
    composite: CompiledComposite
    needed: tuple[str, ...]


@lru_cache(maxsize=100_000)
def compiled(text: str, event_type: EventType, limits: Limits) -> CompiledComposite:
    """A composite subscription as this process compiled it."""
    return compile_composite(text, event_type, limits)


def needed_attributes(composite: CompiledComposite) -> tuple[str, ...]:
    """The attributes of events that conditions on several events look at."""
    names = {part.name for part in composite.all_parts if part.name}
    steps = [
        node.steps
        for part in composite.all_parts
        if part.joint is not None
        for node in walk(part.joint.expression)
        if isinstance(node, Path)
    ]
    return tuple(sorted({each[1] if each[0] in names and len(each) > 1 else each[0] for each in steps}))


def taken_table(
    matcher: Matcher,
    batch: EventBatch,
    at: I64,
    part_ids: pa.Array,
    revisions: I64,
    names: pa.Array,
    times: I64,
    partitions: int,
    keep: tuple[str, ...],
) -> pa.Table:
    """The pairs of events and parts as rows for `StateTask`: one for each event and subscription.

    Args:
        matcher: That found them.
        batch: The events.
        at: The row of each pair's event.
        part_ids: The id of its record.
        revisions: Of its subscription.
        names: The ids of all events.
        times: Of all events, in microseconds.
        partitions: Of the state.
        keep: Attributes that notifications carry along.
    """
    encoded = part_ids.dictionary_encode()
    parts = [_part_of(matcher, id) for id in encoded.dictionary.to_pylist()]
    joined: dict[tuple[int, str], list[Any]] = {}
    by_row: dict[tuple[tuple[str, ...], ...], dict[int, str | None]] = {}
    codes = encoded.indices.to_numpy(zero_copy_only=False).tolist()
    rows = at.tolist()
    for paths in {part.composite.keys for part in parts}:
        own = sorted({row for row, code in zip(rows, codes, strict=True) if parts[code].composite.keys == paths})
        by_row[paths] = dict(zip(own, keys_of(batch, paths, np.array(own, np.int64)), strict=True))
    for row, code, revision in zip(rows, codes, revisions.tolist(), strict=True):
        part = parts[code]
        key = by_row[part.composite.keys][row]
        if key is not None:
            known = joined.setdefault((row, part.id), [part, key, revision, 0])
            known[3] |= part.bit
    wanted = [row for row, _ in joined]
    texts = _texts(batch, [(row, (*keep, *each[0].needed)) for (row, _), each in joined.items()])
    columns = {
        "event_id": names.take(pa.array(wanted, pa.int64())).cast(pa.string()),
        "subscription_id": pa.array([id for _, id in joined], pa.string()),
        "revision": pa.array([each[2] for each in joined.values()], pa.int64()),
        "event_type": pa.repeat(pa.scalar(matcher.event_type.name, pa.string()), len(wanted)),
        "event_time": pa.array(times[wanted], pa.int64()).cast(pa.timestamp("us", "UTC")),
        "attributes": pa.array(texts, pa.string()),
        "kind": pa.array([each[1] for each in joined.values()], pa.string()),
        "count": pa.array([each[3] for each in joined.values()], pa.int64()),
        "priority": pa.array(
            [zlib.crc32(f"{id} {each[1]}".encode()) % partitions for (_, id), each in joined.items()], pa.int64()
        ),
    }
    return pa.table(columns)


def _part_of(matcher: Matcher, id: str) -> _PartOf:
    own, _, place = id.rpartition(PART_MARK)
    composite = compiled(matcher.subscription(own).condition, matcher.event_type, matcher.limits)
    return _PartOf(own, 1 << int(place), composite, needed_attributes(composite))


def _texts(batch: EventBatch, wanted: list[tuple[int, tuple[str, ...]]]) -> list[str | None]:
    """Some attributes of some events as JSON that `decode_value` reads; nothing where none is needed."""
    columns = {name: batch.raw((name,)) for _, names in wanted for name in names}
    made: dict[tuple[int, tuple[str, ...]], str | None] = {}
    for row, names in wanted:
        if (row, names) not in made:
            values = {name: _value(columns[name][row]) for name in names}
            made[row, names] = json.dumps(encode_value(values)) if names else None
    return [made[each] for each in wanted]


def _value(value: Any) -> Any:
    return value.as_py() if isinstance(value, pa.Scalar) else value
