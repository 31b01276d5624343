"""Stages of levels find together what the graph as a whole finds, wherever they are cut."""

from __future__ import annotations

import pytest

from tamis.events import EventBatch
from tamis.lab.jewel.dag import Dag
from tamis.lab.jewel.dag.kernels.stages import reach_of
from tamis.lab.jewel.dag.pipelines import Pipeline
from tests.lab.jewel.dag.formulas import conditions_of, pairs


@pytest.mark.parametrize("cuts", [[], [2], [3], [2, 3]])
def test_a_parent_may_stand_stages_above_its_child(cuts: list[int]) -> None:
    """`d` is read on level 4 by the last stage, and `a AND b` on level 3: every stage hands them on."""
    texts = ["((a = 1 AND b = 1) OR c = 1) AND d = 1", "a = 1 AND b = 1", "d = 1", "TRUE"]
    index = Dag().build([each.formula for each in conditions_of(texts)])
    assert index.stats().counts["levels"] == 4
    batch = EventBatch.of([{"a": 1, "b": 1, "d": 1}, {"d": 1}, {"c": 1, "d": 1}, {"a": 1}, {}])
    wanted = pairs(index, batch, "auto")
    pipeline = Pipeline(index, batch, width=2)
    rows, slots = pipeline.one_thread(cuts)
    assert sorted(zip(rows.tolist(), slots.tolist(), strict=True)) == wanted
    assert pipeline.visits[2:5].tolist() == [2, 2, 3]


def test_the_level_that_a_node_is_read_on() -> None:
    index = Dag().build([each.formula for each in conditions_of(["(a = 1 OR b = 1) AND c = 1"])])
    assert sorted(reach_of(index._graph).tolist()) == [0, 2, 2, 3, 3]
