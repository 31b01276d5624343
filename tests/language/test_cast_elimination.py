"""Cast elimination: the ranges of the attribute below a cast are those of its cast values."""

from __future__ import annotations

import pytest

from tamis.formulas.expression import Apply, Path
from tamis.functions.registry import Signature
from tamis.language.cast_elimination import eliminate_casts
from tamis.values.casts import caster
from tamis.values.order import order_key
from tamis.values.ranges import comparison_ranges
from tamis.values.types import Type, parse_type

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")


def cast(source: Type, target: Type) -> Apply:
    return Apply("cast", (Path(("a",), source),), Signature((source,), target))


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [
        ("tinyint", "double", 2.5),
        ("tinyint", "double", -1.0),
        ("tinyint", "decimal(8,2)", 250),
        ("tinyint", "bigint", 300),
        ("tinyint", "float", 127.5),
    ],
)
def test_a_comparison_through_a_cast(source: str, target: str, value: object) -> None:
    below, above = parse_type(source), parse_type(target)
    convert, key, own_key = caster(below, above, "UTC"), order_key(above), order_key(below)
    for operator in OPERATORS:
        ranges = comparison_ranges(above, operator, key(value))
        attribute, own = eliminate_casts(cast(below, above), ranges)
        assert attribute == Path(("a",), below)
        for number in range(-128, 128):
            assert (own_key(number) in own) == (key(convert(number)) in ranges), (operator, number)


def test_a_cast_that_may_fail_or_changes_the_order_stays() -> None:
    for source, target in (("string", "int"), ("bigint", "int"), ("int", "string")):
        expression = cast(parse_type(source), parse_type(target))
        ranges = comparison_ranges(expression.type, "=", "1" if target == "string" else 1)
        assert eliminate_casts(expression, ranges) == (expression, ranges)


def test_nested_casts_are_all_eliminated() -> None:
    inner = cast(parse_type("tinyint"), parse_type("int"))
    outer = Apply("cast", (inner,), Signature((inner.type,), parse_type("bigint")))
    attribute, ranges = eliminate_casts(outer, comparison_ranges(outer.type, ">", 5))
    assert attribute == Path(("a",), parse_type("tinyint"))
    assert (5 in ranges, 6 in ranges) == (False, True)
