"""The calls of a predicate: distinct, nested ones and those inside of quantifiers included."""

from __future__ import annotations

from tamis.events import EventType
from tamis.formulas.calls import calls_of
from tamis.language.condition import compile_condition
from tests.operators.recording import Recorded

TYPE = EventType.of({"attributes": {"n": "bigint", "m": "bigint", "tags": "array<bigint>"}})


def calls(text: str) -> list[str]:
    """The operators that the one predicate of a condition calls, sorted."""
    (predicate,) = compile_condition(text, TYPE).formula.predicates()
    return sorted(call.operator for call in calls_of(predicate))


def test_calls_by_predicate(recorded: Recorded) -> None:
    assert calls("n > 3") == []
    assert calls("remainder(n, 3) > 1") == ["remainder"]
    assert calls("is_square(remainder(n, 3))") == ["is_square", "remainder"]
    assert calls("remainder(n, 3) + remainder(n, 3) + remainder(m, 3) > 1") == ["remainder", "remainder"]
    assert calls("exists(tags, t -> is_square(t) AND remainder(n, 3) = 1)") == ["is_square", "remainder"]
