"""Where pruning stops on costs that are known, and that it moves when they do."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tamis.lab.bittner.measures import ACCURACY
from tamis.lab.bittner.pruning import Pruner
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.routing.cutoff import CutOff, Decision
from tests.routing.drawing import random_formula

CURVE = [15.0, 12.0, 10.0, 8.5, 7.5, 7.0, 7.2, 8.0, 11.0, 16.0]
"""Cost by steps of pruning: filtering falls, false positives rise."""


def search(cutoff: CutOff, curve: Sequence[float], most: int = 1_000) -> list[Decision]:
    """Measure until it is settled; gives the decisions."""
    found: list[Decision] = []
    while not cutoff.settled:
        found.append(cutoff.observe(curve[cutoff.step]))
        assert len(found) < most
    return found


def test_it_goes_on_as_long_as_that_pays_and_then_back() -> None:
    cutoff = CutOff(highest=9)
    assert search(cutoff, CURVE) == ["go on"] * 6 + ["step back"]
    assert cutoff.step == 5
    assert cutoff.observe(CURVE[5]) == "stop"


def test_each_step_is_measured_so_many_times() -> None:
    cutoff = CutOff(rounds=3)
    assert [cutoff.observe(cost) for cost in (15, 30, 0)] == ["measure", "measure", "go on"]


def test_with_patience_it_gets_over_a_bump() -> None:
    curve = [10.0, 8.0, 8.5, 8.3, 5.0, 6.0, 7.0, 8.0]
    for patience, expected in ((1, 1), (2, 1), (3, 4)):
        cutoff = CutOff(patience=patience)
        search(cutoff, curve)
        assert cutoff.step == expected


def test_where_pruning_never_pays_nothing_is_pruned() -> None:
    cutoff = CutOff()
    assert search(cutoff, [1.0, 2.0, 3.0]) == ["go on", "step back"]
    assert cutoff.step == 0


def test_a_gain_too_small_is_none() -> None:
    cutoff = CutOff(gain=0.1)
    search(cutoff, [10.0, 9.5, 9.4])
    assert cutoff.step == 0


def test_it_stops_where_nothing_is_left_to_prune() -> None:
    cutoff = CutOff(highest=3)
    assert search(cutoff, CURVE) == ["go on", "go on", "go on", "stop"]
    assert cutoff.step == 3


def test_it_is_told_that_nothing_is_left() -> None:
    cutoff = CutOff()
    for _ in range(3):
        cutoff.observe(CURVE[cutoff.step])
    assert cutoff.step == 3
    cutoff.exhaust(2)
    assert (cutoff.step, cutoff.settled) == (2, True)


@pytest.mark.parametrize("best", range(8))
def test_when_costs_drift_it_finds_the_new_best_on_either_side(best: int) -> None:
    cutoff = CutOff(highest=7)
    search(cutoff, [10.0 + abs(step - 4) for step in range(8)])
    assert cutoff.step == 4
    drifted = [20.0 + abs(step - best) for step in range(8)]
    cutoff.observe(drifted[4])
    search(cutoff, drifted)
    assert cutoff.step == best


def test_small_changes_of_the_cost_do_not_matter() -> None:
    cutoff = CutOff(drift=0.25)
    search(cutoff, CURVE)
    assert [cutoff.observe(cost) for cost in (6.0, 8.0, 7.0)] == ["stop"] * 3
    assert cutoff.settled
    assert cutoff.observe(9.0) == "go on"


def test_it_looks_again_when_many_entries_have_changed() -> None:
    cutoff = CutOff(threshold=10, highest=9)
    search(cutoff, CURVE)
    cutoff.change(9)
    assert cutoff.settled
    cutoff.change()
    assert not cutoff.settled
    search(cutoff, CURVE)
    assert cutoff.step == 5


def test_with_noise_it_ends_near_the_best() -> None:
    ends = []
    for seed in range(30):
        random_ = random.Random(seed)
        cutoff = CutOff(rounds=20, patience=2, highest=9)
        while not cutoff.settled:
            cutoff.observe(CURVE[cutoff.step] * random_.lognormvariate(0.0, 0.2))
        ends.append(cutoff.step)
    assert sum(3 <= end <= 7 for end in ends) >= 27


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="found 0, 1 and"):
        CutOff(rounds=0)


def test_it_drives_a_table() -> None:
    random_ = random.Random(0)
    pruner = Pruner(ACCURACY, SelectivityTable())
    for number in range(20):
        pruner.register(number, random_formula(random_))
    cutoff, done = CutOff(), 0
    while not cutoff.settled:
        cost = pruner.totals.bytes + 2 * max(0, pruner.totals.prunings - 25) ** 2
        cutoff.observe(cost)
        if cutoff.step > done:
            assert pruner.prune(count=5)
        else:
            pruner.undo(5 * (done - cutoff.step))
        done = cutoff.step
        assert pruner.totals.prunings == 5 * done
    assert 0 < pruner.totals.removed_share < 1
