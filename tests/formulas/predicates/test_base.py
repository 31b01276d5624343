"""What every kind of predicate and every frame must offer."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.events import EventBatch, EventType
from tamis.formulas.predicates.base import CALL_COST, Frame, Predicate
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tests.operators.recording import Recorded

TYPE = EventType.of({"attributes": {"n": "bigint", "s": "string", "t": "array<bigint>"}})
PLAIN = ("n > 3", "s LIKE '%x%'", "exists(t, x -> x > 3)")


@pytest.mark.parametrize("text", PLAIN)
def test_a_predicate_decides_each_row_alone(text: str) -> None:
    events = [{"n": 5, "s": "axb", "t": [1, 9]}, {"n": 1, "s": "", "t": []}, {}]
    predicate: Predicate = compile_condition(text, TYPE).formula.predicates()[0]
    frame: Frame = BatchFrame(EventBatch.of(events, TYPE))
    whole = predicate.mask(frame).tolist()
    assert whole == [True, False, False]
    assert predicate.mask(frame.slice(1, 3)).tolist() == whole[1:]
    assert predicate.mask(frame.take(np.array([2, 0, 0]))).tolist() == [False, True, True]


def test_a_predicate_that_calls_an_operator_costs_more_than_all_that_do_not(recorded: Recorded) -> None:
    calling = compile_condition("remainder(n, 3) = 1", TYPE).formula.predicates()[0]
    assert calling.cost >= CALL_COST > max(compile_condition(text, TYPE).formula.cost for text in PLAIN)
