from __future__ import annotations

import numpy as np
import pytest

from tamis.lab.workloads.draws import BLOCK_CONDITIONS, Draws
from tamis.lab.workloads.jewel_values import Operands

LIMITS = (1, 2_000_000)


def drawn(operands: Operands, series: int, rows: int = BLOCK_CONDITIONS) -> np.ndarray:
    return operands.draw(Draws(1, "jewel", "test", series, rows), series, 2)


def test_operands_differ_within_a_series_and_between_series() -> None:
    operands = Operands.of(LIMITS, 0.0)
    column = np.concatenate(
        [drawn(operands, series)[:, 1] for series in range(20)] + [drawn(operands, 20, 500)[:, 1]]
    )
    assert len(np.unique(column)) == len(column)
    assert column.min() >= 1
    assert column.max() <= 2_000_000


def test_operands_are_uniform_and_independent() -> None:
    found = drawn(Operands.of(LIMITS, 0.0), 3)
    for column in found.T:
        assert np.all(np.abs(np.histogram(column, 8, LIMITS)[0] - BLOCK_CONDITIONS / 8) <= 2)
    assert abs(np.corrcoef(found.T)[0, 1]) < 0.03
    assert abs(np.corrcoef(found[:-1, 0], found[1:, 0])[0, 1]) < 0.03


@pytest.mark.parametrize("skew", [0.5, 1.0])
def test_skewed_operands_follow_zipf(skew: float) -> None:
    values, counts = np.unique(drawn(Operands.of((1, 1_000), skew), 0), return_counts=True)
    weights = np.arange(1, 1_001) ** -skew
    expected = 2 * BLOCK_CONDITIONS * weights / weights.sum()
    assert np.allclose(np.sort(counts)[::-1][:5], expected[:5], rtol=0.15)
    assert values.min() >= 1
    assert values.max() <= 1_000


@pytest.mark.parametrize("skew", [0.0, 1.0])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.93])
def test_values_exceed_the_mean_share_of_operands(skew: float, level: float) -> None:
    operands = Operands.of(LIMITS, skew)
    values = operands.values_at(Draws(2, "jewel", "test", 0, 2_000).uniform(4), level)
    assert values.min() >= 1
    assert values.max() <= 2_000_000
    (expected,) = operands.mean_below(np.array([level]))
    if not skew:
        assert expected == pytest.approx(level, abs=1e-3)
    below = np.searchsorted(np.sort(drawn(operands, 0).ravel()), values) / (2 * BLOCK_CONDITIONS)
    assert below.mean() == pytest.approx(expected, abs=0.015)


def test_few_values_repeat() -> None:
    found = drawn(Operands.of((5, 7), 0.0), 4)
    assert np.all(np.abs(np.bincount(found[:, 0])[5:] - BLOCK_CONDITIONS / 3) <= 1)
