"""Steps are counted, the sum that made them is found, and a table finds what lists find."""

from __future__ import annotations

import pytest

from tamis.lab.claims.bucket_steps import Counted, count_steps, fit_steps, table_against_links


def test_the_sum_that_made_steps_is_found() -> None:
    counted = [
        Counted(2**ranges, found, 2**values, 3.0 + 2.0 * found + 1.5 * ranges)
        for ranges in (10, 17)
        for found in (4.0, 60.0)
        for values in (20, 40)
    ]
    fit = fit_steps(counted)
    assert fit[:3] == pytest.approx((3.0, 2.0, 1.5))
    assert abs(fit.values) < 1e-9 and fit.residual < 1e-9


def test_larger_trees_take_more_steps() -> None:
    small, large = (count_steps("rbpst-range", count, 4, 1 << 20, 1) for count in (50, 400))
    assert 0 < small.steps < large.steps
    assert small.ranges == 50


def test_a_table_and_lists_are_compared_in_rounds() -> None:
    assert len(table_against_links(100, 8, 1, rounds=3)) == 3
