"""An expression is left out only where it must be NULL."""

from __future__ import annotations

import pytest

from tamis.engines.encoding.attribute_filter import AttributeFilter, required_attributes
from tamis.formulas.expression import Constant, Typed
from tamis.formulas.predicates.within import Within
from tamis.language.condition import compile_condition
from tamis.values.types import INT


def attribute_of(condition: str) -> Typed:
    """The one attribute that a condition asks about."""
    (predicate,) = compile_condition(condition).formula.predicates()
    assert isinstance(predicate, Within)
    return predicate.attribute


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("a = 1", {"a"}),
        ("s.x.y = 1", {"s"}),
        ("a + b * 2 = 1", {"a", "b"}),
        ("length(concat(a, s.x)) > 1", {"a", "s"}),
        ("coalesce(a, 1) = 1", set()),
        ("coalesce(a, b) + c = 1", {"c"}),
        ("CASE WHEN a > 1 THEN b ELSE c END = 1", set()),
        ("size(tags) = 2", {"tags"}),
    ],
)
def test_what_an_expression_needs(condition: str, names: set[str]) -> None:

    assert required_attributes(attribute_of(condition)) == names


def test_what_may_have_a_value() -> None:
    expressions: list[Typed] = [attribute_of(f"{text} = 1") for text in ("a", "a + b", "coalesce(a, b)", "c.d")]
    filter_ = AttributeFilter([*enumerate(expressions), (9, Constant(INT, 1))])
    assert sorted(filter_.candidates({"a": None, "x": 1})) == [0, 2, 9]
    assert sorted(filter_.candidates(["b"])) == [2, 9]
    assert sorted(filter_.candidates(iter(["b", "a", "c"]))) == [0, 1, 2, 3, 9]
    assert sorted(filter_.candidates([])) == [2, 9]
    assert sorted(filter_.candidates(None)) == [0, 1, 2, 3, 9]
    assert filter_ and not AttributeFilter([])
