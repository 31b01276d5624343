"""Names of events: texts that depend on the event alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.events.batch import EventBatch
from tamis.events.names import event_names


def test_names_are_texts() -> None:
    events = [{"id": "x"}, {"id": 7}, {"id": 1.5}, {"id": True}, {}, {"id": ""}, {"id": None}]
    assert event_names(EventBatch.of(events), "id").to_pylist() == ["x", "7", "1.5", "true", None, None, None]
    columns = pa.table({"id": pa.array([1, None, 3], pa.int64())})
    assert event_names(EventBatch.of(columns), "id").to_pylist() == ["1", None, "3"]
    assert event_names(EventBatch.of(columns), "other").to_pylist() == [None, None, None]


@pytest.mark.slow
@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=4)), min_size=1, max_size=5))
def test_a_name_is_independent_of_the_batch(ids: list[Any]) -> None:
    together = event_names(EventBatch.of([{"id": id} for id in ids]), "id").to_pylist()
    alone = [event_names(EventBatch.of([{"id": id}]), "id")[0].as_py() for id in ids]
    assert together == alone
