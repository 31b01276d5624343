"""The reference evaluator: three-valued, one event at a time."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition
from tamis.reference import evaluate, matches

TYPE = EventType.of({"attributes": {"a": "int", "b": "int", "t": "array<int>"}})
EVENTS: list[dict[str, Any]] = [{"a": 1, "b": 2, "t": [1, 2]}, {"a": 5, "t": []}, {"b": 3, "t": [None, 9]}, {}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 2", [False, True, None, None]),
        ("NOT a > 2", [True, False, None, None]),
        ("a > 2 OR b > 2", [False, True, True, None]),
        ("a > 2 AND b > 2", [False, None, None, None]),
        ("a IS NULL", [False, False, True, True]),
        ("(a > 2) IS NOT TRUE", [True, False, True, True]),
        ("a / 0 > 1", [None, None, None, None]),
        ("exists(t, x -> x > 1)", [True, False, True, None]),
        ("forall(t, x -> x > 1)", [False, True, None, None]),
        ("exists(t, x -> x > a)", [True, False, None, None]),
        ("AT_LEAST(2, a = 1, b = 2, a = 5)", [True, None, None, None]),
    ],
)
def test_verdicts(text: str, expected: list[bool | None]) -> None:
    condition, batch = compile_condition(text, TYPE), EventBatch.of(EVENTS, TYPE)
    assert evaluate(condition, batch) == expected
    assert matches(condition, batch) == [row for row, verdict in enumerate(expected) if verdict is True]
