"""Response times and what an order gains, against counting it all out."""

from __future__ import annotations

import math
import random
from itertools import permutations

import numpy as np
import pytest

from tamis.schedule.response import Response, gain, gini, most_gain, response_times, shortest_first


def naive_times(work: list[int], order: list[int]) -> list[int]:
    clock, times = 0, [0] * len(work)
    for row in order:
        clock += work[row]
        times[row] = clock
    return times


def works(seed: int, most: int) -> list[int]:
    random_ = random.Random(seed)
    return [random_.choice((0, 1, 1, 2, 5, 30)) for _ in range(random_.randint(2, most))]


@pytest.mark.parametrize("seed", range(10))
def test_times_are_those_of_working_one_event_off_after_the_other(seed: int) -> None:
    work = works(seed, 12)
    order = shortest_first(np.array(work))
    assert response_times(work, order).tolist() == naive_times(work, order.tolist())
    assert response_times(work).tolist() == naive_times(work, list(range(len(work))))


def test_equal_estimates_keep_the_order_of_arrival() -> None:
    assert shortest_first(np.array([3, 1, 3, 1, 0])).tolist() == [4, 1, 3, 0, 2]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_beats_shortest_first_and_it_gains_the_bound_over_the_average_order(seed: int) -> None:
    work = [each + 1 for each in works(seed, 6)]
    every = [sum(naive_times(work, list(order))) for order in permutations(range(len(work)))]
    best = response_times(work, shortest_first(np.array(work))).sum()
    assert best == min(every)
    assert most_gain(work) == pytest.approx(1 - best / (sum(every) / len(every)))


@pytest.mark.parametrize("seed", range(10))
def test_gini_is_half_the_mean_difference_of_two_events_over_the_mean(seed: int) -> None:
    work = [each + 1 for each in works(seed, 20)]
    count = len(work)
    differences = [abs(a - b) for i, a in enumerate(work) for j, b in enumerate(work) if i != j]
    expected = sum(differences) / (count * (count - 1)) / 2 / (sum(work) / count)
    assert gini(work) == pytest.approx(expected)


def test_gini_at_its_ends() -> None:
    assert gini([4, 4, 4]) == 0
    assert gini([0, 0, 7, 0]) == pytest.approx(1)
    assert (gini([]), gini([3]), gini([0, 0])) == (0, 0, 0)
    assert (most_gain([]), most_gain([3])) == (0, 0)


def test_the_gain_over_an_arrival() -> None:
    work = [30, 1, 1]
    order = shortest_first(np.array(work))
    assert gain(work, order) == pytest.approx(1 - (1 + 2 + 32) / (30 + 31 + 32))
    assert gain(work, order) > most_gain(work), "this arrival is the worst there is"
    assert gain([0, 0], np.array([1, 0])) == 0


@pytest.mark.parametrize("count", [1, 2, 7, 99, 100, 101, 1000])
def test_percentiles_are_by_nearest_rank(count: int) -> None:
    random_ = random.Random(count)
    times = [random_.random() for _ in range(count)]
    found = Response.of(times)
    ordered = sorted(times)
    ranks = [ordered[math.ceil(count * percent / 100) - 1] for percent in (50, 90, 99)]
    assert [found.p50, found.p90, found.p99, found.most] == [*ranks, ordered[-1]]
    assert found.events == count
    assert found.mean == pytest.approx(sum(times) / count)


@pytest.mark.parametrize("seed", range(10))
def test_a_part_counts_as_often_as_it_has_events(seed: int) -> None:
    random_ = random.Random(seed)
    parts = [(random_.random(), random_.randrange(5)) for _ in range(seed)]
    times, counts = [time for time, _ in parts], [count for _, count in parts]
    each = Response.of([time for time, count in parts for _ in range(count)])
    found = Response.of(times, counts)
    assert found.mean == pytest.approx(each.mean)
    assert (found.events, found.p50, found.p90, found.p99, found.most) == (
        (each.events, each.p50, each.p90, each.p99, each.most)
    )


def test_of_nothing() -> None:
    assert Response.of([]) == Response() == Response.of([1.0, 2.0], [0, 0])
    assert Response.of([3.0], [2]) == Response(2, 3.0, 3.0, 3.0, 3.0, 3.0)
