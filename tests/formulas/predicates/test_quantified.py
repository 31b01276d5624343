"""`Quantified`: some or every element; a NULL array satisfies neither."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.events import EventBatch, EventType
from tamis.formulas.predicates.quantified import Quantified
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition

TYPE = EventType.of({"attributes": {"t": "array<int>", "n": "int"}})
LISTS: list[list[int | None] | None] = [None, [], [1], [1, 5], [5, 6], [None], [5, None]]


def naive(values: list[int | None] | None, every: bool, least: int) -> bool:
    if values is None:
        return False
    held = [value is not None and value > least for value in values]
    return all(held) if every else any(held)


@pytest.mark.parametrize(("text", "every"), [("exists(t, x -> x > {})", False), ("forall(t, x -> x > {})", True)])
@pytest.mark.parametrize("least", [0, 4, 9])
def test_the_mask_is_that_of_a_loop(text: str, every: bool, least: int) -> None:
    (predicate,) = compile_condition(text.format(least), TYPE).formula.predicates()
    assert isinstance(predicate, Quantified)
    batch = EventBatch.of([{"t": values} for values in LISTS], TYPE)
    assert predicate.mask(BatchFrame(batch)).tolist() == [naive(values, every, least) for values in LISTS]
    assert predicate.describe().startswith(text.partition("(")[0])


def test_the_formula_may_read_other_attributes() -> None:
    (predicate,) = compile_condition("exists(t, x -> x = n)", TYPE).formula.predicates()
    events: list[dict[str, Any]] = [{"t": [1, 2], "n": 2}, {"t": [1, 2], "n": 3}, {"t": [], "n": 1}, {"n": 1}]
    assert predicate.mask(BatchFrame(EventBatch.of(events, TYPE))).tolist() == [True, False, False, False]


def test_the_identity_distinguishes_quantifier_array_and_formula() -> None:
    texts = ("exists(t, x -> x > 1)", "forall(t, x -> x > 1)", "exists(t, x -> x > 2)", "exists(t, x -> x > n)")
    identities = {compile_condition(text, TYPE).formula.predicates()[0].identity for text in texts}
    assert len(identities) == len(texts)
