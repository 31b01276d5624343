"""Masks of cell ranges, and their bits, against sets of events."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.bitslice.kernels.masks import axes_and_tests, fill_masks, set_bits_of
from tamis.engines.bitslice.kernels.visits import batch_of
from tests.engines.bitslice.build_steps import build_steps


@pytest.mark.parametrize("width", [1, 4, 8])
def test_numbers_of_set_bits(width: int) -> None:
    random_ = np.random.default_rng(width)
    masks = random_.integers(0, 1 << 64, 6 * width, np.uint64)
    for sparse in (0, 3, 5):
        masks &= random_.integers(0, 1 << 64, len(masks), np.uint64) if sparse else masks
        out = np.zeros(512 + 64, np.int32)
        for first in range(0, len(masks), width):
            mask = sum(int(word) << 64 * place for place, word in enumerate(masks[first : first + width]))
            wanted = [bit for bit in range(64 * width) if mask >> bit & 1]
            assert out[: set_bits_of(masks, first, width, out)].tolist() == wanted


@pytest.mark.parametrize("count", [1, 64, 65, 256, 300, 512])
def test_masks_hold_the_events_of_their_ranges(count: int) -> None:
    steps = build_steps(4, 40, 520)
    arrays, state = steps.index.index, steps.index._new_state()
    batch = batch_of(arrays.cells, steps.encoded, np.empty(0, np.int32), False)
    events = np.random.default_rng(count).permutation(520)[:count].astype(np.int32)
    named = np.arange(len(arrays.ranges.lows), dtype=np.uint16)[::2]
    asked = axes_and_tests(named, arrays.ranges.axes, batch.columns)
    words = fill_masks(asked, named, arrays.ranges, batch, events, state.tables)
    assert words == (1 if count <= 64 else 4 if count <= 256 else 8)
    for number in named.tolist():
        low, high, axis = (int(each[number]) for each in arrays.ranges[:3])
        rows = batch.rows[events, batch.columns[axis]]
        wanted = ((rows > low) & (rows <= high)).tolist()
        mask = state.tables.ranges[number * words : (number + 1) * words]
        found = [bool(mask[place >> 6] >> np.uint64(place & 63) & np.uint64(1)) for place in range(count)]
        assert found == wanted


def test_what_ranges_refer_to() -> None:
    axes = np.array([0, 0, 2, 3, 3, 4, 6], np.int32)  # 4 axes, then tests
    columns = np.array([1, -1, -1, 0], np.int32)
    asked, present, absent, tests = axes_and_tests(np.array([0, 1, 2, 4, 6], np.uint16), axes, columns)
    assert (asked.tolist(), present.tolist(), absent.tolist(), tests.tolist()) == ([0, 2, 3], [1, 0], [2], [2])
