"""Functions of truth and of values, as the filter `general` computes them."""

from __future__ import annotations

import pytest

from tamis.lab.jewel.dag import FilterError
from tamis.lab.jewel.dag.expressions import (
    AtLeast,
    CallExpression,
    ConstantExpression,
)
from tests.lab.jewel.dag.expression_events import index_of, leaf_of, slots_of


def test_least_greatest_and_average_of_many() -> None:
    a, b, c, d = (leaf_of(f"{name} IS NOT NULL") for name in "abcd")
    index = index_of(
        CallExpression(">", (CallExpression("min", (a, b, c)), CallExpression("min", (d, ConstantExpression(5))))),
        CallExpression("<", (CallExpression("max", (a, b, c)), ConstantExpression(10))),
        CallExpression(">=", (CallExpression("avg", (a, b, c)), ConstantExpression(4))),
        CallExpression("=", (CallExpression("-", (a, b)), ConstantExpression(2))),
        CallExpression("=", (CallExpression("/", (a, b)), ConstantExpression(3))),
    )
    assert slots_of(
        index,
        {"a": 6, "b": 4, "c": 2.5, "d": 1},
        {"a": 30, "b": 10, "c": 7, "d": 9},
        {"a": 6, "b": 4, "d": 1},
        {"a": 3, "b": 0, "c": 0, "d": 9},
    ) == [[0, 1, 2, 3], [0, 2, 4], [3], [1]]


def test_at_least_of() -> None:
    """Sums stop at k: they are worth no more, and what is beyond is not read."""
    leaves = tuple(leaf_of(f"x{number} = 1") for number in range(6))
    inner = AtLeast(2, leaves[:3])
    index = index_of(
        AtLeast(3, leaves), AtLeast(2, (inner, inner, leaves[5])), AtLeast(1, leaves[:2]), AtLeast(0, ())
    )
    events = [{f"x{number}": 1 for number in held} for held in ((), (0, 1), (3, 4, 5), (0, 1, 2, 3, 4, 5), (2, 5))]
    assert slots_of(index, *events) == [[3], [1, 2, 3], [0, 3], [0, 1, 2, 3], [3]]


def test_not_and_other_functions_that_are_true_of_nothing() -> None:
    a, b = leaf_of("a = 1"), leaf_of("b = 1")
    index = index_of(
        CallExpression("not", (a,)),
        CallExpression("nand", (a, b)),
        CallExpression("nor", (a, b)),
        CallExpression("xnor", (a, b)),
        CallExpression("and", (CallExpression("not", (a,)), b)),
        CallExpression("or", (CallExpression("not", (a,)), b)),
        CallExpression("nor", (CallExpression("not", (a,)), CallExpression("not", (b,)))),
    )
    wanted = [[0, 1, 2, 3, 5], [1], [0, 1, 4, 5], [3, 5, 6]]
    assert slots_of(index, {}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1}) == wanted
    with pytest.raises(FilterError, match="zero-suppression"):
        slots_of(index, {}, filter_="zero-suppression")
    index.delete_many(range(7))
    index.check()
    assert index.stats().counts["nodes"] == 0
