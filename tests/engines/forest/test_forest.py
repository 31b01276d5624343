"""A forest says what its formulas say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest import INTERVAL, PIECES, forest_of
from tamis.frames import BatchFrame
from tests.worlds import WORLDS, world


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_formulas_come_back_and_say_the_same(name: str) -> None:
    random_ = random.Random(41)
    formulas = [condition.formula for condition in world(name).accepted(random_, 400)]
    frame = BatchFrame(world(name).batch(random_, 40))
    forest = forest_of(formulas)
    for before, after in zip(formulas, forest, strict=True):
        # Of schemaless numbers the same set may come back with other cuts, which no number can tell apart.
        assert after == before or name == "schemaless", before
        np.testing.assert_array_equal(after.mask(frame), before.mask(frame))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_coordinates_and_intervals_say_what_predicates_say(name: str) -> None:
    random_ = random.Random(42)
    here = world(name)
    forest = forest_of([condition.formula for condition in here.accepted(random_, 300)])
    frame = BatchFrame(here.batch(random_, 60))
    checked = 0
    for number in np.flatnonzero(forest.leaves.axes >= 0).tolist():
        axis = forest.axes[forest.leaves.axes[number]]
        column = frame.column(axis.attribute)
        coordinates = axis.scale.coordinates(column)
        low, high = int(forest.leaves.lows[number]), int(forest.leaves.highs[number])
        if forest.leaves.kinds[number] == INTERVAL:
            inside = (coordinates >= low) & (coordinates <= high)
        else:
            assert forest.leaves.kinds[number] == PIECES
            pieces = zip(forest.pieces.lows[low:high], forest.pieces.highs[low:high], strict=True)
            inside = np.logical_or.reduce([(coordinates >= a) & (coordinates <= b) for a, b in pieces])
        found = np.where(column.valid, inside, bool(forest.leaves.nulls[number]))
        predicate = forest.predicate(number)
        np.testing.assert_array_equal(found, predicate.mask(frame), predicate.describe())
        for row, value in enumerate(column.to_list()):
            if value is not None:
                assert axis.scale.coordinate(axis.attribute.type, value) == coordinates[row]
        checked += 1
    assert checked > 200
