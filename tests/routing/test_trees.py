"""Sizes of formulas, and which predicates are expensive."""

from __future__ import annotations

from tamis.formulas.formula import FALSE, TRUE
from tamis.language.condition import normalise
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import reset_meters
from tamis.routing.trees import is_opaque, size, tree_size
from tamis.values.types import BIGINT, BOOLEAN
from tests.lab.bittner.auctions import class_formulas, third_class
from tests.routing.drawing import formula_of


def test_sizes_of_the_three_classes() -> None:
    found = class_formulas()
    assert [tree_size(each).leaves for each in found] == [6, 12, 7]
    assert [size(each) for each in found] == [38, 80, 47]
    assert [tree_size(each).p_min for each in found] == [4, 5, 3]


def test_sizes_of_constants_and_of_at_least() -> None:
    assert tree_size(TRUE) == tree_size(FALSE) == (0, 0, 0)
    assert tree_size(formula_of("at_least(2, a < 3, b < 3, c < 3 AND d < 3)")) == (2, 4 * 5 + 2 * 2, 4)


def test_what_is_computed_is_opaque_and_what_is_read_is_not() -> None:
    assert [is_opaque(each) for each in formula_of("a < 3 AND a + b < 3 AND s LIKE '%x'").predicates()] == [
        False,
        True,
        False,
    ]
    assert not any(is_opaque(each) for each in third_class().predicates())


def test_what_calls_an_operator_is_opaque_also_inside_of_an_array() -> None:
    install(Operator("is_odd", (BIGINT,), BOOLEAN, lambda value: value % 2 == 1, batch=False))
    try:
        formula = normalise("is_odd(a) AND exists(l, x -> is_odd(x)) AND exists(l, x -> x = 1)")
        assert [is_opaque(each) for each in formula.predicates()] == [True, True, False]
    finally:
        uninstall("is_odd")
        reset_meters("is_odd")
