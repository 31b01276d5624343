"""Shapes of an index are told as they are."""

from __future__ import annotations

import pyarrow as pa

from tamis.engines.forest import Forest, forest_of
from tamis.events.event_type import EventType
from tamis.lab.claims.bucket_cases import engine_of, pubsub
from tamis.lab.claims.bucket_shape import shape_of
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.language.bulk import compile_conditions


def _forest(conditions: list[str]) -> Forest:
    return forest_of(compile_conditions(pa.array(conditions, pa.large_string()), EventType("any")))


def test_a_structure_that_never_overflowed_has_not_split() -> None:
    shape = shape_of(Buckets(10, "rbpst-hull").build(_forest([f"x BETWEEN {n} AND {n + 5}" for n in range(10)])))
    assert shape == (10, 1, 0, 0)


def test_a_structure_that_overflowed_has_split() -> None:
    shape = shape_of(Buckets(3, "rbpst-hull").build(_forest([f"x BETWEEN {n} AND {n + 5}" for n in range(10)])))
    assert shape == (10, 1, 1, 10)


def test_what_is_below_a_full_bucket_that_cannot_split_is_deeper() -> None:
    index = Buckets(1, "rbpst-hull").build(_forest(["x = 1 AND y = 1", "x = 1 AND y = 2", "x = 1 AND y = 3"]))
    shape = shape_of(index)
    assert shape.deepest == 2
    assert shape.depths > 3


def test_an_index_tells_its_shape_beside_its_own_counts() -> None:
    engine = engine_of(pubsub("it-range", 2))
    assert engine is not None
    counts = engine.build(_forest(["x > 1", "x > 2", "x > 3", "x > 4 AND y = 1"])).stats().counts
    assert counts["subscriptions"] == 4
    assert counts["split_structures"] == 1
