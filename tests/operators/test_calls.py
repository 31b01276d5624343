"""The calls of a batch: each made once for an event, whoever shares it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.events import EventBatch, EventType
from tamis.formulas.expression import Constant, OperatorCall, Path
from tamis.frames import BatchFrame
from tamis.functions.registry import Signature
from tamis.operators.calls import BatchCalls, call_shape
from tamis.values.column import column_of, constant_column
from tamis.values.types import BIGINT, INT
from tests.operators.recording import Recorded

TYPE = EventType.of({"attributes": {"n": "bigint"}})
N = Path(("n",), BIGINT)


def remainder(by: int) -> OperatorCall:
    return OperatorCall("remainder", (N, Constant(INT, by)), Signature((BIGINT, INT), BIGINT))


def frame_of(*values: int | None) -> BatchFrame:
    events: list[dict[str, Any]] = [{"n": value} for value in values]
    return BatchFrame(EventBatch.of(events, TYPE))


def test_a_call_is_made_once_for_an_event(recorded: Recorded) -> None:
    frame = frame_of(7, 8, None, 7)
    some = frame.take(np.array([0, 2]))
    assert some.column(remainder(5)).to_list() == [2, None]
    assert recorded.calls["remainder"] == {(7, 5): 1}
    assert frame.column(remainder(5)).to_list() == [2, 3, None, 2]
    assert recorded.calls["remainder"] == {(7, 5): 2, (8, 5): 1}  # once for each of the two events with 7
    assert frame.take(np.array([3, 1])).column(remainder(5)).to_list() == [2, 3]
    assert recorded.count("remainder") == 3


def test_which_calls_were_made(recorded: Recorded) -> None:
    frame = frame_of(7, 8)
    frame.take(np.array([1])).column(remainder(5))
    made = [[frame.calls.is_made(remainder(by), row) for row in (0, 1)] for by in (5, 6)]
    assert made == [[False, True], [False, False]]


def test_calls_that_differ_in_constants_are_one_run(recorded: Recorded) -> None:
    calls = BatchCalls()
    arguments = [column_of(BIGINT, [10, 10, 11]), column_of(INT, [3, 4, 5])]
    found = calls.several(remainder(1), arguments, np.array([0, 0, 1]))
    assert found.to_list() == [1, 2, 1]
    assert recorded.runs["remainder"] == 1
    assert calls.several(remainder(4), [], np.array([0])).to_list() == [2]
    assert recorded.runs["remainder"] == 1


def test_equal_arguments_that_are_no_attributes_are_one_call(recorded: Recorded) -> None:
    calls = BatchCalls()
    arguments = [column_of(BIGINT, [9, 9, 8]), constant_column(INT, 5, 3)]
    assert calls.of_arguments(remainder(5), arguments, 3).to_list() == [4, 4, 3]
    assert calls.of_arguments(remainder(5), [column.take(np.array([0])) for column in arguments], 1).to_list() == [
        4
    ]
    assert recorded.runs["remainder"] == 1


def test_the_shape_of_a_call_leaves_constants_out() -> None:
    assert call_shape(remainder(5)) == call_shape(remainder(6))
    other = OperatorCall("is_square", (N,), Signature((BIGINT,), BIGINT))
    assert call_shape(remainder(5)) != call_shape(other)
