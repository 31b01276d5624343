"""Strategies find the same conjunctions, and their costs keep to their bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tamis.lab.claims.exact_costs import expected_cost, least_cost, outcomes_of, relaxed_bound, some_chains
from tamis.lab.liu.chains import chains_of, score_order
from tamis.lab.liu.strategies import greedy, greedy_start, naive, pricing, sequential, sub_order
from tests.lab.liu.small_chains import chains_from

SOME = (0.1, 10.0)


def test_no_order_and_no_strategy_changes_what_is_found(draws: np.random.Generator) -> None:
    for _ in range(60):
        chains = some_chains(draws, 8, 9, (1, 5), exponent=0.7, costs=SOME)
        start = greedy_start(chains)
        for bits in draws.integers(0, 1 << 9, 12).tolist():
            outcomes = outcomes_of(bits, 9)
            expected = [bool(outcomes[chains.chain(number)].all()) for number in range(8)]
            orders = [draws.permutation(8) for _ in range(5)]
            counts = [sub_order(chains, order, outcomes) for order in orders]
            counts += [naive(chains, outcomes), sequential(chains, outcomes), pricing(chains, outcomes)]
            counts.append(greedy(chains, start, outcomes))
            for count in counts:
                assert count.matched.tolist() == expected
                assert least_cost(chains, bits) <= count.cost + 1e-9
            assert relaxed_bound(chains, outcomes) <= least_cost(chains, bits) + 1e-9


def test_predicates_that_are_sure_are_called_all_the_same() -> None:
    chains = chains_from([0, 1], [1, 2], [2], holds=np.array([1.0, 0.0, 1.0]), sort=True)
    start = greedy_start(chains)
    for bits in range(8):
        outcomes = outcomes_of(bits, 3)
        assert greedy(chains, start, outcomes).matched.tolist() == naive(chains, outcomes).matched.tolist()


def test_a_conjunction_of_nothing_holds() -> None:
    chains = chains_of(np.array([0, 0, 1]), np.array([0]), np.array([0.5]))
    for outcome in (True, False):
        outcomes, order = np.array([outcome]), np.array([1, 0])
        counts = [naive(chains, outcomes), sub_order(chains, order, outcomes), sequential(chains, outcomes)]
        counts += [pricing(chains, outcomes), greedy(chains, greedy_start(chains), outcomes)]
        assert [(count.calls, count.matched.tolist()) for count in counts] == [(1, [True, outcome])] * 5


def test_counted_costs_are_those_that_are_expected(draws: np.random.Generator) -> None:
    chains = some_chains(draws, 5, 6, (2, 4), costs=SOME)
    order = draws.permutation(5)
    total = 0.0
    for bits in range(1 << 6):
        outcomes = outcomes_of(bits, 6)
        total += (
            float(np.where(outcomes, chains.holds, 1 - chains.holds).prod())
            * sub_order(chains, order, outcomes).cost
        )
    assert total == pytest.approx(expected_cost(chains, order), rel=1e-12)


@pytest.mark.parametrize("longest", [2, 3, 4, 6])
def test_sequential_is_within_the_longest_chain_of_the_least(longest: int, draws: np.random.Generator) -> None:
    worst = 0.0
    for _ in range(150):
        chains = some_chains(draws, 8, 9, (1, longest))
        length = np.diff(chains.starts).max()
        for bits in draws.integers(0, 1 << 9, 4).tolist():
            ratio = sequential(chains, outcomes_of(bits, 9)).calls / least_cost(chains, bits)
            assert ratio <= length + 1e-9
            worst = max(worst, ratio)
    assert worst > 1.5


def test_stopping_at_the_first_false_predicate_loses_the_bound() -> None:
    """Many pairs {x, t}, all false, x first: one call of t is enough, and stopping makes one for each pair."""
    chains = chains_from(*([number, 10] for number in range(10)))
    outcomes = np.zeros(11, np.bool_)
    assert least_cost(chains, 0) == 1
    assert sequential(chains, outcomes).calls == 2
    assert sub_order(chains, np.arange(10), outcomes).calls == 10


def test_pricing_keeps_the_bound_where_costs_differ(draws: np.random.Generator) -> None:
    for _ in range(400):
        chains = some_chains(draws, 8, 9, (1, 3), costs=(1.0, 100.0))
        length = np.diff(chains.starts).max()
        costs = chains.costs[np.unique(chains.nodes)]
        for bits in draws.integers(0, 1 << 9, 3).tolist():
            outcomes, least = outcomes_of(bits, 9), least_cost(chains, bits)
            assert pricing(chains, outcomes).cost / least <= length + 1e-9
            printed = 1 + (length - 1) * costs.max() / costs.min()
            assert sequential(chains, outcomes).cost / least <= printed + 1e-9


def test_sequential_pays_too_much_where_costs_differ() -> None:
    """An expensive and a cheap predicate, both false: the first alone is fifty times what the bound allows."""
    chains = chains_of(np.array([0, 2]), np.array([0, 1]), np.zeros(2), np.array([100.0, 1.0]), sort=False)
    outcomes = np.zeros(2, np.bool_)
    assert least_cost(chains, 0) == pricing(chains, outcomes).cost == 1
    assert sequential(chains, outcomes).cost == 100


def test_where_nothing_holds_the_least_is_a_set_cover(draws: np.random.Generator) -> None:
    """Elements are chains, sets are predicates; so deciding them at the least cost is as hard."""
    for _ in range(40):
        chains = some_chains(draws, 7, 8, (1, 3))._replace(holds=np.zeros(8))
        sets = [set(chains.users[chains.firsts[node] : chains.firsts[node + 1]].tolist()) for node in range(8)]
        cover = next(
            count
            for count in range(1, 9)
            if any(len(set().union(*some)) == 7 for some in itertools.combinations(sets, count))
        )
        assert least_cost(chains, 0) == cover


def test_the_bound_is_exact_where_chains_have_nothing_in_common_or_all(draws: np.random.Generator) -> None:
    apart = chains_from([0, 1], [2, 3], [4])
    assert relaxed_bound(apart, np.zeros(5, np.bool_)) == pytest.approx(3)
    assert relaxed_bound(apart, np.array([True, True, False, False, True])) == pytest.approx(4)
    one = chains_from([0, 1], [0, 2], [0, 3])
    assert relaxed_bound(one, np.zeros(4, np.bool_)) == pytest.approx(1)


def test_greedy_makes_fewer_calls_than_any_order_of_chains(draws: np.random.Generator) -> None:
    """On conjunctions that overlap much, on average over outcomes."""
    chains = some_chains(draws, 2_000, 300, (3, 5), exponent=1.0)
    chains = chains_of(chains.starts, chains.nodes, chains.holds**5)
    order, start = score_order(chains), greedy_start(chains)
    events = [draws.random(300) < chains.holds for _ in range(60)]
    ours = np.mean([greedy(chains, start, event).calls for event in events])
    in_order = np.mean([sub_order(chains, order, event).calls for event in events])
    plain = np.mean([naive(chains, event).calls for event in events])
    bound = np.mean([relaxed_bound(chains, event) for event in events])
    assert bound < ours < 0.97 * in_order < 0.97 * plain


def test_with_unequal_costs_greedy_costs_less_than_pricing_on_average() -> None:
    rng = np.random.default_rng(7)
    predicates, sizes = 200, rng.integers(3, 6, 800)
    members = np.concatenate([rng.choice(predicates, size, replace=False) for size in sizes.tolist()])
    holds, costs = rng.random(predicates), np.exp(rng.uniform(0, np.log(100), predicates))
    chains = chains_of(np.append(0, np.cumsum(sizes)), members, holds, costs)
    start = greedy_start(chains)
    drawn = [rng.random(predicates) < holds for _ in range(20)]
    costs_of = {
        "sequential": sum(sequential(chains, each).cost for each in drawn),
        "pricing": sum(pricing(chains, each).cost for each in drawn),
        "greedy": sum(greedy(chains, start, each).cost for each in drawn),
    }
    assert costs_of["greedy"] < costs_of["pricing"] < costs_of["sequential"]
