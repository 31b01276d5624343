"""Entries: generalised copies of the subscriptions of shards, each with the shard that it leads to.

An entry is kept like a subscription: its id begins with the number of the shard, its owner is an example of the
subscriptions behind it, its priority their number; it has a formula and no text. Equal entries of a shard are one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.engines.base import Index
from tamis.engines.forest import Forest, forest_of
from tamis.language.formula import FALSE
from tamis.routing.common import Generalised
from tamis.segments.columns import texts_of
from tamis.segments.files import stored
from tamis.segments.live import LiveSegment
from tamis.segments.records import Records
from tamis.snapshot import Part

Shorts: TypeAlias = npt.NDArray[np.int32]

DIGITS = 5
"""Of the number of a shard."""


def entry_part(
    general: Generalised,
    owners: Shorts,
    ids: pa.Array,
    event_type: str,
    build: Callable[[Forest], Index],
) -> Part | None:
    """The entries of some subscriptions as a segment; None if there is none. What never holds needs no entry.

    Args:
        general: What they were generalised to.
        owners: The shard of each.
        ids: Their ids.
        event_type: Its name.
        build: Makes an index.
    """
    keys, slots, counts = np.unique(
        owners.astype(np.int64) << 32 | general.of, return_index=True, return_counts=True
    )
    found = zip(keys.tolist(), slots.tolist(), counts.tolist(), strict=True)
    every = [(key >> 32, general.formulas[key & 0xFFFFFFFF], slot, count) for key, slot, count in found]
    told = [each for each in every if each[1] is not FALSE]
    if not told:
        return None
    forest = forest_of([formula for _, formula, _, _ in told])
    records = Records.of_columns(
        texts_of(f"{shard:0{DIGITS}}-{number}" for number, (shard, *_) in enumerate(told)),
        texts_of([""] * len(told)),
        ids.take(pa.array([slot for _, _, slot, _ in told])),
        np.array([count for _, _, _, count in told], np.int64),
        np.ones(len(told), np.int32),
    )
    return Part(stored(LiveSegment(forest, records, build(forest))), len(told), event_type=event_type)


def shards_of(ids: pa.Array) -> Shorts:
    """The shards that entries lead to, by the ids of these."""
    found: Shorts = pc.utf8_slice_codeunits(ids, 0, DIGITS).cast(pa.int32()).to_numpy(zero_copy_only=False)
    return found
