"""Selectivities of predicates that were not counted."""

from __future__ import annotations

import random

import pytest

from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.selectivity import priors
from tamis.statistics import Statistics
from tests.routing.drawing import formula_of, random_frame, table_of


def share(table: SelectivityTable, text: str) -> float:
    (predicate,) = formula_of(text).predicates()
    return table.of(predicate)


def test_a_bound_is_interpolated_between_its_neighbours() -> None:
    table = table_of({"a < 0": 0.1, "a >= 10": 0.5, "b < 3": 0.9})
    assert share(table, "a < 5") == pytest.approx(0.1 + 0.4 / 2)
    assert share(table, "a >= 5") == pytest.approx(1 - 0.3)
    assert share(table, "a >= 0 AND a < 5") == pytest.approx(0.2)
    assert share(table, "a < -3") == pytest.approx(0.05)
    assert share(table, "a < 100") == pytest.approx(0.75)


def test_a_value_gets_what_neighbours_leave_and_no_more_than_others_have() -> None:
    table = table_of({"a < 0": 0.1, "a < 10": 0.3})
    assert share(table, "a = 4") == pytest.approx(0.2)
    table = table_of({"a < 0": 0.1, "a < 10": 0.3, "a = 5": 0.15, "a = 50": 0.6})
    assert share(table, "a = 4") == pytest.approx(0.05)
    table = table_of({"a < 0": 0.1, "a < 10": 0.3, "a = 5": 0.02, "a = 6": 0.04})
    assert share(table, "a IN (2, 4)") == pytest.approx(2 * 0.03)
    assert share(table, "a IN (5, 7)") == pytest.approx(0.02 + 0.03)
    assert share(table_of({"a = 5": 0.02, "a = 6": 0.04}), "a = 4") == pytest.approx(0.03)


def test_null_counts_where_it_is_asked_for() -> None:
    table = table_of({"a IS NOT NULL": 0.8, "a < 10": 0.3})
    assert share(table, "a IS NULL") == pytest.approx(0.2)
    assert share(table, "a < 10 OR a IS NULL") == pytest.approx(0.5)
    assert share(table, "a >= 10") == pytest.approx(0.5)


def test_strings_stand_half_way() -> None:
    table = table_of({"s < 'b'": 0.2, "s < 'd'": 0.6})
    assert share(table, "s < 'c'") == pytest.approx(0.4)


def test_without_neighbours_statistics_are_asked_then_constants() -> None:
    frame = random_frame(random.Random(1), 60)
    statistics = Statistics()
    statistics.observe(frame, [formula_of("a < 5").predicates()[0].attribute])
    table = SelectivityTable(statistics)
    assert share(table, "a < 5") == pytest.approx(formula_of("a < 5").mask(frame).mean(), abs=0.1)
    assert share(table, "b < 5") == priors.RANGE
    assert share(table, "b = 5") == priors.point(1)
    assert share(table, "s LIKE '%x'") == priors.TEST
