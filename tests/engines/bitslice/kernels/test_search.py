"""Both ways to search a batch find what formulas say, and leave the state as they found it."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.arrays import AnyArray
from tamis.engines.bitslice.kernels.search import EDGE, INSIDE, OUTSIDE, search, verdict_of
from tamis.engines.bitslice.layout import CellRanges
from tests.engines.bitslice.build_steps import build_steps

STEPS = build_steps(13, 90, 70, depth=3)


@pytest.mark.parametrize("fewest", [1, 2, 1 << 30])
def test_pairs_are_those_of_the_formulas(fewest: int) -> None:
    state = STEPS.index._new_state()
    kept: list[AnyArray] = [state.rows, state.cells, state.counts, state.test_lines, *state.code[:-1]]
    before = [each.copy() for each in kept]
    for room in (1, 10_000):
        pairs, count = search(STEPS.index.index, STEPS.encoded, state, fewest, room)
        found = sorted(zip(pairs.events[:count].tolist(), pairs.numbers[:count].tolist(), strict=True))
        assert found == STEPS.pairs
    assert all(np.array_equal(a, b) for a, b in zip(before, kept, strict=True))
    assert not state.memory.held.any()


def test_verdicts() -> None:
    """A range of cells 2-5 whose outermost cells are at the edge."""
    one = np.zeros(1, np.int32)
    ranges = CellRanges(one + 11, one + 15, one, one + 12, one + 14)
    verdicts = [verdict_of(ranges, np.uint64(0), np.array([row], np.int32)) for row in range(10, 18)]
    assert verdicts == [OUTSIDE, OUTSIDE, EDGE, INSIDE, INSIDE, EDGE, OUTSIDE, OUTSIDE]
