"""The model finds the coefficients that made its points."""

from __future__ import annotations

import pytest

from tamis.sizing.model import Model, fit


def test_the_model_that_made_points_is_found() -> None:
    made = Model(2.0, 0.01, 0.6, 0.05)
    points = [
        (float(size), matches, made.microseconds(size, matches))
        for size in (10_000, 100_000, 1_000_000)
        for matches in (1.0, 20.0, 400.0)
    ]
    found = fit(points)
    assert found.c == pytest.approx(0.6)
    assert (found.a, found.b, found.d) == pytest.approx((2.0, 0.01, 0.05), rel=1e-3)
    assert max(map(abs, found.residuals)) < 1e-6
    assert found.microseconds(1e8, 10) == pytest.approx(made.microseconds(1e8, 10), rel=1e-3)


def test_nothing_in_the_model_is_negative() -> None:
    found = fit([(100.0, 5.0, 10.0), (1_000.0, 4.0, 9.0), (10_000.0, 3.0, 8.0), (100_000.0, 2.0, 7.0)])
    assert min(found.a, found.b, found.d) >= 0
