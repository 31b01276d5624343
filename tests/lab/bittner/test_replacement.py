"""What can be replaced by wider predicates, and that it never loses an event."""

from __future__ import annotations

import random

import pytest

from tamis.formulas.predicates.within import Within
from tamis.frames import BatchFrame
from tamis.lab.bittner.replacement import hull, replacement_options
from tamis.values.ranges import ALL, NONE, Ranges
from tests.routing.drawing import formula_of, misses, random_formula, random_frame
from tests.worlds import WORLDS, world


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_replaced_no_event_is_lost(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    for _ in range(40):
        formula = random_formula(random_)
        for each in replacement_options(formula):
            assert misses(each.result, formula, frame) == 0, f"{formula}: {each}"


@pytest.mark.parametrize("name", WORLDS)
def test_conditions_of_all_kinds_lose_no_event(name: str) -> None:
    random_ = random.Random(7)
    here = world(name)
    frame = BatchFrame(here.batch(random_, 30))
    for condition in here.accepted(random_, 25):
        for each in replacement_options(condition.formula):
            assert misses(each.result, condition.formula, frame) == 0, f"{condition.text}: {each}"


def test_the_hull_has_no_gaps() -> None:
    assert hull(Ranges(False, (1, 2, 5, 6, 8, 9))) == Ranges(False, (1, 9))
    assert hull(Ranges(True, (1, 2, 5))) == Ranges(True, (5,))
    assert hull(Ranges(False, (1, 2, 5))) == Ranges(False, (1,))
    assert hull(Ranges(True, (1, 2))) == ALL
    assert hull(NONE) == NONE


def test_only_what_cannot_be_pruned_is_replaced() -> None:
    found = replacement_options(formula_of("a IN (1, 5) OR b < 3"))
    assert [each.result.describe() for each in found] == ["(a > 0 AND a < 6) OR b < 3"]
    assert replacement_options(formula_of("a IN (1, 5) AND b < 3")) == []
    assert replacement_options(formula_of("a IN (1, 5)")) != []
    assert replacement_options(formula_of("a <> 3 OR a IS NULL")) == []


def test_a_replacement_that_does_not_cover_is_left_out() -> None:
    def shifted(within: Within) -> list[Within]:
        return [Within(within.attribute, Ranges(False, cuts)) for cuts in ((0, 9), (2, 9))]

    (found,) = replacement_options(formula_of("a IN (1, 5)"), shifted)
    assert found.change.predicate.ranges == Ranges(False, (0, 9))
