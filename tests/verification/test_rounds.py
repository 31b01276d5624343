"""What rounds cost: a fixed part and a part for each call, told apart by rounds of different size."""

import pytest

from tamis.verification.rounds import RoundCosts, spare_of


def test_before_the_first_round_nothing_is_spared() -> None:
    assert RoundCosts().per_round == RoundCosts().per_call == 0.0
    assert spare_of(RoundCosts(), 10).seconds == 0.0


def test_both_parts_are_found_from_rounds_of_different_size() -> None:
    costs = RoundCosts()
    for calls in (1, 100, 10, 1_000, 3):
        costs = costs.after(calls, 5e-4 + calls * 2e-6)
    assert costs.per_round == pytest.approx(5e-4)
    assert costs.per_call == pytest.approx(2e-6)
    assert spare_of(costs, 10).seconds == pytest.approx(5e-5)


def test_rounds_of_one_size_count_as_fixed() -> None:
    costs = RoundCosts()
    for _ in range(5):
        costs = costs.after(1, 4e-4)
    assert costs.per_call == 0.0
    assert costs.per_round == pytest.approx(4e-4)


def test_a_round_that_was_held_up_is_not_believed() -> None:
    assert RoundCosts().after(1, 3.0).per_round <= 2e-3
    assert RoundCosts().after(1, -1.0).per_round == 0.0


def test_old_rounds_are_forgotten() -> None:
    costs = RoundCosts()
    for _ in range(200):
        costs = costs.after(1, 1e-3)
    for _ in range(200):
        costs = costs.after(1, 2e-4)
    assert costs.per_round == pytest.approx(2e-4, rel=0.01)
