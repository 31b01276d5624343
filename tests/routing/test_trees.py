"""What can be pruned, replaced and covered, and that it never loses an event."""

from __future__ import annotations

import random

import pytest

from tamis.events.compute import BatchFrame
from tamis.language.condition import normalise
from tamis.language.formula import FALSE, TRUE, at_least, conjunction, disjunction
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import forget
from tamis.predicates.within import Within
from tamis.routing.trees import (
    Pruning,
    apply,
    covers,
    hull,
    is_opaque,
    leaf_counts,
    options,
    outline,
    p_min,
    prunings,
    replacements,
    replacing_options,
    size,
    terms,
)
from tamis.values.ranges import ALL, NONE, Ranges
from tamis.values.types import BIGINT, BOOLEAN
from tests.routing.auctions import class_formulas, option_name, third_class
from tests.routing.drawing import formula_of, misses, random_formula, random_frame
from tests.worlds import WORLDS, world


def results(text: str, *, bottom_up: bool = False) -> set[str]:
    return {each.result.describe() for each in options(formula_of(text), bottom_up=bottom_up)}


def test_operands_of_and_are_deleted_those_of_or_never() -> None:
    assert results("a < 3 AND b < 3") == {"a < 3", "b < 3"}
    assert results("a < 3 OR b < 3") == set()
    assert results("a < 3") == set()
    assert results("a < 3 AND (b < 3 OR c < 3)") == {"a < 3", "b < 3 OR c < 3"}


def test_one_operand_takes_the_place_of_its_node_and_ors_become_flat() -> None:
    assert results("a < 3 OR (b < 3 AND (c < 3 OR d < 3))") == {"a < 3 OR b < 3", "a < 3 OR c < 3 OR d < 3"}


def test_ranges_of_one_attribute_that_meet_become_one() -> None:
    assert results("a < 3 OR (a > 5 AND b < 3)") == {"a < 3 OR a >= 6", "a < 3 OR b < 3"}


def test_of_at_least_k_an_operand_is_taken_for_granted() -> None:
    found = options(formula_of("at_least(2, a < 3, b < 3, c < 3)"))
    assert {each.result.describe() for each in found} == {"b < 3 OR c < 3", "a < 3 OR c < 3", "a < 3 OR b < 3"}


def test_bottom_up_nothing_is_deleted_that_can_be_pruned_itself() -> None:
    text = "a < 3 AND (b < 3 OR (c < 3 AND d < 3))"
    assert "a < 3" in results(text)
    assert results(text, bottom_up=True) == results(text) - {"a < 3"}


def test_nothing_becomes_true() -> None:
    text = "(a < 3 AND b < 3) OR ((a >= 3 OR a IS NULL) AND c < 3)"
    once = apply(formula_of(text), prunings(formula_of(text))[1])
    assert once.describe() == "a < 3 OR ((a IS NULL OR a >= 3) AND c < 3)"
    assert [each.result.describe() for each in options(once)] == ["a < 3 OR c < 3"]
    assert prunings(TRUE) == prunings(FALSE) == []


def test_a_shared_node_is_pruned_wherever_it_is_used() -> None:
    shared = formula_of("a < 3 AND b < 3")
    whole = disjunction(
        [
            conjunction([shared, formula_of("c < 3 OR d < 3")]),
            at_least(2, [shared, formula_of("e = 1"), formula_of("d = 1")]),
        ]
    )
    assert all(misses(apply(whole, each), whole, random_frame(random.Random(0))) == 0 for each in prunings(whole))


