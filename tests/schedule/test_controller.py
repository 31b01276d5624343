"""The knob that turns itself: where it ends, on curves that are known."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from tamis.schedule.controller import Controller, Controllers, bucket

CURVE = {1: 1.0, 2: 0.987, 3: 0.941, 4: 0.798, 5: 0.773, 6: 0.940}
"""Mean response times of eight events by the level of an R-tree of height 6, flat near the root."""
NOISE = 0.27
"""How much batches differ, as the deviation of the logarithm of their costs."""


def serve(knob: Controller, curve: Mapping[int, float], most: int = 10_000) -> list[int]:
    """Serve batches until the knob is settled; gives the levels that they were served at."""
    served: list[int] = []
    while not knob.settled:
        served.append(knob.level)
        knob.observe(served[-1], curve[served[-1]])
        assert len(served) < most
    return served


def share_at_best(rounds: int, start: int, runs: int = 60) -> float:
    """The share of runs that end at the best level, when batches differ."""
    hits = 0
    for seed in range(runs):
        random_ = random.Random(seed)
        knob = Controller(1, 6, rounds=rounds, start=start)
        while not knob.settled:
            level = knob.level
            knob.observe(level, CURVE[level] * random_.lognormvariate(0.0, NOISE))
        hits += knob.current == 5
    return hits / runs


@pytest.mark.parametrize("start", range(1, 7))
def test_without_noise_it_ends_at_the_best_level_from_anywhere(start: int) -> None:
    knob = Controller(1, 6, rounds=2, start=start)
    serve(knob, CURVE)
    assert knob.current == 5


def test_it_starts_one_below_the_highest() -> None:
    assert Controller(1, 6).current == 5
    assert Controller(3, 3).current == 3


def test_levels_are_served_in_turn_current_first() -> None:
    knob = Controller(1, 6, rounds=2)
    assert serve(knob, CURVE) == [5, 4, 6, 5, 4, 6]


def test_it_moves_by_one_level_a_loop() -> None:
    knob = Controller(1, 6, rounds=1, start=3)
    assert serve(knob, CURVE) == [3, 2, 4, 4, 3, 5, 5, 4, 6]
    assert knob.loops == 3


@pytest.mark.parametrize("best", [1, 6])
def test_at_a_bound_the_missing_neighbour_does_not_count(best: int) -> None:
    knob = Controller(1, 6, rounds=3)
    served = serve(knob, {level: abs(level - best) for level in range(1, 7)})
    assert knob.current == best
    assert len(served[-6:]) == 6
    assert set(served[-6:]) == {best, best + (1 if best == 1 else -1)}


def test_equal_costs_mean_staying() -> None:
    knob = Controller(1, 6, rounds=1, start=4)
    serve(knob, dict.fromkeys(range(1, 7), 1.0))
    assert (knob.current, knob.loops) == (4, 1)


def test_of_equal_better_neighbours_the_lower_is_taken() -> None:
    knob = Controller(1, 6, rounds=1, start=4)
    for level, cost in ((4, 2.0), (3, 1.0), (5, 1.0)):
        assert knob.level == level
        knob.observe(level, cost)
    assert (knob.current, knob.settled) == (3, False)


def test_of_different_better_neighbours_the_cheaper_is_taken() -> None:
    knob = Controller(1, 6, rounds=1, start=4)
    for level, cost in ((4, 3.0), (3, 2.0), (5, 1.0)):
        knob.observe(level, cost)
    assert (knob.current, knob.settled) == (5, False)


def test_ping_pong_ends_with_the_best_mean_seen() -> None:
    """The current level is dear whichever it is, and 2 is least dear: only the cap of the loops ends that."""
    knob = Controller(1, 3, rounds=1, start=2)
    served = 0
    while not knob.settled:
        level = knob.level
        knob.observe(level, (10.0 if level == knob.current else 1.0) - (8.0 if level == 2 else 0.0))
        served += 1
    assert knob.loops == 6
    assert knob.current == 2
    assert served <= 3 * 6


def test_one_level_is_settled_from_the_start() -> None:
    knob = Controller(2, 2)
    assert (knob.settled, knob.level) == (True, 2)
    knob.update(10**9)
    assert knob.settled


def test_updates_unsettle_it_from_the_threshold_on() -> None:
    knob = Controller(1, 6, rounds=1, threshold=10)
    knob.update(100)  # it is not settled: these belong to what it is finding out
    serve(knob, CURVE)
    knob.update(9)
    assert knob.settled
    knob.update()
    assert not knob.settled
    serve(knob, {level: abs(level - 2) for level in range(1, 7)})
    assert knob.current == 2
    knob.update(9)
    assert knob.settled


def test_settled_costs_do_not_matter() -> None:
    knob = Controller(1, 6, rounds=1)
    serve(knob, CURVE)
    knob.observe(5, 1e9)
    assert (knob.settled, knob.current) == (True, 5)


def test_costs_of_other_levels_do_not_count() -> None:
    """A batch that was served before the last loop ended, by another thread."""
    knob = Controller(1, 6, rounds=1, start=2)
    knob.observe(6, 0.0)
    assert serve(knob, CURVE)[:3] == [2, 1, 3]


def test_batches_at_the_same_time_may_share_a_level() -> None:
    knob = Controller(1, 6, rounds=1)
    assert (knob.level, knob.level) == (5, 5)
    knob.observe(5, 0.7)
    knob.observe(5, 0.9)
    knob.observe(4, 1.0)
    knob.observe(6, 1.0)
    assert (knob.settled, knob.current) == (True, 5)


@pytest.mark.parametrize(("highest", "current"), [(3, 3), (8, 5)])
def test_another_height_clamps_and_begins_again(highest: int, current: int) -> None:
    knob = Controller(1, 6, rounds=1)
    serve(knob, CURVE)
    knob.resize(1, highest)
    assert (knob.current, knob.settled, knob.loops) == (current, False, 0)
    assert max(serve(knob, {level: -level for level in range(1, 9)})) <= highest
    assert knob.current == highest


def test_the_same_height_changes_nothing() -> None:
    knob = Controller(1, 6, rounds=1)
    serve(knob, CURVE)
    knob.resize(1, 6)
    assert knob.settled


@pytest.mark.slow
def test_more_rounds_find_the_best_level_more_often_and_a_start_near_it_helps() -> None:
    few, many = ({start: share_at_best(rounds, start) for start in (6, 5, 3, 1)} for rounds in (4, 64))
    assert all(many[start] > few[start] for start in few)
    assert many[5] > 0.85
    assert many[6] > many[3] > many[1]
    assert few[6] > few[3] > few[1]


@pytest.mark.parametrize(("lowest", "highest", "settings"), [(2, 1, {}), (1, 2, {"rounds": 0})])
def test_what_it_refuses(lowest: int, highest: int, settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Controller(lowest, highest, **settings)


def test_batches_are_classed_by_powers_of_two() -> None:
    assert [bucket(events) for events in (0, 1, 2, 3, 4, 5, 8, 9, 1024, 1025)] == [0, 0, 1, 2, 2, 3, 3, 4, 10, 11]


def test_each_class_has_its_own_controller_and_updates_are_for_all() -> None:
    knobs = Controllers(lambda at: Controller(0, at, rounds=1, threshold=5))
    assert knobs.of(5) is knobs.of(8)
    assert knobs.of(8) is not knobs.of(9)
    best_low = {level: float(level) for level in range(10)}
    serve(knobs.of(8), best_low)
    serve(knobs.of(100), {level: -cost for level, cost in best_low.items()})
    assert knobs.currents() == {3: 0, 4: 3, 7: 7}
    knobs.update(5)
    assert not knobs.of(8).settled
    assert not knobs.of(100).settled
    knobs.resize(0, 2)
    assert knobs.currents() == {3: 0, 4: 2, 7: 2}
