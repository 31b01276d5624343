"""Selectivities by a sample of values."""

from __future__ import annotations

import numpy as np

from tamis.selectivity.priors import MIN_SAMPLE
from tamis.selectivity.sampling import fractions_below, fractions_inside, has_sample
from tamis.statistics import AttributeStatistics


def test_fractions_below_rise_and_are_never_0_or_1() -> None:
    found = fractions_below(np.array([5, 5, 6]), np.array([0, 5, 6, 9]))
    assert (found > 0).all()
    assert (found < 1).all()
    assert (np.diff(found) > 0).all()


def test_without_a_sample_cuts_are_at_even_distances() -> None:
    np.testing.assert_allclose(fractions_below(np.empty(0, np.int64), np.array([3, 70, 71])), [0.25, 0.5, 0.75])


def test_fractions_inside_are_never_0_or_1() -> None:
    np.testing.assert_allclose(fractions_inside(np.array([0, 1, 2]), 2), [1 / 6, 0.5, 5 / 6])


def test_a_small_sample_says_nothing() -> None:
    assert not has_sample(None)
    assert not has_sample(AttributeStatistics(20, 20, list(range(MIN_SAMPLE - 1))))
    assert has_sample(AttributeStatistics(20, 20, list(range(MIN_SAMPLE))))
