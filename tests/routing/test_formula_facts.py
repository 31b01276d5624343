"""Facts of formulas as arrays are those of the formulas."""

from __future__ import annotations

import random

from tamis.engines.forest import forest_of
from tamis.routing.formula_arrays import (
    P_MIN,
    TREE,
    formula_arrays,
    workspace,
)
from tamis.routing.formula_facts import formula_hashes, measure_all
from tamis.routing.trees import tree_size
from tests.routing.drawing import random_formula


def test_hashes_are_equal_for_equal_formulas_only() -> None:
    random_ = random.Random(9)
    formulas = [random_formula(random_, 1) for _ in range(300)]
    s = formula_arrays(forest_of(formulas))
    hashes = [tuple(each) for each in formula_hashes(s, workspace(s)).tolist()]
    assert len(set(hashes)) == len(set(formulas)) == len(set(zip(hashes, formulas, strict=True)))


def test_sizes_are_those_of_the_trees() -> None:
    random_ = random.Random(4)
    formulas = [each for each in (random_formula(random_) for _ in range(40)) if each.operands]
    facts = measure_all(formula_arrays(forest_of(formulas)))
    expected = [tree_size(each) for each in formulas]
    assert [(row[P_MIN], row[TREE]) for row in facts.tolist()] == [(each.p_min, each.bytes) for each in expected]
