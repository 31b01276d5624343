"""Formulas and orders against the enumeration of all outcomes; strategies against the least cost."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.operators_exact import (
    all_orders,
    expected_cost,
    expected_costs,
    least_cost,
    outcomes_of,
    printed_order,
    relaxed_bound,
    some_chains,
)
from tamis.operators.chains import (
    Chains,
    Doubles,
    Ints,
    chain_cost,
    chains_of,
    directed_order,
    insertion_order,
    node_order,
    pair_gain,
    pair_gains,
    placed,
    score_order,
)
from tamis.operators.counting import greedy, greedy_start, naive, pricing, sequential, sub_order

UNIT, SOME = (1.0, 1.0), (0.1, 10.0)
ONE_TWO, TWO_ONE = np.array([0, 1]), np.array([1, 0])
costed = pytest.mark.parametrize("costs", [UNIT, SOME, (1.0, 100.0)])


@pytest.fixture
def draws() -> np.random.Generator:
    return np.random.default_rng(7)


def lists(*conjunctions: list[int], holds: Doubles | None = None, sort: bool = False) -> Chains:
    """Chains as written."""
    members = np.array([node for each in conjunctions for node in each], np.int64)
    starts = np.cumsum([0, *(len(each) for each in conjunctions)])
    chances = np.full(int(members.max()) + 1, 0.5) if holds is None else holds
    return chains_of(starts, members, chances, sort=sort)


def total_gain(gains: Doubles, order: Ints) -> float:
    return float(np.triu(gains[np.ix_(order, order)], 1).sum())


def test_chains_know_their_predicates_and_predicates_their_chains() -> None:
    chains = lists([2, 0], [1], [0, 1, 2], holds=np.array([0.5, 0.1, 0.5, 0.9]), sort=True)
    assert [chains.chain(number).tolist() for number in range(3)] == [[0, 2], [1], [1, 0, 2]]
    users = [chains.users[chains.firsts[node] : chains.firsts[node + 1]].tolist() for node in range(4)]
    assert users == [[0, 2], [1, 2], [0, 2], []]


@costed
def test_the_node_order_costs_least(costs: tuple[float, float], draws: np.random.Generator) -> None:
    for _ in range(100):
        chains = some_chains(draws, 1, 5, (2, 5), costs=costs)
        members = draws.permutation(chains.nodes)
        found = node_order(members, chains.holds, chains.costs)
        assert found.tolist() == chains.nodes.tolist()
        every = [
            chain_cost(np.array(each), chains.holds, chains.costs) for each in itertools.permutations(members)
        ]
        assert chain_cost(found, chains.holds, chains.costs) == pytest.approx(min(every), abs=1e-12)


def test_ties_go_by_number_and_what_is_always_true_comes_last() -> None:
    holds = np.array([0.5, 1.0, 0.5, 0.2])
    assert node_order(np.array([1, 2, 0, 3]), holds, np.ones(4)).tolist() == [3, 0, 2, 1]


@costed
def test_the_cost_of_a_chain_is_that_of_all_outcomes(
    costs: tuple[float, float], draws: np.random.Generator
) -> None:
    for _ in range(50):
        chains = some_chains(draws, 1, 7, (1, 7), costs=costs)
        alone = chain_cost(chains.nodes, chains.holds, chains.costs)
        assert alone == pytest.approx(expected_cost(chains, np.array([0])), rel=1e-12)


@costed
def test_the_gain_of_a_pair_is_that_of_all_outcomes(
    costs: tuple[float, float], draws: np.random.Generator
) -> None:
    signs = []
    for _ in range(600):
        chains = some_chains(draws, 2, 8, (1, 6), costs=costs)
        gain = pair_gain(chains.chain(0), chains.chain(1), chains.holds, chains.costs)
        first, second = expected_costs(chains, np.array([ONE_TWO, TWO_ONE]))
        assert abs(gain - (second - first)) < 1e-12 * max(1.0, second)
        signs.append(np.sign(round(gain, 9)))
    assert set(signs) == {-1, 0, 1}


def test_the_gain_of_a_shared_first_node_is_not_as_printed() -> None:
    """The paper has 1 for the cost above the first node, and 1 is not nothing."""
    chains = lists([0, 1], [2, 0], holds=np.array([0.5, 0.5, 0.5]))
    gain = pair_gain(chains.chain(0), chains.chain(1), chains.holds, chains.costs)
    first, second = expected_costs(chains, np.array([ONE_TWO, TWO_ONE]))
    assert gain == pytest.approx(second - first)
    # First chain: surely reached, for nothing; second: the node above costs 1.
    assert gain == pytest.approx(0.5 * (1.0 * 1.0 - 0.5 * 0.0))


def test_gains_of_all_pairs_are_opposite(draws: np.random.Generator) -> None:
    chains = some_chains(draws, 7, 9, (2, 4))
    gains = pair_gains(chains)
    assert np.array_equal(gains, -gains.T)
    assert gains[2, 5] == pair_gain(chains.chain(2), chains.chain(5), chains.holds, chains.costs)


def test_links_of_chains_in_node_order_never_cross(draws: np.random.Generator) -> None:
    for _ in range(200):
        given = some_chains(draws, 2, 6, (3, 6))
        tied = np.round(given.holds, 1)  # so that there are ties
        chains = chains_of(given.starts, given.nodes, tied)
        shared = np.intersect1d(chains.chain(0), chains.chain(1))
        places = [[chains.chain(number).tolist().index(node) for node in shared] for number in (0, 1)]
        assert np.array_equal(np.argsort(places[0]), np.argsort(places[1]))


def test_links_that_cross_break_the_formula() -> None:
    chains = lists([0, 1, 2], [1, 3, 0], holds=np.array([0.3, 0.6, 0.5, 0.4]))
    gain = pair_gain(chains.chain(0), chains.chain(1), chains.holds, chains.costs)
    first, second = expected_costs(chains, np.array([ONE_TWO, TWO_ONE]))
    assert abs(gain - (second - first)) > 0.01


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
    chains = lists([0, 1], [1, 2], [2], holds=np.array([1.0, 0.0, 1.0]), sort=True)
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


def test_orders_by_their_distance_from_the_best(draws: np.random.Generator) -> None:
    """Insertion, score, directed pairs, pairs as printed, random, directed pairs the other way round."""
    orders, rows = all_orders(6), []
    for _ in range(80):
        chains = some_chains(draws, 6, 9, (2, 4), exponent=1.0)
        gains = pair_gains(chains)
        directed = directed_order(chains, gains)
        every = expected_costs(chains, orders)
        printed = [expected_cost(chains, printed_order(gains, draws)) for _ in range(4)]
        found = [insertion_order(chains, gains), score_order(chains), directed, directed[::-1].copy()]
        insertion, score, strung, reverse = (expected_cost(chains, order) for order in found)
        rows.append([every.min(), insertion, score, strung, float(np.mean(printed)), every.mean(), reverse])
        assert min(rows[-1]) > rows[-1][0] - 1e-12
    best, insertion, score, strung, as_printed, random, reverse = np.mean(rows, axis=0).tolist()
    assert best < insertion < score < strung < min(as_printed, random) < max(as_printed, random) < reverse
    assert score / best < 1.02
    assert random / best > 1.05
    # Either end first: each pair stands one way round as often as the other, as in a random order.
    assert as_printed == pytest.approx(random, rel=0.02)


def test_no_single_move_betters_an_order_by_insertion(draws: np.random.Generator) -> None:
    for _ in range(20):
        chains = some_chains(draws, 9, 9, (2, 4), exponent=1.0)
        gains = pair_gains(chains)
        order = insertion_order(chains, gains, draws.permutation(9))
        assert sorted(order.tolist()) == list(range(9))
        for taken, place in itertools.product(range(9), repeat=2):
            moved = np.insert(np.delete(order, taken), place, order[taken])
            assert total_gain(gains, moved) <= total_gain(gains, order) + 1e-9


def test_a_new_chain_goes_to_its_best_place(draws: np.random.Generator) -> None:
    for _ in range(30):
        chains = some_chains(draws, 8, 9, (2, 4), exponent=1.0)
        gains = pair_gains(chains)
        order = draws.permutation(7)
        every = [total_gain(gains, np.insert(order, place, 7)) for place in range(8)]
        assert every[placed(chains, order, 7)] == pytest.approx(max(every), abs=1e-12)


def test_a_chain_that_shares_nothing_goes_last() -> None:
    chains = lists([0, 1], [1, 2], [3])
    assert placed(chains, np.array([1, 0]), 2) == 2
    assert placed(chains, np.zeros(0, np.int64), 2) == 0


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
    chains = lists(*([number, 10] for number in range(10)))
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
    """A dear predicate and a cheap one, both false: the dear one alone is fifty times what the bound allows."""
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
    apart = lists([0, 1], [2, 3], [4])
    assert relaxed_bound(apart, np.zeros(5, np.bool_)) == pytest.approx(3)
    assert relaxed_bound(apart, np.array([True, True, False, False, True])) == pytest.approx(4)
    one = lists([0, 1], [0, 2], [0, 3])
    assert relaxed_bound(one, np.zeros(4, np.bool_)) == pytest.approx(1)


def test_ours_costs_less_than_any_walk_of_chains(draws: np.random.Generator) -> None:
    """On conjunctions that overlap much, on average over outcomes."""
    chains = some_chains(draws, 2_000, 300, (3, 5), exponent=1.0)
    chains = chains_of(chains.starts, chains.nodes, chains.holds**5)
    order, start = score_order(chains), greedy_start(chains)
    events = [draws.random(300) < chains.holds for _ in range(60)]
    ours = np.mean([greedy(chains, start, event).calls for event in events])
    walked = np.mean([sub_order(chains, order, event).calls for event in events])
    plain = np.mean([naive(chains, event).calls for event in events])
    bound = np.mean([relaxed_bound(chains, event) for event in events])
    assert bound < ours < 0.97 * walked < 0.97 * plain
