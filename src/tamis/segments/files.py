"""Segments to and from the arrays of a snapshot.

A snapshot has the index of `bitslice`, which is mapped; any other engine builds its own from the formulas. The
index of a small segment that was published without kernels is missing; whoever opens the segment builds it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tamis.arrays import AnyArray, Arrays
from tamis.engines.base import Engine, Index, MappedEngine, StoredIndex
from tamis.engines.bitslice import Bitslice
from tamis.engines.forest.files import forest_arrays, forest_from
from tamis.errors import SnapshotError
from tamis.segments.records import Records
from tamis.segments.segment import LiveSegment
from tamis.segments.small_index import small_or_built
from tamis.snapshot.segment import Segment, make_segment
from tamis.statistics import Statistics
from tamis.verification.verifier import CallVerifier

LAYOUT = 5
"""Grows with every change of what the arrays mean."""
_LAYOUTS_WITH_OTHER_INDEXES = (2, 3, 4)
"""Layouts that differ in the index only, so that it is built again."""
_opened: WeakValueDictionary[tuple[str, Engine], LiveSegment] = WeakValueDictionary()
"""The mapped segments of this process. The next version has nearly all of them, and opens in no time what is the
same by name: only tombstones differ from version to version."""


def store_segment(segment: LiveSegment) -> Segment:
    """The segment as it is published; made once."""
    if segment.stored is None:
        formulas, meta = forest_arrays(segment.forest)
        arrays = _with_prefix("formulas", formulas) | _with_prefix("records", segment.records.arrays())
        content: dict[str, Any] = {"layout": LAYOUT, "slots": len(segment), "formulas": meta, "engines": []}
        index = _stored_index(segment)
        if index is not None:
            arrays |= _with_prefix("bitslice", index.arrays())
            content["engines"] = ["bitslice"]
        if segment.verifier is not None:
            rest, content["rest"] = forest_arrays(segment.verifier.forest)
            arrays |= _with_prefix("rest", {**rest, "slots": segment.verifier.slots})
        segment.stored = make_segment(arrays, content)
    return segment.stored


def _stored_index(segment: LiveSegment) -> StoredIndex | None:
    """What whoever opens the segment maps; None if there are no kernels to build it, and few formulas."""
    if isinstance(segment.index, StoredIndex):
        return segment.index
    index = small_or_built(segment.forest, lambda: Bitslice().build(segment.forest))
    return index if isinstance(index, StoredIndex) else None


def open_segment(segment: Segment, engine: Engine, statistics: Statistics | None = None) -> LiveSegment:
    """A published segment, ready to match; arrays are not read before they are needed.

    An engine that does not map its index builds it, by what is known of events.
    """
    layout = segment.meta.get("layout")
    if layout != LAYOUT and layout not in _LAYOUTS_WITH_OTHER_INDEXES:
        newer = isinstance(layout, int) and layout > LAYOUT
        what = f"layout {layout}, but this tamis reads {LAYOUT}" if newer else "no segment of subscriptions"
        raise SnapshotError(segment.name, what, "newer" if newer else "foreign")
    arrays = segment.arrays
    stored = layout == LAYOUT and "bitslice" in segment.meta["engines"]
    verifier = None
    if "rest" in segment.meta:
        rest = _part("rest", arrays)
        slots = rest.pop("slots")
        verifier = CallVerifier(slots, forest_from(rest, segment.meta["rest"]))
    same = _opened.get((segment.name, engine)) if isinstance(engine, MappedEngine) else None
    if same is not None:
        return LiveSegment(same.forest, same.records, same.index, verifier, same.stored)
    forest = forest_from(_part("formulas", arrays), segment.meta["formulas"])
    records = Records.from_arrays(_part("records", arrays))
    if not isinstance(engine, MappedEngine):
        return LiveSegment(forest, records, engine.build(forest, statistics), verifier, segment)

    def index() -> Index:
        return engine.open(forest, _part("bitslice", arrays)) if stored else engine.build(forest, statistics)

    live = LiveSegment(forest, records, small_or_built(forest, index), verifier, segment)
    _opened[segment.name, engine] = live
    return live


def _with_prefix(part: str, arrays: Arrays) -> dict[str, AnyArray]:
    return {f"{part}.{name}": array for name, array in arrays.items()}


def _part(part: str, arrays: Arrays) -> dict[str, AnyArray]:
    prefix = f"{part}."
    return {name.removeprefix(prefix): _plain(array) for name, array in arrays.items() if name.startswith(prefix)}


def _plain(array: AnyArray) -> AnyArray:
    """A view that kernels take for an ordinary array, so that they are not compiled twice; it is only read.

    The map behind it is private, so that even a mistake would not reach the file.
    """
    if not array.size:
        return np.empty(array.shape, array.dtype)
    view = array.view()
    view.flags.writeable = True
    return view
