"""The search that runs in production makes the calls that the strategies on plain arrays make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from tamis import Statistics, compile_conditions
from tamis.arrays import Bools
from tamis.engines.forest import forest_of
from tamis.formulas.expression import Constant
from tamis.interpretation import Allowance, interpreted, kernels_only
from tamis.lab.liu import call_orders
from tamis.lab.liu.chains import chains_of, score_order
from tamis.lab.liu.strategies import greedy, greedy_start, naive, sequential, sub_order
from tamis.lab.workloads import generate
from tamis.lab.workloads.overlap import OverlapArrays, arrays, probe_operator
from tamis.operators import install, uninstall
from tamis.values.column import column_of
from tamis.values.types import BOOLEAN
from tamis.verification.plan import CallPlan, allowance
from tamis.verification.rounds import RoundCosts, spare_of
from tamis.verification.search import (
    FAILS,
    GREEDY,
    HOLDS,
    VALUE,
    Spare,
    empty_state,
    known_orders,
    start_order,
    start_search,
    update_search,
)

SIZES = {"subscriptions": 400, "events": 12, "seed": 3, "predicates": 150}
MANY = 20_000


@pytest.fixture(scope="module", params=["uniform", "zipf"])
def numbers(request: pytest.FixtureRequest) -> Iterator[tuple[OverlapArrays, str]]:
    found = arrays(**SIZES, popularity=request.param, matched=0.01)
    install(probe_operator(found.selectivities))
    yield found, request.param
    uninstall("probe")


@pytest.fixture(scope="module")
def plan(numbers: tuple[OverlapArrays, str]) -> CallPlan:
    """The plan of the conditions, with the true probabilities."""
    found, popularity = numbers
    data = generate("overlap", **SIZES, popularity=popularity, matched=0.01)
    forest = forest_of(compile_conditions(data.conditions, data.event_type))
    statistics = Statistics()
    for axis in forest.axes:
        share = found.selectivities[_predicate(axis.attribute)]
        values = np.zeros(MANY, np.bool_)
        values[: round(share * MANY)] = True
        statistics.learn(axis.attribute, column_of(BOOLEAN, values.tolist()))
    return CallPlan(forest, statistics)


def _predicate(attribute: object) -> int:
    argument = attribute.arguments[1]  # type: ignore[attr-defined]
    assert isinstance(argument, Constant)
    return int(argument.value)


class Effort(NamedTuple):
    """What a search took, in rounds and calls of all rows."""

    rounds: int
    calls: int


def search_rows(
    plan: CallPlan, strategy: str, outcomes: Sequence[Bools], spare: Callable[[int, int], Spare]
) -> tuple[Effort, Bools]:
    """The rounds and calls for several events, and the verdict on every formula; `spare` of round and rows."""
    start, update = (allowance.choose(each, MANY) for each in (start_search, update_search))
    predicates = [_predicate(unit.attribute) for unit in plan.units]
    cells = [unit.axis[1] for unit in plan.units if unit.axis is not None]
    state = empty_state(plan, len(outcomes))
    largest = int(np.diff(plan.formulas.node_firsts).max())
    following = start_order(strategy, plan, len(outcomes))
    everyone = np.tile(np.arange(len(plan), dtype=np.int32), len(outcomes))
    owners = np.repeat(np.arange(len(outcomes), dtype=np.int32), len(plan))
    start(plan.formulas, plan.probabilities, plan.costs, largest, owners, everyone, state)
    active, rounds, calls = np.arange(len(outcomes), dtype=np.int32), 0, 0
    while len(active):
        asked, units = following(active, spare(rounds, len(active)), state)
        rounds += bool(len(units))
        calls += len(units)
        for row, unit in zip(asked.tolist(), units.tolist(), strict=True):
            state.status[row, cells[unit]] = VALUE
            state.coordinates[row, cells[unit]] = outcomes[row][predicates[unit]]
        update(plan.formulas, plan.probabilities, plan.costs, largest, asked, units, state)
        active = np.unique(asked)
    assert set(np.unique(state.verdicts)) <= {HOLDS, FAILS}
    return Effort(rounds, calls), state.verdicts == HOLDS


def search(plan: CallPlan, strategy: str, outcomes: Bools, spare: float = 0.0) -> tuple[int, Bools]:
    """The number of calls for one event, and the verdict on every formula."""
    effort, verdicts = search_rows(plan, strategy, [outcomes], lambda _round, _rows: Spare(spare))
    return effort.calls, verdicts[0]


def outcomes_of(found: OverlapArrays) -> Iterator[Bools]:
    operator = probe_operator(found.selectivities)
    everyone = np.arange(len(found.selectivities))
    for seed in found.seeds.tolist():
        answers = operator.function(pa.array([seed] * len(everyone)), pa.array(everyone, pa.int32()))
        yield np.asarray(answers, np.bool_)


def test_orders_are_the_own_and_those_of_the_laboratory() -> None:
    assert known_orders() == (GREEDY, "sub-order", "sequential", "naive")


@pytest.mark.slow
def test_naive_and_sequential_make_the_same_calls(
    numbers: tuple[OverlapArrays, str], plan: CallPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = numbers
    drawn = chains_of(found.starts, found.members, found.selectivities, sort=False)
    everyone = np.arange(len(plan), dtype=np.int32)
    monkeypatch.setitem(call_orders._ranks, plan, call_orders.ranks_of(plan)._replace(formulas=everyone))
    for outcomes in outcomes_of(found):
        for name, expected in (("naive", naive(drawn, outcomes)), ("sequential", sequential(drawn, outcomes))):
            calls, verdicts = search(plan, name, outcomes)
            assert calls == expected.calls
            assert (verdicts == expected.matched).all()


@pytest.mark.slow
def test_sub_order_and_greedy_make_about_as_many_calls(numbers: tuple[OverlapArrays, str], plan: CallPlan) -> None:
    """Probabilities here are learned from samples, so that orders differ a little."""
    found, _ = numbers
    chains = chains_of(found.starts, found.members, found.selectivities)
    order, start = score_order(chains), greedy_start(chains)
    totals = np.zeros(4)
    for outcomes in outcomes_of(found):
        ordered, best = sub_order(chains, order, outcomes), greedy(chains, start, outcomes)
        ours, verdicts = search(plan, "greedy", outcomes)
        theirs, same = search(plan, "sub-order", outcomes)
        assert (verdicts == best.matched).all()
        assert (same == best.matched).all()
        totals += (ordered.calls, theirs, best.calls, ours)
    assert totals[1] == pytest.approx(totals[0], rel=0.05)
    assert totals[3] == pytest.approx(totals[2], rel=0.05)
    assert totals[3] < totals[1]


@pytest.mark.slow
def test_spare_time_makes_for_more_calls_and_the_same_verdicts(
    numbers: tuple[OverlapArrays, str], plan: CallPlan
) -> None:
    outcomes = next(outcomes_of(numbers[0]))
    calls, verdicts = search(plan, "greedy", outcomes)
    more, same = search(plan, "greedy", outcomes, spare=float(plan.costs[0]) * 20)
    assert (verdicts == same).all()
    assert calls < more <= len(plan.units)


ROUND_SECONDS, OVERHEAD_SECONDS = 5e-4, 2e-6
"""What a round and a call take beside operators, about as measured."""


@pytest.mark.slow
@pytest.mark.parametrize("call_seconds", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("events", [1, 12])
def test_greedy_costs_no_more_than_naive_however_cheap_calls_are(
    numbers: tuple[OverlapArrays, str],
    plan: CallPlan,
    monkeypatch: pytest.MonkeyPatch,
    call_seconds: float,
    events: int,
) -> None:
    monkeypatch.setattr(plan, "costs", np.full(len(plan.units), call_seconds))
    outcomes = list(outcomes_of(numbers[0]))[:events]
    costs = RoundCosts()
    for calls in (events, 10 * events):
        costs = costs.after(calls, ROUND_SECONDS + calls * OVERHEAD_SECONDS)

    def spare(done: int, rows: int) -> Spare:
        return spare_of(costs, rows) if done >= 4 else Spare()

    def seconds(effort: Effort) -> float:
        return effort.rounds * ROUND_SECONDS + effort.calls * (call_seconds + OVERHEAD_SECONDS)

    ours, verdicts = search_rows(plan, "greedy", outcomes, spare)
    planned, _ = search_rows(plan, "greedy", outcomes, lambda _round, _rows: Spare())
    theirs, same = search_rows(plan, "naive", outcomes, spare)
    assert (verdicts == same).all()
    assert seconds(ours) <= seconds(theirs)
    assert seconds(ours) <= seconds(planned)
    if call_seconds > ROUND_SECONDS:
        assert ours == planned, "no call is made in vain"
    elif call_seconds < 1e-5:
        assert ours.rounds < planned.rounds / 2, "rounds are saved by calls that cost less"


@pytest.mark.slow
def test_an_expensive_call_is_never_made_to_save_a_round(
    numbers: tuple[OverlapArrays, str], plan: CallPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cheap unit comes first, and what is left to spare does not pay for an expensive one."""
    costs = np.full(len(plan.units), 1e-6)
    costs[::2] = 1.0
    monkeypatch.setattr(plan, "costs", costs)
    state = empty_state(plan, 1)
    largest = int(np.diff(plan.formulas.node_firsts).max())
    everyone = np.arange(len(plan), dtype=np.int32)
    start_search(plan.formulas, plan.probabilities, costs, largest, np.zeros_like(everyone), everyone, state)
    rows, units = start_order("greedy", plan, 1)(np.zeros(1, np.int32), Spare(10.0 * costs.min()), state)
    assert len(rows) > 1
    assert (costs[units[1:]] < 1.0).all()
    rows, units = start_order("greedy", plan, 1)(np.zeros(1, np.int32), Spare(0.5), state)
    assert (costs[units[1:]] < 1.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("spare", [0.0, 20.0])
def test_interpreted_kernels_make_the_same_calls(
    numbers: tuple[OverlapArrays, str], plan: CallPlan, spare: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = next(outcomes_of(numbers[0]))
    with kernels_only():
        calls, verdicts = search(plan, "greedy", outcomes, float(plan.costs[0]) * spare)
    monkeypatch.setattr(Allowance, "choose", lambda _self, function, _work: interpreted(function))
    again, same = search(plan, "greedy", outcomes, float(plan.costs[0]) * spare)
    assert again == calls
    assert (same == verdicts).all()
