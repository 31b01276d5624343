"""Full pruning leaves what a formula cannot lose, whatever is pruned first."""

from __future__ import annotations

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner_pruning import BITTNER


def test_full_pruning_leaves_the_same_table_whatever_the_measure() -> None:
    outcome = BITTNER.rows["B29"].measure(Bench("smallest"))
    assert (outcome.direction, outcome.agreement) == ("holds", "agrees")
    assert len({each.ours for each in outcome.figures}) == 1
