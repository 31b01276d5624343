"""Call plans: units, cells, costs and orders."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tamis import Statistics
from tamis.engines.forest import forest_of
from tamis.events import EventType
from tamis.language.condition import compile_condition
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import meter, reset_meters
from tamis.values.types import BIGINT, BOOLEAN
from tamis.verification.plan import CallPlan, call_cost

pytestmark = pytest.mark.usefixtures("form")

TYPE = EventType.of({"attributes": {"n": "bigint", "m": "bigint"}})


@pytest.fixture(autouse=True)
def operators() -> Iterator[None]:
    """A cheap and an expensive operator."""
    made = [
        Operator("cheap_here", (BIGINT,), BIGINT, lambda values: values, cost=0.001),
        Operator("expensive_here", (BIGINT,), BOOLEAN, lambda values: values, cost=1.0),
    ]
    install(*made)
    yield
    uninstall(*(each.name for each in made))
    reset_meters(*(each.name for each in made))


def plan_of(*texts: str) -> CallPlan:
    return CallPlan(forest_of([compile_condition(text, TYPE).formula for text in texts]))


def test_predicates_on_one_attribute_share_a_unit() -> None:
    plan = plan_of("cheap_here(n) > 3 AND m = 1", "cheap_here(n) < 0 OR expensive_here(n)", "cheap_here(m) = 1")
    units = {str(unit.attribute and len(unit.calls)): unit for unit in plan.units}
    assert len(plan) == 3
    assert len(plan.units) == 4
    assert [plan.units[number].calls for number in plan.cheap.tolist()] == [()]
    assert {name: len(numbers) for name, numbers in plan.by_operator.items()} == {
        "cheap_here": 2,
        "expensive_here": 1,
    }
    assert units["1"].is_direct


def test_units_cost_what_their_calls_cost() -> None:
    plan = plan_of("expensive_here(cheap_here(n))", "expensive_here(n)", "m = 1 OR expensive_here(m)")
    by_calls = {len(unit.calls): cost for unit, cost in zip(plan.units, plan.costs.tolist(), strict=True)}
    assert by_calls[2] == pytest.approx(1.001)
    assert by_calls[1] == pytest.approx(1.0)
    assert by_calls[0] < 1e-6


def test_a_measured_cost_counts_more_than_a_learned_one_and_that_more_than_a_declared_one() -> None:
    statistics = Statistics()
    assert call_cost("expensive_here", None) == call_cost("expensive_here", statistics) == 1.0
    statistics.costs["expensive_here"] = 0.5
    assert call_cost("expensive_here", statistics) == 0.5
    meter("expensive_here").record_run(10, 2.5)
    assert call_cost("expensive_here", statistics) == 0.25
    assert call_cost("unknown_here", None) == 1e-3
    reset_meters("unknown_here")


def test_a_unit_of_an_and_decides_by_failing_and_of_an_or_by_holding() -> None:
    plan = plan_of("cheap_here(n) = 3 AND cheap_here(m) = 3", "cheap_here(n) = 4 OR cheap_here(m) = 4")
    conjunction, disjunction = np.split(plan.probabilities, 2)
    assert (conjunction > disjunction).all()  # an equality is rarely true
