"""Functions that conditions have no words for, in the filter that supports all of them."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tamis.formulas.formula import FALSE, TRUE
from tamis.lab.jewel.dag import DagIndex
from tamis.lab.jewel.dag.expressions import (
    AtLeast,
    CallExpression,
    ConstantExpression,
    Expression,
    ExpressionError,
    LeafExpression,
)
from tamis.lab.jewel.dag.index import Filter
from tests.lab.jewel.dag.expression_events import index_of, leaf_of, slots_of


def test_a_bound_on_a_sum() -> None:
    """All predicates must hold and the sum of what they are about must keep to the bound."""
    a, b, c = leaf_of("A >= 200"), leaf_of("B >= 100"), leaf_of("C >= 600")
    total = CallExpression("+", (CallExpression("+", (a, b)), c))
    index = index_of(CallExpression("<=", (total, ConstantExpression(1000))), CallExpression("and", (a, b)))
    events = [
        dict(zip("ABC", prices, strict=True)) for prices in ((300, 170, 500), (300, 170, 630), (240, 120, 630))
    ]
    assert slots_of(index, *events, {"A": 1}) == [[1], [1], [0, 1], []]


def test_constants_among_themselves() -> None:
    a = leaf_of("a IS NOT NULL")
    seven = CallExpression("+", (ConstantExpression(3), ConstantExpression(4)))
    index = index_of(
        CallExpression("<", (ConstantExpression(1), ConstantExpression(2))),
        CallExpression(">", (ConstantExpression(1), ConstantExpression(2))),
        CallExpression("<", (CallExpression("min", (ConstantExpression(9), ConstantExpression(8), a)), seven)),
        CallExpression("or", (LeafExpression(TRUE), a)),
        CallExpression("and", (LeafExpression(FALSE), a)),
        CallExpression("=", (seven, ConstantExpression(7))),
    )
    assert slots_of(index, {}, {"a": 1}, {"a": 10}) == [[0, 3, 5], [0, 2, 3, 5], [0, 3, 5]]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (ConstantExpression(1), "the expression as a whole: expected something true or false, found Constant"),
        (CallExpression("and", (ConstantExpression(1),)), "and: expected something true or false"),
        (
            CallExpression("<", (CallExpression("and", (LeafExpression(TRUE),)), ConstantExpression(1))),
            "<: expected a value",
        ),
        (CallExpression("nand", (LeafExpression(TRUE),)), "nand: expected two operands, found 1"),
        (CallExpression("or", ()), "or: expected operands, found none"),
        (CallExpression("maybe", (LeafExpression(TRUE),)), "expected something true or false"),
        (
            leaf_of("a = 1 AND b = 2"),
            "expected a leaf with one predicate that calls no operator, found a = 1 AND b = 2",
        ),
    ],
)
def test_ill_formed_expressions_are_refused(expression: Expression, message: str) -> None:
    index = DagIndex()
    with pytest.raises(ExpressionError, match=message):
        index.insert_expression(0, expression)
    assert index.stats().counts["nodes"] == 0


NAMES = "abcdefg"
LEAVES = {name: leaf_of(f"{name} > 2") for name in NAMES}
_TRUTH: dict[str, Callable[[list[bool]], bool]] = {
    "and": all,
    "or": any,
    "xor": lambda values: sum(values) % 2 == 1,
    "nand": lambda values: not all(values),
    "nor": lambda values: not any(values),
    "xnor": lambda values: values[0] == values[1],
    "not": lambda values: not values[0],
}
_VALUE: dict[str, Callable[[list[float]], float]] = {
    "+": sum,
    "-": lambda values: values[0] - values[1],
    "*": math.prod,
    "min": min,
    "max": max,
    "avg": lambda values: sum(values) / len(values),
}
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


def value(expression: Expression, event: Mapping[str, float]) -> float | None:
    match expression:
        case ConstantExpression(number):
            return number
        case CallExpression(function, operands):
            values = [value(each, event) for each in operands]
            return None if None in values else _VALUE[function]([each for each in values if each is not None])
    name = next(name for name, leaf in LEAVES.items() if leaf is expression)
    return event[name] if event.get(name, 0) > 2 else None


def truth(expression: Expression, event: Mapping[str, float]) -> bool:
    match expression:
        case AtLeast(least, operands):
            return sum(truth(each, event) for each in operands) >= least
        case CallExpression(function, (left, right)) if function in _COMPARED:
            one, other = value(left, event), value(right, event)
            return one is not None and other is not None and _COMPARED[function](one, other)
        case CallExpression(function, operands):
            return _TRUTH[function]([truth(each, event) for each in operands])
    return value(expression, event) is not None


def random_value(random_: random.Random, depth: int) -> Expression:
    if depth == 0 or random_.random() < 0.2:
        return (
            ConstantExpression(random_.randint(-2, 9)) if random_.random() < 0.3 else LEAVES[random_.choice(NAMES)]
        )
    function = random_.choice([*_VALUE])
    count = random_.randint(1, 4) if function in ("min", "max", "avg") else 2
    return CallExpression(function, tuple(random_value(random_, depth - 1) for _ in range(count)))


def random_expression(random_: random.Random, depth: int, *, allowed: tuple[str, ...]) -> Expression:
    if depth == 0 or random_.random() < 0.1:
        return LEAVES[random_.choice(NAMES)]
    function = random_.choice(allowed)
    if function == "compared":
        return CallExpression(random_.choice([*_COMPARED]), (random_value(random_, 2), random_value(random_, 2)))
    count = {"not": 1, "and": 3, "or": 3, "xor": 3, "at least": 4}.get(function, 2)
    operands = tuple(random_expression(random_, depth - 1, allowed=allowed) for _ in range(count))
    return (
        AtLeast(random_.randint(1, 4), operands) if function == "at least" else CallExpression(function, operands)
    )


@pytest.mark.parametrize(
    ("filter_", "allowed"),
    [
        ("general", (*_TRUTH, "compared", "at least")),
        ("zero-suppression", ("and", "or", "xor")),
        ("true-value-path", ("and", "or")),
    ],
)
@pytest.mark.parametrize("find", ["hash", "parents"])
def test_random_expressions(filter_: Filter, allowed: tuple[str, ...], find: Any) -> None:
    random_ = random.Random(8)
    index = DagIndex(find=find, filter=filter_)
    slots: dict[int, Expression] = {}
    for turn in range(90):
        if turn % 3 == 2:
            slot = random_.choice([*slots])
            index.delete(slot)
            del slots[slot]
        slots[turn] = random_expression(random_, random_.randint(1, 3), allowed=allowed)
        index.insert_expression(turn, slots[turn], priority=random_.choice((0, 0, 3)))
    index.check()
    events = [{name: random_.randint(0, 6) for name in NAMES if random_.random() < 0.8} for _ in range(60)]
    wanted = [sorted(slot for slot, each in slots.items() if truth(each, event)) for event in events]
    assert slots_of(index, *events) == wanted
    index.delete_many([*slots])
    index.check()
    assert index.stats().counts["nodes"] == 0
