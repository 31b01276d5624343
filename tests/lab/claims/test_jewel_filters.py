"""Rows on the filters of the expression graph that are properties hold at any size."""

from __future__ import annotations

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.jewel_filters import JEWEL


@pytest.mark.parametrize("id_", ["J33", "J34", "J35"])
def test_properties_hold(id_: str) -> None:
    assert JEWEL.rows[id_].measure(Bench("smallest", 3)).direction == "holds"
