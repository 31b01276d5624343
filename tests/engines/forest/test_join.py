"""Joined forests say what their parts said, and hold nothing that no kept formula uses."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import pytest

from tamis.engines.forest import INTERVAL, PIECES, TEST, Forest, forest_of
from tamis.engines.forest.axes import NumberScale, ObjectScale, TextScale
from tamis.engines.forest.join import concatenate_forests, join_forests
from tamis.engines.forest.selection import select_formulas
from tamis.events import EventType
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.language.bulk import compile_conditions
from tests.engines.forest.test_bulk import assert_in_order
from tests.worlds import WORLDS, World, world

pytestmark = pytest.mark.usefixtures("form")


def forest(here: World, random_: random.Random, count: int) -> Forest:
    """From a column or from objects."""
    if random_.random() < 0.5:
        return forest_of([condition.formula for condition in here.accepted(random_, count)])
    return forest_of(compile_conditions([here.condition(random_) for _ in range(count)], here.event_type))


def assert_nothing_is_left_over(found: Forest) -> None:
    """Every axis, every cut and every test is used by a leaf."""
    leaves = found.leaves
    assert set(leaves.axes[leaves.kinds != TEST].tolist()) == set(range(len(found.axes)))
    assert set(leaves.lows[leaves.kinds == TEST].tolist()) == set(range(len(found.tests)))
    assert len(set(found.tests)) == len(found.tests)
    assert len({axis.attribute for axis in found.axes}) == len(found.axes)
    for number, axis in enumerate(found.axes):
        here = leaves.axes == number
        lows = [*leaves.lows[here & (leaves.kinds == INTERVAL)].tolist()]
        highs = [*leaves.highs[here & (leaves.kinds == INTERVAL)].tolist()]
        for leaf in np.flatnonzero(here & (leaves.kinds == PIECES)).tolist():
            lows += found.pieces.lows[leaves.lows[leaf] : leaves.highs[leaf]].tolist()
            highs += found.pieces.highs[leaves.lows[leaf] : leaves.highs[leaf]].tolist()
        used = {place for low, high in zip(lows, highs, strict=True) if low <= high for place in (low - 1, high)}
        if isinstance(axis.scale, (TextScale, NumberScale, ObjectScale)):
            assert used >= set(range(len(axis.scale)))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_joined_forests_say_the_same(name: str) -> None:
    random_ = random.Random(81)
    here = world(name)
    for _ in range(4):
        parts: list[tuple[Forest, npt.NDArray[np.integer]]] = []
        expected: list[Formula] = []
        for _ in range(random_.choice((1, 2, 4))):
            part = forest(here, random_, random_.choice((1, 30, 90)))
            keep = [slot for slot in range(len(part)) if random_.random() < 0.6]
            random_.shuffle(keep)
            parts.append((part, np.array(keep, random_.choice((np.int32, np.int64)))))
            expected += [part[slot] for slot in keep]
        joined = join_forests(parts)
        assert list(joined) == expected
        assert_in_order(joined)
        assert_nothing_is_left_over(joined)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_coordinates_on_joined_axes(name: str) -> None:
    random_ = random.Random(82)
    here = world(name)
    parts = [forest(here, random_, 60) for _ in range(3)]
    joined = join_forests([(part, np.arange(len(part))) for part in parts])
    frame = BatchFrame(here.batch(random_, 40))
    for number in np.flatnonzero(joined.leaves.kinds == INTERVAL).tolist():
        axis = joined.axes[joined.leaves.axes[number]]
        column = frame.column(axis.attribute)
        coordinates = axis.scale.coordinates(column)
        inside = (coordinates >= joined.leaves.lows[number]) & (coordinates <= joined.leaves.highs[number])
        holds = np.where(column.valid, inside, bool(joined.leaves.nulls[number]))
        np.testing.assert_array_equal(holds, joined.predicate(number).mask(frame))


def test_slots_may_come_several_times() -> None:
    part = forest_of(compile_conditions(["a = 1 AND b = 'x'", "a IN (1, 5, 9)", "c LIKE '%x%' OR a > 3"]))
    slots = np.array([2, 0, 2, 1, 1])
    assert list(join_forests([(part, slots)])) == [part[slot] for slot in slots.tolist()]
    assert_in_order(select_formulas(part, slots))


def test_nothing_kept_leaves_nothing() -> None:
    part = forest_of(compile_conditions(["a = 1 AND b = 'x'", "a RLIKE 'x'"]))
    for joined in (join_forests([]), join_forests([(part, np.empty(0, np.int64))])):
        assert (len(joined), joined.axes, len(joined.tests), len(joined.leaves.kinds)) == (0, (), 0, 0)


def test_shared_nodes_become_separate() -> None:
    shared = compile_conditions(["(a > 1) XOR (b > 1) XOR (c > 1)", "abs(a) + 1 > 3 AND d = 1"])
    both = forest_of([shared[0], shared[0], shared[1], shared[1]])  # type: ignore[list-item]
    assert_in_order(join_forests([(both, np.arange(4))]))


def test_long_decimals() -> None:
    type_ = EventType.from_dict({"name": "t", "attributes": {"money": "decimal(38,2)"}})
    parts = [
        forest_of(compile_conditions([f"money < {cut}", f"money IN ({cut}, 7)"], type_))
        for cut in ("-123456789012345678901234567890.12", "0.01", "99999999999999999999.5")
    ]
    joined = join_forests([(part, np.arange(2)) for part in parts])
    assert list(joined) == [formula for part in parts for formula in part]
    assert_nothing_is_left_over(joined)


def test_concatenated_forests_say_what_joined_ones_say() -> None:
    texts = [["a < 3", "b = 'y' OR a = 9"], ["b = 'x' AND c LIKE '%z%'"], [], ["a IN (1, 5) AND d > 2.5"]]
    forests = [forest_of(compile_conditions(each)) for each in texts]
    found = concatenate_forests(forests)
    wanted = join_forests([(each, np.arange(len(each))) for each in forests])
    assert [str(each) for each in found] == [str(each) for each in wanted]
    assert [str(each) for each in found] == [str(each) for part in forests for each in part]
    assert_nothing_is_left_over(found)
