"""Nodes computed as masks, and the pairs of formulas, against sets of events."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.arrays import U64
from tamis.engines.bitslice.kernels.mask_programs import (
    ALL,
    ANY,
    AT_LEAST,
    MOST_DIGITS,
    evaluate_1,
    evaluate_4,
    evaluate_8,
    levels_of,
    report_formulas,
    write_children,
)
from tamis.engines.bitslice.kernels.verify import PairBuffer

EVALUATE = {1: evaluate_1, 4: evaluate_4, 8: evaluate_8}
RANGES = 9


def as_int(table: U64, position: int, words: int) -> int:
    """A mask as one number."""
    return sum(int(table[position * words + word]) << 64 * word for word in range(words))


@pytest.mark.parametrize("words", [1, 4, 8])
def test_nodes_hold_where_enough_children_do(words: int) -> None:
    random_, bits = random.Random(words), 64 * words
    runs: list[int] = []
    children: list[int] = []
    wanted: list[list[int]] = [[random_.getrandbits(1) for _ in range(bits)] for _ in range(RANGES)]
    plain = ((ALL, 0, 3), (ANY, 0, 2), (ANY, 0, 0), (ALL, 0, 0), (ALL, 0, 9))
    counted = ((AT_LEAST, 2, 3), (AT_LEAST, 3, 7), (AT_LEAST, 9, 7), (AT_LEAST, 0, 2), (AT_LEAST, 4, 8))
    for operator, least, width in (*plain, *counted):
        count = random_.choice((1, 2, 5))
        runs += [operator, least, width, count]
        below = len(wanted)
        for _ in range(count):
            own = [random_.randrange(below) for _ in range(width)]
            children += own
            needed = {ALL: width, ANY: 1}.get(operator, least)
            wanted.append([int(sum(wanted[child][bit] for child in own) >= needed) for bit in range(bits)])
    table = np.zeros((len(wanted) + 1) * words, np.uint64)
    for position in range(RANGES):
        for bit in range(bits):
            table[position * words + bit // 64] |= np.uint64(wanted[position][bit] << bit % 64)
    full = np.full(words, ~np.uint64(0))
    digits = np.zeros(MOST_DIGITS * words, np.uint64)
    # Another program's run and child come first.
    given = np.array([ANY, 0, 1, 1, *runs], np.int32), np.array([7, *children], np.uint16)
    EVALUATE[words](given[0], 1, 1 + len(runs) // 4, given[1], 1, RANGES, full, table, digits)
    for position, truths in enumerate(wanted):
        assert as_int(table, position, words) == sum(truth << bit for bit, truth in enumerate(truths)), position
    assert not table[len(wanted) * words :].any(), "nothing is written behind the last node"


@pytest.mark.parametrize("words", [1, 4, 8])
def test_pairs_are_the_events_of_roots(words: int) -> None:
    random_ = np.random.default_rng(words)
    size = 10 * words
    table = random_.integers(0, 1 << 64, size, np.uint64) & random_.integers(0, 1 << 64, size, np.uint64)
    table[3 * words : 4 * words] = 0
    slots, roots = np.array([7, 8, 2, 9], np.int32), np.array([4, 3, 4, 9], np.uint16)
    one = np.array([1], np.int32)
    pairs, count = report_formulas(
        slots, roots, 100, words, table, np.zeros(512 + 64, np.int32), PairBuffer(one, one.copy()), 1
    )
    wanted = [
        (100 + bit, slot)
        for slot, root in zip(slots.tolist(), roots.tolist(), strict=True)
        for bit in range(64 * words)
        if as_int(table, root, words) >> bit & 1
    ]
    found = list(zip(pairs.events[:count].tolist(), pairs.numbers[:count].tolist(), strict=True))
    assert found == [(1, 1), *wanted]


def test_children_come_before_their_parents() -> None:
    firsts = np.array([0, 2, 3, 5, 5], np.int64)
    children = np.array([~0, ~5, 0, 1, ~2], np.int32)
    assert levels_of(firsts, children).tolist() == [0, 1, 2, 0]
    order, positions = np.array([3, 0, 1, 2]), np.array([11, 12, 13, 10], np.int32)
    out = np.empty(5, np.uint16)
    write_children(order, positions, firsts, children, out)
    assert out.tolist() == [0, 5, 11, 12, 2]
