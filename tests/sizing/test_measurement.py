"""Somebody's own snapshot is measured with somebody's own events."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tamis import EventBatch, Matcher, TamisError
from tamis.lab.workloads import generate
from tamis.sizing.measurement import measure_snapshot
from tests.sizing.test_estimate import WORKLOAD


@pytest.mark.slow
def test_a_snapshot_has_coefficients_of_its_own(tmp_path: Path) -> None:
    data = generate("equality", subscriptions=2_000, events=200, seed=4)
    matcher = Matcher(data.event_type)
    matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    matcher.publish(tmp_path)
    batch = EventBatch.of(data.events, data.event_type)
    found = measure_snapshot(str(tmp_path), batch, WORKLOAD)
    assert found.largest == 2_000
    assert found.matches == len(matcher.match_pairs(batch).columns()[0]) / 200
    assert found.model.microseconds(2_000, found.matches) > 0
    assert 0 < found.resident_bytes <= found.snapshot_bytes
    assert found.worker_bytes == WORKLOAD.worker_bytes


def test_a_few_subscriptions_tell_nothing(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add("one", "a > 1")
    matcher.publish(tmp_path)
    with pytest.raises(TamisError, match="expected at least 1000 subscriptions"):
        measure_snapshot(str(tmp_path), EventBatch.of([{"a": 2}], matcher.event_type), WORKLOAD)
