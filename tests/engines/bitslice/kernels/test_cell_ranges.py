"""Cell ranges contain what their leaves admit, and equal ones are one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tamis.engines.bitslice.kernels.cell_ranges import RangePool, _number_of, collect_ranges, renumber
from tamis.engines.bitslice.kernels.cells import cell_of
from tamis.engines.forest import PIECES
from tests.engines.bitslice.build_steps import AXES, build_steps
from tests.engines.naive import leaf_holds

STEPS = build_steps(8)


def row_of(axis: int, value: int | None) -> int:
    base = int(STEPS.cells.bases[axis])
    return base if value is None else base + int(cell_of(STEPS.cells, axis, value))


def is_inside(number: int, row: int) -> bool:
    ranges = STEPS.numbered.ranges
    return bool(ranges.lows[number] < row <= ranges.highs[number])


def test_an_event_that_satisfies_a_leaf_is_in_its_range() -> None:
    leaves = STEPS.forest.leaves
    for leaf, axis in enumerate(leaves.axes.tolist()):
        number = int(STEPS.numbered.leaves[leaf])
        assert STEPS.numbered.ranges.axes[number] == axis
        for value in (None, *range(-3, 75)):
            inside = is_inside(number, row_of(axis, value))
            holds = leaf_holds(STEPS.forest, leaf, value)
            assert inside or not holds
            # Cells are exact here, so a leaf of one interval without NULL is its range.
            assert inside == holds or leaves.kinds[leaf] == PIECES or leaves.nulls[leaf]


def test_pieces_and_null_have_ranges_of_their_own() -> None:
    leaves, pieces = STEPS.forest.leaves, STEPS.forest.pieces
    for leaf in np.flatnonzero(leaves.kinds == PIECES).tolist():
        for piece in range(leaves.lows[leaf], leaves.highs[leaf]):
            for value in range(-3, 75):
                inside = is_inside(int(STEPS.numbered.pieces[piece]), row_of(int(leaves.axes[leaf]), value))
                assert inside == (pieces.lows[piece] <= value <= pieces.highs[piece])
    for axis in range(AXES):
        number = int(STEPS.numbered.nulls[axis])
        assert (number >= 0) == bool((leaves.nulls[leaves.axes == axis] != 0).any())
        if number >= 0:
            assert [value for value in (None, *range(-3, 75)) if is_inside(number, row_of(axis, value))] == [None]


def test_ranges_are_different_and_sorted_by_axis() -> None:
    ranges = STEPS.numbered.ranges
    listed = list(zip(ranges.axes.tolist(), ranges.lows.tolist(), ranges.highs.tolist(), strict=True))
    assert listed == sorted(set(listed))
    assert ranges.inner_lows.tolist() == ranges.lows.tolist(), "where cells are exact, all are inner ones"


def empty_pool(room: int) -> RangePool:
    lows, highs, axes = np.empty((3, room), np.int32)
    return RangePool(lows, highs, axes, np.full(4 * room, -1, np.int32), np.zeros(1, np.int64))


def test_equal_ranges_have_one_number_and_no_room_is_said() -> None:
    random_, pool, known = random.Random(5), empty_pool(64), dict[tuple[int, int], int]()
    for _ in range(500):
        low = random_.randrange(12)
        key = low, low + random_.randrange(12)
        wanted = known.get(key, len(known) if len(known) < 64 else -1)
        assert _number_of(pool, *key, key[1] // 6) == wanted
        if wanted >= 0:
            known[key] = wanted
    assert len(known) == pool.count[0] == 64
    assert [*zip(pool.lows.tolist(), pool.highs.tolist(), strict=True)] == [*known]
    assert pool.axes.tolist() == [high // 6 for _, high in known]


def test_a_pool_that_is_too_small_is_refused() -> None:
    leaves, pieces = STEPS.forest.leaves, STEPS.forest.pieces
    out: Any = tuple(
        np.full(count, -1, np.int32) for count in (len(leaves.kinds), len(leaves.kinds), len(pieces.lows), AXES)
    )
    assert not collect_ranges(empty_pool(8), STEPS.cells, leaves, pieces, out)
    pool = empty_pool(1 << 12)
    assert collect_ranges(pool, STEPS.cells, leaves, pieces, out)
    assert pool.count[0] == len(STEPS.numbered.ranges.lows)


def test_numbers_are_replaced_and_what_was_never_set_is_not() -> None:
    numbers = np.array([3, 0, 2, 1], np.int32)
    out: Any = tuple(np.array(each, np.int32) for each in ([0, 1, 2, 3], [-1, 4, 1], [], [99]))
    renumber(numbers, out)
    assert [each.tolist() for each in out] == [[3, 0, 2, 1], [-1, 4, 0], [], [99]]
