"""What can be pruned, and that it never loses an event."""

from __future__ import annotations

import random

import pytest

from tamis.formulas.formula import FALSE, TRUE, at_least, conjunction, disjunction
from tamis.frames import BatchFrame
from tamis.lab.bittner.prunings import pruning_options
from tamis.routing.trees import leaf_counts, size, tree_size
from tests.lab.bittner.auctions import option_name, third_class
from tests.routing.drawing import formula_of, misses, random_formula, random_frame
from tests.worlds import WORLDS, world


def results(text: str, *, bottom_up: bool = False) -> set[str]:
    return {each.result.describe() for each in pruning_options(formula_of(text), bottom_up=bottom_up)}


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
    found = pruning_options(formula_of("at_least(2, a < 3, b < 3, c < 3)"))
    assert {each.result.describe() for each in found} == {"b < 3 OR c < 3", "a < 3 OR c < 3", "a < 3 OR b < 3"}


def test_bottom_up_nothing_is_deleted_that_can_be_pruned_itself() -> None:
    text = "a < 3 AND (b < 3 OR (c < 3 AND d < 3))"
    assert "a < 3" in results(text)
    assert results(text, bottom_up=True) == results(text) - {"a < 3"}


def test_nothing_becomes_true() -> None:
    text = "(a < 3 AND b < 3) OR ((a >= 3 OR a IS NULL) AND c < 3)"
    once = pruning_options(formula_of(text))[1].result
    assert once.describe() == "a < 3 OR ((a IS NULL OR a >= 3) AND c < 3)"
    assert [each.result.describe() for each in pruning_options(once)] == ["a < 3 OR c < 3"]
    assert pruning_options(TRUE) == pruning_options(FALSE) == []


def test_a_shared_node_is_pruned_wherever_it_is_used() -> None:
    shared = formula_of("a < 3 AND b < 3")
    whole = disjunction(
        [
            conjunction([shared, formula_of("c < 3 OR d < 3")]),
            at_least(2, [shared, formula_of("e = 1"), formula_of("d = 1")]),
        ]
    )
    frame = random_frame(random.Random(0))
    assert all(misses(each.result, whole, frame) == 0 for each in pruning_options(whole))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_pruned_no_event_is_lost(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    for _ in range(12):
        formula = random_formula(random_)
        for each in pruning_options(formula):
            assert misses(each.result, formula, frame) == 0, f"{formula}: {each}"


@pytest.mark.parametrize("name", WORLDS)
def test_conditions_of_all_kinds_lose_no_event(name: str) -> None:
    random_ = random.Random(7)
    here = world(name)
    frame = BatchFrame(here.batch(random_, 30))
    for condition in here.accepted(random_, 25):
        for each in pruning_options(condition.formula):
            assert misses(each.result, condition.formula, frame) == 0, f"{condition.text}: {each}"


def test_bytes_after_each_option_of_the_golden_example() -> None:
    after = {option_name(each.taken): size(each.result) for each in pruning_options(third_class(), bottom_up=True)}
    assert after == {"category OR": 33, "bids OR": 33, "ending": 38, "buy": 40, "signed": 40}


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
    assert sum(counts.values()) == tree_size(whole).leaves
