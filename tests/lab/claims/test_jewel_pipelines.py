"""Rows on pipelines compare pairs before they time anything, and say what bounds a pipeline."""

from __future__ import annotations

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.jewel_pipelines import JEWEL


@pytest.mark.slow
def test_shares_and_times() -> None:
    bench = Bench("smallest")
    found = {each.what: each.ours for id_ in ("J36", "J37") for each in JEWEL.rows[id_].measure(bench).figures}
    assert 0 < found["share of visits on the busiest level"][0] <= 1
    assert 0 < found["share of phase 1"][0] < 1
    assert all(value > 0 for values in found.values() for value in values)
