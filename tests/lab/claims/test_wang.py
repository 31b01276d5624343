"""Curves over levels are read, and a level is settled on the costs of arrays."""

from __future__ import annotations

import numpy as np

from tamis.lab.claims.wang import best_level, is_bent, relative, settled_levels
from tamis.schedule.controller import Controller


def test_curves_are_read() -> None:
    means = np.array([[4.0, 6.0], [3.0, 2.0], [5.0, 1.0]])
    assert best_level(means) == 2
    assert relative(means).tolist() == [1.0, 0.5, 0.6]
    assert is_bent(relative(means))
    assert not is_bent(np.array([1.0, 0.5, 0.7, 0.6]))


def test_a_level_is_settled_on_costs_of_arrays() -> None:
    means = np.repeat([[4.0], [2.0], [1.0], [3.0]], 5, axis=1)
    knob = Controller(1, 4, rounds=2, start=1)
    levels, served = settled_levels(knob, means, np.random.default_rng(1))
    assert knob.current == 3
    assert len(levels) == len(served) == 4 + 6 + 6
    assert set(served) <= set(range(5))
