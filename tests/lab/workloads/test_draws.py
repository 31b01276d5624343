from __future__ import annotations

import numpy as np
import pytest

from tamis.lab.workloads.draws import Dice, Draws, cumulate, zipf


def draws(
    seed: int = 1, name: str = "family", part: str = "conditions", block: int = 0, rows: int = 2_000
) -> Draws:
    return Draws(seed, name, part, block, rows)


def test_a_stream_repeats() -> None:
    assert np.array_equal(draws().uniform(3), draws().uniform(3))


@pytest.mark.parametrize("other", [{"seed": 2}, {"name": "other"}, {"part": "events"}, {"block": 1}])
def test_streams_differ_by_seed_family_part_and_block(other: dict[str, int]) -> None:
    assert not np.array_equal(draws().uniform(), draws(**other).uniform())  # type: ignore[arg-type]


def test_a_stream_knows_its_block() -> None:
    assert (draws(block=3).block, draws(rows=7).rows) == (3, 7)


def test_numbers_are_those_of_pcg64_for_ever() -> None:
    assert draws(rows=2).uniform().tolist() == [0.21647230341293455, 0.2702502623987353]


def test_below_gives_every_number_equally_often() -> None:
    counts = np.bincount(draws(rows=6_000).below(6))
    assert counts.sum() == 6_000
    assert np.all(np.abs(counts - 1_000) < 150)


def test_below_takes_a_bound_of_each_row() -> None:
    bounds = np.arange(1, 2_001)
    assert np.all(draws().below(bounds) < bounds)


def test_pick_follows_the_shares() -> None:
    counts = np.bincount(draws(rows=10_000).pick(cumulate([1, 0, 3])), minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] / 10_000 - 0.75) < 0.02


def test_cumulated_ends_in_one_even_if_the_last_weights_are_nothing() -> None:
    assert cumulate([1, 1, 0]).tolist() == [0.5, 1.0, 1.0]


def test_subset_is_of_different_numbers_all_equally_likely() -> None:
    chosen = draws().subset(10, 4)
    assert all(len(set(row)) == 4 for row in chosen.tolist())
    assert np.all(np.abs(np.bincount(chosen.ravel(), minlength=10) - 800) < 120)


def test_subset_of_everything_is_a_permutation() -> None:
    assert all(sorted(row) == list(range(5)) for row in draws(rows=50).subset(5, 5).tolist())


def test_different_draws_without_repetition_the_popular_first() -> None:
    chosen = draws().different(zipf(50, 1.0), 6)
    assert all(len(set(row)) == 6 for row in chosen.tolist())
    counts = np.bincount(chosen.ravel(), minlength=50)
    assert counts[0] > counts[5] > counts[20] > 0
    assert abs(np.mean(chosen[:, 0] == 0) - zipf(50, 1.0)[0]) < 0.03


def test_different_draws_beside_those_that_are_given() -> None:
    beside = draws(part="beside").different(zipf(50, 1.0), 4)
    chosen = draws().different(zipf(50, 1.0), 3, beside)
    assert chosen.shape == (2_000, 3)
    assert all(len(set(row)) == 7 for row in np.hstack([beside, chosen]).tolist())


def test_zipf_shares() -> None:
    assert np.allclose(np.diff(zipf(4, 1.0), prepend=0), np.array([1, 1 / 2, 1 / 3, 1 / 4]) / (25 / 12))


def test_dice_give_one_number_after_the_other() -> None:
    dice, again = (Dice(3, "family", "part") for _ in range(2))
    numbers = [dice.between(2, 4) for _ in range(10_000)]
    assert set(numbers) == {2, 3, 4}
    assert numbers == [again.between(2, 4) for _ in range(10_000)]
    assert sum(dice.bernoulli(0.3) for _ in range(5_000)) == pytest.approx(1_500, abs=150)
    assert {dice.pick(cumulate([0, 1, 0])) for _ in range(100)} == {1}
