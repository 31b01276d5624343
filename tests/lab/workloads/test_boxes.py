from __future__ import annotations

import re

import numpy as np
import pytest

from tamis.arrays import I64
from tamis.lab.workloads import WorkloadError, generate
from tamis.lab.workloads.boxes import BoxArrays, arrays
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS

SIDE = re.compile(r"a(\d+) BETWEEN (\S+) AND (\S+)")
SURE = 5.0
"""Standard errors that a mean may be off."""


def hits(found: BoxArrays) -> I64:
    """In how many boxes each point is."""
    counts = np.empty(len(found.points), np.int64)
    for number, point in enumerate(found.points):
        inside = np.arange(len(found.lows))
        for lows, highs, place in zip(found.lows.T, found.highs.T, point, strict=True):
            inside = inside[(lows[inside] <= place) & (place <= highs[inside])]
        counts[number] = len(inside)
    return counts


def gini(work: I64) -> float:
    """Unbiased: the mean difference of two, as a share of twice the mean."""
    count, ordered = len(work), np.sort(work)
    return float((2 * np.arange(1, count + 1) - count - 1) @ ordered / (count * (count - 1) * work.mean()))


@pytest.mark.parametrize("skew", [0.0, 0.3])
def test_sides_have_the_width_and_lie_within_the_domain(skew: float) -> None:
    found = arrays(subscriptions=2_000, events=0, seed=5, skew=skew)
    widths = found.highs - found.lows
    assert found.lows.shape == found.highs.shape == (2_000, 12)
    assert (found.lows.min() >= 0, found.highs.max() <= 1) == (True, True)
    assert (round(widths.min(), 3), round(widths.max(), 3)) == (0.1, 0.6)
    assert abs(widths.mean() - 0.35) < SURE * np.sqrt(0.5**2 / 12 / widths.size)


def test_places_and_points_are_uniform_without_skew() -> None:
    found = arrays(subscriptions=400, events=400, seed=5, width=0.2)
    for places in (found.lows / 0.8, found.points):
        counts = np.histogram(places, 8, (0, 1))[0]
        assert np.all(np.abs(counts / 4_800 - 1 / 8) < SURE * np.sqrt(7 / 64 / 4_800))


@pytest.mark.parametrize("skew", [0.0, 0.4])
@pytest.mark.parametrize("sizes", [(300, 70), (BLOCK_CONDITIONS + 3, BLOCK_EVENTS + 2)])
def test_arrays_are_what_conditions_and_events_say(skew: float, sizes: tuple[int, int]) -> None:
    subscriptions, events = sizes
    found = arrays(subscriptions=subscriptions, events=events, seed=2, attributes=3, skew=skew)
    data = generate("boxes", subscriptions=subscriptions, events=events, seed=2, attributes=3, skew=skew)
    sides = [SIDE.findall(condition) for condition in data.conditions.to_pylist()]
    assert all([name for name, _, _ in each] == ["0", "1", "2"] for each in sides)
    assert np.array_equal(found.lows, [[float(low) for _, low, _ in each] for each in sides])
    assert np.array_equal(found.highs, [[float(high) for _, _, high in each] for each in sides])
    assert np.array_equal(found.points.T, [data.events[f"a{number}"].to_numpy() for number in range(3)])


def test_nothing_at_all() -> None:
    found = arrays(subscriptions=0, events=0)
    assert [each.shape for each in found] == [(0, 12)] * 3


def test_matches_are_as_many_as_widths_say() -> None:
    found = arrays(subscriptions=20_000, events=200, seed=2, attributes=4)
    inside = np.array(
        [((found.lows <= point) & (point <= found.highs)).all(axis=1) for point in found.points]
    )  # [events, subscriptions]
    error = np.sqrt(inside.mean(axis=0).var() / 20_000 + inside.mean(axis=1).var() / 200)
    assert error < 0.08 * 0.35**4
    assert abs(inside.mean() - 0.35**4) < SURE * error


