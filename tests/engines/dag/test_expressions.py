"""Functions that conditions have no words for, in the filter that serves all of them."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from tamis.engines.dag import DagIndex, FilterError
from tamis.engines.dag.expressions import AtLeast, Call, Constant, Expression, ExpressionError, Leaf
from tamis.engines.dag.index import Filter
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition
from tamis.language.formula import FALSE, TRUE


def leaf_of(text: str, event_type: EventType | None = None) -> Leaf:
    formula = compile_condition(text, event_type).formula if event_type else compile_condition(text).formula
    return Leaf(formula)


def index_of(*expressions: Expression) -> DagIndex:
    index = DagIndex()
    for slot, expression in enumerate(expressions):
        index.insert_expression(slot, expression)
    index.check()
    return index


def slots_of(index: DagIndex, *events: Mapping[str, Any], filter_: Filter = "auto") -> list[list[int]]:
    rows, slots = index.match(EventBatch.of(list(events)), filter=filter_)
    return [sorted(slots[rows == row].tolist()) for row in range(len(events))]


def test_a_bound_on_a_sum() -> None:
    """All predicates must hold and the sum of what they are about must keep to the bound."""
    a, b, c = leaf_of("A >= 200"), leaf_of("B >= 100"), leaf_of("C >= 600")
    total = Call("+", (Call("+", (a, b)), c))
    index = index_of(Call("<=", (total, Constant(1000))), Call("and", (a, b)))
    events = [
        dict(zip("ABC", prices, strict=True)) for prices in ((300, 170, 500), (300, 170, 630), (240, 120, 630))
    ]
    assert slots_of(index, *events, {"A": 1}) == [[1], [1], [0, 1], []]


def test_values_of_every_numeric_type() -> None:
    event_type = EventType.from_dict(
        {"name": "t", "attributes": {"i": "int", "d": "decimal(10,2)", "f": "double"}}
    )
    leaves = [leaf_of(f"{name} IS NOT NULL", event_type) for name in "idf"]
    total = Call("+", (Call("+", (leaves[0], leaves[1])), leaves[2]))
    index = index_of(Call("=", (total, Constant(4.75))))
    table = pa.table(
        {
            "i": pa.array([1, 1, None], pa.int32()),
            "d": pa.array(["3.25", "3.26", "3.25"]).cast(pa.decimal128(10, 2)),
            "f": pa.array([0.5, 0.5, 1.5]),
        }
    )
    assert index.match(EventBatch.of(table, event_type)).rows.tolist() == [0]


def test_least_greatest_and_average_of_many() -> None:
    a, b, c, d = (leaf_of(f"{name} IS NOT NULL") for name in "abcd")
    index = index_of(
        Call(">", (Call("min", (a, b, c)), Call("min", (d, Constant(5))))),
        Call("<", (Call("max", (a, b, c)), Constant(10))),
        Call(">=", (Call("avg", (a, b, c)), Constant(4))),
        Call("=", (Call("-", (a, b)), Constant(2))),
        Call("=", (Call("/", (a, b)), Constant(3))),
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
        Call("not", (a,)),
        Call("nand", (a, b)),
        Call("nor", (a, b)),
        Call("xnor", (a, b)),
        Call("and", (Call("not", (a,)), b)),
        Call("or", (Call("not", (a,)), b)),
        Call("nor", (Call("not", (a,)), Call("not", (b,)))),
    )
    wanted = [[0, 1, 2, 3, 5], [1], [0, 1, 4, 5], [3, 5, 6]]
    assert slots_of(index, {}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1}) == wanted
    with pytest.raises(FilterError, match="zero-suppression"):
        slots_of(index, {}, filter_="zero-suppression")
    index.delete_many(range(7))
    index.check()
    assert index.stats().counts["nodes"] == 0


def test_constants_among_themselves() -> None:
    a = leaf_of("a IS NOT NULL")
    seven = Call("+", (Constant(3), Constant(4)))
    index = index_of(
        Call("<", (Constant(1), Constant(2))),
        Call(">", (Constant(1), Constant(2))),
        Call("<", (Call("min", (Constant(9), Constant(8), a)), seven)),
        Call("or", (Leaf(TRUE), a)),
        Call("and", (Leaf(FALSE), a)),
        Call("=", (seven, Constant(7))),
    )
    assert slots_of(index, {}, {"a": 1}, {"a": 10}) == [[0, 3, 5], [0, 2, 3, 5], [0, 3, 5]]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (Constant(1), "the expression as a whole: expected something true or false, found Constant"),
        (Call("and", (Constant(1),)), "and: expected something true or false"),
        (Call("<", (Call("and", (Leaf(TRUE),)), Constant(1))), "<: expected a value"),
        (Call("nand", (Leaf(TRUE),)), "nand: expected two operands, found 1"),
        (Call("or", ()), "or: expected operands, found none"),
        (Call("maybe", (Leaf(TRUE),)), "expected something true or false"),
        (leaf_of("a = 1 AND b = 2"), "expected a leaf with one predicate, found a = 1 AND b = 2"),
    ],
)
def test_what_makes_no_sense_is_refused(expression: Expression, message: str) -> None:
    index = DagIndex()
    with pytest.raises(ExpressionError, match=message):
        index.insert_expression(0, expression)
    assert index.stats().counts["nodes"] == 0


# --- a naive twin --------------------------------------------------------------------------------------------

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
        case Constant(number):
            return number
        case Call(function, operands):
            values = [value(each, event) for each in operands]
            return None if None in values else _VALUE[function]([each for each in values if each is not None])
    name = next(name for name, leaf in LEAVES.items() if leaf is expression)
    return event[name] if event.get(name, 0) > 2 else None


def truth(expression: Expression, event: Mapping[str, float]) -> bool:
    match expression:
        case AtLeast(least, operands):
            return sum(truth(each, event) for each in operands) >= least
        case Call(function, (left, right)) if function in _COMPARED:
            one, other = value(left, event), value(right, event)
            return one is not None and other is not None and _COMPARED[function](one, other)
        case Call(function, operands):
            return _TRUTH[function]([truth(each, event) for each in operands])
    return value(expression, event) is not None


def random_value(random_: random.Random, depth: int) -> Expression:
    if depth == 0 or random_.random() < 0.2:
        return Constant(random_.randint(-2, 9)) if random_.random() < 0.3 else LEAVES[random_.choice(NAMES)]
    function = random_.choice([*_VALUE])
    count = random_.randint(1, 4) if function in ("min", "max", "avg") else 2
    return Call(function, tuple(random_value(random_, depth - 1) for _ in range(count)))


def random_expression(random_: random.Random, depth: int, *, allowed: tuple[str, ...]) -> Expression:
    if depth == 0 or random_.random() < 0.1:
        return LEAVES[random_.choice(NAMES)]
    function = random_.choice(allowed)
    if function == "compared":
        return Call(random_.choice([*_COMPARED]), (random_value(random_, 2), random_value(random_, 2)))
    count = {"not": 1, "and": 3, "or": 3, "xor": 3, "at least": 4}.get(function, 2)
    operands = tuple(random_expression(random_, depth - 1, allowed=allowed) for _ in range(count))
    return AtLeast(random_.randint(1, 4), operands) if function == "at least" else Call(function, operands)


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
