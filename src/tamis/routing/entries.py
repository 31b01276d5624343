"""Routing entries: generalised copies of the subscriptions of shards, each with the shard that it leads to.

Entries are stored as a segment of subscriptions, so that workers map and match them like any other segment. The id
of an entry begins with the number of its shard, its owner is the id of one subscription behind it, its priority is
the number of these subscriptions; it has a formula and no text. Equal entries of a shard are one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I32
from tamis.engines.base import Index
from tamis.engines.forest import Forest, forest_of
from tamis.formulas.formula import FALSE
from tamis.routing.generalisation import Generalisation
from tamis.segments.columns import texts_of
from tamis.segments.files import store_segment
from tamis.segments.records import Records
from tamis.segments.segment import LiveSegment
from tamis.snapshot import SnapshotPart

DIGITS = 5
"""Digits of the shard number at the beginning of the id of an entry."""


def entry_part(
    general: Generalisation,
    shards: I32,
    ids: pa.Array,
    event_type: str,
    build: Callable[[Forest], Index],
) -> SnapshotPart | None:
    """The entries of some subscriptions as a segment; None if all are FALSE, which needs no entry.

    Args:
        general: The generalised formulas of the subscriptions.
        shards: int32[subscriptions], the shard of each.
        ids: Of the subscriptions.
        event_type: Its name.
        build: Builds the index of a forest.
    """
    keys, slots, counts = np.unique(
        shards.astype(np.int64) << 32 | general.of, return_index=True, return_counts=True
    )
    distinct = zip(keys.tolist(), slots.tolist(), counts.tolist(), strict=True)
    every = [(key >> 32, general.formulas[key & 0xFFFFFFFF], slot, count) for key, slot, count in distinct]
    kept = [each for each in every if each[1] is not FALSE]
    if not kept:
        return None
    forest = forest_of([formula for _, formula, _, _ in kept])
    records = Records.of_columns(
        texts_of(f"{shard:0{DIGITS}}-{number}" for number, (shard, *_) in enumerate(kept)),
        texts_of([""] * len(kept)),
        ids.take(pa.array([slot for _, _, slot, _ in kept])),
        np.array([count for _, _, _, count in kept], np.int64),
        np.ones(len(kept), np.int32),
    )
    return SnapshotPart(
        store_segment(LiveSegment(forest, records, build(forest))), len(kept), event_type=event_type
    )


def shards_of(ids: pa.Array) -> I32:
    """The shards that entries lead to, read from their ids."""
    shards: I32 = pc.utf8_slice_codeunits(ids, 0, DIGITS).cast(pa.int32()).to_numpy(zero_copy_only=False)
    return shards
