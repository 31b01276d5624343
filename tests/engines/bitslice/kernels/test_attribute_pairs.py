"""Lanes of attribute pairs against ranges compared one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.bitslice.kernels.attribute_pairs import (
    BLOCK_BYTES,
    HEAD,
    LANES,
    pair_candidates,
    prefetch_blocks,
)
from tamis.engines.bitslice.layout import AttributePairs

AXES = 6
SIZES = (5, 16, 40)


def random_pairs(random_: np.random.Generator) -> tuple[AttributePairs, list[list[tuple[int, int, int]]]]:
    """Three pairs whose entries begin at 7, and the (axis, low, high) that each entry asks for."""
    blocks = [-(-size // LANES) for size in SIZES]
    heads = np.zeros((len(SIZES) + 1, HEAD), np.int32)
    heads[1:, 0] = np.cumsum(blocks)
    heads[:, 1] = 7 + np.concatenate([[0], np.cumsum(SIZES)])
    heads[:-1, 2:] = [(0, 1), (0, 3), (2, 4)]
    lanes = np.zeros((sum(blocks), 4, LANES), np.uint8)
    further = np.empty(2 * sum(SIZES), np.uint32)
    asked: list[list[tuple[int, int, int]]] = []
    for pair, size in enumerate(SIZES):
        for number in range(size):
            lows, highs = random_.integers(0, 3, 4), random_.integers(2, 6, 4)
            axes = [*heads[pair, 2:].tolist(), *random_.integers(0, AXES, 2).tolist()]
            lanes[heads[pair, 0] + number // LANES, :, number % LANES] = [lows[0], highs[0], lows[1], highs[1]]
            for place in (2, 3):
                further[2 * len(asked) + place - 2] = (
                    axes[place] | int(lows[place]) << 16 | int(highs[place]) << 24
                )
            asked.append([(axes[place], int(lows[place]), int(highs[place])) for place in range(4)])
    none = np.empty(0, np.int32)
    first_group = np.array([11], np.int32)
    found = AttributePairs(
        first_group, np.empty(0, np.uint64), none, heads.reshape(-1), lanes.reshape(-1), further
    )
    assert len(found.lanes) == BLOCK_BYTES * sum(blocks)
    return found, asked


@pytest.mark.parametrize("room", [LANES, 30, 200])
@pytest.mark.parametrize("skip", [False, True])
def test_candidates_are_in_all_four_ranges(room: int, skip: bool) -> None:
    random_ = np.random.default_rng(room)
    pairs, asked = random_pairs(random_)
    groups = np.array([11, 12, 13], np.int32)
    skipped = np.zeros(14, np.int32) if skip else np.empty(0, np.int32)
    if skip:
        skipped[12] = 1
    prefetch_blocks(pairs, groups, 0, 3)
    for _ in range(20):
        cells = np.append(random_.integers(0, 6, AXES), 1).astype(np.uint8)
        candidates, found = np.zeros(room, np.int32), list[int]()
        start = (0, 0)
        while start[0] < 3:
            left, start = pair_candidates(pairs, groups, start, 3, skipped, cells, candidates)
            found += candidates[:left].tolist()
        passed = range(SIZES[0], SIZES[0] + SIZES[1]) if skip else ()
        assert found == [
            7 + number
            for number, ranges in enumerate(asked)
            if number not in passed and all(low < cells[axis] <= high for axis, low, high in ranges)
        ]
