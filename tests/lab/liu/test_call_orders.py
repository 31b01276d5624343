"""Liu's orders of calls on general formulas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.events import EventType
from tamis.lab import CALL_ORDERS
from tamis.lab.liu.call_orders import ranks_of, start_order
from tamis.language.condition import compile_condition
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import reset_meters
from tamis.values.types import BIGINT, BOOLEAN
from tamis.verification.plan import CallPlan
from tamis.verification.search import FAILS, HOLDS, VALUE, Spare, empty_state, start_search, update_search

TYPE = EventType.of({"attributes": {"n": "bigint", "m": "bigint"}})
NAMES = ("cheap_here", "expensive_here", "last_here")


@pytest.fixture(autouse=True)
def operators() -> Iterator[None]:
    costs = dict(zip(NAMES, (0.001, 1.0, 10.0), strict=True))
    install(
        *(Operator(name, (BIGINT,), BOOLEAN, lambda values: values, cost=cost) for name, cost in costs.items())
    )
    yield
    uninstall(*NAMES)
    reset_meters(*NAMES)


def plan_of(*texts: str) -> CallPlan:
    return CallPlan(forest_of([compile_condition(text, TYPE).formula for text in texts]))


def calls(plan: CallPlan, order: str, true: set[str]) -> tuple[list[str], list[bool]]:
    """The operators that are called for one event, in their order, and the verdict on every formula."""
    state, following, made = empty_state(plan, 1), start_order(order, plan, 1), []
    estimates = plan.formulas, plan.probabilities, plan.costs, int(np.diff(plan.formulas.node_firsts).max())
    start_search(*estimates, np.zeros(len(plan), np.int32), np.arange(len(plan), dtype=np.int32), state)
    rows = np.zeros(1, np.int32)
    while len(rows):
        rows, units = following(rows, Spare(), state)
        for unit in units.tolist():
            made.append(plan.units[unit].calls[0].operator)
            axis = plan.units[unit].axis
            assert axis is not None
            state.status[0, axis[1]] = VALUE
            state.coordinates[0, axis[1]] = made[-1] in true
        update_search(*estimates, rows, units, state)
    assert set(np.unique(state.verdicts)) <= {HOLDS, FAILS}
    return made, (state.verdicts[0] == HOLDS).tolist()


def test_of_equal_predicates_the_cheap_one_is_asked_first() -> None:
    plan = plan_of("expensive_here(n) AND cheap_here(n)")
    names = [plan.units[unit].calls[0].operator for unit in plan.formulas.units.tolist()]
    assert [names[place] for place in ranks_of(plan).units.tolist()] == ["cheap_here", "expensive_here"]


def test_every_formula_has_its_turn() -> None:
    plan = plan_of("cheap_here(n) AND cheap_here(m)", "cheap_here(n) OR last_here(m)", "expensive_here(n)")
    assert sorted(ranks_of(plan).formulas.tolist()) == [0, 1, 2]


def test_orders_are_computed_again_when_the_plan_is_refreshed() -> None:
    plan = plan_of("expensive_here(n) AND cheap_here(n)")
    first = ranks_of(plan)
    assert ranks_of(plan) is first
    plan.refresh(None)
    assert ranks_of(plan) is not first


def test_sub_order_makes_the_cheapest_call_first_and_stops_at_what_decides() -> None:
    plan = plan_of("last_here(n) AND expensive_here(n) AND cheap_here(n)")
    assert calls(plan, "sub-order", set()) == (["cheap_here"], [False])
    assert calls(plan, "sub-order", {"cheap_here"}) == (["cheap_here", "expensive_here"], [False])


@pytest.mark.parametrize("order", CALL_ORDERS)
@pytest.mark.parametrize("true", [set(), {"cheap_here"}, {"last_here", "expensive_here"}, set(NAMES)], ids=len)
def test_no_order_changes_a_verdict_and_no_call_is_made_twice(order: str, true: set[str]) -> None:
    plan = plan_of(
        "cheap_here(n) AND expensive_here(n)",
        "last_here(n) OR cheap_here(n)",
        "expensive_here(n) AND (last_here(n) OR cheap_here(n))",
    )
    cheap, expensive, last = (name in true for name in NAMES)
    made, verdicts = calls(plan, order, true)
    assert verdicts == [cheap and expensive, last or cheap, expensive and (last or cheap)]
    assert len(made) == len(set(made))
