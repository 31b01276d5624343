"""Costs over all outcomes are those that one counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.lab.claims.exact_costs import all_orders, expected_cost, expected_costs, least_cost, outcomes_of
from tamis.lab.liu.chains import chains_of

# Two chains of a predicate of their own and one that both share; all hold in half of the cases.
CHAINS = chains_of(np.array([0, 2, 4]), np.array([0, 2, 1, 2]), np.full(3, 0.5), sort=False)


def test_outcomes_are_the_bits_of_a_number() -> None:
    assert outcomes_of(0b101, 3).tolist() == [True, False, True]
    assert all_orders(3).shape == (6, 3)


def test_the_expected_cost_is_the_mean_over_all_outcomes() -> None:
    # The first chain takes 1.5 calls. It leaves the second undecided unless its second predicate was false.
    assert expected_cost(CHAINS, np.array([0, 1])) == pytest.approx(1.5 + 0.75 + 0.25)
    assert expected_costs(CHAINS, all_orders(2)) == pytest.approx([2.5, 2.5])


def test_the_least_cost_is_that_of_one_who_knows() -> None:
    assert least_cost(CHAINS, 0b000) == 1  # the shared predicate decides both
    assert least_cost(CHAINS, 0b111) == 3
    assert least_cost(CHAINS, 0b100) == 2
