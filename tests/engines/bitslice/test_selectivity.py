"""The fractions of events that `bitslice` places subscriptions by."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis import EventBatch, EventType, Statistics
from tamis.engines.bitslice.cells import cells_of
from tamis.engines.bitslice.selectivity import cell_selectivities
from tamis.engines.forest import forest_of
from tamis.formulas.expression import Path
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.selectivity import priors
from tamis.values.types import INT

OFFER = EventType.from_dict({"name": "offer", "attributes": {"a": "int", "b": "int"}})
A, B = Path(("a",), INT), Path(("b",), INT)


def frame(rows: int, share: float, seed: int = 1) -> BatchFrame:
    random_ = random.Random(seed)
    events = [{"a": random_.randrange(100), "b": 7 if random_.random() < share else None} for _ in range(rows)]
    return BatchFrame(EventBatch.of(events, OFFER))


def test_selectivities_follow_statistics() -> None:
    forest = forest_of([compile_condition(f"a > {low} AND b = 7", OFFER).formula for low in range(0, 100, 10)])
    cells = cells_of(forest)
    statistics = Statistics()
    for turn in range(20):
        statistics.observe(frame(64, 0.1, turn), [A, B])
    selectivities = cell_selectivities(forest, cells, statistics)
    axes = {axis.attribute: number for number, axis in enumerate(forest.axes)}
    base = int(cells.bases[axes[A]])
    # a > 50 holds for about half of the events; b is NULL in nine of ten.
    cut = int(np.searchsorted(cells.cuts[cells.cut_firsts[axes[A]] : cells.cut_firsts[axes[A] + 1]], 51))
    assert selectivities.mass[base + cut + 1] == pytest.approx(0.5, abs=0.12)
    assert selectivities.mass[int(cells.bases[axes[B]])] == pytest.approx(0.9, abs=0.05)


def test_without_statistics_cells_are_equally_likely() -> None:
    forest = forest_of(
        [compile_condition(text, OFFER).formula for text in ("a > 10", "a > 20", "a > 30", "b = 7")]
    )
    cells = cells_of(forest)
    found = cell_selectivities(forest, cells)
    axes = {axis.attribute: number for number, axis in enumerate(forest.axes)}
    base = int(cells.bases[axes[A]])
    np.testing.assert_allclose(np.diff(found.mass[base : base + 5]), 0.25)
    # One of four conditions asks for b, so that half of the events are assumed to have it, and at most all.
    assert found.mass[int(cells.bases[axes[B]])] == pytest.approx(0.5)
    assert found.non_null_fractions.tolist() == [1.0, 1.0]
    assert found.points[axes[B]] == 0.5 / priors.MANY_DISTINCT