def test_skew_lets_some_events_have_many_more_matches() -> None:
    plain, skewed = (
        hits(arrays(subscriptions=10_000, events=200, seed=4, attributes=8, skew=skew)) for skew in (0.0, 0.2)
    )
    assert np.sort(skewed)[-20:].mean() > 2 * np.sort(plain)[-20:].mean()


def bounds_met(found: BoxArrays) -> I64:
    """How many packs of boxes each point may be in: the work of a tree that has them as leaves."""
    centres, packs = found.lows + found.highs, [(np.arange(len(found.lows)), 0)]
    lows, highs = [], []
    while packs:
        pack, axis = packs.pop()
        if len(pack) <= 16:
            lows.append(found.lows[pack].min(axis=0))
            highs.append(found.highs[pack].max(axis=0))
            continue
        half = len(pack) // 2
        ordered = pack[np.argpartition(centres[pack, axis], half)]
        packs += [(part, (axis + 1) % centres.shape[1]) for part in (ordered[:half], ordered[half:])]
    return hits(BoxArrays(np.array(lows), np.array(highs), found.points))


@pytest.mark.slow
def test_skew_makes_the_work_of_events_differ_more() -> None:
    # It depends on where spots are, so that single seeds may differ little.
    plain, skewed = (
        np.array(
            [
                gini(bounds_met(arrays(subscriptions=50_000, events=256, seed=seed, skew=skew)))
                for seed in range(1, 7)
            ]
        )
        for skew in (0.0, 0.2)
    )
    gain = skewed - plain
    assert gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain))
    assert skewed.mean() > 0.7


def test_skew_does_not_matter_to_events_elsewhere() -> None:
    plain = arrays(subscriptions=0, events=400, seed=4, attributes=4)
    skewed = arrays(subscriptions=20_000, events=0, seed=4, attributes=4, skew=0.3)
    inside = hits(skewed._replace(points=plain.points)) / 20_000
    assert abs(inside.mean() - 0.35**4) < SURE * inside.std() / 20


def test_so_many_events_are_close_to_few_spots() -> None:
    found = arrays(subscriptions=0, events=500, seed=4, skew=0.3, spots=3)
    # Two points close to one spot differ by 0.04 at most; in 12 dimensions no others do.
    near = np.array([np.abs(found.points - point).max(axis=1) <= 0.04 for point in found.points])
    close = near.sum(axis=1) > 1
    assert abs(close.mean() - 0.3) < SURE * np.sqrt(0.3 * 0.7 / 500)
    assert len(np.unique(near[close], axis=0)) == 3
    assert np.abs(found.points[close] - 0.5).max() <= 0.32


def test_some_spots_have_more_boxes_than_others() -> None:
    found = arrays(subscriptions=5_000, events=100, seed=5, skew=1.0, spots=2, attributes=1, width=0.04)
    # With this seed the first spot is above the middle of the domain, and the other one below.
    above, points_above = found.lows > 0.5, found.points > 0.5
    assert abs(above.mean() - 2 / 3) < SURE * np.sqrt(2 / 9 / 5_000)
    assert abs(points_above.mean() - 1 / 2) < SURE * np.sqrt(1 / 4 / 100)
    assert np.ptp(found.lows[above]) <= 0.04
    assert np.ptp(found.lows[~above]) <= 0.04


def test_the_arguments_are_checked() -> None:
    with pytest.raises(WorkloadError, match="workload boxes: subscriptions: expected a whole number"):
        arrays(subscriptions=-1, events=1)
    with pytest.raises(WorkloadError, match="workload boxes: there is no parameter 'widht'; did you mean width"):
        arrays(subscriptions=1, events=1, widht=0.3)


def test_a_seed_gives_the_same_arrays_and_another_does_not() -> None:
    one, again, other = (arrays(subscriptions=10, events=10, seed=seed, skew=0.5) for seed in (1, 1, 2))
    assert all(np.array_equal(*pair) for pair in zip(one, again, strict=True))
    assert not any(np.array_equal(*pair) for pair in zip(one, other, strict=True))
