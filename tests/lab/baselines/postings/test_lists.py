"""The lists that a value leads to hold every conjunction as often as it has leaves that hold there."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from tamis.engines.conjunctions.dnf import Conjunctions, conjunctions_of
from tamis.engines.forest import Forest
from tamis.engines.forest.distinct import distinct_predicates
from tamis.lab.baselines.postings.lists import CellPostings, postings_of
from tests.engines.naive import leaf_holds, random_forest


def listed(postings: CellPostings, axis: int, value: int | None) -> Counter[int]:
    """The conjunctions that an axis' value leads to."""
    scales = postings.scales
    base, cells, shift = (int(each[axis]) for each in (scales.bases, scales.cells, scales.shifts))
    found = Counter[int]()

    def take(each: int) -> None:
        found.update(postings.ids[postings.firsts[each] : postings.firsts[each + 1]].tolist())

    keys = [base]
    if value is not None:
        cuts = scales.cuts[scales.cut_firsts[axis] : scales.cut_firsts[axis + 1]]
        position = int(np.searchsorted(cuts, value, "right"))
        node = cells + (position >> shift)
        inside = position & ((1 << shift) - 1)
        for at in range(int(postings.part_firsts[base + node]), int(postings.part_firsts[base + node + 1])):
            if postings.part_lows[at] <= inside <= postings.part_highs[at]:
                target = int(postings.part_targets[at])
                if target < 0:
                    take(~target)
                else:
                    found[target] += 1
        keys = [base + (node >> level) for level in range(node.bit_length())]
    for key in keys:
        take(key)
        for shared in postings.refs[postings.ref_firsts[key] : postings.ref_firsts[key + 1]].tolist():
            take(shared)
    return found


def wanted(forest: Forest, conjunctions: Conjunctions, axis: int, value: int | None) -> Counter[int]:
    found = Counter[int]()
    for conjunction in range(len(conjunctions.slots)):
        for leaf in conjunctions.leaves[conjunctions.firsts[conjunction] : conjunctions.firsts[conjunction + 1]]:
            if forest.leaves.axes[leaf] == axis and leaf_holds(forest, int(leaf), value):
                found[conjunction] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slots", "domain", "width"),
    [(0, 10, 0.5), (30, 10, 0.5), (800, 100_000, 0.5), (800, 100_000, 0.001), (800, 8, 0.5)],
    ids=["none", "few", "wide in cells", "narrow in cells", "shared"],
)
def test_random_intervals(slots: int, domain: int, width: float) -> None:
    random_ = random.Random(61)
    forest = random_forest(random_, slots, axes=2, domain=domain, depth=1, width=width)
    conjunctions = conjunctions_of(forest)
    postings, _ = postings_of(forest.leaves, forest.pieces, 2, 0, conjunctions)
    if slots == 800 and domain == 8:
        assert len(postings.refs) > 10, "no predicate is shared"
    if domain == 100_000:
        assert len(postings.part_targets) > 100, "no cell is filled partly"
    ends = [int(end) for end in forest.leaves.lows[:30]] + [int(end) + 1 for end in forest.leaves.highs[:30]]
    values = [None, -5, domain + 50, *(random_.randrange(domain) for _ in range(30))]
    for value in [*values, *(end for end in ends if -(2**40) < end < 2**40)]:
        for axis in range(2):
            assert listed(postings, axis, value) == wanted(forest, conjunctions, axis, value), (axis, value)


def test_equal_leaves_are_one_predicate() -> None:
    random_ = random.Random(62)
    forest = random_forest(random_, 200, axes=2, domain=6, depth=1)
    leaves, pieces = forest.leaves, forest.pieces
    asked = np.arange(len(leaves.kinds), dtype=np.int32)
    distinct = distinct_predicates(leaves, pieces, asked)
    texts = [
        (int(leaves.axes[leaf]), *(leaf_holds(forest, leaf, value) for value in (None, *range(-2, 40))))
        for leaf in asked.tolist()
    ]
    numbers = distinct.numbers.tolist()
    for leaf, number in enumerate(numbers):
        assert texts[leaf] == texts[int(distinct.examples[number])]
    assert len(distinct.examples) < len(numbers) / 2
    assert distinct_predicates(leaves, pieces, asked[:0]).numbers.max() == -1
