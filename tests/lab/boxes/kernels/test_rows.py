"""The values of a row on axes, and the work that they name."""

from __future__ import annotations

import numpy as np

from tamis.events import EventBatch
from tamis.lab.dynamic.term_index import TermIndex
from tamis.language.condition import compile_condition
from tests.lab.boxes.scan_store import TYPE, ScanStore


def test_the_estimate_is_the_number_of_sides_on_axes_with_values() -> None:
    index = TermIndex(ScanStore())
    texts = ["a > 3 AND b = 2", "a < 9", "c LIKE '%x%'", "b IS NULL"]
    formulas = [compile_condition(text, TYPE).formula for text in texts]
    index.insert_many(np.arange(len(texts), dtype=np.int32), formulas)
    events = EventBatch.of([{"a": 1}, {"a": 1, "b": 1}, {"rare": 1}, {"b": 1, "c": "axb"}], TYPE)
    assert index.estimate(events).tolist() == [2, 3, 0, 2]
