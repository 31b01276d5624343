"""Pairs come in the order of rows."""

from __future__ import annotations

import numpy as np

from tamis.events import EventBatch
from tamis.lab.jewel.dag import Dag
from tamis.language.condition import compile_condition


def test_rows_come_in_order() -> None:
    index = Dag().build([compile_condition(f"a >= {number}").formula for number in range(10)])
    rows = index.match(EventBatch.of([{"a": value} for value in range(10)])).rows
    assert np.all(np.diff(rows) >= 0)
