"""Formulas as arrays are pruned and simplified as formulas are."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.lab.bittner.prunings import pruning_options
from tamis.routing.formula_arrays import (
    FULL,
    P_MIN,
    STATE,
    STORED,
    TREE,
    formula_arrays,
    formula_at,
    with_room,
    workspace,
)
from tamis.routing.formula_facts import measure_all, measure_formula
from tamis.routing.formula_pruning import commit, prune_tentatively
from tamis.routing.trees import tree_size
from tests.routing.drawing import random_formula


@pytest.mark.parametrize("seed", range(6))
def test_every_pruning_gives_the_formula_that_python_gives(seed: int) -> None:
    random_ = random.Random(seed)
    formulas = [each for each in (random_formula(random_) for _ in range(20)) if each.operands]
    forest = forest_of(formulas)
    for number, formula in enumerate(forest):
        expected = {option.result for option in pruning_options(formula)}
        found = set()
        start = with_room(formula_arrays(forest))
        root, base = int(start.roots[number]), int(start.lowest[number])
        for node in range(base, root + 1):
            if start.least[node] < 2:
                continue
            for place in range(int(start.firsts[node]), int(start.lasts[node])):
                s = with_room(formula_arrays(forest))
                w = workspace(s)
                measure_formula(s, w, number, False, np.empty(8))
                result = prune_tentatively(s, w, number, node, place, False)
                assert w.tentative[STATE] == 0
                commit(s, w, number, node, result)
                made = formula_at(forest, s, number)
                sizes, facts = tree_size(made), measure_all(s)[number]
                assert (facts[P_MIN], facts[TREE]) == (sizes.p_min, sizes.bytes)
                found.add(made)
        assert {each for each in found if each.operands or each.predicate is not None} == {
            each for each in expected if each.operands or each.predicate is not None
        }


def test_where_there_is_no_room_nothing_happens() -> None:
    random_ = random.Random(2)
    formulas = [each for each in (random_formula(random_) for _ in range(20)) if each.is_and and each.operands]
    forest = forest_of(formulas)
    s = formula_arrays(forest)
    w = workspace(s)
    measure_formula(s, w, 0, False, np.empty(8))
    root = int(s.roots[0])
    prune_tentatively(s, w, 0, root, int(s.firsts[root]), False)
    assert w.tentative[STATE] == FULL
    assert [formula_at(forest, s, number) for number in range(len(formulas))] == list(forest)
    assert (measure_all(s)[:, STORED] > 0).all()