def test_a_pruning_of_another_formula_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a pruning of a < 3 OR b < 3"):
        apply(formula_of("a < 3 OR b < 3"), Pruning(2, 0))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_pruned_or_replaced_no_event_is_lost(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    for _ in range(12):
        formula = random_formula(random_)
        for each in options(formula) + replacing_options(formula):
            assert apply(formula, each.change) == each.result
            assert misses(each.result, formula, frame) == 0, f"{formula}: {each}"


@pytest.mark.parametrize("name", WORLDS)
def test_conditions_of_all_kinds_lose_no_event(name: str) -> None:
    random_ = random.Random(7)
    here = world(name)
    frame = BatchFrame(here.batch(random_, 30))
    for condition in here.accepted(random_, 25):
        for each in options(condition.formula) + replacing_options(condition.formula):
            assert misses(each.result, condition.formula, frame) == 0, f"{condition.text}: {each}"


# --- sizes -----------------------------------------------------------------------------------------------------


def test_sizes_of_the_three_classes() -> None:
    found = class_formulas()
    assert [outline(each).leaves for each in found] == [6, 12, 7]
    assert [size(each) for each in found] == [38, 80, 47]
    assert [p_min(each) for each in found] == [4, 5, 3]


def test_bytes_after_each_option_of_the_golden_example() -> None:
    after = {option_name(each.taken): size(each.result) for each in options(third_class(), bottom_up=True)}
    assert after == {"category OR": 33, "bids OR": 33, "ending": 38, "buy": 40, "signed": 40}


def test_sizes_of_constants_and_of_at_least() -> None:
    assert outline(TRUE) == outline(FALSE) == (0, 0, 0)
    assert outline(formula_of("at_least(2, a < 3, b < 3, c < 3 AND d < 3)")) == (2, 4 * 5 + 2 * 2, 4)


def test_leaves_of_a_shared_node_count_each_time() -> None:
    shared = formula_of("a < 3 AND b < 3")
    whole = disjunction(
        [
            at_least(2, [shared, formula_of("c = 1"), formula_of("d = 1")]),
            conjunction([shared, formula_of("c = 1")]),
        ]
    )
    counts = {predicate.describe(): count for predicate, count in leaf_counts(whole).items()}
    assert counts == {"a < 3": 2, "b < 3": 2, "c = 1": 2, "d = 1": 1}
    assert sum(counts.values()) == outline(whole).leaves


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
        forget("is_odd")


# --- replacements ----------------------------------------------------------------------------------------------


def test_the_hull_has_no_gaps() -> None:
    assert hull(Ranges(False, (1, 2, 5, 6, 8, 9))) == Ranges(False, (1, 9))
    assert hull(Ranges(True, (1, 2, 5))) == Ranges(True, (5,))
    assert hull(Ranges(False, (1, 2, 5))) == Ranges(False, (1,))
    assert hull(Ranges(True, (1, 2))) == ALL
    assert hull(NONE) == NONE


def test_only_what_cannot_be_pruned_is_replaced() -> None:
    found = replacing_options(formula_of("a IN (1, 5) OR b < 3"))
    assert [each.result.describe() for each in found] == ["(a > 0 AND a < 6) OR b < 3"]
    assert replacements(formula_of("a IN (1, 5) AND b < 3")) == []
    assert replacements(formula_of("a IN (1, 5)")) != []
    assert replacements(formula_of("a <> 3 OR a IS NULL")) == []


def test_a_replacement_that_does_not_cover_is_left_out() -> None:
    def shifted(within: Within) -> list[Within]:
        return [Within(within.attribute, Ranges(False, cuts)) for cuts in ((0, 9), (2, 9))]

    (found,) = replacements(formula_of("a IN (1, 5)"), shifted)
    assert found.predicate.ranges == Ranges(False, (0, 9))


# --- covering --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("general", "special", "expected"),
    [
        ("a < 5", "a < 3", True),
        ("a < 5", "a < 3 AND b = 1", True),
        ("a < 5 AND b = 1", "a < 3", False),
        ("a < 3", "a < 5", False),
        ("a < 5 OR b = 1", "b = 1 AND c = 2", True),
        ("b = 1", "a < 3 OR b = 1", False),
        ("s LIKE '%x'", "s LIKE '%x' AND a = 1", True),
        ("s LIKE '%x'", "s LIKE '%xx'", False),
        ("a < 5 OR a IS NULL", "a < 3", True),
        ("a < 5", "a < 3 OR a IS NULL", False),
        ("at_least(2, a = 1, b = 1, c = 1)", "a = 1 AND c = 1 AND d = 1", True),
        ("a = 1", "a = 1 AND a = 2", True),
    ],
)
def test_which_covers_which(general: str, special: str, expected: bool) -> None:
    assert covers(formula_of(general), formula_of(special)) is expected


def test_terms_of_the_three_classes() -> None:
    found = [terms(each) for each in class_formulas()]
    assert [len(each or []) for each in found] == [2, 4, 6]
    assert [sum(outline(term).leaves for term in each or []) for each in found] == [8, 20, 18]


def test_too_many_terms_are_not_made_and_cover_only_their_equals() -> None:
    text = " AND ".join(f"(a = {number} OR s LIKE '%{number}')" for number in range(6))
    formula = formula_of(text)
    assert terms(formula, 4) is None
    assert covers(formula, formula_of(text), 4)
    assert not covers(formula_of("a < 5"), conjunction([formula, formula_of("a < 2")]), 1)


@pytest.mark.parametrize("seed", range(3))
def test_terms_say_the_same_and_covering_is_true(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    formulas = [random_formula(random_, 2) for _ in range(20)]
    for formula in formulas:
        found = terms(formula, 200)
        assert found is not None
        assert (disjunction(found).mask(frame) == formula.mask(frame)).all()
        for special in options(formula):
            assert covers(formula, formula, 200)
            if terms(special.result, 200) is not None:
                assert covers(special.result, formula, 200), f"{special.result} does not cover {formula}"
    covered = [(one, other) for one in formulas for other in formulas if covers(one, other, 200)]
    assert all(misses(one, other, frame) == 0 for one, other in covered)
