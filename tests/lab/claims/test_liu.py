"""Rows on calls that are theorems or properties hold on every instance."""

from __future__ import annotations

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.liu import LIU


@pytest.mark.parametrize("id_", ["L1", "L2", "L3"])
@pytest.mark.parametrize("seed", [1, 2])
def test_theorems_and_properties_hold(id_: str, seed: int) -> None:
    assert LIU.rows[id_].measure(Bench("smallest", seed)).direction == "holds"


def test_the_bound_lies_below_every_strategy() -> None:
    figures = {each.what: each.ours[0] for each in LIU.rows["L5"].measure(Bench("smallest")).figures}
    bound = figures["no strategy can do with less than"]
    assert bound <= figures["sub-order"] and bound <= figures["sequential"]
    assert figures["ours over the bound"] >= 1
