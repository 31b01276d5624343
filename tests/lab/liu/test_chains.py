"""Gains and orders of chains against the enumeration of all outcomes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tamis.arrays import F64, I64
from tamis.lab.claims.exact_costs import all_orders, expected_cost, expected_costs, printed_order, some_chains
from tamis.lab.liu.chains import (
    best_position,
    chains_of,
    directed_order,
    insertion_order,
    node_order,
    pair_gain,
    pair_gains,
    placed_order,
    score_order,
)
from tests.lab.liu.small_chains import chains_from

UNIT, SOME = (1.0, 1.0), (0.1, 10.0)
ONE_TWO, TWO_ONE = np.array([0, 1]), np.array([1, 0])
costed = pytest.mark.parametrize("costs", [UNIT, SOME, (1.0, 100.0)])


def total_gain(gains: F64, order: I64) -> float:
    return float(np.triu(gains[np.ix_(order, order)], 1).sum())


def test_chains_know_their_predicates_and_predicates_their_chains() -> None:
    chains = chains_from([2, 0], [1], [0, 1, 2], holds=np.array([0.5, 0.1, 0.5, 0.9]), sort=True)
    assert [chains.chain(number).tolist() for number in range(3)] == [[0, 2], [1], [1, 0, 2]]
    users = [chains.users[chains.firsts[node] : chains.firsts[node + 1]].tolist() for node in range(4)]
    assert users == [[0, 2], [1, 2], [0, 2], []]


def chain_cost(nodes: I64, holds: F64, costs: F64) -> float:
    """The expected cost of one chain alone: a node is called if all nodes before it are true."""
    cost, reached = 0.0, 1.0
    for node in nodes:
        cost += reached * costs[node]
        reached *= holds[node]
    return cost


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
    chains = chains_from([0, 1], [2, 0], holds=np.array([0.5, 0.5, 0.5]))
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
    chains = chains_from([0, 1, 2], [1, 3, 0], holds=np.array([0.3, 0.6, 0.5, 0.4]))
    gain = pair_gain(chains.chain(0), chains.chain(1), chains.holds, chains.costs)
    first, second = expected_costs(chains, np.array([ONE_TWO, TWO_ONE]))
    assert abs(gain - (second - first)) > 0.01


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
        assert every[best_position(chains, order, 7)] == pytest.approx(max(every), abs=1e-12)


def test_chains_that_come_one_by_one_are_placed_one_by_one(draws: np.random.Generator) -> None:
    for _ in range(10):
        chains = some_chains(draws, 8, 9, (2, 4), exponent=1.0)
        order = np.zeros(0, np.int64)
        for new in range(8):
            order = np.insert(order, best_position(chains, order, new), new)
        assert placed_order(chains).tolist() == order.tolist()


def test_a_chain_that_shares_nothing_goes_last() -> None:
    chains = chains_from([0, 1], [1, 2], [3])
    assert best_position(chains, np.array([1, 0]), 2) == 2
    assert best_position(chains, np.zeros(0, np.int64), 2) == 0
