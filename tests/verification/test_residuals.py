"""A formula holds exactly when its relaxed half and its residual do; only the residual calls operators."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.events import EventBatch, EventType
from tamis.formulas.formula import TRUE
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.verification.residuals import called_operators, calls_operators, split_forest, split_formula
from tests.operators.recording import Recorded

TYPE = EventType.of({"attributes": {"n": "bigint", "m": "bigint", "tags": "array<bigint>"}})
TEXTS = (
    "n > 3",
    "is_square(n)",
    "n > 3 AND is_square(n)",
    "n > 3 OR is_square(m)",
    "m = 4 AND (n > 3 OR is_square(n)) AND remainder(m, 3) = 1",
    "AT_LEAST(2, n > 3, is_square(m), m = 4)",
    "exists(tags, t -> is_square(t)) AND m < 9",
)


@pytest.mark.parametrize("text", TEXTS)
def test_both_halves_together_are_the_formula(recorded: Recorded, text: str) -> None:
    events = [{"n": n, "m": m, "tags": [n, m]} for n in (1, 3, 4, 9, None) for m in (4, 5, 9, None)]
    frame = BatchFrame(EventBatch.of(events, TYPE))
    formula = compile_condition(text, TYPE).formula
    relaxed, residual = split_formula(formula)
    assert not calls_operators(relaxed)
    assert (residual is None) == (not calls_operators(formula))
    both = relaxed.mask(frame) & (residual or TRUE).mask(frame)
    assert both.tolist() == formula.mask(frame).tolist()


def test_a_conjunct_without_calls_is_left_to_the_engine(recorded: Recorded) -> None:
    relaxed, residual = split_formula(compile_condition("n >= 4 AND is_square(m)", TYPE).formula)
    assert (relaxed.describe(), residual and residual.describe()) == ("n >= 4L", "is_square(m)")


def test_a_forest_is_split_slot_by_slot(recorded: Recorded) -> None:
    formulas = [compile_condition(text, TYPE).formula for text in TEXTS]
    relaxed, rest = split_forest(forest_of(formulas))
    assert rest is not None
    slots, residuals = rest
    assert slots.tolist() == [1, 2, 3, 4, 5, 6]
    halves = [split_formula(formula) for formula in formulas]
    assert [relaxed[slot] for slot in range(len(formulas))] == [half.relaxed for half in halves]
    assert [residuals[place] for place in range(len(slots))] == [halves[slot].residual for slot in slots.tolist()]


def test_a_forest_without_calls_stays_whole() -> None:
    forest = forest_of([compile_condition("n > 3", TYPE).formula])
    assert split_forest(forest) == (forest, None)


def test_the_operators_of_a_forest(recorded: Recorded) -> None:
    forest = forest_of([compile_condition(text, TYPE).formula for text in TEXTS])
    assert called_operators(forest) == {"is_square", "remainder"}
    assert np.unique(sorted(called_operators(forest_of([compile_condition("n > 3", TYPE).formula])))).size == 0
