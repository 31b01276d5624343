"""Bitmaps of cells and of NULL, against a look at every value."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.bitset import fail_bitmaps
from tamis.engines.bitset.fail_bitmaps import FailBitmaps, build_fail_bitmaps
from tamis.engines.conjunctions.dnf import conjunctions_of
from tamis.engines.forest import Forest
from tests.engines.naive import leaf_holds, random_forest


def bits_of(built: FailBitmaps, bitset: int) -> set[int]:
    bits = np.unpackbits(built.bits[bitset].view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


def failing(forest: Forest, axis: int, values: list[int | None]) -> set[int]:
    """The formulas, each a leaf, that fail at all of these values."""
    return {
        slot
        for slot, root in enumerate(forest.roots.tolist())
        if forest.leaves.axes[~root] == axis and not any(leaf_holds(forest, ~root, value) for value in values)
    }


def test_a_bit_says_that_a_leaf_fails_in_the_whole_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fail_bitmaps, "_MAX_CELLS", 7)
    forest = random_forest(random.Random(84), 300, axes=3, depth=0, domain=60)
    built, _ = build_fail_bitmaps(forest.leaves, forest.pieces, 3, 0, conjunctions_of(forest))
    assert built.axes.tolist() == [0, 1, 2]
    for axis in range(3):
        cuts = built.cuts[built.cut_firsts[axis] : built.cut_firsts[axis + 1]].tolist()
        assert len(cuts) == 6
        for cell, (low, high) in enumerate(zip([-5, *cuts], [*cuts, 100], strict=True)):
            assert bits_of(built, int(built.bases[axis]) + cell) == failing(forest, axis, [*range(low, high)])
    nulls = [failing(forest, axis, [None]) for axis in range(3)]
    assert [bits_of(built, built.tree + 3 + axis) for axis in range(3)] == nulls
    assert bits_of(built, built.tree + 2) == nulls[1] | nulls[2]
    assert bits_of(built, built.tree + 1) == nulls[0] | nulls[1] | nulls[2]
