"""Programs of bulk compiled conditions and of constants."""

from __future__ import annotations

from tamis.events import EventBatch
from tamis.lab.jewel.dag import Dag, DagIndex
from tamis.language.bulk import compile_conditions
from tests.engines.test_engines import check
from tests.lab.jewel.dag.formulas import BOOLEAN, conditions_of, pairs


def test_constant_formulas() -> None:
    conditions = conditions_of(["NULL IS NULL", "FALSE", "a = 1", "1 < NULL", "TRUE"])
    index = Dag().build([each.formula for each in conditions])
    index.check()
    batch = EventBatch.of([{"a": 1}, {}])
    for filter_ in BOOLEAN:
        assert pairs(index, batch, filter_) == [(0, 0), (0, 2), (0, 4), (1, 0), (1, 4)]
    index.delete_many([0, 4])
    index.check()
    assert pairs(index, batch, "auto") == [(0, 2)]


def test_a_column_of_conditions() -> None:
    texts = [f"a = {number % 7} AND (b > {number % 5} OR c LIKE '{number % 3}%')" for number in range(200)]
    index = DagIndex()
    index.insert_many(range(200), compile_conditions(texts))
    index.check()
    batch = EventBatch.of([{"a": value, "b": 2, "c": str(value)} for value in range(7)])
    check(index, dict(enumerate(conditions_of(texts))), batch)
