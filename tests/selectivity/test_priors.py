"""Assumptions about attributes without statistics."""

from __future__ import annotations

import numpy as np

from tamis.selectivity import priors


def test_a_point_is_rarer_than_a_range_and_the_rarer_the_more_constants_there_are() -> None:
    assert priors.point(0) == priors.point(priors.MIN_DISTINCT) > priors.point(priors.MANY_DISTINCT)
    assert priors.point(1) < priors.RANGE


def test_an_attribute_is_in_twice_as_many_events_as_conditions() -> None:
    found = priors.non_null_fractions(np.array([0, 1, 5, 9]), 10)
    assert found.tolist() == [0.0, 0.2, 1.0, 1.0]
    assert priors.non_null_fractions(np.empty(0, np.int64), 0).tolist() == []
