"""Pipelines return what the engine returns, in one thread and in several, and fail where a stage fails."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.lab.jewel.dag import Dag, FilterError
from tamis.lab.jewel.dag.pipelines import Pipeline, makespan
from tests.lab.jewel.dag.formulas import conditions_of, pairs


def some_pipeline() -> tuple[Pipeline, list[tuple[int, int]]]:
    random_ = random.Random(4)
    texts = [
        f"(a = {random_.randrange(3)} OR b > {random_.randrange(5)}) AND (c < {random_.randrange(5)} OR "
        f"d = {random_.randrange(3)} AND (a > 1 OR e = {random_.randrange(3)}))"
        for _ in range(80)
    ]
    index = Dag().build([each.formula for each in conditions_of(texts)])
    batch = EventBatch.of([{name: random_.randrange(5) for name in "abcde"} for _ in range(50)])
    return Pipeline(index, batch, width=8), pairs(index, batch, "auto")


def test_every_way_finds_the_same_pairs() -> None:
    pipeline, wanted = some_pipeline()
    assert wanted
    runs = [pipeline.one_thread(), pipeline.overlapped(), pipeline.shared_out(3)]
    for cuts in ([], [2], [2, 3]):
        runs += [pipeline.one_thread(cuts), pipeline.overlapped(cuts)]
    for rows, slots in runs:
        assert sorted(zip(rows.tolist(), slots.tolist(), strict=True)) == wanted
    assert pipeline.seconds.shape == (7, 4)


def test_a_stage_that_fails_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline, _ = some_pipeline()

    def fail(*_: Any) -> None:
        msg = "on purpose"
        raise ArithmeticError(msg)

    monkeypatch.setattr("tamis.lab.jewel.dag.pipelines.phase_one", fail)
    with pytest.raises(ArithmeticError, match="on purpose"):
        pipeline.overlapped([2])


def test_other_functions_than_and_and_or_are_refused() -> None:
    index = Dag().build([each.formula for each in conditions_of(["a = 1 XOR b = 1"])])
    with pytest.raises(FilterError, match="a pipeline supports AND and OR only"):
        Pipeline(index, EventBatch.of([{}]))


def test_a_pipeline_takes_as_long_as_its_busiest_stage_and_the_way_there() -> None:
    assert makespan(np.ones((5, 1))) == 5
    assert makespan(np.ones((5, 3))) == 5 + 2
    assert makespan(np.array([[1.0, 4.0], [1.0, 4.0], [1.0, 4.0]])) == 1 + 3 * 4
    assert makespan(np.array([[4.0, 1.0], [4.0, 1.0], [4.0, 1.0]])) == 3 * 4 + 1
