"""Events on their way to the keys of composite subscriptions."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from tamis import Matcher
from tamis.composite.parts import compile_composite
from tamis.events.batch import EventBatch
from tamis.spark.composite_events import needed_attributes, taken_table

WITHIN = "WITHIN INTERVAL '1' HOUR BY user"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("price > 1 THEN price > 2", ()),
        ("price > 1 AS a THEN cost < a.price AND kind = 'b'", ("cost", "price")),
        ("price > 1 AS a THEN NOT b.cost < a.inner.price AS b", ("cost", "inner")),
    ],
)
def test_attributes_that_conditions_on_several_events_need(text: str, names: tuple[str, ...]) -> None:
    assert needed_attributes(compile_composite(f"{text} {WITHIN}")) == names


def test_an_event_is_sent_once_for_each_subscription_with_all_its_parts() -> None:
    matcher = Matcher()
    text = f"price > 1 AS a THEN price > a.price {WITHIN}"
    record = pa.table({"id": ["s"], "condition": [text], "dialect": ["composite"]})
    matcher.add_records(record)  # as the publisher of a store does
    for place, part in enumerate(compile_composite(text).parts):
        matcher.add(f"s\0{place}", part.local)
    events = [{"price": 5, "user": "ann", "paid": datetime(2026, 1, 1, tzinfo=UTC)}, {"price": 7, "user": None}]
    pairs = matcher.match_pairs(EventBatch.of(events))
    at, ids, revisions = pairs.columns()
    times = np.array([10, 20])
    names = pa.array(["e0", "e1"])
    table = taken_table(
        matcher,
        EventBatch.of(events),
        at.astype(np.int64),
        ids,
        revisions.astype(np.int64),
        names,
        times,
        3,
        ("paid",),
    )
    [row] = table.to_pylist()
    assert (row["event_id"], row["subscription_id"], row["kind"], row["count"]) == ("e0", "s", '["ann"]', 0b11)
    assert json.loads(row["attributes"]) == {"paid": {"$datetime": "2026-01-01T00:00:00+00:00"}, "price": 5}
    assert 0 <= row["priority"] < 3
