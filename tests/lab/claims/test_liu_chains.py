"""Rows on chains: properties hold on every instance, and costs are in the order that the paper says."""

from __future__ import annotations

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.registry import PAPERS

LIU = PAPERS["liu"]


@pytest.mark.parametrize("id_", ["L14", "L15"])
@pytest.mark.parametrize("seed", [1, 2])
def test_properties_hold(id_: str, seed: int) -> None:
    assert LIU.rows[id_].measure(Bench("smallest", seed)).direction == "holds"


def test_the_printed_gain_is_wrong_and_the_corrected_one_exact() -> None:
    found = {each.what: each.ours[0] for each in LIU.rows["L13"].measure(Bench("smallest")).figures}
    assert found["costs of 1: greatest error, corrected"] < 1e-9
    assert found["costs from 1 to 100: share wrong as printed, one link"] > 0


def test_greedy_costs_less_than_pricing_and_pricing_less_than_sequential() -> None:
    row = LIU.rows["L18"].measure(Bench("smallest"))
    figures = {each.what: each.ours[0] for each in row.figures}
    for title in ("80, 40, uniform", "80, 40, zipf"):
        assert figures[f"{title}: greedy, cost of an event"] > 0
        assert 1 < figures[f"{title}: pricing"] < figures[f"{title}: sequential"]


def test_chains_placed_as_they_come_cost_about_as_much_as_an_order_of_all() -> None:
    figures = {each.what: each.ours[0] for each in LIU.rows["L19"].measure(Bench("smallest")).figures}
    for title in ("uniform", "zipf"):
        assert 0.9 < figures[f"{title}: cost, placed / scored"] < 1.1
