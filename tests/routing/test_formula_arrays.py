"""Formulas as arrays are the formulas that they were made of."""

from __future__ import annotations

import random

from tamis.engines.forest import forest_of
from tamis.routing.formula_arrays import (
    formula_arrays,
    formula_at,
    with_room,
)
from tests.routing.drawing import random_formula


def test_arrays_hold_the_formulas_with_and_without_room() -> None:
    random_ = random.Random(3)
    forest = forest_of([random_formula(random_) for _ in range(40)])
    s = formula_arrays(forest)
    roomy = with_room(s)
    assert len(roomy.items) > len(s.items)
    for each in (s, roomy):
        assert [formula_at(forest, each, number) for number in range(len(forest))] == list(forest)
