"""Formulas: flat, free of duplicates and constants, and identified by a digest whatever the order of operands."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.formulas.expression import Path
from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, conjunction, disjunction, leaf
from tamis.formulas.predicates.within import Within
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.values.ranges import comparison_ranges
from tamis.values.types import INT
from tests.worlds import WORLDS, world

A, B, C = (leaf(Within(Path((name,), INT), comparison_ranges(INT, "=", 1))) for name in "abc")
LOW, HIGH = (leaf(Within(Path(("a",), INT), comparison_ranges(INT, *each))) for each in ((">=", 3), ("<", 5)))


def test_constants_vanish_or_decide() -> None:
    assert conjunction([A, TRUE]) is A
    assert conjunction([A, FALSE, B]) is FALSE
    assert disjunction([A, FALSE]) is A
    assert disjunction([A, TRUE]) is TRUE
    assert conjunction([]) is TRUE
    assert disjunction([]) is FALSE


def test_nested_operands_are_flattened_and_duplicates_dropped() -> None:
    assert conjunction([A, conjunction([B, A]), C]).operands == (A, B, C)
    assert disjunction([disjunction([A, B]), B]).operands == (A, B)


def test_ranges_of_one_attribute_become_one_predicate() -> None:
    both = conjunction([LOW, B, HIGH])
    assert both.describe() == "a >= 3 AND a < 5 AND b = 1"
    assert len(both.operands) == 2
    assert disjunction([LOW, HIGH]).describe() == "a IS NOT NULL"
    assert conjunction([A, LOW]) is FALSE


@pytest.mark.parametrize(
    ("least", "operands", "expected"),
    [
        (0, [A, B], TRUE),
        (3, [A, B], FALSE),
        (1, [A, B], disjunction([A, B])),
        (2, [A, B], conjunction([A, B])),
        (2, [A, TRUE, B], disjunction([A, B])),
        (2, [A, FALSE, B], conjunction([A, B])),
    ],
)
def test_at_least_becomes_simpler_where_it_can(least: int, operands: list[Formula], expected: Formula) -> None:
    assert at_least(least, operands) == expected


def test_equal_operands_of_at_least_count_each_time() -> None:
    frame = BatchFrame(EventBatch.of([{"a": 1}, {"b": 1, "c": 1}, {"b": 1}]))
    a, b, c = (compile_condition(f"{name} = 1").formula for name in "abc")
    assert at_least(2, [a, a, b, c]).mask(frame).tolist() == [True, True, False]


def test_the_mask_is_the_truth_table() -> None:
    rows = list(product([0, 1], repeat=3))
    frame = BatchFrame(EventBatch.of([dict(zip("abc", row, strict=True)) for row in rows]))
    a, b, c = (compile_condition(f"{name} = 1").formula for name in "abc")
    formula = disjunction([conjunction([a, b]), at_least(2, [a, b, c])])
    expected = [(x and y) or x + y + z >= 2 for x, y, z in rows]
    assert formula.mask(frame).tolist() == formula.lazy_mask(frame).tolist() == list(map(bool, expected))


def test_nodes_come_once_operands_first() -> None:
    shared = disjunction([A, B])
    formula = conjunction([shared, disjunction([C, conjunction([shared, LOW])])])
    nodes = list(formula.nodes())
    assert len({id(node) for node in nodes}) == len(nodes)
    places = {id(node): place for place, node in enumerate(nodes)}
    assert all(places[id(operand)] < places[id(node)] for node in nodes for operand in node.operands)
    assert nodes[-1] is formula


def test_the_digest_ignores_the_order_of_operands() -> None:
    one, other = conjunction([A, disjunction([B, C])]), conjunction([disjunction([C, B]), A])
    assert (one == other, one.digest == other.digest, hash(one) == hash(other)) == (True, True, True)
    assert one != disjunction([A, conjunction([B, C])])
    assert np.array([one.cost, other.cost]).std() == 0


def test_digests_tell_deep_quantifiers_apart() -> None:
    def nested(bottom: int) -> str:
        text = f"x = {bottom}"
        for level in range(30):
            text = f"(n = {level} {'AND' if level % 2 else 'OR'} ({text}))"
        return f"exists(nums, x -> {text})"

    digests = {compile_condition(nested(bottom)).formula.digest for bottom in (1, 2)}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a IN (b, 'x')", "a = b OR a = 'x'"),  # as strings; of any kind
        ("a = 1", "a = '1'"),
        ("a", "a IS NOT NULL"),
        ("(a > 1) IS NULL", "a IS NULL"),
        ("(a > 1) IS NULL", "(a > 'x') IS NULL"),
        ("CAST(a AS STRING) LIKE '%x%y'", "a LIKE '%x%y'"),
        ("exists(t, x -> x IN (a, 'y'))", "exists(t, x -> x = a OR x = 'y')"),
        ("`a.b` = 1", "a.b = 1"),
    ],
)
def test_equal_digests_mean_equal_formulas(one: str, other: str) -> None:
    formulas = compile_condition(one).formula, compile_condition(other).formula
    assert formulas[0] != formulas[1]
    assert formulas[0].digest != formulas[1].digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a < 3 AND b = 1", "b = 1 AND NOT a >= 3"),
        ("a IN (1, 2)", "a = 2 OR a = 1.0 OR a IN (1, 2, 2)"),
        ("a BETWEEN 1 AND 2", "a <= 2 AND 1 <= a"),
        ("a LIKE 'x%'", "startswith(a, 'x')"),
        ("a = -0e0", "a = 0"),
        ("NOT (a < 1 OR b)", "a >= 1 AND NOT b"),
        ("array_contains(t, 1)", "array_contains(t, 1)"),
        ("AT_LEAST(1, a < 1, b)", "b OR a < 1"),
        ("AT_LEAST(2, a < 1, b)", "b AND a < 1"),
    ],
)
def test_conditions_that_say_the_same_have_one_digest(one: str, other: str) -> None:
    formulas = compile_condition(one).formula, compile_condition(other).formula
    assert formulas[0] == formulas[1]
    assert formulas[0].digest == formulas[1].digest


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_equal_formulas_match_the_same_events(name: str) -> None:
    random_ = random.Random(6)
    here = world(name)
    batch = here.batch(random_, 100)
    frame = BatchFrame(batch)
    seen: dict[bytes, tuple[str, list[bool]]] = {}
    for condition in here.accepted(random_, 400):
        mask = condition.formula.mask(frame).tolist()
        text, before = seen.setdefault(condition.formula.digest, (condition.text, mask))
        assert before == mask, f"{text}\n{condition.text}"
