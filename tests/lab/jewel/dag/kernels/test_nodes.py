"""Equal expressions are one node, and stamps survive the end of serial numbers."""

from __future__ import annotations

from typing import Any

import numba

from tamis.events import EventBatch
from tamis.lab.jewel.dag import Dag
from tamis.language.condition import compile_condition
from tests.engines.test_engines import check
from tests.lab.jewel.dag.formulas import conditions_of


def test_equal_formulas_share_everything() -> None:
    condition = compile_condition("(a = 1 OR b > 2) AND c = 3")
    index = Dag().build([condition.formula] * 500)
    assert index.stats().counts["nodes"] == 5
    check(index, dict.fromkeys(range(500), condition), EventBatch.of([{"a": 1, "c": 3}, {"a": 1}]))
    index.delete_many(range(499))
    index.check()
    assert index.stats().counts["nodes"] == 5


@numba.njit(nogil=True)
def set_serial(graph: Any, serial: int) -> None:
    graph.serial = serial


def test_stamps_are_reset_before_serial_numbers_run_out() -> None:
    conditions = conditions_of(["a = 1 AND b = 2", "a = 1 OR c = 3"])
    index = Dag().build([each.formula for each in conditions])
    batch = EventBatch.of([{"a": 1, "b": 2}, {"c": 3}, {"b": 2}] * 4)
    check(index, dict(enumerate(conditions)), batch)
    set_serial(index._graph, 2**31 - 12)
    check(index, dict(enumerate(conditions)), batch)
