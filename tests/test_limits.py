"""Each limit takes a condition just within it, and refuses one just beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import pytest

from tamis.errors import ConditionError
from tamis.language.condition import compile_condition
from tamis.limits import Limits
from tamis.operators import Operator, install, uninstall
from tamis.values.types import INT

Write = Callable[[int], str]
"""A condition of a given size."""

DEEP = "nested more than 20 deep"
WIDE = "8 operands, 7 are allowed"
LONG = "a condition has 50 characters at most, this one has 51"
PATTERN = "a pattern has 10 characters at most"
CASES: dict[str, tuple[Limits, Write, int, str]] = {
    "text_characters, ASCII": (Limits(text_characters=50), "a = 1".ljust, 50, LONG),
    "text_characters, others": (Limits(text_characters=50), "'é' = a".ljust, 50, LONG),
    "depth, parentheses": (Limits(depth=20), lambda n: "(" * n + "a" + ")" * n, 20, DEEP),
    "depth, NOT": (Limits(depth=20), lambda n: "NOT " * n + "a", 19, DEEP),
    "depth, minus": (Limits(depth=20), lambda n: "- " * n + "a = 1", 18, DEEP),
    "depth, calls": (Limits(depth=20), lambda n: "abs(" * n + "a" + ")" * n + " = 1", 18, DEEP),
    "depth, additions": (Limits(depth=20), lambda n: "a" + " + a" * n + " = 1", 18, DEEP),
    "depth, indexes": (Limits(depth=20), lambda n: "a" + "[0]" * n + " = 1", 18, DEEP),
    "depth, casts": (Limits(depth=20), lambda n: "a" + "::int" * n + " = 1", 18, DEEP),
    "depth, XOR": (Limits(depth=20), lambda n: "a" + " XOR a" * n, 19, DEEP),
    "operands, AND": (Limits(operands=7), lambda n: " AND ".join(f"a{k}" for k in range(n)), 7, WIDE),
    "operands, OR": (Limits(operands=7), lambda n: " OR ".join(f"a{k}" for k in range(n)), 7, WIDE),
    "operands, IN": (Limits(operands=7), lambda n: f"a IN ({', '.join(map(str, range(n)))})", 6, WIDE),
    "operands, call": (Limits(operands=7), lambda n: f"coalesce({', '.join('a' * n)}) = 1", 7, WIDE),
    "operands, AT_LEAST": (Limits(operands=7), lambda n: f"AT_LEAST(1, {', '.join('a' * n)})", 6, WIDE),
    # One AND, and per operand a comparison, a sum and three leaves.
    "nodes, syntax tree": (
        *(Limits(nodes=11), lambda n: " AND ".join(["a + b = 1"] * n), 2),
        "16 parts, 11 are allowed",
    ),
    "pattern_characters, LIKE": (Limits(pattern_characters=10), lambda n: f"a LIKE '{'é' * n}'", 10, PATTERN),
    "pattern_characters, ILIKE": (Limits(pattern_characters=10), lambda n: f"a ILIKE '{'é' * n}'", 10, PATTERN),
    "pattern_characters, RLIKE": (Limits(pattern_characters=10), lambda n: f"a RLIKE '{'é' * n}'", 10, PATTERN),
}


def refusal(text: str, limits: Limits) -> str:
    with pytest.raises(ConditionError) as caught:
        compile_condition(text, None, limits)
    assert caught.value.text == text
    return caught.value.problems[0].message


@pytest.mark.parametrize("case", CASES)
def test_the_largest_condition_is_taken_and_the_next_one_refused(case: str) -> None:
    limits, write, most, message = CASES[case]
    compile_condition(write(most), None, limits)
    assert refusal(write(most + 1), limits) == message


def test_nodes_of_the_formula_count_too() -> None:
    """A XOR is short as text, and long as a formula of AND and OR."""
    text = " XOR ".join(f"a{place}" for place in range(10))
    size = sum(1 for _ in compile_condition(text).formula.nodes())
    compile_condition(text, None, Limits(nodes=size))
    assert refusal(text, Limits(nodes=size - 1)) == f"its formula has {size} nodes, {size - 1} are allowed"


@pytest.fixture
def operators() -> Iterator[None]:
    def same(value: Any) -> Any:
        return value

    install(*(Operator(name, (INT,), INT, same, batch=False) for name in ("first_one", "second_one")))
    yield
    uninstall("first_one", "second_one")


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        (None, []),
        (frozenset({"first_one", "second_one"}), []),
        (frozenset({"first_one"}), ["second_one"]),
        (frozenset(), ["first_one", "second_one"]),
    ],
)
def test_only_operators_that_are_allowed_may_be_called(allowed: frozenset[str] | None, refused: list[str]) -> None:
    limits = Limits(operators=allowed)
    compile_condition("abs(a) = 1", None, limits)
    for name in ("first_one", "second_one"):
        if name in refused:
            assert refusal(f"{name}(a) = 1", limits) == f"operator {name} is not allowed here"
        else:
            compile_condition(f"{name}(a) = 1", None, limits)


def test_every_limit_is_tested_here() -> None:
    assert {case.partition(",")[0] for case in CASES} | {"operators"} == {field.name for field in fields(Limits)}
